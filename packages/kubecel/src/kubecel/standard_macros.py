"""The macros of the language: presence, quantifiers, transformations of lists and maps, bindings and optionals.

Each expands to what cel-go expands it to, so that costs and error behaviour are the same, except for `optMap` and
`optFlatMap`: these bind their target to a name instead of copying it, because copies would double with every link of a
chain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubecel.macros import Builder, Fold, Macro
from kubecel.syntax import ACCUMULATOR, Expr, Ident, Operator, Select

MAP_INSERT: Final = "cel.@mapInsert"
"""Adds an entry, or all entries of a map, to a map under construction."""

_OLD_ACCUMULATOR: Final = "__result__"
"""What the accumulator used to be called; still refused as a variable, as everywhere."""

_TARGET: Final = "@target"

Args = tuple[Expr, ...]


_NO_NAME: Final = "argument must be a simple name"
_NO_IDENTIFIER: Final = "argument is not an identifier"
"""cel-go's words for the same thing, in the macros that make a list."""


def _variable(builder: Builder, node: Expr, complaint: str) -> str:
    if not isinstance(node, Ident) or node.name.startswith("."):
        raise builder.error(node, complaint)
    if node.name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise builder.error(node, "iteration variable overwrites accumulator variable")
    return node.name


def _variables(builder: Builder, args: Args) -> tuple[str, str]:
    first, second = _variable(builder, args[0], _NO_NAME), _variable(builder, args[1], _NO_NAME)
    if first == second:
        raise builder.error(args[1], f"duplicate variable name: {first}")
    return first, second


def _target(target: Expr | None) -> Expr:
    if target is None:
        raise TypeError("a macro with a target was expanded without one")
    return target


def _expand_has(builder: Builder, _: Expr | None, args: Args) -> Expr:
    (selection,) = args
    if not isinstance(selection, Select) or selection.test:
        raise builder.error(selection, "invalid argument to has() macro")
    return builder.select(selection.operand, selection.field, test=True)


# Loops. Each of these makes the parts of a fold that do not depend on the number of variables.

Loop = Callable[[Builder, Expr, str, str | None, Args], Fold]


def _loop_all(builder: Builder, target: Expr, first: str, second: str | None, args: Args) -> Fold:
    accumulator = builder.ident
    return Fold(
        range=target,
        variable=first,
        second=second,
        initial=builder.literal(True),
        condition=builder.call(Operator.NOT_STRICTLY_FALSE, accumulator(ACCUMULATOR)),
        step=builder.call(Operator.AND, accumulator(ACCUMULATOR), args[0]),
        result=accumulator(ACCUMULATOR),
    )


def _loop_exists(builder: Builder, target: Expr, first: str, second: str | None, args: Args) -> Fold:
    accumulator = builder.ident
    negation = builder.call(Operator.NOT, accumulator(ACCUMULATOR))
    return Fold(
        range=target,
        variable=first,
        second=second,
        initial=builder.literal(False),
        condition=builder.call(Operator.NOT_STRICTLY_FALSE, negation),
        step=builder.call(Operator.OR, accumulator(ACCUMULATOR), args[0]),
        result=accumulator(ACCUMULATOR),
    )


def _loop_exists_one(builder: Builder, target: Expr, first: str, second: str | None, args: Args) -> Fold:
    accumulator = builder.ident
    increment = builder.call(Operator.ADD, accumulator(ACCUMULATOR), builder.literal(1))
    return Fold(
        range=target,
        variable=first,
        second=second,
        initial=builder.literal(0),
        condition=builder.literal(True),
        step=builder.call(Operator.CONDITIONAL, args[0], increment, accumulator(ACCUMULATOR)),
        result=builder.call(Operator.EQUALS, accumulator(ACCUMULATOR), builder.literal(1)),
    )


def _collect(
    fold: Builder, target: Expr, variables: tuple[str, str | None], parts: tuple[Expr, Expr, Args]
) -> Fold:
    """A fold that adds to a list or a map, for those elements which pass the filter (if there is one)."""
    initial, step, filters = parts
    for condition in filters:
        step = fold.call(Operator.CONDITIONAL, condition, step, fold.ident(ACCUMULATOR))
    return Fold(
        range=target,
        variable=variables[0],
        second=variables[1],
        initial=initial,
        condition=fold.literal(True),
        step=step,
        result=fold.ident(ACCUMULATOR),
    )


def _loop_list(builder: Builder, target: Expr, first: str, second: str | None, args: Args) -> Fold:
    """`map`, `transformList`: optional filter, transformation."""
    step = builder.call(Operator.ADD, builder.ident(ACCUMULATOR), builder.list(args[-1]))
    return _collect(builder, target, (first, second), (builder.list(), step, args[:-1]))


def _loop_filter(builder: Builder, target: Expr, first: str, second: str | None, args: Args) -> Fold:
    step = builder.call(Operator.ADD, builder.ident(ACCUMULATOR), builder.list(builder.ident(first)))
    return _collect(builder, target, (first, second), (builder.list(), step, args))


def _loop_map(builder: Builder, target: Expr, first: str, second: str | None, args: Args) -> Fold:
    """`transformMap`: keys stay."""
    step = builder.call(MAP_INSERT, builder.ident(ACCUMULATOR), builder.ident(first), args[-1])
    return _collect(builder, target, (first, second), (builder.map(), step, args[:-1]))


def _loop_map_entry(builder: Builder, target: Expr, first: str, second: str | None, args: Args) -> Fold:
    """`transformMapEntry`: the transformation is a map, whose entries are added."""
    step = builder.call(MAP_INSERT, builder.ident(ACCUMULATOR), args[-1])
    return _collect(builder, target, (first, second), (builder.map(), step, args[:-1]))


def _over_elements(name: str, arity: int, loop: Loop) -> Macro:
    complaint = _NO_IDENTIFIER if loop in (_loop_list, _loop_filter) else _NO_NAME

    def expand(builder: Builder, target: Expr | None, args: Args) -> Expr:
        variable = _variable(builder, args[0], complaint)
        return builder.fold(loop(builder, _target(target), variable, None, args[1:]))

    return Macro(name, arity, expand)


def _over_pairs(name: str, arity: int, loop: Loop) -> Macro:
    def expand(builder: Builder, target: Expr | None, args: Args) -> Expr:
        first, second = _variables(builder, args)
        return builder.fold(loop(builder, _target(target), first, second, args[2:]))

    return Macro(name, arity, expand)


# Bindings and optionals


def _expand_bind(builder: Builder, target: Expr | None, args: Args) -> Expr | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    name, value, result = args
    if not isinstance(name, Ident) or name.name.startswith("."):
        raise builder.error(name, "cel.bind() variable names must be simple identifiers")
    return builder.bind(name.name, value, result)


def _expand_opt_map(builder: Builder, target: Expr | None, args: Args) -> Expr:
    return _map_optional(builder, target, args, "optMap")


def _expand_opt_flat_map(builder: Builder, target: Expr | None, args: Args) -> Expr:
    return _map_optional(builder, target, args, "optFlatMap")


def _map_optional(builder: Builder, target: Expr | None, args: Args, name: str) -> Expr:
    if not isinstance(args[0], Ident) or args[0].name.startswith("."):
        raise builder.error(args[0], f"{name}() variable name must be a simple identifier")
    unwrapped = builder.member(builder.ident(_TARGET), "value")
    mapped: Expr = builder.bind(args[0].name, unwrapped, args[1])
    if name == "optMap":
        mapped = builder.call("optional.of", mapped)
    has_value = builder.member(builder.ident(_TARGET), "hasValue")
    choice = builder.call(Operator.CONDITIONAL, has_value, mapped, builder.call("optional.none"))
    return builder.bind(_TARGET, _target(target), choice)


STANDARD_MACROS: Final = (
    Macro("has", 1, _expand_has, member=False),
    _over_elements("all", 2, _loop_all),
    _over_elements("exists", 2, _loop_exists),
    _over_elements("exists_one", 2, _loop_exists_one),
    _over_elements("existsOne", 2, _loop_exists_one),
    _over_elements("map", 2, _loop_list),
    _over_elements("map", 3, _loop_list),
    _over_elements("filter", 2, _loop_filter),
)

TWO_VARIABLE_MACROS: Final = (
    _over_pairs("all", 3, _loop_all),
    _over_pairs("exists", 3, _loop_exists),
    _over_pairs("exists_one", 3, _loop_exists_one),
    _over_pairs("existsOne", 3, _loop_exists_one),
    _over_pairs("transformList", 3, _loop_list),
    _over_pairs("transformList", 4, _loop_list),
    _over_pairs("transformMap", 3, _loop_map),
    _over_pairs("transformMap", 4, _loop_map),
    _over_pairs("transformMapEntry", 3, _loop_map_entry),
    _over_pairs("transformMapEntry", 4, _loop_map_entry),
)

BINDING_MACROS: Final = (Macro("bind", 3, _expand_bind),)

OPTIONAL_MACROS: Final = (Macro("optMap", 2, _expand_opt_map), Macro("optFlatMap", 2, _expand_opt_flat_map))
