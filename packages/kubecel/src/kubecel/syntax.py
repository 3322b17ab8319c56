"""The syntax tree: what the parser makes of a text, after macros are expanded.

Seven kinds of nodes are enough. Operators are calls of functions with names that no user can write (`_+_`, `@in`),
macros disappear into `Comprehension`, and `has(a.b)` is a `Select` that only tests. Each node has a number that is
unique in its tree, by which the checker notes types and resolved overloads beside the tree instead of in it, and the
offset in the source at which an error about it points: the operator, the dot or the opening bracket.

Nodes are immutable and compare by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

ACCUMULATOR = "@result"
"""Name of the variable in which macros collect; users cannot write it."""


class Operator:
    """Names of the functions behind operators."""

    CONDITIONAL = "_?_:_"
    AND = "_&&_"
    OR = "_||_"
    NOT = "!_"
    NEGATE = "-_"
    EQUALS = "_==_"
    NOT_EQUALS = "_!=_"
    LESS = "_<_"
    LESS_EQUALS = "_<=_"
    GREATER = "_>_"
    GREATER_EQUALS = "_>=_"
    ADD = "_+_"
    SUBTRACT = "_-_"
    MULTIPLY = "_*_"
    DIVIDE = "_/_"
    MODULO = "_%_"
    IN = "@in"
    INDEX = "_[_]"
    OPTIONAL_INDEX = "_[?_]"
    OPTIONAL_SELECT = "_?._"
    NOT_STRICTLY_FALSE = "@not_strictly_false"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """What all nodes share."""

    id: int
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Node):
    """A constant: None, bool, int, `values.Uint`, float, str or bytes."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Ident(Node):
    """A name. A leading dot (`.name`) asks for the outermost scope and is kept as part of the name."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Select(Node):
    """`operand.field`, or `has(operand.field)` if `test` is set."""

    operand: Expr
    field: str
    test: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """`function(args)` or `target.function(args)`; operators too."""

    function: str
    target: Expr | None
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ListLiteral(Node):
    """`[a, ?b]`; `optional` holds the indices of elements that may be absent."""

    elements: tuple[Expr, ...]
    optional: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Node):
    """`key: value` in a map; `?key: value` adds nothing if the value is absent."""

    key: Expr
    value: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class MapLiteral(Node):
    """`{a: b}`."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FieldInit(Node):
    """`field: value` in a message."""

    name: str
    value: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class StructLiteral(Node):
    """`pkg.Message{field: value}`."""

    name: str
    fields: tuple[FieldInit, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Comprehension(Node):
    """A fold: what macros such as `all` and `map` become.

    For each element of `range`, while `condition` holds, `accumulator` becomes `step`; the value is `result`.
    With one variable it is the element of a list or the key of a map; with two they are index and element, or key and
    value. `range`, and `initial` are outside the scope of the variables; `result` sees the accumulator only.
    """

    range: Expr
    variable: str
    second: str | None
    accumulator: str
    initial: Expr
    condition: Expr
    step: Expr
    result: Expr


Expr: TypeAlias = Literal | Ident | Select | Call | ListLiteral | MapLiteral | StructLiteral | Comprehension


@dataclass(frozen=True, slots=True, eq=False)
class Ast:
    """A parsed expression with its source."""

    source: str
    root: Expr
    macros: dict[int, str] = field(default_factory=dict)
    """The macro (its name) which a comprehension or other expanded node stems from, by the number of the node."""


def children(node: Expr) -> Sequence[Expr]:
    """The expressions directly below a node, in the order of evaluation."""
    below = _CHILDREN.get(type(node))
    return () if below is None else below(node)


def _below_call(node: Call) -> Sequence[Expr]:
    return node.args if node.target is None else (node.target, *node.args)


def _below_map(node: MapLiteral) -> Sequence[Expr]:
    return [part for entry in node.entries for part in (entry.key, entry.value)]


def _below_comprehension(node: Comprehension) -> Sequence[Expr]:
    return (node.range, node.initial, node.condition, node.step, node.result)


_CHILDREN: Final[dict[type, Callable[[Any], Sequence[Expr]]]] = {
    Select: lambda node: (node.operand,),
    Call: _below_call,
    ListLiteral: lambda node: node.elements,
    MapLiteral: _below_map,
    StructLiteral: lambda node: [init.value for init in node.fields],
    Comprehension: _below_comprehension,
}


def walk(root: Expr) -> Iterator[Expr]:
    """All expressions of a tree, each before what is below it. Needs no recursion, so any depth will do."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def qualified_name(node: Expr) -> str | None:
    """The dotted name that a chain of plain selections spells (`a.b.c`), if it is one."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])
