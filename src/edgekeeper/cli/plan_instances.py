"""`edgekeeper plan` for instances of the kinds that ResourceGraphDefinitions define: which children would be changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

import msgspec

from edgekeeper.cli.failure import CommandError
from edgekeeper.controllers.composition.definition_instances import instance_limits
from edgekeeper.controllers.composition.definition_options import CompositionOptions, qualified
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance_preview import InstancePreviewer
from edgekeeper.controllers.composition.live_states import UnknownInstanceError, in_force, served_graph
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from edgekeeper.diagnosis.catalog import KnownKind, composed_kind
from edgekeeper.diagnosis.reading import ClusterReader
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.errors import ForbiddenError, NotFoundError
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.preview import Preview
from edgekeeper.runtime.contract import Services


@dataclass(frozen=True)
class InstanceSelection:
    """The instances to plan for."""

    targets: tuple[tuple[str, str], ...] = ()
    """Kinds, as people call them, and names; all instances if there are none."""
    namespace: str = ""
    """The namespace of targets."""
    only_namespace: bool = False
    """Whether to plan only for instances of that namespace."""


async def preview_instances(
    services: Services, selection: InstanceSelection, options: CompositionOptions
) -> list[Preview]:
    """Preview instances as an operator with these options reconciles them.

    Raise CommandError if a target does not exist, and ApiError.
    """
    client, clock = services.client, services.clock
    definitions = in_force(await ClusterReader(client).select(DEFINITION_KIND))
    kinds = [known for one in definitions if (known := composed_kind(one)) is not None]
    limits = instance_limits(options).within(services.namespaces)
    previewer = InstancePreviewer(client, Discovery(client, clock), limits)
    previews: list[Preview] = []
    async for known, instances in _chosen(client, kinds, selection):
        if instances:
            graph, kind, why = await _graph(client, clock, known, options)
            previews += [
                await previewer.preview(graph, kind, key, obj, why) for key, obj in instances.items()
            ]
    return previews


async def _graph(
    client: KubeClient, clock: Clock, known: KnownKind, options: CompositionOptions
) -> tuple[Graph | None, Kind, str]:
    """The graph of a kind, the kind, and why there is no graph."""
    try:
        return *await served_graph(client, clock, known.definition, options), ""
    except UnknownInstanceError as error:
        return None, known.kind, str(error)


async def _chosen(
    client: KubeClient, kinds: Iterable[KnownKind], selection: InstanceSelection
) -> AsyncIterator[tuple[KnownKind, dict[Key, JsonObject]]]:
    if not selection.targets:
        for known in kinds:
            yield known, await _all(client, known, selection)
        return
    for name, instance in selection.targets:
        found = _named(kinds, name)
        key = Key(selection.namespace if found.kind.namespaced else "", instance)
        try:
            yield found, {key: await client.get(found.kind, key)}
        except NotFoundError as error:
            raise CommandError(
                f"there is no {found.kind.kind} {key}", "without a name all are planned"
            ) from error


def _named(kinds: Iterable[KnownKind], name: str) -> KnownKind:
    """The kind of a name. Raise CommandError if there is none, or more than one."""
    found = [one for one in kinds if name.lower() in one.names]
    if not found:
        raise CommandError(f"there is no kind {name!r} that can be planned for")
    if len(found) > 1:
        choices = " or ".join(sorted(qualified(one.kind.group, one.kind.kind) for one in found))
        raise CommandError(f"there are several kinds {name!r}", f"say {choices}")
    return found[0]


async def _all(client: KubeClient, known: KnownKind, selection: InstanceSelection) -> dict[Key, JsonObject]:
    """The instances of all namespaces, or only of the one if RBAC denies listing all. None of a kind that is not served."""
    wanted = selection.namespace if selection.only_namespace and known.kind.namespaced else ""
    try:
        return await list_objects(client, known.kind, wanted)
    except NotFoundError:
        return {}
    except ForbiddenError:
        if wanted or not known.kind.namespaced:
            raise
        return await list_objects(client, known.kind, selection.namespace)


async def list_objects(client: KubeClient, kind: Kind, namespace: str) -> dict[Key, JsonObject]:
    """All objects of a namespace, or of all if it is empty. Raise ApiError."""
    listed: dict[Key, JsonObject] = {}
    async for page in client.pages(kind, namespace=namespace):
        for raw in page.items:
            obj: JsonObject = msgspec.json.decode(raw)
            listed[Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])] = obj
    return listed
