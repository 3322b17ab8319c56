"""A stage for the cloudflare-worker: a server, a simulated Cloudflare, and tasks that a test creates itself.

    @virtual_time
    async def test_…() -> None:
        async with working() as world:
            await world.apply(task("web", access=ACCESS))
            await world.completed("web")
            assert world.application("web.example.com")

Whatever a test is about, the estate looks at every call: no hostname that shall be guarded may be reachable without its
application, and the client secret may be seen in Secrets only.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec

from edgekeeper.api.zerotrust import ZERO_TRUST_TENANT
from edgekeeper.api.zerotrust_task import CLOUDFLARE_TASK, InventoryItem
from edgekeeper.cloud.budget import Budget
from edgekeeper.cloud.cloudflare.accounts import Cloudflare, CloudflareOptions
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.transport import Transport
from edgekeeper.controllers.zerotrust import report, tenant_kind
from edgekeeper.controllers.zerotrust.worker import TASK, TENANT, CloudflareWorker, WorkerOptions
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import CONFIG_MAP, NAMESPACE, SECRET, Key
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.metrics import Metrics
from kubesim.cloudflare.cloud import CloudflareCloud
from kubesim.cloudflare.state import Account
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from tests.crash.stage import Stage, staged
from tests.crash.system import System

NAMESPACE_NAME = "cloudflare-zero-trust"
CLUSTER = "test-cluster"
OPTIONS = WorkerOptions(CLUSTER, NAMESPACE_NAME, "worker-1")
EMAILS: JsonObject = {"enabled": True, "allowEmails": ["a@example.com"]}


class Estate:
    """An account with a zone and a tunnel, a token for all of it, and an eye on every call."""

    def __init__(self, clock: Clock) -> None:
        self.cloud = CloudflareCloud(clock)
        self.account: Account = self.cloud.add_account("acme")
        self.zone = self.cloud.add_zone(self.account.id, "example.com", plan="enterprise")
        self.tunnel = self.cloud.add_tunnel(self.account.id)
        self.token = self.cloud.add_token()
        self.guarded: set[str] = set()
        """Hostnames that may never be reachable without an application."""
        self.wrongs: list[str] = []

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        try:
            return await self.cloud.send(method, url, headers, body)
        finally:
            self.look(f"{method} {url}")

    def look(self, call: str) -> None:
        """Note every guarded hostname that is reachable without its application."""
        for hostname in self.guarded:
            if self.leads(hostname) and self.serves(hostname) and not self.guards(hostname):
                self.wrongs.append(f"after {call}: {hostname} is reachable without its application")

    def leads(self, hostname: str) -> bool:
        return any(record["name"] == hostname for record in self.zone.records.values())

    def serves(self, hostname: str) -> bool:
        return any(rule.get("hostname") == hostname for rule in self.rules())

    def guards(self, hostname: str) -> bool:
        """Is there an application for the hostname, or a wildcard above it, with a policy?"""
        wildcard = f"*.{hostname.partition('.')[2]}"
        return any(
            {hostname, wildcard} & {one["domain"], *one["self_hosted_domains"]} and one["policies"]
            for one in self.account.applications.values()
        )

    def rules(self, tunnel: str = "") -> list[JsonObject]:
        tunnels = [tunnel] if tunnel else list(self.account.configurations)
        return [
            rule
            for one in tunnels
            for rule in dig_list(self.account.configurations[one]["config"], "ingress")
            if "hostname" in rule
        ]

    # What the harness asks

    @property
    def writes(self) -> int:
        return len(self.cloud.journal.writes())

    def state(self) -> JsonObject:
        return {}

    def tally(self) -> Mapping[str, tuple[int, int]]:
        return {}

    def repeated(self) -> Sequence[str]:
        return ()

    def owners(self) -> Mapping[str, tuple[str, str]]:
        return {}


def controllers(
    services: Services, estate: Estate, calls: Calls, options: WorkerOptions = OPTIONS
) -> Sequence[Controller]:
    assert isinstance(services.metrics, Metrics)
    registry = services.metrics.registry
    metrics = CloudMetrics(registry)
    transport = Transport(calls, services.clock, Budget(), metrics)
    pace = options.intervals.pace
    cloudflare = Cloudflare(
        transport, estate.send, services.clock, metrics, CloudflareOptions("http://localhost/client/v4", pace)
    )
    worker = CloudflareWorker(services, cloudflare, registry, options)
    return [worker.tasks(), worker.drift(), worker.tenants()]


def system(options: WorkerOptions = OPTIONS, outside: Callable[[Clock], Estate] = Estate) -> System[Estate]:
    return System(
        definitions=(CLOUDFLARE_TASK.definition(), ZERO_TRUST_TENANT.definition()),
        declarations={TASK: report.DECLARATION, TENANT: tenant_kind.DECLARATION},
        outside=outside,
        controllers=partial(controllers, options=options),
        lies=lambda *_: "",
        canary="",
    )


class World:
    """See the module."""

    def __init__(self, stage: Stage[Estate]) -> None:
        self.stage = stage
        self.estate = stage.outside
        self.cloud = stage.outside.cloud
        self.account = stage.outside.account
        self.seen: list[str] = []
        """Everything but Secrets that was ever stored, as JSON."""
        stage.plane.store.listen(self._remember)

    # What the kube-worker and users do

    async def apply(self, obj: JsonObject) -> None:
        """Create a task, or replace its spec."""
        fields = self._filled(obj)
        key = Key(NAMESPACE_NAME, obj["metadata"]["name"])
        try:
            present = await self.stage.user.get(TASK, key)
        except NotFoundError:
            await self.stage.user.create(TASK, fields)
            return
        await self.stage.user.replace(TASK, key, {**present, "spec": fields["spec"]})

    def _filled(self, obj: JsonObject) -> JsonObject:
        spec = {
            "accountId": self.account.id,
            "tunnelId": self.estate.tunnel,
            "credentialSecretRef": {"name": "cloudflare", "namespace": NAMESPACE_NAME},
            **obj["spec"],
        }
        return {**obj, "spec": spec}

    async def withdraw(self, name: str, **fields: Any) -> None:
        """Ask for the deletion of what a task has published."""
        present = await self.stage.user.get(TASK, Key(NAMESPACE_NAME, name))
        inventory = dig_list(present, "status", "inventory")
        spec = {**present["spec"], "action": "delete", "inventory": inventory, **fields}
        await self.stage.user.replace(TASK, Key(NAMESPACE_NAME, name), {**present, "spec": spec})

    async def collect(self, name: str) -> None:
        """Delete a completed task, as the kube-worker does."""
        await self.stage.user.delete(TASK, Key(NAMESPACE_NAME, name))

    async def elapse(self, **interval: float) -> None:
        await self.stage.elapse(**interval)

    async def until(self, holds: Callable[[], bool]) -> None:
        try:
            await self.stage.until(holds)
        except TimeoutError:
            raise AssertionError(f"it never happened: {self.told()}") from None

    async def completed(self, *names: str) -> None:
        for name in names:
            await self.until(lambda name=name: self.phase(name) == "Completed")  # type: ignore[misc]

    async def failed(self, name: str, reason: str) -> str:
        """Wait until a task has failed for a reason, and return its message."""
        await self.until(lambda: self.phase(name) == "Failed" and self.ready(name)[1] == reason)
        return str(self.status(name)["message"])

    # What is in the cluster

    def task(self, name: str) -> JsonObject:
        for obj in self.stage.objects():
            if obj["kind"] == TASK.kind and obj["metadata"]["name"] == name:
                return obj
        raise AssertionError(f"there is no task {name}")

    def status(self, name: str) -> JsonObject:
        status: JsonObject = self.task(name).get("status") or {}
        return status

    def phase(self, name: str) -> str:
        """The phase, if it is of the present generation."""
        obj = self.task(name)
        is_current = dig(obj, "status", "observedGeneration") == obj["metadata"]["generation"]
        return str(dig(obj, "status", "phase")) if is_current else ""

    def ready(self, name: str) -> tuple[str, str]:
        conditions = {one["type"]: one for one in dig_list(self.status(name), "conditions")}
        found = conditions.get("Ready", {})
        return str(found.get("status")), str(found.get("reason"))

    def inventory(self, name: str) -> list[InventoryItem]:
        return msgspec.convert(dig_list(self.status(name), "inventory"), list[InventoryItem])

    async def secret(self, name: str, namespace: str = "shop") -> JsonObject | None:
        try:
            return await self.stage.user.get(SECRET, Key(namespace, name))
        except NotFoundError:
            return None

    # What is at Cloudflare

    def application(self, domain: str) -> JsonObject | None:
        found = [one for one in self.account.applications.values() if one["domain"] == domain]
        assert len(found) <= 1
        return found[0] if found else None

    def policies(self, domain: str) -> list[JsonObject]:
        application = self.application(domain)
        assert application is not None
        ordered = sorted(application["policies"], key=lambda one: int(one["precedence"]))
        return [self.account.policies[one["id"]] for one in ordered]

    def rules(self, hostname: str, tunnel: str = "") -> list[JsonObject]:
        return [rule for rule in self.estate.rules(tunnel) if rule["hostname"] == hostname]

    def records(self, hostname: str = "") -> list[JsonObject]:
        found = self.estate.zone.records.values()
        return [record for record in found if hostname in ("", record["name"])]

    def tokens(self) -> list[JsonObject]:
        return list(self.account.service_tokens.values())

    def opens(self, secret: JsonObject) -> bool:
        """Do the credentials in a Secret open anything?"""
        return self.cloud.opens(self.account.id, *credentials(secret))

    def act(self, method: str, path: str, body: Any = None) -> Any:
        """Somebody else changes something below the account's Access."""
        return self.cloud.act(method, f"/accounts/{self.account.id}/access/{path}", body)

    def calls(self) -> int:
        return self.cloud.journal.count()

    def told(self) -> str:
        return f"{[(one['metadata']['name'], one.get('status')) for one in self.stage.objects()]}"

    def _remember(self, resource: GroupResource, event: Event) -> None:
        if resource != GroupResource("", "secrets"):
            self.seen.append(str(event.item.decode()))

    def judge(self) -> None:
        assert not self.estate.wrongs, "\n".join(self.estate.wrongs[:10])
        secrets = [one.value for many in self.account.secrets.values() for one in many]
        shown = [secret for secret in secrets if any(secret in text for text in self.seen)]
        assert not shown, "a client secret was stored outside of a Secret"


def credentials(secret: JsonObject) -> tuple[str, str]:
    data = secret["data"]
    return b64decode(data["client_id"]).decode(), b64decode(data["client_secret"]).decode()


def task(name: str = "web", /, *hostnames: str, **fields: Any) -> JsonObject:
    """A task that publishes hostnames through the tunnel.

    `access`, `token`, `tunnel`, `records` are operations; everything else is a field of the spec.
    """
    names = hostnames or (f"{name}.example.com",)
    operations: JsonObject = {
        "tunnelRoute": {
            "enabled": True,
            "originService": "http://web.shop.svc:80",
            **fields.pop("tunnel", {}),
        },
        "cnameDns": {"enabled": fields.pop("cname", True)},
        "accessApp": {"name": name, "policyName": f"{name}-allow-policy", **fields.pop("access", {})},
        "serviceToken": _token(name, fields.pop("token", None)),
        "dnsRecord": fields.pop("records", {"enabled": False}),
    }
    return {
        "apiVersion": TASK.api_version,
        "kind": TASK.kind,
        "metadata": {"name": name, "namespace": NAMESPACE_NAME},
        "spec": {
            "httprouteRef": {"name": name, "namespace": "shop", "uid": f"uid-{name}"},
            "tenantRef": {"name": "acme", "namespace": NAMESPACE_NAME},
            "hostname": names[0],
            "hostnames": list(names),
            "operations": operations,
            **fields,
        },
    }


def _token(name: str, fields: JsonObject | None) -> JsonObject:
    if fields is None:
        return {"enabled": False}
    return {
        "enabled": True,
        "name": f"{name}-service-token",
        "duration": "8760h",
        "secretNamespace": "shop",
        "secretName": f"{name}-cfzt-service-token",
        **fields,
    }


def tenant(estate: Estate, name: str = "acme", **spec: Any) -> JsonObject:
    return {
        "apiVersion": TENANT.api_version,
        "kind": TENANT.kind,
        "metadata": {"name": name, "namespace": NAMESPACE_NAME},
        "spec": {
            "accountId": estate.account.id,
            "tunnelId": estate.tunnel,
            "credentialRef": {"name": "cloudflare"},
            **spec,
        },
    }


@asynccontextmanager
async def working(
    options: WorkerOptions = OPTIONS,
    *,
    start: bool = True,
    credential: bool = True,
    outside: Callable[[Clock], Estate] = Estate,
) -> AsyncIterator[World]:
    """A world with a worker, and with the Secret that has the API token."""
    async with staged(system(options, outside)) as stage:
        stage.around = replace(stage.around, identity="worker")
        for name in (NAMESPACE_NAME, "shop"):
            await stage.user.create(
                NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
        world = World(stage)
        if credential:
            await add_credential(stage, stage.outside.token.value)
        if start:
            stage.start_operator()
        yield world
        world.judge()


async def add_credential(stage: Stage[Estate], token: str) -> None:
    await stage.user.create(
        SECRET,
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "cloudflare", "namespace": NAMESPACE_NAME},
            "data": {"token": b64encode(token.encode()).decode()},
        },
    )


async def add_state(world: World, body: JsonObject, name: str) -> None:
    """The state that the kube-worker writes for a route."""
    metadata = {**body["metadata"], "name": name, "namespace": NAMESPACE_NAME}
    annotations = {key: value for key, value in metadata.pop("annotations", {}).items() if value is not None}
    await world.stage.user.create(
        CONFIG_MAP,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**metadata, "annotations": annotations},
            "data": body["data"],
        },
    )


INTERVAL = timedelta(minutes=5)
