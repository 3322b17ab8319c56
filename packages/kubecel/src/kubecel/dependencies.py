"""What an expression reads: paths of fields that start at variables of its environment.

`schema.spec.ports.map(p, p.port)` reads `schema.spec.ports`; `p` belongs to the macro and is no dependency. A path ends
where it is no longer known beforehand: at an index that is computed, or at a call. Positions in lists are not part of
paths, since what matters is the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from kubecel.syntax import (
    Call,
    Comprehension,
    Expr,
    Ident,
    Literal,
    Operator,
    Select,
    children,
    qualified_name,
)

Path: TypeAlias = tuple[str, ...]

_LOOK_UPS = frozenset({Operator.INDEX, Operator.OPTIONAL_INDEX, Operator.OPTIONAL_SELECT})


def free_paths(
    root: Expr, is_function: Callable[[str], bool], is_constant: Callable[[str], bool]
) -> frozenset[Path]:
    """The longest paths that an expression reads, each beginning with the name of a variable."""
    found: set[Path] = set()
    waiting: list[tuple[Expr, frozenset[str]]] = [(root, frozenset())]
    while waiting:
        node, bound = waiting.pop()
        path = _path_of(node)
        if path is not None:
            name = path[0].removeprefix(".")
            if path[0] not in bound and not is_constant(name) and not is_constant(".".join(path)):
                found.add((name, *path[1:]))
            continue
        waiting.extend(_below(node, bound, is_function))
    return frozenset(found)


def _below(
    node: Expr, bound: frozenset[str], is_function: Callable[[str], bool]
) -> Iterator[tuple[Expr, frozenset[str]]]:
    """The expressions below a node, each with the names that are bound there."""
    if isinstance(node, Comprehension):
        with_result = bound | {node.accumulator}
        inside = with_result | {node.variable, node.second or node.variable}
        yield from ((node.range, bound), (node.initial, bound))
        yield from ((node.condition, inside), (node.step, inside), (node.result, with_result))
    elif isinstance(node, Call) and node.target is not None and _is_namespace(node, is_function):
        yield from ((argument, bound) for argument in node.args)
    else:
        yield from ((child, bound) for child in children(node))


def _is_namespace(node: Call, is_function: Callable[[str], bool]) -> bool:
    """Whether the target of a call is part of the name of its function."""
    prefix = None if node.target is None else qualified_name(node.target)
    return prefix is not None and is_function(f"{prefix.removeprefix('.')}.{node.function}")


def _path_of(node: Expr) -> Path | None:
    """The path that a chain of selections and constant look-ups spells, if it is nothing else."""
    fields: list[str] = []
    while not isinstance(node, Ident):
        if isinstance(node, Select):
            fields.append(node.field)
            node = node.operand
        elif isinstance(node, Call) and node.function in _LOOK_UPS and isinstance(node.args[1], Literal):
            key = node.args[1].value
            if isinstance(key, str):
                fields.append(key)
            elif fields:
                fields.clear()
            node = node.args[0]
        else:
            return None
    return (node.name, *reversed(fields))
