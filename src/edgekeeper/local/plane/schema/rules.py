"""The seam for validation rules (`x-kubernetes-validations`).

A rule engine implements `RuleCompiler`; `compile_schema` asks it once for each node that carries rules and calls what it
returns whenever a value stands there. Without an engine rules are not evaluated.
"""

from __future__ import annotations

from typing import Protocol

from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.local.plane.schema.node import Node
from edgekeeper.local.plane.schema.walk import Inspect, Local

RuleCheck = Local
"""`(value, old value or None, path, unchanged) -> errors`, called for every value that is not null.

The path is empty at the root. `unchanged` says that the value, or something around it, equals its old value: errors of
rules that do not look at the old value are then forgiven, as the real server does.
"""


class RuleCompiler(Protocol):
    """A rule engine."""

    def compile_rules(self, rules: list[JsonObject], schema: JsonObject, *, root: bool) -> RuleCheck:
        """Compile the rules of one node. `root` tells a whole object, which has metadata beside what `schema` declares."""


def inspect_rules(compiler: RuleCompiler) -> Inspect:
    def inspect(node: Node) -> Local | None:
        rules = dig_list(node.source, "x-kubernetes-validations")
        return compiler.compile_rules(rules, node.source, root=node.root or node.embedded) if rules else None

    return inspect
