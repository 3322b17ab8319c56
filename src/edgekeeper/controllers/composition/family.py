"""Definitions that use each other's kinds: each is compiled once, when it is asked for.

A kind that one of them defines is known to the others by the schema that would be generated for it. Where definitions
use each other in a circle, or one of them is wrong, the kind is known by name and scope only.
"""

from __future__ import annotations

from collections.abc import Iterable

from edgekeeper.api.composition import DefinitionSpec
from edgekeeper.controllers.composition.definition import plural_of
from edgekeeper.controllers.composition.graph import Compilation, Options, compile_definition
from edgekeeper.controllers.composition.schemas import FirstOf, KindSchema, SchemaSource, kinds_of


class Family:
    """Definitions that are looked at together."""

    def __init__(
        self, specs: Iterable[DefinitionSpec], others: SchemaSource, options: Options | None = None
    ) -> None:
        self._specs = {_kind_of(spec): spec for spec in specs}
        self._schemas = FirstOf((self, others))
        self._options = options
        self._compiled: dict[tuple[str, str], Compilation] = {}
        self._open: set[tuple[str, str]] = set()

    def compile(self, spec: DefinitionSpec) -> Compilation:
        """Compile a definition, or return the earlier result."""
        kind = _kind_of(spec)
        if self._specs.get(kind) is not spec:
            return compile_definition(spec, self._schemas, self._options)
        if kind not in self._compiled:
            self._open.add(kind)
            self._compiled[kind] = compile_definition(spec, self._schemas, self._options)
            self._open.discard(kind)
        return self._compiled[kind]

    def find(self, api_version: str, kind: str) -> KindSchema | None:
        """What is known about a kind that one of the definitions defines."""
        wanted = (api_version, kind)
        spec = self._specs.get(wanted)
        if spec is None:
            return None
        graph = None if wanted in self._open else self.compile(spec).graph
        if graph is None:
            return KindSchema(None, spec.schema.scope != "Cluster", plural_of(spec.schema))
        return kinds_of(graph.definition)[wanted]


def _kind_of(spec: DefinitionSpec) -> tuple[str, str]:
    return f"{spec.schema.group}/{spec.schema.api_version}", spec.schema.kind
