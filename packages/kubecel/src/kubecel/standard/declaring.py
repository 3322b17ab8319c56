"""Short forms for declaring many overloads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubecel.functions import Function, Overload
from kubecel.types import Type, list_of, map_of, param

A: Final = param("A")
B: Final = param("B")
LIST_OF_A: Final = list_of(A)
MAP_OF_A_B: Final = map_of(A, B)

Implementation = Callable[..., Any]
Cost = Callable[..., int]


def overload(
    name: str,
    params: tuple[Type, ...],
    result: Type,
    implementation: Implementation,
    cost: Cost | None = None,
) -> Overload:
    """An overload that is called as a function."""
    return Overload(name, params, result, implementation, cost=cost)


def member(
    name: str,
    params: tuple[Type, ...],
    result: Type,
    implementation: Implementation,
    cost: Cost | None = None,
) -> Overload:
    """An overload that is called on a target."""
    return Overload(name, params, result, implementation, member=True, cost=cost)


def function(name: str, *overloads: Overload) -> Function:
    return Function(name, overloads)
