"""What is published, built and loaded as an installation has it: the wheels, and the packages of the runtime's lock file."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.row import Goal, Row, best_of
from tests.package.wheels import PROJECTS, Interpreter, build, interpreter

COMMANDS = {
    "edgekeeper --version": (["--version"], Goal("≤", 0.3)),
    "edgekeeper run --help, everything loaded": (["run", "--help"], Goal("≤", 2)),
    "edgekeeper plan --help, everything loaded": (["plan", "--help"], Goal("≤", 2)),
}


def measure() -> Iterator[Row]:
    with TemporaryDirectory() as directory:
        wheels = {project: build(project, Path(directory)) for project in PROJECTS}
        for project, wheel in wheels.items():
            goal = Goal("≤", 1_000) if project == "edgekeeper" else None
            yield _row(f"wheel of {project}", wheel.path.stat().st_size / 1024, "KiB", goal)
        operator = interpreter(
            [wheels["edgekeeper"], wheels["kubecel"]], Path(directory, "site"), "runtime.txt"
        )
        for name, (arguments, goal) in COMMANDS.items():
            yield _row(name, best_of(lambda: _processor_time(operator, arguments), min), "s", goal)  # noqa: B023 - called at once


def _processor_time(operator: Interpreter, arguments: list[str]) -> float:
    """Seconds of one run, from the start of the interpreter to its end."""
    command = operator.command("edgekeeper.cli.main:main", *arguments)
    before = _of_children()
    subprocess.run(command, env=operator.environment, check=True, capture_output=True)
    return _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(name: str, value: float, unit: str, goal: Goal | None) -> Row:
    return Row("package", name, value, unit, goal)
