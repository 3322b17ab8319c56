"""cel-python, the other evaluator that is written in Python, on the same expressions and objects.

It has two ways to run an expression, and some expressions go only one way; each is measured at its best. An answer that
differs from ours counts as none.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any

import celpy
from celpy.adapter import CELJSONEncoder, json_to_cel

from benchmarks.cel.timing import microseconds
from benchmarks.cel.workload import CONTEXT

RUNNERS = (celpy.CompiledRunner, celpy.InterpretedRunner)
SHORT = 60


@dataclass(frozen=True)
class Partner:
    """What it takes for an expression, in microseconds."""

    compilation: float
    evaluation: float


class UnableError(Exception):
    """It cannot evaluate an expression; the message is its own."""


def measure_partner(text: str, expected: Any) -> Partner:
    """Measure an expression, or say why that is impossible."""
    activation = {name: json_to_cel(value) for name, value in CONTEXT.items()}
    found, reasons = [], []
    for runner in RUNNERS:
        try:
            found.append(_measure(runner, text, activation, expected))
        except UnableError as error:
            reasons.append(str(error))
    if not found:
        raise UnableError(reasons[-1])
    return Partner(min(one.compilation for one in found), min(one.evaluation for one in found))


def _measure(runner: Any, text: str, activation: dict[str, Any], expected: Any) -> Partner:
    logging.getLogger("celpy").setLevel(logging.CRITICAL)  # it also logs what it raises
    environment = celpy.Environment(runner_class=runner)

    def compile_text() -> Any:
        return environment.program(environment.compile(text))

    try:
        program = compile_text()
        answer = json.loads(json.dumps(program.evaluate(activation), cls=CELJSONEncoder))
    except Exception as error:  # its errors have no common class
        raise UnableError(describe(error)) from error
    if answer != expected:
        raise UnableError(f"answers {answer!r}")
    return Partner(microseconds(compile_text), microseconds(lambda: program.evaluate(activation)))


def describe(error: Exception) -> str:
    """The beginning of an error, which may go on for pages."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words[:SHORT]}{'…' if len(words) > SHORT else ''}"
