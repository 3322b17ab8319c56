"""What an expression refers to, found out from its text alone, before any type is known.

Dependencies follow from it, and mistakes in names are reported here, in clearer words than the type checker has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from edgekeeper.controllers.composition.expressions import Expression
from edgekeeper.controllers.composition.names import EACH, RUNTIME, SCHEMA
from edgekeeper.controllers.composition.node import Node, is_identity_path
from edgekeeper.controllers.composition.rejection import RejectedError, quoted, rejected_below
from kubecel import environments
from kubecel.dependencies import free_paths
from kubecel.environment import Environment
from kubecel.errors import CompileError
from kubecel.syntax import Call, Expr, walk
from kubecel.types import DYN

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OMIT_MISPLACED: Final = "omit() can only be used in resource template expressions"
_OMIT_DISABLED: Final = "omit() requires the CELOmitFunction feature gate to be enabled"


@dataclass(frozen=True, slots=True)
class Inspection:
    """What one expression uses."""

    names: frozenset[str]
    """Variables, known or not; `runtime` too."""
    unknown_functions: tuple[str, ...]
    omits: bool


class Inspector:
    """Inspects the expressions of one definition, whose resources have these ids."""

    def __init__(self, ids: Iterable[str], *, omit_allowed: bool = False) -> None:
        self.ids = frozenset(ids)
        self._omit_allowed = omit_allowed
        self._environment: Environment = environments.kro().extend(
            variables=dict.fromkeys((*self.ids, SCHEMA, EACH), DYN)
        )
        self._seen: dict[str, Inspection] = {}

    def inspect(self, expression: Expression) -> Inspection:
        """What an expression uses; raises RejectedError if it cannot be parsed."""
        source = expression.source
        if source not in self._seen:
            self._seen[source] = self._inspect(expression)
        return self._seen[source]

    def parse(self, expression: Expression) -> Expr:
        try:
            return self._environment.parse(expression.source).root
        except CompileError as error:
            raise RejectedError(
                f"failed to inspect expression: failed to parse expression: {error.message}"
            ) from error

    def _inspect(self, expression: Expression) -> Inspection:
        root = self.parse(expression)
        environment = self._environment
        paths = free_paths(
            root, environment.has_function, lambda name: name != RUNTIME and environment.is_constant(name)
        )
        called = [node.function for node in walk(root) if isinstance(node, Call) and node.target is None]
        unknown = [name for name in called if _NAME.fullmatch(name) and not environment.has_function(name)]
        return Inspection(
            frozenset(path[0] for path in paths), tuple(dict.fromkeys(unknown)), "omit" in called
        )

    def restricted(self, expression: Expression, allowed: Collection[str]) -> Inspection:
        """Inspect an expression that may refer to certain names only, and may not leave its field out."""
        found = self.inspect(expression)
        if unknown := sorted(found.names - set(allowed)):
            raise RejectedError(f"references unknown identifiers: [{' '.join(unknown)}]")
        _check_functions(found)
        if found.omits:
            raise RejectedError(_OMIT_MISPLACED)
        return found

    def dependencies(
        self, expression: Expression, iterators: Collection[str] = ()
    ) -> tuple[set[str], set[str]]:
        """The resources and the iterators that an expression refers to."""
        found = self.inspect(expression)
        if found.omits and not self._omit_allowed:
            raise RejectedError(_OMIT_DISABLED)
        if RUNTIME in found.names:
            raise RejectedError("runtime is only available in status.conditions expressions")
        if unknown := sorted(found.names - self.ids - {SCHEMA} - set(iterators)):
            raise RejectedError(f"references unknown identifiers: [{unknown[0]}]")
        _check_functions(found)
        return set(found.names & self.ids), set(found.names & set(iterators))


def _check_functions(found: Inspection) -> None:
    if found.unknown_functions:
        shown = " ".join(f"{{{name}}}" for name in found.unknown_functions)
        raise RejectedError(f"uses unknown functions: [{shown}]")


def node_dependencies(node: Node, inspector: Inspector) -> list[str]:
    """The resources that a node depends on, sorted; raises RejectedError with a path below the node."""
    found = _template_dependencies(node, inspector)
    found |= _dimension_dependencies(node, inspector)
    for index, expression in enumerate(node.include_when):
        words = "failed to extract dependencies from includeWhen"
        with rejected_below(words, f"includeWhen[{index}]"):
            if inspector.inspect(expression).omits:
                raise RejectedError(_OMIT_MISPLACED)
            found |= inspector.dependencies(expression)[0]
    for index, name in enumerate(node.depends_on):
        if name not in inspector.ids:
            message = f"resource {quoted(node.id)}: dependsOn refers to unknown resource {quoted(name)}"
            raise RejectedError(message, f"dependsOn[{index}]")
        found.add(name)
    if node.id in found:
        raise RejectedError("self references are not allowed")
    return sorted(found)


def _template_dependencies(node: Node, inspector: Inspector) -> set[str]:
    resources: set[str] = set()
    in_identity: set[str] = set()
    source = "externalRef" if node.kind.is_external else "template"
    for variable in node.variables:
        with rejected_below("failed to extract dependencies", f"{source}.{variable.path}"):
            found, iterators = inspector.dependencies(variable.expression, node.iterators)
            _check_omission(node, variable.path, inspector.inspect(variable.expression))
        resources |= found
        if is_identity_path(variable, namespaced=node.namespaced):
            in_identity |= iterators
    if missing := [name for name in node.iterators if name not in in_identity]:
        rule = "all forEach dimensions must be used to produce a unique resource identity"
        message = f"node {quoted(node.id)}: {rule}, missing: [{' '.join(missing)}]"
        raise RejectedError(message, "template.metadata.name")
    return resources


def _check_omission(node: Node, path: str, found: Inspection) -> None:
    if found.omits and path in ("metadata.name", "metadata.namespace"):
        place = f"omit() cannot be used at path {quoted(path)}"
        raise RejectedError(
            f"resource {quoted(node.id)}: {place} — the field is required and must resolve to a concrete value"
        )


def _dimension_dependencies(node: Node, inspector: Inspector) -> set[str]:
    resources: set[str] = set()
    for index, dimension in enumerate(node.for_each):
        place = f"node {quoted(node.id)}: forEach iterator {quoted(dimension.name)}"
        with rejected_below("", f"forEach[{index}]"):
            if inspector.inspect(dimension.expression).omits:
                raise RejectedError(f"{place}: {_OMIT_MISPLACED}")
            words = f"failed to extract dependencies from forEach iterator {quoted(dimension.name)}"
            with rejected_below(words):
                found, iterators = inspector.dependencies(dimension.expression, node.iterators)
            if iterators:
                others = f"[{' '.join(sorted(iterators))}]"
                reason = "forEach iterators are independent (cartesian product)"
                raise RejectedError(f"{place} cannot reference other iterators {others} - {reason}")
        resources |= found
    return resources
