"""What a macro is: a call that the parser replaces by another expression.

A macro is chosen by name, shape (`target.name(…)` or `name(…)`) and number of arguments, before anything is known about
types. It builds its replacement with a `Builder`, which numbers the new nodes and places them where the call stands.
Where the arguments do not fit, it either raises what `builder.error` returns (`map(1, x)`: not a name) or returns None,
which leaves the call as it is (`cel.bind` is one only if the target is the name `cel`).

An argument must occur at most once in the replacement, else nested calls would grow exponentially: `bind` it to a name.

The macros of the language itself are in `kubecel.standard_macros`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from kubecel.errors import CompileError
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


class Builder(Protocol):
    """Makes nodes at the place of the call that is being expanded."""

    def literal(self, value: Any) -> Literal: ...

    def ident(self, name: str) -> Ident: ...

    def select(self, operand: Expr, field: str, *, test: bool = False) -> Select: ...

    def call(self, function: str, *args: Expr) -> Call: ...

    def member(self, target: Expr, function: str, *args: Expr) -> Call: ...

    def list(self, *elements: Expr) -> ListLiteral: ...

    def map(self, *entries: Entry) -> MapLiteral: ...

    def entry(self, key: Expr, value: Expr) -> Entry: ...

    def fold(self, fold: Fold) -> Comprehension: ...

    def bind(self, name: str, value: Expr, result: Expr) -> Comprehension:
        """`result`, in which `name` stands for `value`: for macros that use an argument twice."""
        ...

    def error(self, node: Expr, message: str) -> CompileError: ...


@dataclass(frozen=True, slots=True)
class Fold:
    """The parts of a comprehension, as in `syntax.Comprehension`."""

    range: Expr
    variable: str
    initial: Expr
    condition: Expr
    step: Expr
    result: Expr
    second: str | None = None
    accumulator: str = "@result"


@dataclass(frozen=True, slots=True)
class Macro:
    """A name with the expansion of calls of that name."""

    name: str
    arity: int | None
    """Number of arguments, not counting the target; None: any number."""
    expand: Callable[[Builder, Expr | None, tuple[Expr, ...]], Expr | None]
    """From target (None for global macros) and arguments to the replacement, or None to leave the call alone."""
    member: bool = True
