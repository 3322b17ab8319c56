"""The schemas of the kinds that the API server serves, and definitions compiled against them.

    compiler = ServedCompiler(ServedSchemas(client, clock), options)
    compilation = await compiler.compile(spec)

What the server serves is read once and again when CustomResourceDefinitions have changed. A definition is compiled again
only if it, or a schema that it uses, is another one than before.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias

import msgspec

from edgekeeper.api.composition import DefinitionSpec
from edgekeeper.controllers.composition.definition_options import (
    ALLOWED_KINDS,
    CompositionOptions,
    qualified,
)
from edgekeeper.controllers.composition.graph import Compilation, Options, Problem, compile_definition
from edgekeeper.controllers.composition.schemas import KindSchema, KnownSchemas
from edgekeeper.core.clock import Clock
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.openapi import OpenApiSchemas

PUBLISHING: Final = timedelta(seconds=30)
"""How long after a change of a CustomResourceDefinition the server may take to publish its schema."""
_MOST_KEPT: Final = 512
"""Compiled definitions that are kept."""

UsedKind: TypeAlias = tuple[str, str]
"""apiVersion and kind."""


def used_kinds(spec: DefinitionSpec) -> Iterator[tuple[str, str, str]]:
    """The kinds of all resources, as far as they are written as texts: the path of the object, apiVersion and kind."""
    for index, resource in enumerate(spec.resources):
        place = f"spec.resources[{index}]"
        if resource.external_ref is not None:
            reference = resource.external_ref
            yield f"{place}.externalRef", reference.api_version, reference.kind
        elif resource.template is not None:
            version, kind = _text(resource.template, "apiVersion"), _text(resource.template, "kind")
            if version and kind:
                yield f"{place}.template", version, kind


def used_groups(spec: DefinitionSpec) -> frozenset[str]:
    return frozenset(version.rpartition("/")[0] for _, version, _ in used_kinds(spec))


def kind_refusals(spec: DefinitionSpec, options: CompositionOptions) -> Iterator[Problem]:
    """A problem for each resource of a kind that the installation does not allow."""
    for path, api_version, kind in used_kinds(spec):
        if not options.kind_guard.allows(api_version, kind):
            name = qualified(api_version.rpartition("/")[0], kind)
            remedy = "use an allowed kind, or have an administrator add this one"
            yield Problem(f"{path}.kind", f"kind {name} is not allowed by {ALLOWED_KINDS}: {remedy}")


def graph_options(options: CompositionOptions, *, kinds_must_be_known: bool = True) -> Options:
    """How graphs are compiled in a cluster."""
    return Options(
        options.omit_allowed,
        kinds_must_be_known=kinds_must_be_known,
        most_dimensions=options.max_dimensions,
    )


class ServedSchemas:
    """Kinds that one API server serves."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._clock = clock
        self._discovery = Discovery(client, clock)
        self._published = OpenApiSchemas(client, clock)
        self._changed_at: dict[str, float] = {}
        """By group, when a definition of it has changed."""

    async def of(self, spec: DefinitionSpec) -> dict[UsedKind, KindSchema]:
        """What is known about the kinds that a definition uses. Kinds that are not served are left out."""
        found: dict[UsedKind, KindSchema] = {}
        for _, version, kind in used_kinds(spec):
            if (version, kind) not in found and (known := await self._find(version, kind)) is not None:
                found[version, kind] = known
        return found

    async def _find(self, api_version: str, kind: str) -> KindSchema | None:
        group, _, version = api_version.rpartition("/")
        served = await self._discovery.find(group, kind, version)
        if served is None:
            return None
        schema = await self._published.schema_of(served.kind)
        return None if schema is None else KindSchema(schema, served.kind.namespaced, served.kind.plural)

    def definition_changed(self, group: str) -> None:
        """A CustomResourceDefinition of this group was created, changed or deleted."""
        self._changed_at[group] = self._clock.monotonic()
        self._discovery.invalidate()
        self._published.invalidate()

    def is_publishing(self, groups: frozenset[str]) -> bool:
        """Whether definitions of these groups have changed so recently that schemas may follow."""
        since = self._clock.monotonic() - PUBLISHING.total_seconds()
        return any(self._changed_at.get(group, since) > since for group in groups)


@dataclass(frozen=True, slots=True)
class _Compiled:
    schemas: Mapping[UsedKind, KindSchema]
    compilation: Compilation


class ServedCompiler:
    """Compiles definitions against what is served."""

    def __init__(self, schemas: ServedSchemas, options: Options) -> None:
        self.schemas = schemas
        self._options = options
        self._kept: OrderedDict[bytes, _Compiled] = OrderedDict()

    async def compile(self, spec: DefinitionSpec) -> Compilation:
        """Compile a definition, or return the earlier result if neither it nor the schemas have changed."""
        schemas = await self.schemas.of(spec)
        name = hashlib.sha256(msgspec.json.encode(spec)).digest()
        kept = self._kept.get(name)
        if kept is None or kept.schemas != schemas:
            compilation = compile_definition(spec, KnownSchemas(schemas), self._options)
            kept = self._kept[name] = _Compiled(schemas, compilation)
        self._kept.move_to_end(name)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return kept.compilation


def _text(tree: Mapping[str, Any], field: str) -> str:
    value = tree.get(field)
    return value if isinstance(value, str) else ""
