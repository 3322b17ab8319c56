"""What the checker found out about an expression, kept beside the tree by the numbers of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from kubecel.functions import Overload
from kubecel.syntax import Ast, Call, Node, walk
from kubecel.types import Type


@dataclass(frozen=True, slots=True)
class CheckedAst:
    """An expression in which every name is known and every type fits."""

    ast: Ast
    type: Type
    """What the whole expression evaluates to."""
    types: dict[int, Type]
    """By node; free of type parameters."""
    overloads: dict[int, tuple[Overload, ...]]
    """By call: those that may apply. More than one if the types of the arguments are known only at run time."""
    names: dict[int, str]
    """By identifier or selection: the variable or constant it means (`a.b` may be a name with a dot)."""
    functions: dict[int, str]
    """By call: the function, if the target of the call is part of its name (`base64.encode`)."""
    properties: dict[int, str]
    """By selection: the key to look up, where a field has another name in expressions (`a__dash__b` for `a-b`)."""

    def calls(self, *names: str) -> Iterator[Call]:
        """The calls of these functions, outer ones first.

        Most expressions have none of those that validators look for, and the text tells so much sooner than the tree.
        """
        if any(name in self.ast.source for name in names):
            for node in walk(self.ast.root):
                if isinstance(node, Call) and node.function in names:
                    yield node


Finding: TypeAlias = tuple[Node, str]
"""Something that is wrong, and with which node."""

Validator: TypeAlias = Callable[[CheckedAst], Iterable[Finding]]
"""Asks for more than right types."""
