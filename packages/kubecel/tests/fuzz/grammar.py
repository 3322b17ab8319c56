"""Random expressions that mostly make sense.

The generator knows what the environment declares: it picks an overload whose result can be what is wanted, and goes on
with the parameters. A function that is added to a library is therefore in the expressions the same day. Now and then
it takes something of another type, hides a type behind `dyn`, or reaches for data that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from kubecel import types
from kubecel.checker.unify import Substitution
from kubecel.environment import Environment
from kubecel.functions import Overload
from kubecel.types import DYN, Kind, Type
from packages.kubecel.tests.fuzz.material import LITERALS, OPAQUES, PATHS, TEXTS

Scope = Mapping[str, Type]

_PLAIN: Final = (
    *(types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES),
    *(types.TIMESTAMP, types.DURATION, types.NULL),
)
_WANTED: Final = (
    *(*_PLAIN, *(types.list_of(kind) for kind in _PLAIN)),
    *(types.map_of(types.STRING, DYN), types.TYPE, DYN),
)
_TWO_VARIABLES: Final = ("all", "exists", "existsOne")
_NOT_FOR_USERS: Final = frozenset({"_?._", "_?_:_"})
"""Operators that the generator writes in another way; beside those with an `@` in their names."""


class Grammar:
    """What an environment offers, sorted by what comes out of it."""

    def __init__(self, environment: Environment) -> None:
        self.has_bindings = any(name == "bind" for name, _, _ in environment._vocabulary.macros)
        self._all = [
            (name, overload)
            for name, overloads in environment._vocabulary.functions.items()
            if name not in _NOT_FOR_USERS and (name == "@in" or "@" not in name)
            for overload in overloads
        ]
        opaque = {overload.result for _, overload in self._all if overload.result.kind is Kind.OPAQUE}
        self.types = (*_WANTED, *sorted(opaque, key=str))
        self._by_result: dict[Type, dict[str, list[Overload]]] = {}

    def makers(self, wanted: Type) -> dict[str, list[Overload]]:
        """The overloads whose result can be of a type, by function."""
        if wanted not in self._by_result:
            found = self._by_result[wanted] = {}
            for name, overload in self._all:
                if Substitution().assignable(overload.result, wanted):
                    found.setdefault(name, []).append(overload)
        return self._by_result[wanted]


class Generator:
    """Writes expressions."""

    def __init__(self, grammar: Grammar, random: Random) -> None:
        self._grammar = grammar
        self._random = random

    def expression(self) -> str:
        return self.of(self.wanted(), self._random.randint(1, 5), {})

    def wanted(self) -> Type:
        return self._random.choice(self._grammar.types)

    def of(self, wanted: Type, depth: int, scope: Scope) -> str:
        """An expression of a type."""
        chance = self._random.random()
        if chance < 0.03:
            wanted = self.wanted()
        if depth <= 0 or chance < 0.15:
            return self._leaf(wanted, scope)
        if chance < 0.2:
            return f"dyn({self.of(wanted, depth - 1, scope)})"
        if chance < 0.25:
            parts = (types.BOOL, wanted, wanted)
            condition, yes, no = (f"({self.of(part, depth - 1, scope)})" for part in parts)
            return f"{condition} ? {yes} : {no}"
        if chance < 0.45:
            return self._macro(wanted, depth - 1, scope)
        if chance < 0.55 and wanted.kind in (Kind.LIST, Kind.MAP, Kind.OPTIONAL):
            return self._container(wanted, depth - 1, scope)
        return self._call(wanted, depth - 1, scope)

    # --- leaves --------------------------------------------------------------------------------------------------

    def _leaf(self, wanted: Type, scope: Scope) -> str:
        fitting = [name for name, kind in scope.items() if kind == wanted or DYN in (kind, wanted)]
        if fitting and self._random.random() < 0.7:
            return self._random.choice(fitting)
        if self._random.random() < 0.15:
            return self._random.choice(PATHS)
        match wanted.kind:
            case Kind.STRING:
                return f'"{self._random.choice(TEXTS)}"'
            case Kind.LIST | Kind.MAP | Kind.OPTIONAL:
                return self._container(wanted, 0, scope)
            case Kind.OPAQUE if wanted.name in OPAQUES:
                return self._random.choice(OPAQUES[wanted.name])
            case kind if kind in LITERALS:
                return self._random.choice(LITERALS[kind])
        return self._random.choice(PATHS)

    def _container(self, wanted: Type, depth: int, scope: Scope) -> str:
        count = self._random.randint(0, 3)
        if wanted.kind is Kind.OPTIONAL:
            filled = f"optional.of({self.of(wanted.params[0], depth, scope)})"
            return filled if count else "optional.none()"
        if wanted.kind is Kind.LIST:
            return f"[{', '.join(self._element(wanted.params[0], depth, scope) for _ in range(count))}]"
        key, value = wanted.params
        entries = [f"{self.of(key, 0, scope)}: {self.of(value, depth, scope)}" for _ in range(count)]
        return f"{{{', '.join(entries)}}}"

    def _element(self, wanted: Type, depth: int, scope: Scope) -> str:
        if self._random.random() < 0.1:
            return f"?{self.of(types.optional_of(wanted), depth, scope)}"
        return self.of(wanted, depth, scope)

    # --- calls ---------------------------------------------------------------------------------------------------

    def _call(self, wanted: Type, depth: int, scope: Scope) -> str:
        """A call that has the type, for suitable arguments."""
        makers = self._grammar.makers(wanted)
        if not makers:
            return self._leaf(wanted, scope)
        name = self._random.choice(list(makers))
        overload = self._random.choice(makers[name])
        known = Substitution()
        known.assignable(overload.result, wanted)
        params = [self._concrete(known.apply(param)) for param in overload.params]
        return self._written(name, overload, [self.of(param, depth, scope) for param in params])

    def _concrete(self, subject: Type) -> Type:
        """Without parameters: one that nothing is known of may be anything."""
        if subject.kind is Kind.PARAM:
            return self._random.choice(_PLAIN)
        if not subject.params:
            return subject
        return Type(subject.kind, subject.name, tuple(map(self._concrete, subject.params)))

    def _written(self, name: str, overload: Overload, arguments: Sequence[str]) -> str:
        if name == "@in":
            return f"({arguments[0]}) in ({arguments[1]})"
        if name in ("!_", "-_"):
            return f"{name[0]}({arguments[0]})"
        if name in ("_[_]", "_[?_]"):
            return f"({arguments[0]}){name[1:-2]}{arguments[1]}]"
        if name.startswith("_"):
            return f"({arguments[0]}) {name.strip('_')} ({arguments[1]})"
        if overload.member:
            return f"({arguments[0]}).{name}({', '.join(arguments[1:])})"
        return f"{name}({', '.join(arguments)})"

    # --- macros --------------------------------------------------------------------------------------------------

    def _macro(self, wanted: Type, depth: int, scope: Scope) -> str:
        if self._grammar.has_bindings and self._random.random() < 0.2:
            return self._binding(wanted, depth, scope)
        match wanted.kind:
            case Kind.BOOL:
                return self._question(depth, scope)
            case Kind.LIST:
                return self._list_macro(wanted.params[0], depth, scope)
            case Kind.MAP:
                return self._map_macro(wanted, depth, scope)
            case Kind.OPTIONAL:
                return self._optional_macro(wanted, depth, scope)
        return self._call(wanted, depth, scope)

    def _name(self, scope: Scope) -> str:
        """Mostly a new name, sometimes one that hides another."""
        return self._random.choice(("x", "y", f"v{len(scope)}", f"w{len(scope)}"))

    def _binding(self, wanted: Type, depth: int, scope: Scope) -> str:
        name, kind = self._name(scope), self.wanted()
        bound = self.of(kind, depth, scope)
        return f"cel.bind({name}, {bound}, {self.of(wanted, depth, {**scope, name: kind})})"

    def _question(self, depth: int, scope: Scope) -> str:
        if self._random.random() < 0.2:
            return f"has({self._random.choice(PATHS)}.name)"
        name, element = self._name(scope), self._random.choice(_PLAIN)
        ranged = self.of(types.list_of(element), depth, scope)
        if self._random.random() < 0.4:
            inner = {**scope, "i": types.INT, name: element}
            macro = self._random.choice(_TWO_VARIABLES)
            return f"({ranged}).{macro}(i, {name}, {self.of(types.BOOL, depth, inner)})"
        macro = self._random.choice((*_TWO_VARIABLES, "exists_one"))
        return f"({ranged}).{macro}({name}, {self.of(types.BOOL, depth, {**scope, name: element})})"

    def _list_macro(self, wanted: Type, depth: int, scope: Scope) -> str:
        name, element = self._name(scope), self._random.choice(_PLAIN)
        inner = {**scope, name: element}
        ranged = self.of(types.list_of(element), depth, scope)
        condition = self.of(types.BOOL, depth, inner)
        made = self.of(wanted, depth, inner)
        key = self.of(self._random.choice(_PLAIN), depth, {**scope, name: wanted})
        same = self.of(types.list_of(wanted), depth, scope)
        return self._random.choice(
            (
                f"({ranged}).map({name}, {made})",
                f"({ranged}).map({name}, {condition}, {made})",
                f"({same}).filter({name}, {condition})",
                f"({same}).sortBy({name}, {key})",
                f"({ranged}).transformList(i, {name}, {made})",
                f"({ranged}).transformList(i, {name}, {condition}, {made})",
            )
        )

    def _map_macro(self, wanted: Type, depth: int, scope: Scope) -> str:
        name, (key, value) = self._name(scope), wanted.params
        inner = {**scope, name: value, "k": key}
        ranged = self.of(wanted, depth, scope)
        made = self.of(value, depth, inner)
        entry = f"{{{self.of(key, 0, inner)}: {made}}}"
        return self._random.choice(
            (
                f"({ranged}).transformMap(k, {name}, {made})",
                f"({ranged}).transformMap(k, {name}, {self.of(types.BOOL, depth, inner)}, {made})",
                f"({ranged}).transformMapEntry(k, {name}, {entry})",
            )
        )

    def _optional_macro(self, wanted: Type, depth: int, scope: Scope) -> str:
        name, element = self._name(scope), self._random.choice(_PLAIN)
        inner = {**scope, name: element}
        target = self.of(types.optional_of(element), depth, scope)
        if self._random.random() < 0.5:
            return f"({target}).optFlatMap({name}, {self.of(wanted, depth, inner)})"
        return f"({target}).optMap({name}, {self.of(wanted.params[0], depth, inner)})"
