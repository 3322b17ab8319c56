"""A cluster with the kube-worker's controllers, and a worker of the test's own in place of the one that calls Cloudflare.

@virtual_time
async def test_…() -> None:
    async with world() as cluster:
        await cluster.create(tenant())
        await cluster.create(route())
        await cluster.ready()
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final

import msgspec

from edgekeeper.api.zerotrust import PREFIX, ZERO_TRUST_TEMPLATE, ZERO_TRUST_TENANT
from edgekeeper.api.zerotrust_task import CLOUDFLARE_TASK, CloudflareTask, InventoryItem, TaskSpec
from edgekeeper.controllers.zerotrust.kube_worker import KubeWorkerOptions, kube_worker
from edgekeeper.controllers.zerotrust.legacy_state import ids_of_inventory
from edgekeeper.controllers.zerotrust.route_index import TASK, TEMPLATE, TENANT
from edgekeeper.controllers.zerotrust.route_objects import identity
from edgekeeper.controllers.zerotrust.route_report import MESSAGE, READY, REASON
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError, StaleError
from edgekeeper.kube.kinds import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    HTTP_ROUTE,
    NAMESPACE,
    REFERENCE_GRANT,
    SERVICE,
    Key,
    Kind,
)
from edgekeeper.kube.transport import Transport
from edgekeeper.lifecycle.claims import Claims
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.resource import GroupResource
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock
from tests.crash.faults import Trace, TracedCall
from tests.crash.life import Life, Surroundings
from tests.crash.system import System

OPERATOR: Final = "cloudflare-zero-trust"
ACCOUNT: Final = "a" * 32
OTHER_ACCOUNT: Final = "b" * 32
TUNNEL: Final = "11111111-1111-1111-1111-111111111111"
ZONE: Final = "f" * 32
KEY: Final = Key("web", "shop")
MAIN: Final = Key("web", "main")
"""The tenant of most routes."""
KINDS: Final = {
    kind.kind: kind
    for kind in (HTTP_ROUTE, TENANT, TEMPLATE, TASK, CONFIG_MAP, SERVICE, NAMESPACE, REFERENCE_GRANT)
}
OPTIONS: Final = KubeWorkerOptions(operator_namespace=OPERATOR)
_EVENTS: Final = GroupResource("", "events")


def route(key: Key = KEY, hostname: str = "", /, **annotations: str) -> JsonObject:
    """An enabled route. Annotations by name: `accessApp="true"`, with a dot as two underscores."""
    named = {
        "enabled": "true",
        "hostname": hostname or f"{key.name}.{key.namespace}.example.com",
        **annotations,
    }
    rule = {"backendRefs": [{"name": "app", "port": 8080}]}
    return {
        "apiVersion": HTTP_ROUTE.api_version,
        "kind": HTTP_ROUTE.kind,
        "metadata": {"name": key.name, "namespace": key.namespace, "annotations": prefixed(named)},
        "spec": {"parentRefs": [{"name": "gateway"}], "rules": [rule]},
    }


def prefixed(named: dict[str, Any]) -> dict[str, Any]:
    """Annotations by their full names."""
    return {
        name if "/" in name else f"{PREFIX}{name.replace('__', '.')}": value
        for name, value in named.items()
        if value != ""
    }


def tenant(key: Key = MAIN, account: str = ACCOUNT, **spec: Any) -> JsonObject:
    body = {"accountId": account, "tunnelId": TUNNEL, "credentialRef": {"name": "token"}, **spec}
    return plain_object(TENANT, key, spec=body)


def template(key: Key, **spec: Any) -> JsonObject:
    return plain_object(TEMPLATE, key, spec=spec)


def state_object(name: str, data: dict[str, str], labels: dict[str, str], uid: str = "") -> JsonObject:
    annotations = {f"{PREFIX}httproute-uid": uid} if uid else {}
    body = plain_object(CONFIG_MAP, Key(OPERATOR, name), data=data)
    body["metadata"] |= {"labels": labels, "annotations": annotations}
    return body


def plain_object(kind: Kind, key: Key, **body: Any) -> JsonObject:
    metadata: JsonObject = {"name": key.name, "namespace": key.namespace}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body}


class FakeWorker:
    """Completes tasks, and remembers what exists because of them."""

    def __init__(self, client: KubeClient, plane: Plane) -> None:
        self.cloud: dict[tuple[str, ...], InventoryItem] = {}
        self.done: list[TaskSpec] = []
        """Every spec that was carried out."""
        self.failures: dict[Key, tuple[str, str]] = {}
        """Routes whose tasks fail: reason and message."""
        self.is_running = True
        self.token_expires_at: str = ""
        self._client = client
        self._plane = plane
        self._number = 0
        self._wake = asyncio.Event()
        plane.store.listen(self._changed)

    def _changed(self, resource: GroupResource, _: Any) -> None:
        if resource.plural == TASK.plural:
            self._wake.set()

    async def run(self) -> None:
        """Work whenever a task has changed, and now and then where there is one."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(0.2)
            if self.is_running:
                for task in stored(self._plane, TASK):
                    await self._work(task)
            if stored(self._plane, TASK):
                asyncio.get_running_loop().call_later(5, self._wake.set)

    async def _work(self, tree: JsonObject) -> None:
        task, generation = msgspec.convert(tree, CloudflareTask), dig(tree, "metadata", "generation")
        ref = task.spec.httproute_ref
        failure = self.failures.get(Key(ref.namespace, ref.name))
        is_seen = task.status.observed_generation == generation
        if is_seen and (task.status.phase == "Completed" or (failure and task.status.phase == "Failed")):
            return
        status = self._failed(task, failure) if failure else self._completed(task.spec)
        status["observedGeneration"] = generation
        metadata = {"resourceVersion": dig(tree, "metadata", "resourceVersion")}
        key = Key(OPERATOR, str(dig(tree, "metadata", "name")))
        try:
            await self._client.merge_patch(
                TASK, key, {"metadata": metadata, "status": status}, subresource="status"
            )
        except (StaleError, NotFoundError):
            return

    def _failed(self, task: CloudflareTask, failure: tuple[str, str]) -> JsonObject:
        reason, message = failure
        condition = {
            "type": "Ready",
            "status": "False",
            "reason": reason,
            "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        known = [msgspec.to_builtins(item) for item in task.spec.inventory]
        return {"phase": "Failed", "message": message, "conditions": [condition], "inventory": known}

    def _completed(self, spec: TaskSpec) -> JsonObject:
        self.done.append(spec)
        items = [] if spec.action == "delete" else list(self._wanted(spec))
        kept = {identity(item) for item in items}
        if not spec.orphan:
            for gone in (identity(item) for item in spec.inventory if identity(item) not in kept):
                self.cloud.pop(gone, None)
        self.cloud |= {identity(item): item for item in items}
        ids = ids_of_inventory(items)
        result = {
            "hostnameRouteId": ids.get("hostname_route_id", ""),
            "accessAppId": ids.get("access_app_id", ""),
            "serviceTokenId": ids.get("service_token_id", ""),
            **({"serviceTokenExpiresAt": self.token_expires_at} if self.token_expires_at else {}),
        }
        inventory = [msgspec.to_builtins(item) for item in items]
        return {
            "phase": "Completed",
            "message": "",
            "conditions": [],
            "result": result,
            "inventory": inventory,
        }

    def _wanted(self, spec: TaskSpec) -> Iterable[InventoryItem]:
        operations = spec.operations
        for hostname in spec.hostnames:
            if operations.tunnel_route.enabled:
                yield InventoryItem(kind="TunnelHostname", name=hostname, parent=spec.tunnel_id)
            if operations.cname_dns.enabled:
                tunnel = f"{spec.tunnel_id}.cfargotunnel.com"
                record = self._known(spec, "DnsRecord", hostname)
                yield InventoryItem(
                    kind="DnsRecord", id=record, name=hostname, parent=ZONE, type="CNAME", content=tunnel
                )
            for target in operations.dns_record.targets:
                record = self._known(spec, "DnsRecord", hostname)
                yield InventoryItem(
                    kind="DnsRecord",
                    id=record,
                    name=hostname,
                    parent=ZONE,
                    type=target.type,
                    content=target.content,
                )
        if operations.access_app.enabled:
            app = self._known(spec, "AccessApplication", spec.hostname)
            yield InventoryItem(kind="AccessApplication", id=app, name=spec.hostname)
            yield InventoryItem(kind="AccessPolicy", id=f"policy-of-{app}", parent=app)
        if operations.service_token.enabled:
            token = operations.service_token
            yield InventoryItem(
                kind="ServiceToken", id=self._known(spec, "ServiceToken", token.name), name=token.name
            )
            yield InventoryItem(kind="Secret", name=f"{token.secret_namespace}/{token.secret_name}")

    def _known(self, spec: TaskSpec, kind: str, name: str) -> str:
        known = (item.id for item in spec.inventory if (item.kind, item.name) == (kind, name) and item.id)
        found = next(known, "")
        if not found:
            self._number += 1
        return found or f"{kind.lower()}-{self._number}"


class World:
    """See the module."""

    def __init__(self, plane: Plane, clock: LoopClock, options: KubeWorkerOptions) -> None:
        self.plane = plane
        self.clock = clock
        self.options = options
        self.user = KubeClient(InProcessTransport(plane), Calls(), clock)
        self.worker = FakeWorker(self.user, plane)
        self.trace = Trace()
        self.claims: list[Claims] = []
        self.lives: list[Life] = []
        self.versions: list[tuple[str, JsonObject]] = []
        """Every object that was ever stored, with its kind's plural, oldest first."""
        plane.store.listen(self._remember)

    def _remember(self, resource: GroupResource, event: Any) -> None:
        if event.type != "DELETED":
            self.versions.append((resource.plural, event.item.decode()))

    # The operator

    @property
    def operator(self) -> Life:
        return self.lives[-1]

    def start(self, transport: Transport | None = None) -> Life:
        """Start the operator, beside others that may have died."""
        number = len(self.lives) + 1

        def controllers(services: Any, _: Any, __: Calls) -> Any:
            self.claims.append(Claims())
            return kube_worker(services, self.claims[-1], self.options)

        system = System(
            definitions=(),
            declarations={},
            outside=lambda _: None,
            controllers=controllers,
            lies=lambda *_: "",
            canary="",
        )
        around = Surroundings(
            transport or InProcessTransport(self.plane),
            self.clock,
            hooks=(self.trace.hook(number),),
            identity=f"life-{number}",
            seed=str(number),
        )
        self.lives.append(Life(system, None, around))
        return self.operator

    async def restart(self) -> None:
        await self.operator.stop()
        self.start()

    # What users and time do

    async def create(self, *objects: JsonObject) -> None:
        for obj in objects:
            await self.user.create(KINDS[obj["kind"]], obj)

    async def annotate(self, key: Key = KEY, /, **annotations: str | None) -> None:
        patch = {"metadata": {"annotations": prefixed(annotations)}}
        await self.user.merge_patch(HTTP_ROUTE, key, patch)

    async def patch(self, kind: Kind, key: Key, patch: JsonObject) -> None:
        await self.user.merge_patch(kind, key, patch)

    async def delete(self, kind: Kind = HTTP_ROUTE, key: Key = KEY) -> None:
        await self.user.delete(kind, key)

    async def elapse(self, **interval: float) -> None:
        await asyncio.sleep(timedelta(**interval).total_seconds())

    async def until(self, holds: Callable[[], object], minutes: float = 30) -> None:
        try:
            async with asyncio.timeout(minutes * 60):
                while not holds():  # noqa: ASYNC110 - nothing tells of all that tests wait for
                    await asyncio.sleep(0.5)
        except TimeoutError:
            routes = [(dig(one, "metadata", "name"), self.said(_key(one))) for one in self.all(HTTP_ROUTE)]
            raise AssertionError(f"it never happened; {routes}, {self.all(TASK)}, {self.states()}") from None

    async def ready(self, *keys: Key) -> None:
        for key in keys or (KEY,):
            await self.until(lambda key=key: self.said(key)[:2] == ("True", "Published"))  # type: ignore[misc]
        await self.until(lambda: not self.all(TASK))

    async def says(self, reason: str, key: Key = KEY) -> str:
        """Wait until a route is not ready for a reason, and return the message."""
        await self.until(lambda: self.said(key)[:2] == ("False", reason))
        return self.said(key)[2]

    async def gone(self, key: Key = KEY) -> None:
        await self.until(lambda: self.find(HTTP_ROUTE, key) is None)

    async def quiet(self, **interval: float) -> list[TracedCall]:
        """Let time pass, and return what the operator wrote meanwhile."""
        seen = len(self.trace.calls)
        await self.elapse(**interval)
        return [call for call in self.trace.calls[seen:] if call.mutating]

    # What there is

    def all(self, kind: Kind) -> list[JsonObject]:
        return stored(self.plane, kind)

    def find(self, kind: Kind, key: Key) -> JsonObject | None:
        return next((one for one in self.all(kind) if _key(one) == key), None)

    def route(self, key: Key = KEY) -> JsonObject:
        found = self.find(HTTP_ROUTE, key)
        assert found is not None
        return found

    def annotations(self, key: Key = KEY) -> JsonObject:
        return dig_object(self.route(key), "metadata", "annotations")

    def finalizers(self, key: Key = KEY) -> list[str]:
        return dig_list(self.route(key), "metadata", "finalizers")

    def said(self, key: Key = KEY) -> tuple[str, str, str]:
        """Readiness, reason and message of a route."""
        annotations = dig_object(self.find(HTTP_ROUTE, key), "metadata", "annotations")
        return tuple(str(annotations.get(name) or "") for name in (READY, REASON, MESSAGE))  # type: ignore[return-value]

    def states(self) -> dict[str, JsonObject]:
        """The states by name."""
        found = [one for one in self.all(CONFIG_MAP) if dig(one, "data", "httproute_name")]
        return {dig(one, "metadata", "name"): one for one in found}

    def state(self, key: Key = KEY) -> JsonObject:
        """The data of a route's state."""
        (found,) = [
            one
            for one in self.states().values()
            if (dig(one, "data", "httproute_namespace"), dig(one, "data", "httproute_name")) == key
        ]
        return dig_object(found, "data")

    def tasks_of(self, key: Key = KEY) -> list[JsonObject]:
        """Every task that was ever created for a route."""
        created: dict[str, JsonObject] = {}
        for plural, obj in self.versions:
            ref = dig(obj, "spec", "httprouteRef")
            if plural == TASK.plural and (dig(ref, "namespace"), dig(ref, "name")) == key:
                created.setdefault(dig(obj, "metadata", "uid"), obj)
        return list(created.values())

    def published(self) -> set[str]:
        """The hostnames that exist at Cloudflare."""
        return {item.name for item in self.worker.cloud.values() if item.kind == "TunnelHostname"}

    def cloud(self, kind: str) -> list[InventoryItem]:
        return [item for item in self.worker.cloud.values() if item.kind == kind]

    def events(self, reason: str, key: Key = KEY) -> list[str]:
        """Messages of events about an object, each as often as it was told."""
        found = []
        for item in self.plane.store.collection(_EVENTS).ordered():
            event = item.decode()
            about = event["involvedObject"]
            if (Key(about.get("namespace", ""), about["name"]), event["reason"]) == (key, reason):
                found += [event["message"]] * (dig(event, "series", "count") or 1)
        return found


def stored(plane: Plane, kind: Kind) -> list[JsonObject]:
    collection = plane.store.collection(GroupResource(kind.group, kind.plural))
    return [item.decode() for item in collection.ordered()]


def _key(obj: JsonObject) -> Key:
    return Key(str(dig(obj, "metadata", "namespace") or ""), str(dig(obj, "metadata", "name")))


@asynccontextmanager
async def world(
    options: KubeWorkerOptions = OPTIONS, *, start: bool = True, namespaces: Iterable[str] = ("web", "other")
) -> AsyncIterator[World]:
    """A cluster with an operator."""
    clock = LoopClock()
    config = PlaneConfig(simulators=frozenset(), gateway_api=True, now=clock.now)
    async with Plane(config) as plane:
        cluster = World(plane, clock, options)
        for kind in (ZERO_TRUST_TENANT, ZERO_TRUST_TEMPLATE, CLOUDFLARE_TASK):
            await cluster.user.create(CUSTOM_RESOURCE_DEFINITION, kind.definition())
        for name in (OPERATOR, *namespaces):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            await cluster.user.create(NAMESPACE, body)
        await plane.settle()
        if start:
            cluster.start()
        worker = asyncio.create_task(cluster.worker.run())
        try:
            yield cluster
        finally:
            for life in cluster.lives:
                if not life.dead:
                    await life.stop()
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
