"""Type parameters and what they stand for: when one type may be used as another, and what that says about both.

The rules are cel-go's. Assignability is almost symmetric: `dyn` goes with everything in both directions, null with
everything that is not a plain value or container, and a parameter takes the first type it meets, widened later to the
more general of two types that go together. An attempt that fails leaves no trace.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubecel.types import DYN, Kind, Type

_PARAM = Kind.PARAM
_WILD = frozenset({Kind.DYN, Kind.ERROR})
_COMPOSED = frozenset({Kind.LIST, Kind.MAP, Kind.OPTIONAL, Kind.OPAQUE})
_NULLABLE = frozenset({Kind.NULL, Kind.OPTIONAL, Kind.OPAQUE, Kind.OBJECT, Kind.DURATION, Kind.TIMESTAMP})


class Substitution:
    """What is known so far of the type parameters of one expression."""

    __slots__ = ("_bindings", "_trail")

    def __init__(self) -> None:
        self._bindings: dict[str, Type] = {}
        self._trail: list[tuple[str, Type | None]] = []
        """Bindings as they were before each change, for taking back a failed attempt."""

    def assignable(self, given: Type, wanted: Type) -> bool:
        """Whether `given` may be used as `wanted`; if so, learn from it."""
        if given is wanted:
            return True
        mark = len(self._trail)
        return self._assign(given, wanted) or self._undo(mark)

    def all_assignable(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        """The same for a list of arguments, as a whole."""
        mark = len(self._trail)
        return self._assign_all(given, wanted) or self._undo(mark)

    def apply(self, subject: Type) -> Type:
        """Replace the parameters that are known."""
        return self._apply(subject, to_dyn=False) if subject.generic else subject

    def settle(self, subject: Type) -> Type:
        """Replace all parameters: those of which nothing became known are `dyn`."""
        return self._apply(subject, to_dyn=True) if subject.generic else subject

    def _apply(self, subject: Type, *, to_dyn: bool) -> Type:
        while subject.kind is _PARAM:
            known = self._bindings.get(subject.name)
            if known is None:
                return DYN if to_dyn else subject
            subject = known
        if not subject.generic:
            return subject
        params = tuple([self._apply(param, to_dyn=to_dyn) for param in subject.params])
        return Type(subject.kind, subject.name, params)

    def _undo(self, mark: int) -> bool:
        while len(self._trail) > mark:
            name, before = self._trail.pop()
            if before is None:
                del self._bindings[name]
            else:
                self._bindings[name] = before
        return False

    def _bind(self, name: str, bound: Type) -> None:
        self._trail.append((name, self._bindings.get(name)))
        self._bindings[name] = bound

    def _assign_all(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        if len(given) != len(wanted):
            return False
        return all(self._assign(one, other) for one, other in zip(given, wanted, strict=True))

    def _assign(self, given: Type, wanted: Type) -> bool:
        if given is wanted:
            return True
        if wanted.kind is _PARAM:
            fits, settled = self._stands_for(given, wanted)
            if fits or settled:
                return fits
        if given.kind is _PARAM:
            return self._stands_for(wanted, given)[0]
        if given.kind in _WILD or wanted.kind in _WILD:
            return True
        if given.kind is Kind.NULL:
            return wanted.kind in _NULLABLE or wanted.nullable
        if wanted.kind is Kind.NULL:
            return given.kind in _NULLABLE or given.nullable
        if given.kind is not wanted.kind:
            return False
        if given.kind is Kind.TYPE:
            return True
        if given.name != wanted.name:
            return False
        return given.kind not in _COMPOSED or self._assign_all(given.params, wanted.params)

    def _stands_for(self, subject: Type, param: Type) -> tuple[bool, bool]:
        """Whether the parameter may stand for the type, and whether it already stood for one."""
        if subject.kind is _PARAM and subject.name == param.name:
            return True, True
        known = self._bindings.get(param.name)
        if known is None:
            if self._occurs(param, subject):
                return False, False
            self._bind(param.name, subject)
            return True, False
        if subject == known:
            return True, True
        if not self._assign(subject, known):
            return False, True
        wider = more_general(subject, known)
        if not self._occurs(param, wider):
            self._bind(param.name, wider)
        return True, True

    def _occurs(self, param: Type, within: Type) -> bool:
        """Whether a type is, or holds, the parameter: such a binding would never end."""
        while within.kind is _PARAM:
            if within.name == param.name:
                return True
            known = self._bindings.get(within.name)
            if known is None:
                return False
            within = known
        return within.generic and any(self._occurs(param, inner) for inner in within.params)


def more_general(one: Type, other: Type) -> Type:
    """Of two types that go together, the one which says less."""
    return one if _says_less(one, other) else other


def _says_less(one: Type, other: Type) -> bool:
    if one.kind is Kind.DYN or one.kind is _PARAM:
        return True
    if other.kind is Kind.DYN or other.kind is _PARAM:
        return False
    if one.kind is not other.kind:
        return False
    if one.kind is Kind.TYPE:
        return True
    if one.name != other.name or len(one.params) != len(other.params):
        return False
    return all(_says_less(mine, theirs) for mine, theirs in zip(one.params, other.params, strict=True))
