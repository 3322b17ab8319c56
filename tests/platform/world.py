"""The platform APIs as a newcomer meets them: the operator with all its kinds, ACK, and both clouds, in virtual time.

    @virtual_time
    async def test_…() -> None:
        async with platform() as world:
            await world.apply(instance("TubiLambdaService", "orders", code=CODE))
            await world.active("TubiLambdaService", "orders")
            assert world.function("orders").configuration["memorySize"] == 256

The ResourceGraphDefinitions are those of `examples/platform`, applied as they are. What a test leaves in AWS, at Cloudflare and
in the cluster can be compared with what was there before (`World.portrait`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.cli.manifest import load_manifests
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.controllers.zerotrust.route_index import TENANT
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, SECRET, Key, Kind
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.options import LogOptions, RuntimeOptions, ServerOptions
from kubesim.ack.controller import AckControllers, acting
from kubesim.ack.definitions import KINDS as ACK_KINDS
from kubesim.aws.functions.state import Function
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.resource import GroupResource
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock
from tests.bridge.estate import REGION, BridgeEstate
from tests.tenants.scene import records_of
from tests.zerotrust_worker.world import Estate as CloudflareEstate

EXAMPLES: Final = Path(__file__).parents[2] / "examples" / "platform"
KINDS: Final = ("TubiLambdaService", "TubiService", "TubiPostgres")
HOME: Final = "edgekeeper-system"
APPS: Final = "apps"
"""The namespace of the instances. It has a Zero Trust tenant."""
UNHEARD: Final = ServerOptions(health_address=None, metrics_address=None, webhook_address=None)
CODE: Final = {"bucket": "releases", "key": "orders/1.0.0/bootstrap.zip"}
_TRACES: Final = frozenset(
    {"events", "leases", "namespaces", "endpoints", "endpointslices", "serviceaccounts"}
)
"""Kinds whose objects stay, or are made by the cluster itself."""


def instance(kind: str, name: str, /, **spec: Any) -> JsonObject:
    """An instance in the namespace `apps`."""
    metadata = {"name": name, "namespace": APPS}
    return {"apiVersion": "kro.run/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


@cache
def definitions() -> tuple[JsonObject, ...]:
    """The ResourceGraphDefinitions of the examples."""
    return tuple(manifest.body for manifest in load_manifests([EXAMPLES]))


class World:
    """See the module."""

    def __init__(self, plane: Plane, clock: LoopClock) -> None:
        self.plane = plane
        self.clock = clock
        self.aws = BridgeEstate(clock)
        self.cloudflare = CloudflareEstate(clock)
        self.user = KubeClient(InProcessTransport(plane), Calls(), clock)
        self.ack: AckControllers
        self._discovery = Discovery(self.user, clock)

    # What people do

    async def apply(self, obj: JsonObject) -> None:
        kind = await self._kind(obj["apiVersion"], obj["kind"])
        fields = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}
        key = Key(dig(obj, "metadata", "namespace") or "", obj["metadata"]["name"])
        await self.user.apply(kind, key, fields, manager="kubectl", force=True)

    async def define(self, body: JsonObject) -> None:
        """Create a ResourceGraphDefinition, and wait until it is Active."""
        name = str(body["metadata"]["name"])
        await self.user.create(DEFINITION_KIND, body)
        found = "ResourceGraphDefinition", name, ""
        await self.until(lambda: dig(self.find(*found), "status", "state") == "Active")

    async def edit(self, kind: str, name: str, **spec: Any) -> None:
        """Merge into the spec of an instance."""
        await self.user.merge_patch(self._instance_kind(kind), Key(APPS, name), {"spec": spec})

    async def delete(self, kind: str, name: str) -> None:
        await self.user.delete(self._instance_kind(kind), Key(APPS, name))

    async def scale(self, kind: str, name: str, replicas: int) -> None:
        """What an autoscaler does with a Deployment."""
        path = f"/apis/apps/v1/namespaces/{APPS}/{kind.lower()}s/{name}/scale"
        await self.plane.client.merge(path, {"spec": {"replicas": replicas}})

    async def elapse(self, **interval: float) -> None:
        await asyncio.sleep(timedelta(**interval).total_seconds())

    async def until(self, holds: Callable[[], object], minutes: float = 60) -> None:
        try:
            async with asyncio.timeout(minutes * 60):
                while not holds():  # noqa: ASYNC110 - of virtual time
                    await asyncio.sleep(0.25)
        except TimeoutError:
            raise AssertionError(f"it never happened: {self.told()}") from None

    async def active(self, kind: str, name: str) -> JsonObject:
        """Wait until an instance is ACTIVE with its present spec; return its status."""
        await self.until(lambda: self._is_active(kind, name))
        return self.status(kind, name)

    async def gone(self, kind: str, name: str) -> None:
        await self.until(lambda: self.find(kind, name) is None)

    # What is in the cluster

    def all(self, kind: str, group: str = "") -> list[JsonObject]:
        """All objects of a kind; the group where several have a kind of this name."""
        found = [
            GroupResource(one.group, one.plural)
            for one in self.plane.registry.all()
            if one.kind == kind and group in ("", one.group)
        ]
        return [item.decode() for one in found[:1] for item in self.plane.store.collection(one).ordered()]

    def find(self, kind: str, name: str, namespace: str = APPS, group: str = "") -> JsonObject | None:
        found = (
            one
            for one in self.all(kind, group)
            if (dig(one, "metadata", "namespace") or "", one["metadata"]["name"]) == (namespace, name)
        )
        return next(found, None)

    def get(self, kind: str, name: str, namespace: str = APPS, group: str = "") -> JsonObject:
        found = self.find(kind, name, namespace, group)
        assert found is not None, f"there is no {kind} {namespace}/{name}"
        return found

    def status(self, kind: str, name: str) -> JsonObject:
        return dig_object(self.get(kind, name), "status")

    def condition(self, kind: str, name: str, type_: str = "Ready") -> JsonObject:
        found = dig_list(self.get(kind, name), "status", "conditions")
        return next((one for one in found if one["type"] == type_), {})

    def children(self, name: str) -> set[str]:
        """The kinds of the objects that an instance consists of."""
        found: set[str] = set()
        for resource in self.plane.registry.all():
            for item in self.plane.store.collection(GroupResource(resource.group, resource.plural)).ordered():
                if dig(item.decode(), "metadata", "labels", "kro.run/instance-name") == name:
                    found.add(resource.kind)
        return found

    def told(self) -> str:
        kinds = ("ResourceGraphDefinition", *KINDS)
        found = [one for kind in kinds for one in self.all(kind)]
        wrong = [one for one in found if dig(one, "status", "state") not in ("Active", "ACTIVE")]
        return "\n".join(f"{one['metadata']['name']}: {one.get('status')}" for one in wrong)

    # What is in the clouds

    def function(self, name: str) -> Function:
        """The function of an instance."""
        return self.aws.functions.find(f"{APPS}-{name}")[0]

    @property
    def records(self) -> dict[str, str]:
        """What is in the zone of Route 53."""
        return records_of(self.aws.zone.records.values())

    def rule(self, hostname: str) -> JsonObject | None:
        """The rule of the tunnel for a hostname."""
        return next((one for one in self.cloudflare.rules() if one["hostname"] == hostname), None)

    def admitted(self, hostname: str) -> list[str] | None:
        """Who may log in; None where there is no application."""
        account = self.cloudflare.account
        for application in account.applications.values():
            if application["domain"] == hostname:
                policies = [account.policies[one["id"]] for one in application["policies"]]
                rules = [rule for one in policies for rule in one["include"]]
                return [rule["email"]["email"] for rule in rules if "email" in rule]
        return None

    def portrait(self) -> JsonObject:
        """Everything in both clouds, and the names of everything in the cluster."""
        account, aws = self.cloudflare.account, self.aws
        return {
            "aws": aws.state(),
            "functions": sorted(one.name for one in aws.functions.save()),
            "apis": {id_: sorted(stages) for id_, stages in aws.gateway.apis.items()},
            "existing": sorted(self.ack.aws.existing),
            "tenants": sorted(one.name for one in aws.cloud.cloudfront.tenants.values()),
            "cloudflare": repr((account.applications, account.policies, self.cloudflare.rules())),
            "names": sorted(record["name"] for record in self.cloudflare.zone.records.values()),
            "cluster": sorted(self._objects()),
        }

    def _objects(self) -> list[str]:
        return [
            f"{resource.kind} {item.key}"
            for resource in self.plane.registry.all()
            if resource.plural not in _TRACES
            for item in self.plane.store.collection(GroupResource(resource.group, resource.plural)).ordered()
        ]

    def _is_active(self, kind: str, name: str) -> bool:
        obj = self.get(kind, name)
        ready = self.condition(kind, name)
        is_current = ready.get("observedGeneration") == obj["metadata"]["generation"]
        is_ready = ready.get("status") == "True" and dig(obj, "status", "state") == "ACTIVE"
        return bool(is_current and is_ready)

    def _instance_kind(self, kind: str) -> Kind:
        return Kind(
            "kro.run", "v1alpha1", kind, f"{kind.lower()}s" if kind != "TubiPostgres" else "tubipostgres"
        )

    async def _kind(self, api_version: str, kind: str) -> Kind:
        group, _, version = api_version.rpartition("/")
        served = await self._discovery.find(group, kind, version)
        assert served is not None, f"{api_version} {kind} is not served"
        return served.kind


async def _furnish(world: World) -> None:
    """All kinds, and a namespace for instances with a Zero Trust tenant."""
    for definition in (
        *(kind.definition() for kind in DEFINITIONS),
        *(kind.definition() for kind in ACK_KINDS),
    ):
        await world.user.create(CUSTOM_RESOURCE_DEFINITION, definition)
    await world.plane.settle()
    for name in (HOME, APPS):
        await world.user.create(NAMESPACE, {"metadata": {"name": name}})
    estate = world.cloudflare
    metadata = {"name": "cloudflare", "namespace": APPS}
    await world.user.create(SECRET, {"metadata": metadata, "stringData": {"token": estate.token.value}})
    spec = {
        "accountId": estate.account.id,
        "tunnelId": estate.tunnel,
        "credentialRef": {"name": "cloudflare"},
    }
    await world.user.create(TENANT, {"metadata": {"name": "main", "namespace": APPS}, "spec": spec})


@asynccontextmanager
async def running(world: World) -> AsyncIterator[Operator]:
    """An operator with all kinds at work."""
    options = OperatorOptions(
        RuntimeOptions(server=UNHEARD, log=LogOptions(level="info")),
        CommonOptions("blue", HOME, pod_name="pod-1"),
        signals=False,
        cloudflare_url="https://cloudflare.test/client/v4",
        cloudflare_sender=world.cloudflare.send,
    )
    transport = InProcessTransport(world.plane)
    clients = world.aws.clients()
    async with (
        assembled(options, transport, clients, clock=world.clock, host="plane") as operator,
        operator.manager.running(),
    ):
        yield operator


@asynccontextmanager
async def platform(*kinds: str) -> AsyncIterator[World]:
    """A cluster in which the definitions of these kinds are Active, by default of all.

    At the end, no guarded hostname was ever open, and no name ever led to an endpoint that was gone.
    """
    clock = LoopClock()
    config = PlaneConfig(simulators=frozenset({"workloads"}), gateway_api=True, now=clock.now)
    async with Plane(config) as plane:
        world = World(plane, clock)
        await _furnish(world)
        async with acting(plane, world.aws.cloud, REGION) as world.ack, running(world):
            for body in definitions():
                if body["spec"]["schema"]["kind"] in (kinds or KINDS):
                    await world.define(body)
            yield world
            assert not world.cloudflare.wrongs, "\n".join(world.cloudflare.wrongs[:10])
            assert not world.aws.dangling, "\n".join(world.aws.dangling[:10])
