"""The seam for validation rules (`x-kubernetes-validations`).

A rule engine implements `RuleCompiler`. It is asked twice: when a definition is written, whether the rules in it make
sense, and when objects are written, whether they comply. `compile_schema` asks for the latter once for each node that
carries rules, and calls what it gets whenever a value stands there. Without an engine rules are neither checked nor
evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.schema.field_error import FieldError
from edgekeeper.schema.node import Node
from edgekeeper.schema.walk import Inspect, Local

RuleCheck = Local
"""`(value, old value or None, path, unchanged) -> errors`, called for every value that is not null.

The path is empty at the root. `unchanged` says that the value, or something around it, equals its old value: what rules
find that do not look at the old value is then told to the client and otherwise tolerated, as the real server does.
"""

_BUDGET_OF_OBJECT = 10_000_000


@dataclass(slots=True)
class Budget:
    """What the rules of one object may still cost. Below zero, no further rule of that object is evaluated."""

    left: int = _BUDGET_OF_OBJECT

    def refill(self) -> None:
        """Begin with another object."""
        self.left = _BUDGET_OF_OBJECT


class RuleCompiler(Protocol):
    """A rule engine."""

    def __hash__(self) -> int:
        """Compilers are told apart by identity, so that what they compile can be cached."""

    def compile_rules(
        self, rules: list[JsonObject], schema: JsonObject, *, root: bool, budget: Budget
    ) -> RuleCheck:
        """Compile the rules of one node, which share a budget with those of other nodes.

        `root` tells a whole object, which has metadata beside what `schema` declares.
        """

    def definition_errors(
        self, schema: JsonObject, path: str, broken: Sequence[FieldError], *, lenient: bool
    ) -> list[FieldError]:
        """Return what is wrong with the rules in the schema of a definition.

        `broken` is what is wrong with the schema itself: rules around such places are not looked at. With `lenient`,
        single rules may be expensive: they were accepted before.
        """


def inspect_rules(compiler: RuleCompiler, budget: Budget) -> Inspect:
    def inspect(node: Node) -> Local | None:
        rules = dig_list(node.source, "x-kubernetes-validations")
        if not rules:
            return None
        return compiler.compile_rules(rules, node.source, root=node.root or node.embedded, budget=budget)

    return inspect
