"""How many of the plans are run: all under `EDGEKEEPER_CRASH=all`, as `make crash` does, else a sample.

Plans of the toy kind take milliseconds, those of tenants tenths of a second. In `make test` each scenario of tenants is
played with a fault or two, in the mode whose turn it is.
"""

from __future__ import annotations

import os

ALL = os.environ.get("EDGEKEEPER_CRASH") == "all"
EVERY = 1 if ALL else 5
EVERY_OF_TENANTS = 1 if ALL else 31
