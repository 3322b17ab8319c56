"""What holds for every text, whoever wrote it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from kubecel.display import as_json
from kubecel.environment import Environment
from kubecel.errors import CelError, CompileError, ErrorKind, EvaluationError
from kubecel.limits import DEFAULT_BUDGET
from kubecel.program import Outcome, Program
from kubecel.types import DYN, Kind, Type
from kubecel.values import Optional, Value, key_value, type_of_value
from packages.kubecel.tests.fuzz.material import CONTEXT

SECONDS: Final = 5.0
"""Of processor time, for one text in all its runs. Typical is a thousandth of it; the budget allows about one second."""

T = TypeVar("T")
_AS_IT_WAS: Final = repr(CONTEXT)


class LawBrokenError(AssertionError):
    """A text for which a law does not hold."""


@dataclass(frozen=True)
class Run:
    """How one text fared: `refused`, `failed` or `value`."""

    end: str
    seconds: float


def examine(environment: Environment, text: str) -> Run:
    """Compile and evaluate a text in every way, and compare."""
    started = time.process_time()
    end = _examine(environment, text)
    seconds = time.process_time() - started
    _hold(seconds < SECONDS, f"took {seconds:.1f} seconds of processor time")
    _hold(repr(CONTEXT) == _AS_IT_WAS, "changed its input")
    return Run(end, seconds)


def _examine(environment: Environment, text: str) -> str:
    program = _attempt(lambda: environment.compile(text), CompileError, text)
    if isinstance(program, CompileError):
        return "refused"
    _hold({path[0] for path in program.paths} >= program.identifiers, "paths and identifiers differ")
    outcome = _measure(program, DEFAULT_BUDGET)
    _compare_budgets(program, outcome)
    unchecked = _attempt(lambda: environment.compile(text, checked=False), CompileError, text)
    if isinstance(unchecked, CompileError):
        raise LawBrokenError("compiles only if it is checked")
    if isinstance(outcome, EvaluationError):
        return "failed"
    if not program.identifiers and not any(name in text for name in _UNTYPED):
        _hold(_fits(outcome.value, program.type), f"{outcome.value!r} is not of type {program.type}")
    if ".sum()" not in text:  # only the checker knows what a list without elements would have held
        again = _measure(unchecked, DEFAULT_BUDGET)
        _hold(_same(again, outcome), f"{again!r} without a check, {outcome!r} with one")
    shown = _attempt(lambda: as_json(outcome.value), EvaluationError, text)
    if not isinstance(shown, EvaluationError):
        json.dumps(shown, allow_nan=False)
    return "value"


def _measure(program: Program, budget: int) -> Outcome | EvaluationError:
    return _attempt(lambda: program.measure(CONTEXT, budget=budget), EvaluationError, program.source)


E = TypeVar("E", bound=CelError)


def _attempt(act: Callable[[], T], expected: type[E], text: str) -> T | E:
    """What an act returns, or the error of the language that it ends with. Any other error goes on."""
    try:
        return act()
    except expected as error:
        rendered = error.render(text)
        messages = [issue.message for issue in getattr(error, "issues", ())] or [error.message]
        _hold(all(message and message in rendered for message in messages), f"cannot render {error!r}")
        _hold(error.position is None or 0 <= error.position.offset <= len(text), "is wrong beyond its end")
        return error


def _compare_budgets(program: Program, outcome: Outcome | EvaluationError) -> None:
    """What an evaluation cost is enough to repeat it, and one less is not."""
    cost = outcome.cost
    if isinstance(outcome, EvaluationError) and outcome.kind is ErrorKind.COST_EXCEEDED:
        return
    _hold(cost >= 0, f"costs {cost}")
    _hold(_same(_measure(program, cost), outcome), f"ends in another way for a budget of {cost}")
    if cost == 0 or isinstance(outcome, EvaluationError):
        return
    for budget in {cost - 1, cost // 2}:
        short = _measure(program, budget)
        if not isinstance(short, EvaluationError) or short.kind is not ErrorKind.COST_EXCEEDED:
            raise LawBrokenError(f"costs {cost}, but is content with {budget}")
        _hold(budget < short.cost <= cost, f"costs {cost}, but went on to {short.cost} with {budget}")


def _same(one: Outcome | EvaluationError, other: Outcome | EvaluationError) -> bool:
    if isinstance(one, EvaluationError) or isinstance(other, EvaluationError):
        return type(one) is type(other) and getattr(one, "kind", 0) is getattr(other, "kind", 1)
    return repr(one.value) == repr(other.value)


_CONTAINERS: Final = (Kind.LIST, Kind.MAP, Kind.OPTIONAL)
_UNTYPED: Final = ("dyn(", "json.", "omit(", "null", ".or(", ".orValue(")
"""Where these occur, or variables, the checker's types are what an author may hope for, here as in cel-go."""


def _fits(value: Value, kind: Type) -> bool:
    """Whether a value is what the checker promised."""
    if kind == DYN:
        return True
    found = type_of_value(value)
    if kind.kind not in _CONTAINERS:
        return found.kind is kind.kind and (kind.kind is Kind.TYPE or found.name == kind.name)
    return found.kind is kind.kind and all(_fits(part, param) for part, param in _parts(value, kind))


def _parts(value: Any, kind: Type) -> list[tuple[Value, Type]]:
    if isinstance(value, Optional):
        return [(value.value, kind.params[0])] if value.present else []
    if isinstance(value, dict):
        keys, values = kind.params
        return [
            part for key, element in value.items() for part in ((key_value(key), keys), (element, values))
        ]
    return [(element, kind.params[0]) for element in value]


def _hold(law: bool, otherwise: str) -> None:
    if not law:
        raise LawBrokenError(otherwise)
