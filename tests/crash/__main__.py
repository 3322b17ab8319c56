"""Play one plan again, call by call: `python -m tests.crash SCENARIO NUMBER MODE`; without a plan, the clean run."""

from __future__ import annotations

import sys

from tests.crash.faults import Mode, Plan
from tests.crash.gizmo_scenarios import scenarios
from tests.crash.oracles import differences
from tests.crash.runner import run
from tests.toy.system import GIZMOS


def main(name: str, number: str = "", mode: str = "") -> None:
    scenario = scenarios.known[name]
    record = clean = run(GIZMOS, scenario)
    if number:
        record = run(GIZMOS, scenario, Plan(int(number), Mode(mode)))
    lines = [f"life {call.life} {call}" for call in record.calls]
    faults = [*record.faults, *differences(record, clean, scenario)]
    sys.stdout.write("\n".join([*lines, *(faults or ["all is well"])]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
