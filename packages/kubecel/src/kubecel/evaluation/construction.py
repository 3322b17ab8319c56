"""Lists and maps that are written out in the expression."""

from __future__ import annotations

from typing import Any

from kubecel.errors import ErrorKind, EvaluationError, no_such_overload
from kubecel.evaluation.code import LIST_COST, MAP_COST, Code, Frame
from kubecel.standard.mapping import checked_key
from kubecel.values import Optional


def list_of(elements: list[Code], optional: frozenset[int], offset: int) -> Code:
    """`[a, ?b]`."""
    cost = LIST_COST + sum(element.cost for element in elements)
    evaluations = [element.run for element in elements]
    if not optional:
        return Code(lambda frame: [evaluate(frame) for evaluate in evaluations], cost)
    marked = [(evaluate, index in optional) for index, evaluate in enumerate(evaluations)]

    def run(frame: Frame) -> list[Any]:
        values = []
        for evaluate, is_optional in marked:
            value = evaluate(frame)
            if not is_optional:
                values.append(value)
            elif _require_optional(value, offset).present:
                values.append(value.value)
        return values

    return Code(run, cost)


def map_of(entries: list[tuple[Code, Code, bool]], offset: int) -> Code:
    """`{key: value, ?key: value}`."""
    cost = MAP_COST + sum(key.cost + value.cost for key, value, _ in entries)
    evaluations = [(key.run, value.run, is_optional) for key, value, is_optional in entries]

    def run(frame: Frame) -> dict[Any, Any]:
        built: dict[Any, Any] = {}
        for evaluate_key, evaluate_value, is_optional in evaluations:
            key, value = evaluate_key(frame), evaluate_value(frame)
            if type(key) is not str:
                key = _checked(key, offset)
            if is_optional:
                if not _require_optional(value, offset).present:
                    continue
                value = value.value
            if key in built:
                raise EvaluationError(ErrorKind.DUPLICATE_KEY, f"Failed with repeated key: {key}", offset)
            built[key] = value
        return built

    return Code(run, cost)


def _checked(key: Any, offset: int) -> Any:
    try:
        return checked_key(key)
    except EvaluationError as error:
        error.offset = offset
        raise


def _require_optional(value: Any, offset: int) -> Optional:
    if not isinstance(value, Optional):
        raise no_such_overload(offset)
    return value


def unknown_type(name: str, offset: int) -> Code:
    """A message. There are no message types here, so only expressions that were not checked have one."""

    def run(_: Frame) -> Any:
        raise EvaluationError(ErrorKind.NO_SUCH_OVERLOAD, f"unknown type: {name}", offset)

    return Code(run, MAP_COST)
