"""Choosing an overload at run time, by the classes of the arguments.

The checker knows overloads only as far as types are known; with `dyn` it is the values that decide. Looking at values is
also what makes an evaluation safe: an implementation is never called with anything but what it was declared for,
whatever a schema promised. The choice for given classes is made once and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kubecel.errors import no_such_overload
from kubecel.functions import Overload
from kubecel.types import Kind, Type
from kubecel.values import Value, type_of_class

_ANY = frozenset({Kind.DYN, Kind.PARAM, Kind.ERROR})


class Choice(NamedTuple):
    """What to call, and what that costs (None: what any call costs)."""

    implementation: Callable[..., Value]
    cost: Callable[..., int] | None


class Dispatcher:
    """The overloads of a function in one style and with one number of arguments."""

    __slots__ = ("_overloads", "ambiguous", "charges", "table")

    def __init__(self, overloads: Sequence[Overload]) -> None:
        self._overloads = tuple(overloads)
        self.charges = any(overload.cost is not None for overload in overloads)
        """Whether the cost of a call depends on its arguments."""
        self.ambiguous = _is_ambiguous(overloads)
        """Whether classes do not always decide, so that what the checker knows about the call is of use."""
        self.table: dict[Any, Choice] = {}
        """By class of the argument, or tuple of the classes of several."""

    def choose(self, key: Any, args: tuple[Value, ...]) -> Choice:
        """The overload for these arguments, kept under the key of their classes."""
        classes = [type(argument) for argument in args]
        candidates = [overload for overload in self._overloads if _accepts_classes(overload, classes)]
        if not candidates:
            raise no_such_overload()
        implementations = {overload.implementation for overload in candidates}
        choice = _choice(candidates[0]) if len(implementations) == 1 else _by_content(candidates)
        self.table[key] = choice
        return choice


def _is_ambiguous(overloads: Sequence[Overload]) -> bool:
    """Whether overloads that do different things take values of the same classes: lists of this and lists of that."""
    known: dict[tuple[tuple[Kind, str], ...], Callable[..., Value]] = {}
    for overload in overloads:
        shape = tuple([(param.kind, param.name) for param in overload.params])
        if known.setdefault(shape, overload.implementation) is not overload.implementation:
            return True
    return False


def _choice(overload: Overload) -> Choice:
    return Choice(overload.implementation, overload.cost)


def _by_content(candidates: list[Overload]) -> Choice:
    """Several overloads take a list, but lists of different things: the first element decides, each time."""

    def pick(args: tuple[Value, ...]) -> Overload:
        for overload in candidates:
            if all(_accepts(param, argument) for param, argument in zip(overload.params, args, strict=True)):
                return overload
        raise no_such_overload()

    def implementation(*args: Value) -> Value:
        return pick(args).implementation(*args)

    def cost(*args: Value) -> int:
        charged = pick(args).cost
        return 1 if charged is None else charged(*args)

    return Choice(implementation, cost if any(overload.cost for overload in candidates) else None)


def _accepts_classes(overload: Overload, classes: list[type]) -> bool:
    return all(_accepts_class(param, kind) for param, kind in zip(overload.params, classes, strict=True))


def _accepts_class(param: Type, argument: type) -> bool:
    kind = param.kind
    if kind in _ANY:
        return True
    found = type_of_class(argument)
    if kind is Kind.OPAQUE:
        return found.kind is Kind.OPAQUE and found.name == param.name
    if kind is Kind.OBJECT:
        return found.kind is Kind.MAP
    return found.kind is kind or (param.nullable and found.kind is Kind.NULL)


def _accepts(param: Type, argument: Value) -> bool:
    """Like `_accepts_class`, with a look at the first element of a list or map."""
    if not _accepts_class(param, type(argument)):
        return False
    if param.kind is Kind.LIST and argument:
        return _accepts(param.params[0], argument[0])
    if param.kind is Kind.MAP and argument:
        return _accepts(param.params[1], next(iter(argument.values())))
    return True
