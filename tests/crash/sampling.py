"""How many of the plans are run: those of `make crash` under `EDGEKEEPER_CRASH=all`, else a sample.

Plans of the toy kind take milliseconds, and all of them are run. Those of tenants take seconds each, so that of their
calls every fortieth fails in `make crash`; `make test` plays some scenarios, with one failure each.
"""

from __future__ import annotations

import os

ALL = os.environ.get("EDGEKEEPER_CRASH") == "all"
EVERY = 1 if ALL else 5
EVERY_OF_TENANTS = 40 if ALL else 200
