"""Print how many examples of each page are executed: `python -m tests.docs`."""

from __future__ import annotations

import sys

from tests.docs.coverage import table

sys.stdout.write(f"{table()}\n")
