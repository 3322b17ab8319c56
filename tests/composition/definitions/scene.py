"""A cluster in which the operator reconciles ResourceGraphDefinitions, and instances of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.controllers.composition.definition_report import DECLARATION
from edgekeeper.controllers.composition.definition_shared import Composition
from edgekeeper.controllers.composition.module import DefinitionModule, RevisionModule
from edgekeeper.controllers.composition.registry import GraphRegistry
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.controllers.composition.revision_objects import KIND as REVISION
from edgekeeper.core.calls import CallRecord, Calls
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.core.statuslaws import status_violations
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, EVENT, Key, Kind
from edgekeeper.kube.transport import Transport
from edgekeeper.lifecycle.module import CommonOptions, KindModule
from edgekeeper.runtime.options import LogOptions, RuntimeOptions, ServerOptions
from kubesim.plane.plane import PlaneConfig
from tests.composition.cluster import Cluster, cluster_for

MODULES: tuple[KindModule, ...] = (DefinitionModule(), RevisionModule())
UNHEARD = ServerOptions(health_address=None, metrics_address=None, webhook_address=None)
WEB_APP = Kind("kro.run", "v1alpha1", "WebApp", "webapps")


def config_map(id_: str = "config", name: str = "${schema.spec.name}", **data: str) -> JsonObject:
    """A resource: a ConfigMap."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data or {"a": "1"}}
    return {"id": id_, "template": body}


def definition(
    name: str = "web-apps",
    *resources: JsonObject,
    spec: Mapping[str, Any] | None = None,
    kind: str = "WebApp",
    **schema: Any,
) -> JsonObject:
    """A ResourceGraphDefinition; by default of a WebApp that consists of one ConfigMap."""
    fields = {"name": "string | required=true"} if spec is None else dict(spec)
    return {
        "metadata": {"name": name},
        "spec": {
            "schema": {"kind": kind, "apiVersion": "v1alpha1", "spec": fields, **schema},
            "resources": list(resources or (config_map(),)),
        },
    }


class DefinitionScene:
    """The cluster, and what users do and see."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.clock = cluster.clock
        self.user = KubeClient(cluster.connect(), Calls(), cluster.clock)
        self.writes: list[str] = []
        """What the operator wrote, as operation and subject."""
        self.graphs = GraphRegistry()
        """What is in force in the operator that runs."""
        self.connect: Callable[[str], Transport] = cluster.connect
        """How the operator reaches the cluster."""

    # What users do

    async def create(self, body: JsonObject) -> None:
        await self.user.create(DEFINITION_KIND, body)
        await self.settle()

    async def edit(self, name: str = "web-apps", /, **spec: Any) -> None:
        """Merge into the spec of a definition."""
        await self.user.merge_patch(DEFINITION_KIND, Key("", name), {"spec": spec})
        await self.settle()

    async def annotate(self, name: str = "web-apps", /, **annotations: str | None) -> None:
        patch = {"metadata": {"annotations": dict(annotations.items())}}
        await self.user.merge_patch(DEFINITION_KIND, Key("", name), patch)
        await self.settle()

    async def delete(self, name: str = "web-apps", *, propagation: str = "") -> None:
        await self.user.delete(DEFINITION_KIND, Key("", name), propagation=propagation)
        await self.settle()

    async def instantiate(self, kind: Kind, name: str, spec: JsonObject) -> None:
        """Create an instance in the namespace `default`."""
        await self.user.create(kind, {"metadata": {"name": name}, "spec": spec}, namespace="default")
        await self.settle()

    async def settle(self, seconds: float = 10) -> None:
        await self.cluster.rest(seconds)

    # What users see

    async def get(self, name: str = "web-apps") -> JsonObject:
        """A definition, whose status obeys the laws of every status."""
        found = await self.user.get(DEFINITION_KIND, Key("", name))
        assert status_violations(found, declaration=DECLARATION, now=self.clock.now()) == []
        return found

    async def status(self, name: str = "web-apps") -> JsonObject:
        found: JsonObject = (await self.get(name))["status"]
        return found

    async def condition(self, type_: str, name: str = "web-apps") -> tuple[str, str, str]:
        """Status, reason and message of a condition."""
        for one in dig_list(await self.get(name), "status", "conditions"):
            if one["type"] == type_:
                return one["status"], one["reason"], one["message"]
        return "", "", ""

    async def conditions(self, name: str = "web-apps") -> dict[str, tuple[str, str]]:
        """Status and reason of all conditions."""
        found = dig_list(await self.get(name), "status", "conditions")
        return {one["type"]: (one["status"], one["reason"]) for one in found}

    async def find(self, kind: Kind, name: str, namespace: str = "default") -> JsonObject | None:
        """An object in a namespace, if it exists."""
        try:
            return await self.user.get(kind, Key(namespace, name))
        except NotFoundError:
            return None

    async def is_there(self, kind: Kind, name: str) -> bool:
        try:
            await self.user.get(kind, Key("", name))
        except NotFoundError:
            return False
        return True

    async def crd(self, name: str = "webapps.kro.run") -> JsonObject:
        return await self.user.get(CUSTOM_RESOURCE_DEFINITION, Key("", name))

    async def crd_fields(self, name: str = "webapps.kro.run") -> JsonObject:
        """The schema of the fields of an instance's spec."""
        version = (await self.crd(name))["spec"]["versions"][0]
        found: JsonObject = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        return found

    async def revisions(self, definition: str = "web-apps") -> list[JsonObject]:
        """The revisions of a definition, the oldest first."""
        items = [msgspec.json.decode(raw) async for page in self.user.pages(REVISION) for raw in page.items]
        found = [one for one in items if one["spec"]["snapshot"]["name"] == definition]
        return sorted(found, key=lambda one: int(one["spec"]["revision"]))

    async def numbers(self, definition: str = "web-apps") -> list[int]:
        return [one["spec"]["revision"] for one in await self.revisions(definition)]

    async def events(self, reason: str) -> list[str]:
        """The messages of the events with a reason."""
        items = [msgspec.json.decode(raw) async for page in self.user.pages(EVENT) for raw in page.items]
        return [event["note"] for event in items if event["reason"] == reason]

    # The operator

    def note(self, record: CallRecord) -> None:
        if record.mutating and "events" not in record.operation:
            self.writes.append(f"{record.operation} {record.subject}")

    @asynccontextmanager
    async def operating(self, token: str = "", **values: Any) -> AsyncIterator[Operator]:
        """Run the operator, with values of flags, as whoever the token stands for."""
        options = OperatorOptions(
            RuntimeOptions(server=UNHEARD, log=LogOptions(level="info")),
            CommonOptions("blue", "edgekeeper"),
            values={"composition": "on", **values},
            modules=MODULES,
            signals=False,
        )
        transport = self.connect(token)
        async with assembled(options, transport, None, clock=self.clock, host="plane") as operator:
            operator.calls.hooks.append(_Noting(self.note))
            shared: Composition = operator.process.made[Composition]
            self.graphs = shared.graphs
            async with operator.manager.running():
                await self.settle(1)
                yield operator


class _Noting:
    def __init__(self, note: Callable[[CallRecord], None]) -> None:
        self._note = note

    async def before(self, call: CallRecord) -> None:
        self._note(call)

    async def after(self, call: CallRecord) -> None: ...


@asynccontextmanager
async def scenery(config: PlaneConfig | None = None) -> AsyncIterator[DefinitionScene]:
    """A cluster with the definitions of composition."""
    async with cluster_for(config) as cluster:
        scene = DefinitionScene(cluster)
        try:
            await cluster.install()
            yield scene
        finally:
            await scene.user.close()
