"""An operator with a Deployment of its own, in virtual time: for tests of OperatorConfigs, workers and settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

import yaml

from edgekeeper.api.zerotrust_operator_config import OPERATOR_CONFIG
from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.controllers.zerotrust.module_operator import OperatorConfigModule, OperatorWorkersModule
from edgekeeper.controllers.zerotrust.operator_config import KIND
from edgekeeper.core.calls import CallRecord, Calls
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, NAMESPACE, POD, REPLICA_SET, Key
from edgekeeper.lifecycle.module import CommonOptions, KindModule
from edgekeeper.runtime.options import LogOptions, RuntimeOptions, ServerOptions
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.resource import GroupResource
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock

HOME = "cloudflare-zero-trust"
"""The operator's namespace, as the described operator has it."""
OWN = Key(HOME, "cloudflare-zero-trust-operator")
CONFIG = Key(HOME, "operator-config")
UNHEARD = ServerOptions(health_address=None, metrics_address=None, webhook_address=None)
MODULES: tuple[KindModule, ...] = (OperatorConfigModule(), OperatorWorkersModule())
_EVENTS = GroupResource("", "events")

MANAGER: JsonObject = yaml.safe_load("""\
metadata:
  name: cloudflare-zero-trust-operator
  namespace: cloudflare-zero-trust
spec:
  replicas: 1
  selector: {matchLabels: {app: operator}}
  template:
    metadata:
      labels: {app: operator, team: edge}
    spec:
      serviceAccountName: edgekeeper
      volumes: [{name: tmp, emptyDir: {}}]
      containers:
        - name: proxy
          image: proxy:1
          env: [{name: LOG_LEVEL, value: WARNING}]
        - name: operator
          image: edgekeeper:1
          args: [run, --leader-elect, --role=manager]
          env:
            - {name: LOG_LEVEL, value: INFO}
            - {name: EXTRA, value: kept}
          resources: {requests: {cpu: 50m}}
          volumeMounts: [{name: tmp, mountPath: /tmp}]
""")


class OperatorScene:
    """The cluster, and what users do and see."""

    def __init__(self, plane: Plane, clock: LoopClock) -> None:
        self.plane = plane
        self.clock = clock
        self.user = KubeClient(InProcessTransport(plane), Calls(), clock)
        self.writes: list[str] = []
        """What the operator wrote, as operation and subject."""

    async def configure(self, name: str = CONFIG.name, /, **spec: Any) -> None:
        await self.user.create(KIND, {"metadata": {"name": name, "namespace": HOME}, "spec": spec})

    async def edit(self, **spec: Any) -> None:
        await self.user.merge_patch(KIND, CONFIG, {"spec": spec})

    async def config(self, name: str = CONFIG.name) -> JsonObject:
        return await self.user.get(KIND, Key(HOME, name))

    async def conditions(self, name: str = CONFIG.name) -> dict[str, JsonObject]:
        found = dig_list(await self.config(name), "status", "conditions")
        return {condition["type"]: condition for condition in found}

    async def deployment(self, key: Key = OWN) -> JsonObject:
        return await self.user.get(DEPLOYMENT, key)

    async def is_there(self, key: Key) -> bool:
        try:
            await self.deployment(key)
        except NotFoundError:
            return False
        return True

    async def container(self, name: str = "operator", key: Key = OWN) -> JsonObject:
        containers = (await self.deployment(key))["spec"]["template"]["spec"]["containers"]
        found: JsonObject = next(each for each in containers if each["name"] == name)
        return found

    async def environment(self, name: str = "operator", key: Key = OWN) -> dict[str, str]:
        """The variables of a container. There are no duplicates."""
        entries = (await self.container(name, key)).get("env", [])
        assert len({entry["name"] for entry in entries}) == len(entries)
        return {entry["name"]: entry.get("value", "") for entry in entries}

    async def settle(self, seconds: float = 5) -> None:
        await asyncio.sleep(seconds)

    async def roll_out(self, key: Key = OWN, *, ready: int) -> None:
        """The Deployment is rolled out, and some of its replicas are ready."""
        generation = (await self.deployment(key))["metadata"]["generation"]
        counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), ready)
        status = {"observedGeneration": generation, **counts}
        await self.user.merge_patch(DEPLOYMENT, key, {"status": status}, subresource="status")
        await self.settle()

    def events(self, reason: str) -> list[str]:
        found = [item.decode() for item in self.plane.store.collection(_EVENTS).ordered()]
        return [event["message"] for event in found if event["reason"] == reason]

    def deployment_writes(self) -> list[str]:
        return [write for write in self.writes if "deployments" in write]

    def note(self, record: CallRecord) -> None:
        if record.mutating:
            self.writes.append(f"{record.operation} {record.subject}")

    @asynccontextmanager
    async def operating(
        self,
        role: str = "",
        *,
        pod_name: str = "",
        deployment: str = OWN.name,
        runtime: RuntimeOptions | None = None,
        modules: tuple[KindModule, ...] = MODULES,
    ) -> AsyncIterator[Operator]:
        common = CommonOptions("blue", HOME, pod_name=pod_name, operator_deployment=deployment)
        options = OperatorOptions(
            runtime or RuntimeOptions(server=UNHEARD, log=LogOptions(level="info")),
            common,
            modules=modules,
            role=role,
            signals=False,
        )
        transport = InProcessTransport(self.plane)
        async with assembled(options, transport, None, clock=self.clock, host="plane") as operator:
            operator.calls.hooks.append(_Noting(self.note))
            async with operator.manager.running():
                yield operator


class _Noting:
    def __init__(self, note: Callable[[CallRecord], None]) -> None:
        self._note = note

    async def before(self, call: CallRecord) -> None:
        self._note(call)

    async def after(self, call: CallRecord) -> None: ...


@asynccontextmanager
async def scenery(manager: JsonObject = MANAGER, *, alive: bool = True) -> AsyncIterator[OperatorScene]:
    """A cluster with the definition of OperatorConfig and the operator's Deployment; if `alive`, Deployments become ready."""
    clock = LoopClock()
    simulators = frozenset({"workloads"} if alive else ())
    config = PlaneConfig(simulators=simulators, gateway_api=False, now=clock.now)
    async with Plane(config) as plane:
        scene = OperatorScene(plane, clock)
        await scene.user.create(CUSTOM_RESOURCE_DEFINITION, OPERATOR_CONFIG.definition())
        await plane.settle()
        await scene.user.create(NAMESPACE, {"metadata": {"name": HOME}})
        await scene.user.create(DEPLOYMENT, manager)
        await plane.settle()
        yield scene


async def create_pod(scene: OperatorScene, uid: str) -> None:
    """A pod of the operator's Deployment, with its ReplicaSet."""

    def owned_by(kind: str, name: str, owner: str, api_version: str = "apps/v1") -> list[JsonObject]:
        return [{"apiVersion": api_version, "kind": kind, "name": name, "uid": owner, "controller": True}]

    template = deepcopy(MANAGER["spec"]["template"])
    replica_set = await scene.user.create(
        REPLICA_SET,
        {
            "metadata": {
                "name": "operator-1",
                "namespace": HOME,
                "ownerReferences": owned_by("Deployment", OWN.name, uid),
            },
            "spec": {"selector": MANAGER["spec"]["selector"], "template": template, "replicas": 0},
        },
    )
    await scene.user.create(
        POD,
        {
            "metadata": {
                "name": "operator-1-a",
                "namespace": HOME,
                "ownerReferences": owned_by("ReplicaSet", "operator-1", replica_set["metadata"]["uid"]),
            },
            "spec": template["spec"],
        },
    )
    statuses = [
        {
            "name": name,
            "image": f"{name}:1",
            "imageID": f"sha256:{name}",
            "ready": True,
            "restartCount": 0,
        }
        for name in ("proxy", "operator")
    ]
    await scene.user.merge_patch(
        POD, Key(HOME, "operator-1-a"), {"status": {"containerStatuses": statuses}}, subresource="status"
    )
