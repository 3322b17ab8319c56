"""Routes of Zero Trust as production keeps them: `cli.assembly` on the embedded server and the simulated Cloudflare.

    @virtual_time
    async def test_…() -> None:
        async with publishing() as scene:
            await scene.create(route("shop", accessApp="true", allowEmails="a@example.com"))
            await scene.ready("shop")

Both have their real limits. Several clusters may share one account (`publishing(provider=…)`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.controllers.zerotrust.modules import ZERO_TRUST_MODULES
from edgekeeper.controllers.zerotrust.route_report import MESSAGE, READY, REASON
from edgekeeper.controllers.zerotrust.worker import TASK, TENANT
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    HTTP_ROUTE,
    NAMESPACE,
    SECRET,
    Key,
    Kind,
)
from edgekeeper.kube.transport import Transport
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.options import RuntimeOptions, ServerOptions
from kubesim.cloudflare.cloud import CloudflareCloud
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.resource import GroupResource
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock

HOME: Final = "edgekeeper-system"
ROUTES: Final = "web"
DOMAIN: Final = "example.com"
INTERVAL: Final = timedelta(minutes=5)
"""Between two looks for drift."""
OPTIONS: Final = OperatorOptions(
    RuntimeOptions(server=ServerOptions(health_address=None, metrics_address=None, webhook_address=None)),
    CommonOptions(cluster="blue", namespace=HOME, drift_interval=INTERVAL),
    modules=ZERO_TRUST_MODULES,
    signals=False,
    cloudflare_url="http://localhost/client/v4",
)
PROTECTED: Final = {"accessApp": "true", "allowEmails": "a@example.com"}
_EVENTS: Final = GroupResource("", "events")

Spoil = Callable[[str, str, bytes], bytes]
"""From method, address and body of an answer, the body that arrives."""


class Provider:
    """An account at the simulated Cloudflare with a zone and a tunnel."""

    def __init__(self, clock: Clock) -> None:
        self.cloud = CloudflareCloud(clock)
        self.account = self.cloud.add_account("acme")
        self.zone = self.cloud.add_zone(self.account.id, DOMAIN, plan="enterprise")
        self.tunnel = self.cloud.add_tunnel(self.account.id)
        self.token = self.cloud.add_token()
        self.spoil: Spoil = lambda method, path, body: body
        """What arrives of an answer that is no refusal."""

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        status, shown, answer = await self.cloud.send(method, url, headers, body)
        return status, shown, self.spoil(method, url, answer) if status < 400 else answer

    @property
    def configuration(self) -> str:
        """The path of the tunnel's configuration."""
        return f"/accounts/{self.account.id}/cfd_tunnel/{self.tunnel}/configurations"

    def rules(self) -> list[JsonObject]:
        ingress = dig_list(self.account.configurations[self.tunnel]["config"], "ingress")
        return [rule for rule in ingress if "hostname" in rule]

    def write_rules(self, rules: list[JsonObject]) -> None:
        """Somebody else replaces the rules."""
        catch_all = {"service": "http_status:404"}
        self.cloud.act("PUT", self.configuration, {"config": {"ingress": [*rules, catch_all]}})

    def application(self, hostname: str) -> JsonObject | None:
        return next((one for one in self.account.applications.values() if one["domain"] == hostname), None)

    def state(self) -> JsonObject:
        """Everything that there is, ids too."""
        account = self.account
        return {
            "applications": dict(account.applications),
            "policies": dict(account.policies),
            "tokens": dict(account.service_tokens),
            "tags": dict(account.tags),
            "rules": self.rules(),
            "records": dict(self.zone.records),
        }

    @property
    def writes(self) -> int:
        return len(self.cloud.journal.writes())

    @property
    def deletions(self) -> int:
        return sum(entry.operation.startswith("DELETE") for entry in self.cloud.journal.entries)


@dataclass
class Scene:
    """The cluster, the provider, and the operator between them."""

    plane: Plane
    clock: LoopClock
    provider: Provider
    options: OperatorOptions
    user: KubeClient = field(init=False)
    versions: list[JsonObject] = field(default_factory=list)
    """Every version of every route, oldest first."""
    _running: list[tuple[AsyncExitStack, Operator]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.user = KubeClient(InProcessTransport(self.plane), Calls(), self.clock)
        self.plane.store.listen(self._remember)

    def _remember(self, resource: GroupResource, event: Any) -> None:
        if resource.plural == HTTP_ROUTE.plural:
            self.versions.append(event.item.decode())

    # The operator

    async def start(self, transport: Transport | None = None, **runtime: Any) -> Operator:
        options = replace(
            self.options,
            runtime=replace(self.options.runtime, **runtime),
            cloudflare_sender=self.provider.send,
        )
        stack = AsyncExitStack()
        through = transport or InProcessTransport(self.plane)
        operator = await stack.enter_async_context(
            assembled(options, through, None, clock=self.clock, host="plane")
        )
        working = asyncio.create_task(operator.manager.run())

        async def end() -> None:
            operator.manager.stop()
            await working

        stack.push_async_callback(end)
        self._running.append((stack, operator))
        return operator

    async def stop(self) -> None:
        while self._running:
            stack, _ = self._running.pop()
            await stack.aclose()

    # What users and time do

    async def furnish(self) -> None:
        for definition in DEFINITIONS:
            await self.user.create(CUSTOM_RESOURCE_DEFINITION, definition.definition())
        await self.plane.settle()
        for name in (HOME, ROUTES):
            await self.user.create(NAMESPACE, _object(NAMESPACE, Key("", name)))
        secret = _object(SECRET, Key(HOME, "cloudflare"), stringData={"token": self.provider.token.value})
        await self.user.create(SECRET, secret)
        spec = {
            "accountId": self.provider.account.id,
            "tunnelId": self.provider.tunnel,
            "credentialRef": {"name": "cloudflare"},
        }
        await self.user.create(TENANT, _object(TENANT, Key(HOME, "main"), spec=spec))

    async def create(self, *objects: JsonObject) -> None:
        for obj in objects:
            await self.user.create(HTTP_ROUTE, obj)

    async def annotate(self, name: str, **annotations: str | None) -> None:
        patch = {"metadata": {"annotations": prefixed(annotations)}}
        await self.user.merge_patch(HTTP_ROUTE, Key(ROUTES, name), patch)

    async def delete(self, name: str) -> None:
        await self.user.delete(HTTP_ROUTE, Key(ROUTES, name))

    async def elapse(self, **interval: float) -> None:
        await asyncio.sleep(timedelta(**interval).total_seconds())

    async def until(self, holds: Callable[[], object], **limit: float) -> None:
        try:
            async with asyncio.timeout(timedelta(**(limit or {"minutes": 30})).total_seconds()):
                while not holds():  # noqa: ASYNC110 - there is no event to wait for
                    await asyncio.sleep(0.5)
        except TimeoutError:
            said = {name: self.said(name) for name in self.names()}
            raise AssertionError(f"it never happened; {said}, {self.all(TASK)}") from None

    async def ready(self, *names: str) -> None:
        for name in names or self.names():
            await self.until(lambda name=name: self.said(name)[:2] == ("True", "Published"))  # type: ignore[misc]
        await self.until(lambda: not self.all(TASK))

    async def says(self, name: str, reason: str, **limit: float) -> str:
        """Wait until a route is not ready for a reason, and return its message."""
        await self.until(lambda: self.said(name)[:2] == ("False", reason), **limit)
        return self.said(name)[2]

    # What there is

    def all(self, kind: Kind) -> list[JsonObject]:
        collection = self.plane.store.collection(GroupResource(kind.group, kind.plural))
        return [item.decode() for item in collection.ordered()]

    def names(self) -> list[str]:
        return [str(dig(obj, "metadata", "name")) for obj in self.all(HTTP_ROUTE)]

    def annotations(self, name: str) -> JsonObject:
        for obj in self.all(HTTP_ROUTE):
            if dig(obj, "metadata", "name") == name:
                return dig_object(obj, "metadata", "annotations")
        return {}

    def said(self, name: str) -> tuple[str, str, str]:
        """Readiness, reason and message of a route."""
        found = self.annotations(name)
        return str(found.get(READY, "")), str(found.get(REASON, "")), str(found.get(MESSAGE, ""))

    def states(self) -> list[JsonObject]:
        return [obj for obj in self.all(CONFIG_MAP) if dig(obj, "metadata", "namespace") == HOME]

    def events(self, reason: str) -> list[str]:
        """The messages of the events about routes."""
        found = [item.decode() for item in self.plane.store.collection(_EVENTS).ordered()]
        about = [event for event in found if _subject(event) == HTTP_ROUTE.kind]
        return [event["message"] for event in about if event["reason"] == reason]


def _subject(event: JsonObject) -> str:
    return str(dig(event, "involvedObject", "kind") or dig(event, "regarding", "kind"))


def host(name: str) -> str:
    return f"{name}.{DOMAIN}"


def route(name: str, /, **annotations: str) -> JsonObject:
    """An enabled route of its own hostname. Annotations by name: `accessApp="true"`."""
    named = {"enabled": "true", "tenant": "main", "hostname": host(name), **annotations}
    spec = {"parentRefs": [{"name": "gateway"}], "rules": [{"backendRefs": [{"name": "app", "port": 8080}]}]}
    body = _object(HTTP_ROUTE, Key(ROUTES, name), spec=spec)
    body["metadata"]["annotations"] = prefixed(named)
    return body


def prefixed(annotations: dict[str, Any]) -> dict[str, Any]:
    return {name if "/" in name else f"{PREFIX}{name}": value for name, value in annotations.items()}


def _object(kind: Kind, key: Key, **body: Any) -> JsonObject:
    metadata = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body}


@asynccontextmanager
async def publishing(
    options: OperatorOptions = OPTIONS, *, start: bool = True, provider: Provider | None = None
) -> AsyncIterator[Scene]:
    """A cluster with a tenant, and an operator."""
    clock = LoopClock()
    config = PlaneConfig(simulators=frozenset(), gateway_api=True, now=clock.now)
    async with Plane(config) as plane:
        scene = Scene(plane, clock, provider or Provider(clock), options)
        await scene.furnish()
        if start:
            await scene.start()
        try:
            yield scene
        finally:
            await scene.stop()


def with_common(**changes: Any) -> OperatorOptions:
    """The usual options but for some that all kinds share."""
    return replace(OPTIONS, common=replace(OPTIONS.common, **changes))
