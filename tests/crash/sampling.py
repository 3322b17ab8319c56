"""How many of the plans are run: all of them under `EDGEKEEPER_CRASH=all`, as `make crash` does, else every fifth."""

from __future__ import annotations

import os

EVERY = 1 if os.environ.get("EDGEKEEPER_CRASH") == "all" else 5
