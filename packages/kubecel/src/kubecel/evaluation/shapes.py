"""What a comprehension is for, found out from its parts.

Comprehensions are folds, and taken literally `map` would copy its list for every element. But there are only a handful of
folds that macros make, and each can run as the loop it stands for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from kubecel.building import UNUSED
from kubecel.standard_macros import MAP_INSERT
from kubecel.syntax import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Operator,
)


@dataclass(frozen=True, slots=True)
class Binding:
    """`cel.bind`: a name for a value."""


@dataclass(frozen=True, slots=True)
class Quantifier:
    """`all` (false is decisive) and `exists` (true is decisive)."""

    predicate: Expr
    decisive: bool


@dataclass(frozen=True, slots=True)
class Count:
    """`exists_one`: whether exactly one element passes."""

    predicate: Expr


@dataclass(frozen=True, slots=True)
class Collection:
    """`map`, `filter`, `transformList`: a list of what the elements become, of those that pass."""

    condition: Expr | None
    element: Expr


@dataclass(frozen=True, slots=True)
class Insertion:
    """`transformMap` (with a key) and `transformMapEntry` (the value is a map): a map of what the elements become."""

    condition: Expr | None
    key: Expr | None
    value: Expr


Shape: TypeAlias = Binding | Quantifier | Count | Collection | Insertion


def shape_of(node: Comprehension) -> Shape | None:
    """The shape of a comprehension; None if it is a fold like no other."""
    if node.variable == UNUSED and isinstance(node.range, ListLiteral) and not node.range.elements:
        return Binding()
    if node.accumulator != ACCUMULATOR:
        return None
    condition, step = _split(node.step)
    if not isinstance(step, Call) or not step.args or not _is_accumulator(step.args[0]):
        return None
    if condition is None and step.function in (Operator.AND, Operator.OR):
        return _quantifier(node, step)
    if step.function == Operator.ADD:
        return _sum(node, condition, step.args[1])
    if step.function == MAP_INSERT and isinstance(node.initial, MapLiteral) and not node.initial.entries:
        *key, value = step.args[1:]
        return Insertion(condition, key[0] if key else None, value)
    return None


def _quantifier(node: Comprehension, step: Call) -> Shape | None:
    decisive = step.function == Operator.OR
    if not isinstance(node.initial, Literal) or node.initial.value is decisive:
        return None
    return Quantifier(step.args[1], decisive)


def _sum(node: Comprehension, condition: Expr | None, addend: Expr) -> Shape | None:
    if isinstance(node.initial, ListLiteral) and isinstance(addend, ListLiteral):
        is_plain = not node.initial.elements and len(addend.elements) == 1 and not addend.optional
        return Collection(condition, addend.elements[0]) if is_plain else None
    is_count = isinstance(addend, Literal) and isinstance(node.result, Call)
    return Count(condition) if is_count and condition is not None else None


def _split(step: Expr) -> tuple[Expr | None, Expr]:
    """A step that leaves the accumulator alone unless a condition holds, as condition and step."""
    if isinstance(step, Call) and step.function == Operator.CONDITIONAL and _is_accumulator(step.args[2]):
        return step.args[0], step.args[1]
    return None, step


def _is_accumulator(node: Expr) -> bool:
    return isinstance(node, Ident) and node.name == ACCUMULATOR
