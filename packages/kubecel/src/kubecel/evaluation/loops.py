"""Comprehensions as loops.

The cost of a round is cel-go's: what the parts of the fold cost that the loop stands for. A round is charged before it
runs; where all rounds will run, they are charged together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from kubecel.errors import ErrorKind, EvaluationError, no_such_overload
from kubecel.evaluation.code import (
    CALL_COST,
    IDENT_COST,
    LIST_COST,
    MAP_COST,
    Code,
    Frame,
    budget_exceeded,
    charge,
)
from kubecel.evaluation.logic import absorb
from kubecel.standard.indexing import MISSING
from kubecel.standard.mapping import insert, insert_all
from kubecel.values import key_value

_APPEND_COST: Final = CALL_COST + IDENT_COST + LIST_COST
"""`result + [element]`, without the element."""
_INSERT_COST: Final = CALL_COST + IDENT_COST
"""`insert(result, key, value)`, without key and value."""
_ALL_LOOK_COST: Final = CALL_COST + IDENT_COST
"""Look before a round whether the result is still true."""
_EXISTS_LOOK_COST: Final = _ALL_LOOK_COST + CALL_COST
"""The same, with a negation."""
_COUNT_COST: Final = CALL_COST + IDENT_COST
"""`result + 1`, and `result == 1`."""


class Range(NamedTuple):
    """What a loop runs over, and the slots of its variables."""

    source: Code
    first: int
    second: int | None
    offset: int


class _Failure(NamedTuple):
    """What a bound name stands for if its value cannot be had."""

    error: EvaluationError


def binding(slot: int, result: Code, cost: int) -> Code:
    """A scope in which a name stands for a value that is not known yet, at a cost of its own."""
    finish = result.run

    def run(frame: Frame) -> Any:
        frame[slot] = MISSING
        return finish(frame)

    return Code(run, result.cost + cost)


def bound(slot: int, value: Code) -> Code:
    """A bound name. Its value is found out when it is first needed, and only then; so is the lack of one."""
    evaluate, cost = value

    def run(frame: Frame) -> Any:
        known = frame[slot]
        if known is MISSING:
            charge(frame, cost)
            try:
                known = evaluate(frame)
            except EvaluationError as error:
                frame[slot] = _Failure(absorb(error, None))
                raise
            frame[slot] = known
        elif type(known) is _Failure:
            raise known.error.with_traceback(None)  # or it would grow each time
        return known

    return Code(run, IDENT_COST)


Rounds = Callable[[Frame], tuple[int, Iterable[Any]]]
"""Evaluates a range: how many rounds there are, and what each of them binds."""


def _rounds(range_: Range) -> tuple[Rounds, Callable[[Frame, Any], None] | None]:
    """The rounds of a loop, and how to bind the variables of one (None: the item goes to the first slot)."""
    evaluate, offset = range_.source.run, range_.offset
    if range_.second is None:

        def elements(frame: Frame) -> tuple[int, Iterable[Any]]:
            values = evaluate(frame)
            if type(values) is not list:
                values = _elements(values, offset)
            return len(values), values

        return elements, None
    first, second = range_.first, range_.second

    def pairs(frame: Frame) -> tuple[int, Iterable[Any]]:
        return _pairs(evaluate(frame), offset)

    def bind(frame: Frame, pair: tuple[Any, Any]) -> None:
        frame[first], frame[second] = pair

    return pairs, bind


def _elements(values: Any, offset: int) -> Sequence[Any]:
    if isinstance(values, dict):
        return [key_value(key) for key in values]
    if isinstance(values, list | tuple):
        return values
    raise EvaluationError(ErrorKind.NO_SUCH_OVERLOAD, "unsupported comprehension range type", offset)


def _pairs(values: Any, offset: int) -> tuple[int, Iterable[tuple[Any, Any]]]:
    if isinstance(values, dict):
        return len(values), [(key_value(key), value) for key, value in values.items()]
    elements = _elements(values, offset)
    return len(elements), enumerate(elements)


def quantifier(range_: Range, predicate: Code, decisive: bool) -> Code:
    """`all` and `exists`: like a long `&&` or `||`, errors included."""
    rounds, bind = _rounds(range_)
    slot, offset, test, indecisive = range_.first, range_.offset, predicate.run, not decisive
    look_cost = _EXISTS_LOOK_COST if decisive else _ALL_LOOK_COST
    cost = look_cost + IDENT_COST + predicate.cost

    def run(frame: Frame) -> Any:
        failure: EvaluationError | None = None
        items = iter(rounds(frame)[1])
        for item in items:
            frame[0] -= cost
            if frame[0] < 0:
                raise budget_exceeded()
            if bind is None:
                frame[slot] = item
            else:
                bind(frame, item)
            try:
                value = test(frame)
            except EvaluationError as error:
                failure = absorb(error, failure)
                continue
            if value is decisive:
                if next(items, MISSING) is not MISSING:
                    frame[0] -= look_cost
                return decisive
            if value is not indecisive and failure is None:
                failure = no_such_overload(offset)
        if failure is not None:
            raise failure
        return indecisive

    return Code(run, range_.source.cost + IDENT_COST)


def count(range_: Range, predicate: Code) -> Code:
    """`exists_one`: looks at all elements, and lets errors out."""
    rounds, bind = _rounds(range_)
    slot, test, cost = range_.first, _test(predicate, range_.offset), predicate.cost

    def run(frame: Frame) -> bool:
        size, items = rounds(frame)
        charge(frame, size * cost)
        passed = 0
        for item in items:
            if bind is None:
                frame[slot] = item
            else:
                bind(frame, item)
            if test(frame):
                frame[0] -= _COUNT_COST
                passed += 1
        return passed == 1

    return Code(run, range_.source.cost + _COUNT_COST)


def _test(predicate: Code, offset: int) -> Callable[[Frame], bool]:
    evaluate = predicate.run

    def test(frame: Frame) -> bool:
        value = evaluate(frame)
        if value is True or value is False:
            return value
        raise no_such_overload(offset)

    return test


def collection(range_: Range, condition: Code | None, element: Code) -> Code:
    """`map`, `filter` and `transformList`."""
    run = _collect_all(range_, element) if condition is None else _collect_some(range_, condition, element)
    return Code(run, range_.source.cost + LIST_COST + IDENT_COST)


def _collect_all(range_: Range, element: Code) -> Callable[[Frame], list[Any]]:
    rounds, bind = _rounds(range_)
    slot, evaluate, cost = range_.first, element.run, element.cost + _APPEND_COST

    def run(frame: Frame) -> list[Any]:
        size, items = rounds(frame)
        charge(frame, size * cost)
        collected = []
        for item in items:
            if bind is None:
                frame[slot] = item
            else:
                bind(frame, item)
            collected.append(evaluate(frame))
        return collected

    return run


def _collect_some(range_: Range, condition: Code, element: Code) -> Callable[[Frame], list[Any]]:
    rounds, bind = _rounds(range_)
    slot, test, evaluate = range_.first, _test(condition, range_.offset), element.run
    test_cost, cost = condition.cost, element.cost + _APPEND_COST

    def run(frame: Frame) -> list[Any]:
        size, items = rounds(frame)
        charge(frame, size * test_cost)
        collected = []
        for item in items:
            if bind is None:
                frame[slot] = item
            else:
                bind(frame, item)
            if test(frame):
                charge(frame, cost)
                collected.append(evaluate(frame))
        return collected

    return run


def insertion(range_: Range, condition: Code | None, key: Code | None, value: Code) -> Code:
    """`transformMap` and `transformMapEntry`."""
    rounds, bind = _rounds(range_)
    slot, offset, evaluate = range_.first, range_.offset, value.run
    evaluate_key = None if key is None else key.run
    test = None if condition is None else _test(condition, offset)
    test_cost = 0 if condition is None else condition.cost
    cost = _INSERT_COST + value.cost + (0 if key is None else key.cost)

    def run(frame: Frame) -> dict[Any, Any]:
        size, items = rounds(frame)
        charge(frame, size * test_cost)
        built: dict[Any, Any] = {}
        for item in items:
            if bind is None:
                frame[slot] = item
            else:
                bind(frame, item)
            if test is None or test(frame):
                charge(frame, cost)
                _insert(
                    built, None if evaluate_key is None else (evaluate_key(frame),), evaluate(frame), offset
                )
        return built

    return Code(run, range_.source.cost + MAP_COST + IDENT_COST)


def _insert(built: dict[Any, Any], key: tuple[Any] | None, value: Any, offset: int) -> None:
    try:
        if key is not None:
            insert(built, key[0], value)
        elif isinstance(value, dict):
            insert_all(built, value)
        else:
            raise no_such_overload(offset)
    except EvaluationError as error:
        error.offset = offset
        raise


class Parts(NamedTuple):
    """A fold like no other."""

    accumulator: int
    initial: Code
    condition: Code
    step: Code
    result: Code


def fold(range_: Range, parts: Parts) -> Code:
    """The loop that a comprehension literally describes."""
    rounds, bind = _rounds(range_)
    slot, accumulator, cost = range_.first, parts.accumulator, parts.condition.cost + parts.step.cost

    def run(frame: Frame) -> Any:
        items = rounds(frame)[1]
        frame[accumulator] = parts.initial.run(frame)
        for item in items:
            charge(frame, cost)
            if bind is None:
                frame[slot] = item
            else:
                bind(frame, item)
            if parts.condition.run(frame) is not True:
                break
            frame[accumulator] = parts.step.run(frame)
        return parts.result.run(frame)

    return Code(run, range_.source.cost + parts.initial.cost + parts.result.cost)
