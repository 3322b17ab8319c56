"""Reads what a decision about a ResourceGraphDefinition depends on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from edgekeeper.api.composition import DefinitionSpec, InstanceSchema
from edgekeeper.controllers.composition.definition import ALLOW_BREAKING, definition_name, plural_of
from edgekeeper.controllers.composition.definition_crd import (
    Owner,
    applied_hash,
    installed_hash,
    owned_definition,
)
from edgekeeper.controllers.composition.definition_decide import Observed, described
from edgekeeper.controllers.composition.definition_index import DefinitionIndex
from edgekeeper.controllers.composition.definition_options import CompositionOptions
from edgekeeper.controllers.composition.graph import Graph, Problem, read_definition
from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.controllers.composition.revision import spec_hash
from edgekeeper.controllers.composition.revision_objects import KIND as REVISION
from edgekeeper.controllers.composition.revision_objects import Revision, definition_of, newest
from edgekeeper.controllers.composition.rights import Need, Rights, needs_of
from edgekeeper.controllers.composition.served_schemas import ServedCompiler, kind_refusals, used_groups
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Key, Kind
from edgekeeper.kube.store import Store
from edgekeeper.runtime.contract import Request

LONGEST_NAME: Final = 63
"""The longest value of a label, which the name of a definition becomes."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What was seen."""

    observed: Observed
    accepted: Graph | None
    """The graph of the definition as it is now; None if it is not accepted."""
    kind: Kind | None
    """The kind of the instances; None if nothing says it."""
    groups: frozenset[str] = frozenset()
    """The groups of the kinds that are used."""


def read_spec(obj: JsonObject) -> DefinitionSpec | Problem:
    """The spec of a definition, or why it cannot be read."""
    try:
        return read_definition(obj)
    except RejectedError as error:
        return Problem(error.path, error.message)


def name_problems(name: str) -> list[Problem]:
    if len(name) <= LONGEST_NAME:
        return []
    message = f"must not be longer than {LONGEST_NAME} characters, because it becomes the value of a label"
    return [Problem("metadata.name", message)]


def instance_kind(schema: InstanceSchema) -> Kind:
    namespaced = schema.scope != "Cluster"
    return Kind(schema.group, schema.api_version, schema.kind, plural_of(schema), namespaced)


@dataclass
class Observer:
    """Reads revisions from the store, or from the server, and everything else from the server."""

    client: KubeClient
    compiler: ServedCompiler
    rights: Rights
    options: CompositionOptions
    index: DefinitionIndex = field(default_factory=DefinitionIndex)
    revisions: Store = field(default_factory=lambda: Store(REVISION))
    """Set by the controller."""
    applied: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By CustomResourceDefinition: the hash of what was applied last, and the generation that resulted."""

    async def observe(self, request: Request, *, live: bool = False) -> Sighting:
        """`live` reads revisions from the server."""
        name = request.key.name
        owner = _owner_of(request.object)
        spec = read_spec(request.object)
        revisions = await self._listed(name) if live else self._stored(name)
        latest = newest(revisions)
        in_force = latest.spec if latest is not None else None
        source = spec if isinstance(spec, DefinitionSpec) else in_force
        if source is None:
            problem = (spec,) if isinstance(spec, Problem) else ()
            return Sighting(Observed(owner, "", problem, revisions=revisions), None, None)
        kind = instance_kind(source.schema)
        crd_name = definition_name(source.schema)
        self.index.note(name, crd_name, used_groups(source) | (used_groups(in_force) if in_force else set()))
        problems, accepted = await self._accept(name, spec)
        graph, error = await self._compile(latest)
        crd = await self.definition(crd_name)
        observed = Observed(
            owner,
            spec_hash(spec) if isinstance(spec, DefinitionSpec) else "",
            problems,
            self._refusals(spec),
            last_issued=_last_issued(request.object),
            revisions=revisions,
            graph=graph,
            error=error,
            crd=crd,
            crd_is_applied=self._is_applied(crd, graph, owner),
            missing=await self._missing(graph, kind),
        )
        return Sighting(observed, None if observed.refusals else accepted, kind, used_groups(source))

    async def servable(self, sighting: Sighting) -> tuple[int, Graph] | None:
        """The newest revision before the newest that instances can be served with: its number and its graph.

        That is one whose CustomResourceDefinition is in the cluster, or an older one, if all rights for it are there.
        """
        owner, installed, is_installed = sighting.observed.owner, installed_hash(sighting.observed.crd), False
        for revision in sorted(sighting.observed.revisions, key=lambda one: -one.number):
            graph, _ = await self._compile(None if revision.deleting else revision)
            if graph is None or sighting.kind != instance_kind(graph.spec.schema):
                continue
            is_installed = is_installed or installed == applied_hash(
                owned_definition(graph.definition, owner)
            )
            is_newest = revision is sighting.observed.newest
            if is_installed and not is_newest and not await self._missing(graph, sighting.kind):
                return revision.number, graph
        return None

    async def definition(self, name: str) -> JsonObject | None:
        """The CustomResourceDefinition of a name."""
        try:
            return await self.client.get(CUSTOM_RESOURCE_DEFINITION, Key("", name))
        except NotFoundError:
            return None

    def note_applied(self, wanted: JsonObject, result: JsonObject) -> None:
        generation = dig(result, "metadata", "generation")
        self.applied[wanted["metadata"]["name"]] = (applied_hash(wanted), generation)

    def _is_applied(self, crd: JsonObject | None, graph: Graph | None, owner: Owner) -> bool:
        if crd is None or graph is None:
            return False
        wanted = owned_definition(graph.definition, owner)
        known = self.applied.get(wanted["metadata"]["name"])
        return known == (applied_hash(wanted), dig(crd, "metadata", "generation"))

    async def _accept(
        self, name: str, spec: DefinitionSpec | Problem
    ) -> tuple[tuple[Problem, ...], Graph | None]:
        if isinstance(spec, Problem):
            return (spec,), None
        compilation = await self.compiler.compile(spec)
        problems = (*name_problems(name), *compilation.problems)
        return problems, None if problems else compilation.graph

    def _refusals(self, spec: DefinitionSpec | Problem) -> tuple[Problem, ...]:
        if isinstance(spec, Problem):
            return ()
        return tuple(kind_refusals(spec, self.options))

    async def _compile(self, revision: Revision | None) -> tuple[Graph | None, str]:
        """The graph of a revision, or why there is none."""
        if revision is None:
            return None, ""
        if revision.spec is None:
            return None, f"graph revision {revision.number} cannot be read"
        if refusals := self._refusals(revision.spec):
            return None, described(refusals)
        compilation = await self.compiler.compile(revision.spec)
        return compilation.graph, described(tuple(compilation.problems))

    async def _missing(self, graph: Graph | None, kind: Kind) -> tuple[Need, ...]:
        return () if graph is None else await self.rights.missing(needs_of(graph, kind))

    def _stored(self, name: str) -> tuple[Revision, ...]:
        return _revisions_of(name, (raw for _, raw in self.revisions.snapshot()))

    async def _listed(self, name: str) -> tuple[Revision, ...]:
        items = [raw async for page in self.client.pages(REVISION) for raw in page.items]
        return _revisions_of(name, items)


def _revisions_of(name: str, objects: Iterable[bytes]) -> tuple[Revision, ...]:
    return tuple(Revision.of(msgspec.json.decode(raw)) for raw in objects if definition_of(raw) == name)


def _owner_of(obj: JsonObject) -> Owner:
    metadata = dig_object(obj, "metadata")
    allow = dig_object(metadata, "annotations").get(ALLOW_BREAKING) == "true"
    return Owner(str(metadata.get("name", "")), str(metadata.get("uid", "")), allow)


def _last_issued(obj: JsonObject) -> int:
    number = dig(obj, "status", "lastIssuedRevision")
    return number if isinstance(number, int) else 0
