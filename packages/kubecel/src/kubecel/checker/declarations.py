"""What the checker must know of an environment: variables, functions, and how strict to be.

Function tables are large and shared by all environments that extend one another; variables are few and change with each
extension. `Declarations.extend` therefore copies variables only and keeps what has been worked out about functions: the
overloads by name and style, and the outcome of calls with plain argument types, which most calls are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kubecel.checker.checked import Validator
from kubecel.functions import Overload
from kubecel.types import Kind, Type

_ANY_KIND = frozenset({Kind.PARAM, Kind.DYN, Kind.ERROR, Kind.NULL})
"""Kinds that may go with a parameter of another kind."""

CROSS_TYPE_COMPARISONS: Final = frozenset(
    f"{relation}_{left}_{right}"
    for relation in ("less", "less_equals", "greater", "greater_equals")
    for left in ("int64", "uint64", "double")
    for right in ("int64", "uint64", "double")
    if left != right
)
"""Overloads such as `less_int64_double`: comparisons of numbers of different types."""


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Where environments differ in strictness."""

    cross_type_comparisons: bool = False
    """Whether numbers of different static types may be compared by `<` and its like."""
    validators: tuple[Validator, ...] = ()
    """What else is asked of expressions, in this order."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An overload with what the checker looks at first."""

    overload: Overload
    parameters: tuple[str, ...]
    """Names of its type parameters."""
    cross_type: bool

    def may_take(self, arguments: Sequence[Type]) -> bool:
        """A quick no to most overloads that do not match; a yes means little."""
        params = self.overload.params
        if len(params) != len(arguments):
            return False
        for argument, parameter in zip(arguments, params, strict=True):
            kind = argument.kind
            if kind is not parameter.kind and kind not in _ANY_KIND and parameter.kind not in _ANY_KIND:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call resolves to."""

    overloads: tuple[Overload, ...]
    result: Type


class FunctionTable:
    """All functions of an environment, prepared for look-up."""

    __slots__ = ("_candidates", "_functions", "outcomes")

    def __init__(self, functions: Mapping[str, Sequence[Overload]]) -> None:
        self._functions = functions
        self._candidates: dict[tuple[str, bool], tuple[Candidate, ...]] = {}
        self.outcomes: dict[tuple[object, ...], Outcome] = {}
        """By name, style and argument types: what a call with plain arguments resolves to."""

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def candidates(self, name: str, *, member: bool) -> tuple[Candidate, ...]:
        """The overloads of a name that are called in this style."""
        key = (name, member)
        found = self._candidates.get(key)
        if found is None:
            overloads = self._functions.get(name)
            if overloads is None:
                return ()  # not remembered: expressions can make up any number of names
            found = tuple([_candidate(overload) for overload in overloads if overload.member == member])
            self._candidates[key] = found
        return found


class Declarations:
    """The names that an expression may use."""

    __slots__ = ("constants", "dotted_roots", "functions", "options", "variables")

    def __init__(
        self,
        functions: FunctionTable,
        variables: Mapping[str, Type] | None = None,
        constants: Mapping[str, tuple[Type, Any]] | None = None,
        options: CheckOptions | None = None,
    ) -> None:
        self.functions: Final = functions
        self.variables: Final[Mapping[str, Type]] = variables or {}
        self.constants: Final[Mapping[str, tuple[Type, Any]]] = constants or {}
        self.options: Final = options or CheckOptions()
        self.dotted_roots: Final = _dotted_roots(self.variables) | _dotted_roots(self.constants)
        """First parts of names with dots: only below these can a selection be a name."""

    def extend(self, variables: Mapping[str, Type]) -> Declarations:
        """The same with more variables, or others."""
        return Declarations(self.functions, {**self.variables, **variables}, self.constants, self.options)

    def lookup(self, name: str) -> Type | None:
        """The type of a variable or constant."""
        found = self.variables.get(name)
        if found is None and (constant := self.constants.get(name)) is not None:
            return constant[0]
        return found


def _candidate(overload: Overload) -> Candidate:
    names: dict[str, None] = {}
    for subject in (*overload.params, overload.result):
        _collect_parameters(subject, names)
    return Candidate(overload, tuple(names), overload.id in CROSS_TYPE_COMPARISONS)


def _collect_parameters(subject: Type, names: dict[str, None]) -> None:
    if subject.kind is Kind.PARAM:
        names[subject.name] = None
    elif subject.generic:
        for inner in subject.params:
            _collect_parameters(inner, names)


def _dotted_roots(names: Mapping[str, object]) -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in names if "." in name)
