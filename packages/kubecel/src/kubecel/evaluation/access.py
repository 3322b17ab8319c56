"""Variables, fields, elements and presence.

A chain of fields (`schema.spec.name`) is one closure that tries plain subscripts, which succeed if everything on the way
is a map that has the field. Only if Python objects, the chain is walked again step by step to find out what it means:
an optional, a missing field, or a value without fields. No other value of an expression can be subscripted by a string.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from kubecel.errors import ErrorKind, EvaluationError
from kubecel.evaluation.code import IDENT_COST, SELECT_COST, Code, Frame, Run
from kubecel.standard.indexing import MISSING, find_optional, has_field, index_value, select_field

Step: TypeAlias = tuple[str, int]
"""A field, and the offset of the selection."""

_OBJECTIONS: Final = (KeyError, TypeError)
"""What Python says where a plain subscript does not do."""


def variable(name: str, slot: int, offset: int) -> Code:
    """A variable of the environment, which the caller may have failed to provide."""

    def run(frame: Frame) -> Any:
        value = frame[slot]
        if value is MISSING:
            raise _no_such_attribute(name, offset)
        return value

    return Code(run, IDENT_COST)


def local(slot: int) -> Code:
    """A variable that a macro has introduced."""
    return Code(lambda frame: frame[slot], IDENT_COST)


def _no_such_attribute(name: str, offset: int) -> EvaluationError:
    return EvaluationError(ErrorKind.NO_SUCH_ATTRIBUTE, f"no such attribute(s): {name}", offset)


def path_of_slot(name: str, slot: int, steps: tuple[Step, ...]) -> Code:
    """Fields below a variable."""
    fields = _follow(steps)

    def walk(frame: Frame) -> Any:
        value = frame[slot]
        if value is MISSING:
            raise _no_such_attribute(name, steps[0][1])
        return fields(value)

    return Code(
        _read_slot(slot, tuple(field for field, _ in steps), walk), IDENT_COST + SELECT_COST * len(steps)
    )


def path_of_value(root: Code, steps: tuple[Step, ...]) -> Code:
    """Fields below any other expression."""
    fields = _follow(steps)
    evaluate, keys = root.run, tuple(field for field, _ in steps)

    def read(frame: Frame) -> Any:
        value = found = evaluate(frame)
        try:
            for key in keys:
                found = found[key]
        except _OBJECTIONS:
            return fields(value)
        return found

    return Code(read, root.cost + SELECT_COST * len(steps))


def _follow(steps: tuple[Step, ...]) -> Callable[[Any], Any]:
    """The way through the fields of a value, with regard for everything that may be met."""

    def follow(value: Any) -> Any:
        for field, offset in steps:
            try:
                value = select_field(value, field)
            except EvaluationError as error:
                error.offset = offset
                raise
        return value

    return follow


def _read_slot(slot: int, keys: tuple[str, ...], walk: Run) -> Run:
    """Up to three fields are written out; more are a loop."""
    if len(keys) == 1:
        return _read_one(slot, keys[0], walk)
    if len(keys) == 2:
        return _read_two(slot, keys, walk)
    if len(keys) == 3:
        return _read_three(slot, keys, walk)

    def read_many(frame: Frame) -> Any:
        value = frame[slot]
        try:
            for key in keys:
                value = value[key]
        except _OBJECTIONS:
            return walk(frame)
        return value

    return read_many


def _read_one(slot: int, key: str, walk: Run) -> Run:
    def read_one(frame: Frame) -> Any:
        try:
            return frame[slot][key]
        except _OBJECTIONS:
            return walk(frame)

    return read_one


def _read_two(slot: int, keys: tuple[str, ...], walk: Run) -> Run:
    first, second = keys

    def read_two(frame: Frame) -> Any:
        try:
            return frame[slot][first][second]
        except _OBJECTIONS:
            return walk(frame)

    return read_two


def _read_three(slot: int, keys: tuple[str, ...], walk: Run) -> Run:
    first, second, third = keys

    def read_three(frame: Frame) -> Any:
        try:
            return frame[slot][first][second][third]
        except _OBJECTIONS:
            return walk(frame)

    return read_three


def presence(operand: Code, field: str) -> Code:
    """`has(operand.field)`."""
    evaluate = operand.run

    def run(frame: Frame) -> bool:
        value = evaluate(frame)
        return field in value if type(value) is dict else has_field(value, field)

    return Code(run, operand.cost + SELECT_COST)


def element(container: Code, key: Code, offset: int) -> Code:
    """`container[key]`."""
    evaluate_container, evaluate_key = container.run, key.run

    def run(frame: Frame) -> Any:
        value, index = evaluate_container(frame), evaluate_key(frame)
        if type(value) is list and type(index) is int and 0 <= index < len(value):
            return value[index]
        return _locating(index_value, value, index, offset)

    return Code(run, container.cost + key.cost + SELECT_COST)


def optional_element(container: Code, key: Code, offset: int) -> Code:
    """`container[?key]` and `container.?key`."""
    evaluate_container, evaluate_key = container.run, key.run

    def run(frame: Frame) -> Any:
        return _locating(find_optional, evaluate_container(frame), evaluate_key(frame), offset)

    return Code(run, container.cost + key.cost + SELECT_COST)


def _locating(find: Callable[[Any, Any], Any], container: Any, key: Any, offset: int) -> Any:
    try:
        return find(container, key)
    except EvaluationError as error:
        error.offset = offset
        raise
