"""How functions are declared: names, overloads with their types, implementations and costs, bundled in libraries.

An environment is a sum of libraries. A function may be spread over several of them (`indexOf` of strings and of
lists): overloads of the same name add up.

Implementations are ordinary Python functions over the values of `kubecel.values`, called with as many positional
arguments as the overload has parameters (the target first, for members). They fail by raising `EvaluationError`.

Costs follow cel-go: a call costs 1 unless the overload has a `cost` function. It is called with the actual arguments
*before* the implementation runs, so that work beyond the budget is never begun.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubecel.macros import Macro
from kubecel.types import Type

STRING_TRAVERSAL_FACTOR = 0.1
"""Cost of looking at one code point …"""
_TRAVERSAL_LENGTH = 10
"""… which means that so many of them can be looked at for a cost of 1."""

REGEX_LENGTH_FACTOR = 0.25
"""Cost of one character of a pattern: an expression of a pattern is guessed to have four."""


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function. Types may hold parameters (`list(A)`), as in cel-go."""

    id: str
    params: tuple[Type, ...]
    result: Type
    implementation: Callable[..., Any]
    member: bool = False
    """Called as `target.name(…)`; the target is the first of `params`."""
    cost: Callable[..., int] | None = None
    """Run-time cost from the actual arguments; None means 1."""
    estimate: Any | None = None
    """Static cost rule for `kubecel.estimate`; None means 1."""


@dataclass(frozen=True, slots=True)
class Function:
    """All overloads which a library gives to a name. The name is qualified: `base64.encode`, `startsWith`, `_+_`."""

    name: str
    overloads: tuple[Overload, ...]


@dataclass(frozen=True, slots=True)
class Library:
    """Functions, macros and constants that belong together."""

    name: str
    functions: tuple[Function, ...] = ()
    macros: tuple[Macro, ...] = ()
    constants: Mapping[str, tuple[Type, Any]] = field(default_factory=dict)
    """By (qualified) name: type and value. The types themselves (`int`, `list`) are constants too."""


def traversal_cost(*sizes: int) -> int:
    """The cost of walking over strings, byte sequences or lists with these sizes."""
    return -(-sum(sizes) // _TRAVERSAL_LENGTH)
