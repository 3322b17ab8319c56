"""Short forms for declaring overloads with their costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from kubecel.functions import Function, Overload
from kubecel.sizes import EstimateRule
from kubecel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    param,
)

T: Final = param("T")
LIST_OF_T: Final = list_of(T)
LIST_OF_STRINGS: Final = list_of(STRING)

COMPARABLE: Final = {
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "bool": BOOL,
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    "string": STRING,
    "bytes": BYTES,
}
"""Types whose values have an order, by the names that overloads use."""

Implementation: TypeAlias = Callable[..., Any]
Cost: TypeAlias = Callable[..., int]


def on_call(
    name: str,
    params: tuple[Type, ...],
    result: Type,
    implementation: Implementation,
    cost: Cost | None = None,
    estimate: EstimateRule | None = None,
) -> Overload:
    """An overload that is called as a function: `name(arguments)`."""
    return Overload(name, params, result, implementation, cost=cost, estimate=estimate)


def on_target(
    name: str,
    params: tuple[Type, ...],
    result: Type,
    implementation: Implementation,
    cost: Cost | None = None,
    estimate: EstimateRule | None = None,
) -> Overload:
    """An overload that is called on a target, its first parameter: `target.name(arguments)`."""
    return Overload(name, params, result, implementation, member=True, cost=cost, estimate=estimate)


def function(name: str, *overloads: Overload) -> Function:
    return Function(name, overloads)
