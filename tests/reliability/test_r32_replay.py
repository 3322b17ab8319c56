"""R-32: a run is determined by scenario, seed and plan, so whatever fails can be looked at again, call by call."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.crash.faults import Mode, Plan
from tests.crash.gizmo_scenarios import scenarios
from tests.crash.runner import run
from tests.toy.system import GIZMOS


@pytest.mark.parametrize("mode", list(Mode))
def test_run_is_repeated_call_by_call(mode: Mode) -> None:
    plan = Plan(9, mode)
    first, *others = [run(GIZMOS, scenarios.known["deletion"], plan) for _ in range(3)]
    assert all(other == first for other in others)
    assert len(first.trace) > len(first.calls) > 20


def test_run_is_repeated_in_another_process() -> None:
    """What differs between processes, such as the order of sets, must not matter."""
    assert _played(hash_seed="1") == _played(hash_seed="2") != ""


def _played(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-m", "tests.crash", "gizmos", "two_neighbours", "9", "crash"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
