"""Makes the nodes of one syntax tree, with numbers that are unique in it."""

from __future__ import annotations

from typing import Any

from kubecel.errors import CompileError, Issue, locate
from kubecel.limits import Limits
from kubecel.macros import Fold
from kubecel.syntax import (
    Call,
    Comprehension,
    Entry,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
)

UNUSED = "#unused"
"""Name of the variable of a loop that never runs."""


class Numbers:
    """Counts the nodes of a tree, and refuses to count for ever."""

    __slots__ = ("_limit", "_source", "count")

    def __init__(self, source: str, limits: Limits) -> None:
        self._source = source
        self._limit = limits.nodes
        self.count = 0

    def next(self) -> int:
        self.count += 1
        if self.count > self._limit:
            raise self.error(f"expression has more than {self._limit} nodes", None)
        return self.count

    def error(self, message: str, offset: int | None) -> CompileError:
        position = None if offset is None else locate(self._source, offset)
        return CompileError([Issue(message, position)])


class TreeBuilder:
    """The `Builder` of `kubecel.macros`: all nodes are placed at one offset."""

    __slots__ = ("_numbers", "offset")

    def __init__(self, numbers: Numbers, offset: int) -> None:
        self._numbers = numbers
        self.offset = offset

    def literal(self, value: Any) -> Literal:
        return Literal(self._numbers.next(), self.offset, value)

    def ident(self, name: str) -> Ident:
        return Ident(self._numbers.next(), self.offset, name)

    def select(self, operand: Expr, field: str, *, test: bool = False) -> Select:
        return Select(self._numbers.next(), self.offset, operand, field, test)

    def call(self, function: str, *args: Expr) -> Call:
        return Call(self._numbers.next(), self.offset, function, None, args)

    def member(self, target: Expr, function: str, *args: Expr) -> Call:
        return Call(self._numbers.next(), self.offset, function, target, args)

    def list(self, *elements: Expr) -> ListLiteral:
        return ListLiteral(self._numbers.next(), self.offset, elements)

    def map(self, *entries: Entry) -> MapLiteral:
        return MapLiteral(self._numbers.next(), self.offset, entries)

    def entry(self, key: Expr, value: Expr) -> Entry:
        return Entry(self._numbers.next(), self.offset, key, value)

    def fold(self, fold: Fold) -> Comprehension:
        return Comprehension(
            self._numbers.next(),
            self.offset,
            fold.range,
            fold.variable,
            fold.second,
            fold.accumulator,
            fold.initial,
            fold.condition,
            fold.step,
            fold.result,
        )

    def bind(self, name: str, value: Expr, result: Expr) -> Comprehension:
        """A loop over nothing, whose accumulator is the name: it starts as the value and so it stays."""
        return self.fold(
            Fold(self.list(), UNUSED, value, self.literal(False), self.ident(name), result, accumulator=name)
        )

    def error(self, node: Expr, message: str) -> CompileError:
        return self._numbers.error(message, node.offset)
