"""How many of the plans are run: all under `EDGEKEEPER_CRASH=all`, else a sample.

`make crash` sets `EDGEKEEPER_CRASH=ci`: every fifth plan of each scenario, at another place in each mode.

In `make test` every sixth scenario is played with a fault or two (`EVERY_PLAN`), in the mode whose turn it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

from tests.crash.faults import Mode

T = TypeVar("T")

_CHOSEN = os.environ.get("EDGEKEEPER_CRASH", "")
ALL = _CHOSEN in ("all", "ci")
"""Whether all scenarios are played, in all modes."""
WHOLE = _CHOSEN == "all"
EVERY = 1 if ALL else 5
EVERY_PLAN = 1 if WHOLE else 5 if ALL else 61


def sample_of(scenarios: Iterable[T]) -> list[T]:
    """The scenarios that are played."""
    found = list(scenarios)
    return found if ALL else found[::6]


def modes_of(number: int) -> Sequence[Mode]:
    """The modes in which the scenario of this number is played."""
    modes = list(Mode)
    return modes if ALL else [modes[number % len(modes)]]
