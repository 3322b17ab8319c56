"""`edgekeeper plan` for instances of the kinds that ResourceGraphDefinitions define: which children would be changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import msgspec

from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.manifest import Manifest
from edgekeeper.cli.plan_request import PlanRequest
from edgekeeper.cli.proposal import INVALID, applied
from edgekeeper.controllers.composition.definition_instances import instance_limits
from edgekeeper.controllers.composition.definition_options import CompositionOptions, qualified
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance import prepare_instance
from edgekeeper.controllers.composition.instance_preview import InstancePreviewer
from edgekeeper.controllers.composition.live_states import UnknownInstanceError, in_force, served_graph
from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.diagnosis.catalog import KnownKind, composed_kind
from edgekeeper.diagnosis.reading import ClusterReader
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.errors import ForbiddenError, NotFoundError
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.preview import Preview
from edgekeeper.runtime.contract import Services


class InstancePlanner:
    """Previews instances as an operator with these options reconciles them."""

    def __init__(self, services: Services, options: CompositionOptions) -> None:
        self._client = services.client
        self._clock = services.clock
        self._options = options
        limits = instance_limits(options).within(services.namespaces)
        self._previewer = InstancePreviewer(self._client, Discovery(self._client, self._clock), limits)

    async def previews(self, request: PlanRequest) -> list[Preview]:
        """Preview the instances of a request: those that it names, its manifests, or all.

        Raise CommandError if an instance that it names does not exist, and ApiError.
        """
        definitions = in_force(await ClusterReader(self._client).select(DEFINITION_KIND))
        kinds = [known for one in definitions if (known := composed_kind(one)) is not None]
        if request.manifests:
            written = [(known, request.manifests_of(known.kind)) for known in kinds]
            return [preview for known, found in written for preview in await self._proposed(known, found)]
        return [
            preview
            async for known, found in self._chosen(kinds, request)
            for preview in await self._existing(known, found)
        ]

    async def _existing(self, known: KnownKind, instances: dict[Key, JsonObject]) -> list[Preview]:
        if not instances:
            return []
        graph, kind, why = await self._graph(known)
        return [await self._previewer.preview(graph, kind, key, obj, why) for key, obj in instances.items()]

    async def _proposed(self, known: KnownKind, manifests: dict[Key, Manifest]) -> list[Preview]:
        """What applying the manifests would lead to; a refusal for each that the server would refuse."""
        if not manifests:
            return []
        graph, kind, why = await self._graph(known)
        previews: list[Preview] = []
        for key, manifest in manifests.items():
            try:
                instance = await self._propose(graph, kind, key, manifest)
            except RejectedError as error:
                refusal = Stall(INVALID, error.message)
                previews.append(Preview.refused(kind.kind, key, refusal))
            else:
                previews.append(await self._previewer.preview(graph, kind, key, instance, why))
        return previews

    async def _propose(self, graph: Graph | None, kind: Kind, key: Key, manifest: Manifest) -> JsonObject:
        """The instance after its manifest was applied. Raise RejectedError if it is not valid, ApiError."""
        written = {name: value for name, value in manifest.body.items() if name != "status"}
        if kind.namespaced:
            written["metadata"] = {**written["metadata"], "namespace": key.namespace}
        proposed = written if graph is None else prepare_instance(graph, written)
        try:
            live = await self._client.get(kind, key)
        except NotFoundError:
            live = None
        return applied(proposed, live, self._clock.now())

    async def _graph(self, known: KnownKind) -> tuple[Graph | None, Kind, str]:
        """The graph of a kind, the kind, and why there is no graph."""
        try:
            return *await served_graph(self._client, self._clock, known.definition, self._options), ""
        except UnknownInstanceError as error:
            return None, known.kind, str(error)

    async def _chosen(
        self, kinds: Iterable[KnownKind], request: PlanRequest
    ) -> AsyncIterator[tuple[KnownKind, dict[Key, JsonObject]]]:
        if not request.instances:
            for known in kinds:
                yield known, await self._all(known, request)
            return
        for name, instance in request.instances:
            found = _named(kinds, name)
            key = Key(request.namespace if found.kind.namespaced else "", instance)
            try:
                yield found, {key: await self._client.get(found.kind, key)}
            except NotFoundError as error:
                raise CommandError(
                    f"there is no {found.kind.kind} {key}", "without a name all are planned"
                ) from error

    async def _all(self, known: KnownKind, request: PlanRequest) -> dict[Key, JsonObject]:
        """The instances of all namespaces, or only of the one if RBAC denies listing all. None of a kind that is not served."""
        wanted = request.namespace if request.only_namespace and known.kind.namespaced else ""
        try:
            return await list_objects(self._client, known.kind, wanted)
        except NotFoundError:
            return {}
        except ForbiddenError:
            if wanted or not known.kind.namespaced:
                raise
            return await list_objects(self._client, known.kind, request.namespace)


def _named(kinds: Iterable[KnownKind], name: str) -> KnownKind:
    """The kind of a name. Raise CommandError if there is none, or more than one."""
    found = [one for one in kinds if name.lower() in one.names]
    if not found:
        raise CommandError(f"there is no kind {name!r} that can be planned for")
    if len(found) > 1:
        choices = " or ".join(sorted(qualified(one.kind.group, one.kind.kind) for one in found))
        raise CommandError(f"there are several kinds {name!r}", f"say {choices}")
    return found[0]


async def list_objects(client: KubeClient, kind: Kind, namespace: str) -> dict[Key, JsonObject]:
    """All objects of a namespace, or of all if it is empty. Raise ApiError."""
    listed: dict[Key, JsonObject] = {}
    async for page in client.pages(kind, namespace=namespace):
        for raw in page.items:
            obj: JsonObject = msgspec.json.decode(raw)
            listed[Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])] = obj
    return listed
