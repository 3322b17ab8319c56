"""How many of the plans are run: all under `EDGEKEEPER_CRASH=all`, as `make crash` does, else a sample.

In `make test` each scenario is played with a fault or two (`EVERY_PLAN`), in the mode whose turn it is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from tests.crash.faults import Mode

ALL = os.environ.get("EDGEKEEPER_CRASH") == "all"
EVERY = 1 if ALL else 5
EVERY_PLAN = 1 if ALL else 61


def modes_of(number: int) -> Sequence[Mode]:
    """The modes in which the scenario of this number is played."""
    modes = list(Mode)
    return modes if ALL else [modes[number % len(modes)]]
