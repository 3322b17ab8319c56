"""R-21: whatever users, other people, faults and the end of processes do, everything ends as declared or says why not.

`make chaos SEEDS=2000` plays many more sequences. Each is determined by its seed, so these are the same in every run; they
are played in a process of their own, since the order of sets belongs to what determines them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("kind", "start", "seeds"), [("tenants", 0, 5), ("gizmos", 0, 10)])
def test_random_operations_break_no_law(kind: str, start: int, seeds: int) -> None:
    command = [sys.executable, "-m", "tests.chaos", "--kind", kind, "--workers", "1"]
    command += ["--seeds", str(seeds), "--start", str(start), "--no-shrink"]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    played = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert played.returncode == 0, played.stdout + played.stderr
    assert "no violation" in played.stdout
