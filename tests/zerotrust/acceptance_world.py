"""The whole operator as users run it: all controllers, an API server, a simulated Cloudflare, in virtual time.

    @virtual_time
    async def test_…() -> None:
        async with operating() as world:
            await world.create(route("web", enabled="true", hostname="web.example.com"))
            await world.ready("web")

Users write and read through the API. Every call to Cloudflare is followed by a look at what is reachable (`Estate.look`), and
every object that was ever stored is kept, so that tests can say what was never so.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any, Final

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.cli.kinds import DEFINITIONS, chosen_modules
from edgekeeper.controllers.zerotrust.modules import ZERO_TRUST_MODULES
from edgekeeper.controllers.zerotrust.operator_config import KIND as OPERATOR_CONFIG
from edgekeeper.controllers.zerotrust.route_index import TASK, TEMPLATE, TENANT
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
    HTTP_ROUTE,
    NAMESPACE,
    REFERENCE_GRANT,
    SECRET,
    SERVICE,
    Key,
    Kind,
)
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.options import LogOptions, RuntimeOptions, ServerOptions
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock
from tests.zerotrust_worker.world import Estate

HOME: Final = "cloudflare-zero-trust"
"""The operator's namespace."""
APPS: Final = "default"
"""The namespace of the tenant and of most routes: the described manifests name none."""
TENANT_NAME: Final = "main"
CLUSTER: Final = "blue"
SECRET_NAME: Final = "cloudflare-api-token"
UNHEARD: Final = ServerOptions(health_address=None, metrics_address=None, webhook_address=None)
KINDS: Final = {
    kind.kind: kind
    for kind in (
        HTTP_ROUTE,
        TENANT,
        TEMPLATE,
        TASK,
        OPERATOR_CONFIG,
        CONFIG_MAP,
        SECRET,
        SERVICE,
        NAMESPACE,
        DEPLOYMENT,
        REFERENCE_GRANT,
    )
}
_SECRETS: Final = GroupResource("", "secrets")
_EVENTS: Final = GroupResource("", "events")


def route(name: str, /, namespace: str = APPS, **annotations: str) -> JsonObject:
    """A route with a backend. Annotations by name, with a dot as two underscores; `enabled` unless it is given."""
    named = {"enabled": "true", **annotations}
    return {
        "apiVersion": HTTP_ROUTE.api_version,
        "kind": HTTP_ROUTE.kind,
        "metadata": {"name": name, "namespace": namespace, "annotations": prefixed(named)},
        "spec": {"rules": [{"backendRefs": [{"name": name, "port": 8080}]}]},
    }


def prefixed(named: Mapping[str, str | None]) -> dict[str, str | None]:
    """Annotations by their full names."""
    return {
        name if "/" in name else f"{PREFIX}{name.replace('__', '.')}": value for name, value in named.items()
    }


def template(name: str, /, namespace: str = APPS, **spec: Any) -> JsonObject:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": TEMPLATE.api_version, "kind": TEMPLATE.kind, "metadata": metadata, "spec": spec}


class AcceptanceWorld:
    """See the module."""

    def __init__(self, plane: Plane, clock: LoopClock, estate: Estate) -> None:
        self.plane = plane
        self.clock = clock
        self.estate = estate
        self.cloud = estate.cloud
        self.account = estate.account
        self.user = KubeClient(InProcessTransport(plane), Calls(), clock)
        self.versions: list[tuple[str, JsonObject]] = []
        """Every object but Secrets that was ever stored, with its kind's plural, oldest first."""
        plane.store.listen(self._remember)

    def _remember(self, resource: GroupResource, event: Event) -> None:
        if resource != _SECRETS and event.type != "DELETED":
            self.versions.append((resource.plural, event.item.decode()))

    # What users do

    def tenant(self, name: str = TENANT_NAME, /, namespace: str = APPS, **spec: Any) -> JsonObject:
        return {
            "apiVersion": TENANT.api_version,
            "kind": TENANT.kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "accountId": self.account.id,
                "tunnelId": self.estate.tunnel,
                "credentialRef": {"name": SECRET_NAME},
                **spec,
            },
        }

    def credential(self, namespace: str = APPS, name: str = SECRET_NAME, token: str = "") -> JsonObject:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace},
            "stringData": {"token": token or self.estate.token.value},
        }

    async def create(self, *objects: JsonObject) -> None:
        for obj in objects:
            await self.user.create(KINDS[obj["kind"]], obj)

    async def annotate(self, name: str, /, namespace: str = APPS, **annotations: str | None) -> None:
        patch = {"metadata": {"annotations": prefixed(annotations)}}
        await self.user.merge_patch(HTTP_ROUTE, Key(namespace, name), patch)

    async def delete(self, name: str, namespace: str = APPS, kind: Kind = HTTP_ROUTE) -> None:
        await self.user.delete(kind, Key(namespace, name))

    async def elapse(self, **interval: float) -> None:
        await asyncio.sleep(timedelta(**interval).total_seconds())

    async def until(self, holds: Callable[[], object], minutes: float = 30) -> None:
        try:
            async with asyncio.timeout(minutes * 60):
                while not holds():  # noqa: ASYNC110 - of virtual time
                    await asyncio.sleep(0.25)
        except TimeoutError:
            routes = [(one["metadata"]["name"], self._told(one)) for one in self.all(HTTP_ROUTE)]
            tasks = [(one["spec"].get("action"), one.get("status")) for one in self.all(TASK)]
            raise AssertionError(f"it never happened: {routes}, {tasks}") from None

    async def ready(self, *names: str, namespace: str = APPS) -> None:
        """Wait until routes are published, and no task is left."""
        await self.ready_only(*names, namespace=namespace)
        await self.until(lambda: not self.all(TASK))

    async def ready_only(self, *names: str, namespace: str = APPS) -> None:
        """Wait until routes are published."""
        for name in names:
            await self.until(lambda name=name: self.said(name, namespace)[:2] == ("True", "Published"))  # type: ignore[misc]

    async def says(self, reason: str, name: str, namespace: str = APPS) -> str:
        """Wait until a route is not ready for a reason, and return the message."""
        await self.until(lambda: self.said(name, namespace)[:2] == ("False", reason))
        return self.said(name, namespace)[2]

    async def gone(self, *names: str, namespace: str = APPS) -> None:
        for name in names:
            await self.until(lambda name=name: self.find(HTTP_ROUTE, Key(namespace, name)) is None)  # type: ignore[misc]

    # What is in the cluster

    def all(self, kind: Kind) -> list[JsonObject]:
        collection = self.plane.store.collection(GroupResource(kind.group, kind.plural))
        return [item.decode() for item in collection.ordered()]

    def find(self, kind: Kind, key: Key) -> JsonObject | None:
        return next((one for one in self.all(kind) if _key(one) == key), None)

    def get(self, kind: Kind, name: str, namespace: str = APPS) -> JsonObject:
        found = self.find(kind, Key(namespace, name))
        assert found is not None, f"there is no {kind.kind} {namespace}/{name}"
        return found

    def annotations(self, name: str, namespace: str = APPS) -> dict[str, str]:
        """The annotations of a route under the prefix, without it."""
        found = dig_object(self.get(HTTP_ROUTE, name, namespace), "metadata", "annotations")
        return {key.removeprefix(PREFIX): value for key, value in found.items() if key.startswith(PREFIX)}

    def said(self, name: str, namespace: str = APPS) -> tuple[str, str, str]:
        """Readiness, reason and message of a route."""
        return self._told(self.find(HTTP_ROUTE, Key(namespace, name)) or {})

    def _told(self, obj: JsonObject) -> tuple[str, str, str]:
        found = dig_object(obj, "metadata", "annotations")
        ready, reason, message = (
            str(found.get(f"edgekeeper.io/{one}") or "") for one in ("ready", "reason", "message")
        )
        return ready, reason, message

    def states(self) -> dict[tuple[str, str], JsonObject]:
        """The state ConfigMaps, by namespace and name of their route."""
        found = [one for one in self.all(CONFIG_MAP) if dig(one, "data", "httproute_name")]
        return {(one["data"]["httproute_namespace"], one["data"]["httproute_name"]): one for one in found}

    def tasks_ever(self) -> list[JsonObject]:
        """Every version of every task, oldest first."""
        return [obj for plural, obj in self.versions if plural == TASK.plural]

    def secret(self, name: str, namespace: str = APPS) -> dict[str, str] | None:
        """The data of a Secret, decoded."""
        found = self.find(SECRET, Key(namespace, name))
        if found is None:
            return None
        return {key: b64decode(value).decode() for key, value in dig_object(found, "data").items()}

    def events(self, reason: str = "") -> list[JsonObject]:
        found = [item.decode() for item in self.plane.store.collection(_EVENTS).ordered()]
        return [event for event in found if reason in ("", event["reason"])]

    def condition(self, kind: Kind, name: str, namespace: str, type_: str = "Ready") -> JsonObject:
        obj = self.find(kind, Key(namespace, name))
        found = [one for one in dig_list(obj, "status", "conditions") if one["type"] == type_]
        return found[0] if found else {}

    # What is at Cloudflare

    def act(self, method: str, path: str, body: Any = None) -> Any:
        """Somebody else changes something in the account."""
        return self.cloud.act(method, f"/accounts/{self.account.id}/{path}", body)

    def application(self, domain: str) -> JsonObject | None:
        found = [one for one in self.account.applications.values() if one["domain"] == domain]
        assert len(found) <= 1
        return found[0] if found else None

    def policies(self, domain: str) -> list[JsonObject]:
        application = self.application(domain)
        assert application is not None
        ordered = sorted(application["policies"], key=lambda one: int(one["precedence"]))
        return [self.account.policies[one["id"]] for one in ordered]

    def rules(self) -> list[JsonObject]:
        """All rules of the tunnel, with the catch-all."""
        return dig_list(self.account.configurations[self.estate.tunnel]["config"], "ingress")

    def rule(self, hostname: str) -> JsonObject | None:
        return next((one for one in self.rules() if one.get("hostname") == hostname), None)

    def records(self, hostname: str = "") -> list[JsonObject]:
        found = self.estate.zone.records.values()
        return [record for record in found if hostname in ("", record["name"])]

    def tokens(self) -> list[JsonObject]:
        return list(self.account.service_tokens.values())

    def calls(self) -> int:
        return self.cloud.journal.count()

    def everything(self) -> str:
        """What is at Cloudflare, as text to compare."""
        account, zone = self.account, self.estate.zone
        return repr(
            (
                account.applications,
                account.policies,
                account.service_tokens,
                account.configurations,
                zone.records,
            )
        )


def _key(obj: JsonObject) -> Key:
    return Key(str(dig(obj, "metadata", "namespace") or ""), str(dig(obj, "metadata", "name")))


@asynccontextmanager
async def cluster(namespaces: Iterable[str] = ()) -> AsyncIterator[AcceptanceWorld]:
    """A cluster with all definitions and a tenant, and no operator yet."""
    clock = LoopClock()
    config = PlaneConfig(simulators=frozenset({"workloads"}), gateway_api=True, now=clock.now)
    async with Plane(config) as plane:
        world = AcceptanceWorld(plane, clock, Estate(clock))
        for definition in DEFINITIONS:
            await world.user.create(CUSTOM_RESOURCE_DEFINITION, definition.definition())
        await plane.settle()
        for name in (HOME, *namespaces):
            await world.user.create(NAMESPACE, {"metadata": {"name": name}})
        await world.create(world.credential(), world.tenant())
        yield world


@asynccontextmanager
async def running(
    world: AcceptanceWorld,
    *,
    role: str = "",
    common: CommonOptions | None = None,
    runtime: RuntimeOptions | None = None,
    values: Mapping[str, Any] | None = None,
) -> AsyncIterator[Operator]:
    """An operator at work."""
    options = OperatorOptions(
        runtime or RuntimeOptions(server=UNHEARD, log=LogOptions(level="info")),
        common or CommonOptions(CLUSTER, HOME, pod_name="pod-1"),
        values=dict(values or {}),
        modules=chosen_modules(None, role, ZERO_TRUST_MODULES),
        role=role,
        signals=False,
        cloudflare_url="https://cloudflare.test/client/v4",
        cloudflare_sender=world.estate.send,
    )
    transport = InProcessTransport(world.plane)
    async with (
        assembled(options, transport, None, clock=world.clock, host="plane") as operator,
        operator.manager.running(),
    ):
        yield operator


@asynccontextmanager
async def operating(
    namespaces: Iterable[str] = (),
    *,
    roles: Iterable[str] = ("",),
    common: CommonOptions | None = None,
    values: Mapping[str, Any] | None = None,
) -> AsyncIterator[AcceptanceWorld]:
    """A cluster with operators at work: one of all controllers, or one of each role. Nothing guarded was ever reachable."""
    async with cluster(namespaces) as world, AsyncExitStack() as stack:
        for role in roles:
            await stack.enter_async_context(running(world, role=role, common=common, values=values))
        yield world
        assert not world.estate.wrongs, "\n".join(world.estate.wrongs[:10])


async def is_there(world: AcceptanceWorld, kind: Kind, key: Key) -> bool:
    try:
        await world.user.get(kind, key)
    except NotFoundError:
        return False
    return True
