"""`edgekeeper diff`: show what a changed definition or instance would change, against a cluster or between files."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import msgspec
from rich.text import Text

from edgekeeper.cli.definitions import graph_in
from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.help import Command
from edgekeeper.cli.reaching import ATTEMPT, explain
from edgekeeper.cli.render import instance_in, rendered
from edgekeeper.cli.terminal import open_console
from edgekeeper.cli.validate import schemas_option
from edgekeeper.controllers.composition.definition_observe import instance_kind
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance import DEFAULT_NAMESPACE
from edgekeeper.controllers.composition.inventory import read_inventory
from edgekeeper.controllers.composition.labels import APPLY_SET_ID, NODE_ID, PART_OF
from edgekeeper.controllers.composition.object_diff import (
    Child,
    Children,
    Identity,
    as_declared,
    as_expected,
    changed,
    children_of,
    identity_of,
    without_server_fields,
)
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.client import ClientOptions, KubeClient
from edgekeeper.kube.cluster import ClusterConfig, ConfigError
from edgekeeper.kube.config import load_config
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.errors import ApiError, NotFoundError
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.transport import Transport
from edgekeeper.runtime.logs import configure

_STYLES = {"+": "green", "-": "red", "@": "cyan", "#": "yellow"}
_DIFFERENT = ExitCode.FAILED


@click.command(
    cls=Command,
    examples=[
        ("edgekeeper diff webapp.yaml shop.yaml", "what applying both would change in the cluster"),
        ("edgekeeper diff new.yaml shop.yaml --against old.yaml", "what a changed definition would change"),
        ("edgekeeper diff webapp.yaml new.yaml --against-instance old.yaml", "the same of an instance"),
    ],
)
@click.argument("definition", type=click.Path(path_type=Path), metavar="RGD")
@click.argument("instance", type=click.Path(path_type=Path), metavar="INSTANCE")
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="RGD",
    help="Compare with what this definition renders, without a cluster.",
)
@click.option(
    "--against-instance",
    type=click.Path(path_type=Path),
    metavar="INSTANCE",
    help="Compare with what this instance renders, without a cluster.",
)
@schemas_option
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Use the cluster of this kubeconfig.  [default: $KUBECONFIG, the pod's cluster, ~/.kube/config]",
)
@click.option("--context", metavar="NAME", help="Use this context of the kubeconfig.")
def diff(  # noqa: PLR0913 - one parameter per option
    *,
    definition: Path,
    instance: Path,
    against: Path | None,
    against_instance: Path | None,
    schemas: Sequence[Path],
    kubeconfig: Path | None,
    context: str | None,
) -> int:
    """Show what a definition and an instance would change.

    Without --against and --against-instance the objects of the instance are compared with those in the cluster, which is
    only read. The exit code is 0 if nothing differs, 1 if something does, and 2 if it cannot be found out.
    """
    try:
        if against is not None or against_instance is not None:
            old = Side.of(against or definition, against_instance or instance, schemas)
            new = Side.of(definition, instance, schemas)
            lines = list(_between(old.children, new.children))
        else:
            cluster = _cluster(kubeconfig, context)
            new = Side.of(definition, instance, schemas, cluster.namespace)
            lines = asyncio.run(_against_cluster(new, cluster))
    except CommandError as error:
        raise CommandError(error.message, error.remedy, ExitCode.USAGE) from error
    console = open_console(sys.stdout)
    for line in lines:
        console.print(Text(line, _STYLES.get(line[:1], "")), soft_wrap=True)
    return _DIFFERENT if any(not line.startswith("#") for line in lines) else ExitCode.OK


@dataclass(frozen=True)
class Side:
    """A definition and an instance of it, rendered."""

    graph: Graph
    instance: JsonObject
    children: Children

    @classmethod
    def of(cls, definition: Path, instance: Path, schemas: Sequence[Path], namespace: str = "") -> Side:
        """`namespace` is where an instance goes that does not say it."""
        graph = graph_in(definition, schemas)
        manifest = instance_in(instance, graph)
        if namespace and graph.spec.schema.scope != "Cluster" and not manifest.namespace:
            metadata = {**manifest.body["metadata"], "namespace": namespace}
            manifest = replace(manifest, body={**manifest.body, "metadata": metadata})
        return cls(graph, manifest.body, children_of(rendered(graph, manifest)))


def _between(old: Children, new: Children) -> Iterator[str]:
    before = {identity: child.body for identity, child in old.known.items()}
    after = {identity: child.body for identity, child in new.known.items()}
    yield from _unknown({**old.unknown, **new.unknown})
    yield from changed(before, after, ("before", "after"))


def _unknown(unknown: dict[str, str]) -> Iterator[str]:
    for node, why in unknown.items():
        yield f"# {node}: not compared: {why}"


def _cluster(kubeconfig: Path | None, context: str | None) -> ClusterConfig:
    configure(level="error")
    try:
        return load_config(kubeconfig, context)
    except ConfigError as error:
        raise CommandError(str(error), "compare with files by --against instead") from error


async def _against_cluster(side: Side, cluster: ClusterConfig) -> list[str]:
    transport = HttpTransport(cluster)
    try:
        return await compare_with_cluster(side, transport)
    except ApiError as error:
        raise explain(error, cluster) from error
    finally:
        await transport.close()


async def compare_with_cluster(side: Side, transport: Transport) -> list[str]:
    """The lines of the comparison with a cluster. Raise ApiError if it cannot be read."""
    children = side.children
    client = KubeClient(transport, Calls(), SystemClock(), ClientOptions(deadline=ATTEMPT))
    reader = _LiveObjects(client, Discovery(client, SystemClock()))
    before: dict[Identity, JsonObject] = {}
    after: dict[Identity, JsonObject] = {}
    for identity, child in children.known.items():
        live = await reader.find(identity, child)
        after[identity] = child.body if live is None else as_expected(live, child)
        if live is not None:
            before[identity] = as_declared(live, child)
    async for obj in reader.members(*_instance_key(side)):
        node = dig(obj, "metadata", "labels", NODE_ID)
        if identity_of(obj) not in children.known and node not in children.unknown:
            before[identity_of(obj)] = without_server_fields(obj)
    return [*_unknown(dict(children.unknown)), *changed(before, after, ("live", "rendered"))]


def _instance_key(side: Side) -> tuple[Kind, Key]:
    kind = instance_kind(side.graph.spec.schema)
    namespace = dig(side.instance, "metadata", "namespace") or DEFAULT_NAMESPACE
    return kind, Key(namespace if kind.namespaced else "", str(dig(side.instance, "metadata", "name")))


class _LiveObjects:
    """Reads objects of a cluster."""

    def __init__(self, client: KubeClient, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def find(self, identity: Identity, child: Child) -> JsonObject | None:
        """The live object; None if there is none, or its kind is not served."""
        version = str(child.body["apiVersion"]).rpartition("/")[2]
        served = await self._discovery.find(identity.group, identity.kind, version)
        if served is None:
            return None
        namespace = identity.namespace if served.kind.namespaced else ""
        return await self._get(served.kind, Key(namespace, identity.name))

    async def members(self, kind: Kind, key: Key) -> AsyncIterator[JsonObject]:
        """The objects that the live instance has, by its inventory."""
        live = await self._get(kind, key)
        id_ = dig(live, "metadata", "labels", APPLY_SET_ID)
        if live is None or not id_:
            return
        for member in sorted(read_inventory(live).kinds):
            served = await self._discovery.find(member.group, member.kind)
            if served is None:
                continue
            async for page in self._client.pages(served.kind, labels=f"{PART_OF}={id_}"):
                for raw in page.items:
                    identity = {"apiVersion": served.kind.api_version, "kind": served.kind.kind}
                    yield {**msgspec.json.decode(raw), **identity}

    async def _get(self, kind: Kind, key: Key) -> JsonObject | None:
        try:
            return await self._client.get(kind, key)
        except NotFoundError:
            return None
