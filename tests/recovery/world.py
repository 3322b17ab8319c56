"""Clusters that come and go above the same clouds: the operator with all its kinds, in virtual time.

    @virtual_time
    async def test_…() -> None:
        clouds = Clouds()
        async with cluster(clouds, seed=1) as first:
            await first.apply(*fleet(clouds))
            await first.ready()
        async with cluster(clouds, seed=2, lost={first.id}) as second:
            …

Each cluster has a control plane of its own, with uids of its own, so that its id, the uid of kube-system, is another one as
well. When the context of a cluster ends it is lost: nothing is deleted, and the operator is not told.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.cli.kinds import DEFINITIONS, MODULES, plannable
from edgekeeper.controllers.zerotrust.route_index import TASK, TENANT
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig_list, dig_object
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    HTTP_ROUTE,
    NAMESPACE,
    Key,
    Kind,
)
from edgekeeper.kube.transport import Transport
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.lifecycle.preview import Preview
from edgekeeper.runtime.options import LogOptions, RuntimeOptions, ServerOptions
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.resource import GroupResource
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock
from tests.bridge.estate import FUNCTION, BridgeEstate
from tests.bridge.world import API, SOURCE
from tests.tenants.estate import DISTRIBUTION
from tests.zerotrust.acceptance_world import route
from tests.zerotrust_worker.world import Estate as CloudflareEstate

HOME: Final = "edgekeeper-system"
APPS: Final = "default"
UNHEARD: Final = ServerOptions(health_address=None, metrics_address=None, webhook_address=None)
OURS: Final = ("DistributionTenant", "APIGatewayDomain", "LambdaPermission", "HTTPRoute", "Shop")
_RESTORED: Final = ("labels", "annotations", "name", "namespace", "finalizers")
_READ: Final = ("Get", "List", "Describe", "AssumeRole", "Verify")


class Clouds:
    """An AWS account and a Cloudflare account, and everything that was done to them."""

    def __init__(self) -> None:
        self.clock = LoopClock()
        self.aws = BridgeEstate(self.clock)
        self.cloudflare = CloudflareEstate(self.clock)
        self.aws.certificates.add_issued("*.found.example.com")
        self._aws_writes = self._cloudflare_writes = 0

    def forget_writes(self) -> None:
        """Count writes from here on."""
        self._aws_writes = len(self._all_of_aws())
        self._cloudflare_writes = len(self.cloudflare.cloud.journal.writes())

    def writes(self) -> list[str]:
        """The operations that have changed something since `forget_writes`."""
        aws = self._all_of_aws()[self._aws_writes :]
        cloudflare = self.cloudflare.cloud.journal.writes()[self._cloudflare_writes :]
        return [*aws, *(entry.operation for entry in cloudflare)]

    def _all_of_aws(self) -> list[str]:
        entries = self.aws.chronicle.entries
        return [one.operation for one in entries if not one.code and not one.operation.startswith(_READ)]

    def contents(self, *, marks: bool = False) -> JsonObject:
        """What is in both clouds; without ownership marks, unless they are asked for, and without secrets."""
        self.aws.certificates.settle()
        account, aws = self.cloudflare.account, self.aws
        tenants = [vars_of(one, "deployed_at") for one in aws.cloud.cloudfront.tenants.values()]
        domains = [vars_of(one) for one in aws.gateway.domains.values()]
        certificates = [vars_of(one) for one in aws.certificates.shelf.values()]
        found: JsonObject = {
            "tenants": tenants,
            "domains": domains,
            "certificates": certificates,
            "statements": list(aws.statements().values()),
            "records": sorted(repr(one) for one in aws.zone.records.values()),
            "applications": list(account.applications.values()),
            "policies": list(account.policies.values()),
            "tokens": [dict(one) for one in map(_token_fields, account.service_tokens.values())],
            "rules": self.cloudflare.rules(),
            "names": list(self.cloudflare.zone.records.values()),
        }
        shown: JsonObject = found if marks else _unmarked(found)
        return {name: sorted(things, key=repr) for name, things in shown.items()}


def vars_of(thing: Any, *left_out: str) -> JsonObject:
    names = [name for name in type(thing).__dataclass_fields__ if name not in left_out]
    return {name: getattr(thing, name) for name in names}


def _token_fields(token: Any) -> JsonObject:
    return {name: token[name] for name in ("id", "name", "client_id", "duration")}


_VOLATILE: Final = frozenset(
    {"updated_at", "modified_on", "comment_modified_on", "etag", "modified", "comment"}
)


def _unmarked(value: Any) -> Any:
    """A copy without marks of ours, and without what tells when something was written."""
    if isinstance(value, dict):
        return {
            key: _unmarked(item)
            for key, item in value.items()
            if not str(key).startswith(TAG_PREFIX) and key not in _VOLATILE
        }
    if isinstance(value, list | tuple):
        return [
            _unmarked(item)
            for item in value
            if not (isinstance(item, str) and item.startswith("edgekeeper-"))
        ]
    if isinstance(value, frozenset | set):
        return sorted(map(repr, value))
    return value


# Manifests


def fleet(clouds: Clouds, size: int = 1) -> list[JsonObject]:
    """Objects of all kinds that have something in a cloud: ten for each one of `size`."""
    cloudflare = clouds.cloudflare
    spec = {
        "accountId": cloudflare.account.id,
        "tunnelId": cloudflare.tunnel,
        "credentialRef": {"name": "cloudflare"},
    }
    token = {"stringData": {"token": cloudflare.token.value}}
    found = [
        {"apiVersion": "v1", **_object("Secret", "cloudflare"), **token},
        {"apiVersion": TENANT.api_version, **_object(TENANT.kind, "main"), "spec": spec},
        _shops(clouds),
    ]
    for number in range(size):
        found += _tenants(clouds, number)
        found += _bridge(clouds, number)
        found += _routes(number)
        found.append(
            {
                "apiVersion": "kro.run/v1alpha1",
                **_object("Shop", f"shop-{number}"),
                "spec": {"domain": f"shop-{number}.example.com"},
            }
        )
    return found


def _object(kind: str, name: str) -> JsonObject:
    return {"kind": kind, "metadata": {"name": name, "namespace": APPS}}


def _dns(clouds: Clouds) -> JsonObject:
    return {"provider": "route53", "hostedZoneId": clouds.aws.zone.id}


def _tenants(clouds: Clouds, number: int) -> list[JsonObject]:
    """One with records, and one with a certificate that CloudFront manages."""
    managed = f"managed-{number}.example.com"
    wish = {"validationTokenHost": "cloudfront", "primaryDomainName": managed}
    bodies: dict[str, JsonObject] = {
        f"plain-{number}": {"domains": [{"domain": f"plain-{number}.example.com"}]},
        f"managed-{number}": {"domains": [{"domain": managed}], "managedCertificateRequest": wish},
    }
    return [
        {
            "apiVersion": "cloudfront-tenant-operator.io/v1alpha1",
            **_object("DistributionTenant", name),
            "spec": {"distributionId": DISTRIBUTION, "dns": _dns(clouds), **body},
        }
        for name, body in bodies.items()
    ]


def _bridge(clouds: Clouds, number: int) -> list[JsonObject]:
    """A domain name with a certificate of its own, one with a certificate that is found, and two permissions."""
    kinds = {f"api-{number}.example.com": "create", f"api-{number}.found.example.com": "discover"}
    dns = {"enabled": True, "hostedZoneId": clouds.aws.zone.id}
    domains = [
        {
            "apiVersion": "bridge.ack.tubi.internal/v1alpha1",
            **_object("APIGatewayDomain", f"{strategy}-{number}"),
            "spec": {
                "domain": name,
                "apiRef": {"apiId": API},
                "certificateStrategy": strategy,
                "dnsConfig": dns,
            },
        }
        for name, strategy in kinds.items()
    ]
    permissions = [
        {
            "apiVersion": "bridge.ack.tubi.internal/v1alpha1",
            **_object("LambdaPermission", f"{name}-{number}"),
            "spec": {
                "functionRef": {"functionName": FUNCTION},
                "permissions": [
                    {
                        "statementId": f"{name}-{number}",
                        "principal": "apigateway.amazonaws.com",
                        "sourceArn": SOURCE,
                    }
                ],
            },
        }
        for name in ("invoke", "stage")
    ]
    return [*domains, *permissions]


def _routes(number: int) -> list[JsonObject]:
    """One that anybody may use, one behind Access, and one for programs as well."""
    people = {"accessApp": "true", "allowEmails": "a@example.com"}
    return [
        route(f"open-{number}", hostname=f"open-{number}.example.com"),
        route(f"people-{number}", hostname=f"people-{number}.example.com", **people),
        route(f"programs-{number}", hostname=f"programs-{number}.example.com", serviceToken="true", **people),
    ]


def _shops(clouds: Clouds) -> JsonObject:
    """A definition whose instances have a DistributionTenant."""
    ready = (
        "${tenant.status.?conditions.orValue([]).exists(one, one.type == 'Ready' && one.status == 'True')}"
    )
    template = {
        "apiVersion": "cloudfront-tenant-operator.io/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": {"name": "${schema.metadata.name}", "namespace": "${schema.metadata.namespace}"},
        "spec": {
            "distributionId": DISTRIBUTION,
            "domains": [{"domain": "${schema.spec.domain}"}],
            "dns": _dns(clouds),
        },
    }
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": "shops"},
        "spec": {
            "schema": {"apiVersion": "v1alpha1", "kind": "Shop", "spec": {"domain": "string"}},
            "resources": [{"id": "tenant", "template": template, "readyWhen": [ready]}],
        },
    }


# The cluster


class Cluster:
    """A control plane with an operator that can be started anew with other flags."""

    def __init__(self, clouds: Clouds, plane: Plane, common: CommonOptions) -> None:
        self.clouds = clouds
        self.plane = plane
        self.common = common
        self.user = KubeClient(InProcessTransport(plane), Calls(), clouds.clock)
        self.operator: Operator
        self.namespaces: tuple[str, ...] = ()
        """What the operator watches; all by default."""
        self.connect: Callable[[Plane], Transport] = InProcessTransport
        """How the operator reaches the cluster."""
        self._running: asyncio.Task[None] | None = None
        self._discovery = Discovery(self.user, clouds.clock)

    @property
    def id(self) -> str:
        """The id in marks."""
        return self.common.cluster or str(self.find("Namespace", "kube-system", "")["metadata"]["uid"])

    # What people do

    async def apply(self, *objects: JsonObject) -> None:
        """Create objects, in order. The kind of an instance is there once its definition is in force."""
        for obj in objects:
            await self.user.create(await self._kind(obj), obj)

    async def restore(self, *objects: JsonObject) -> None:
        """Create objects of a backup, and their status where it has one."""
        for obj in objects:
            kind, metadata = await self._kind(obj), obj["metadata"]
            await self.user.create(kind, {name: value for name, value in obj.items() if name != "status"})
            if "status" in obj:
                key = Key(metadata.get("namespace", ""), metadata["name"])
                await self.user.merge_patch(kind, key, {"status": obj["status"]}, subresource="status")

    async def delete(self, *objects: JsonObject) -> None:
        for obj in objects:
            metadata = obj["metadata"]
            await self.user.delete(
                await self._kind(obj), Key(metadata.get("namespace", ""), metadata["name"])
            )

    async def elapse(self, **interval: float) -> None:
        await asyncio.sleep(timedelta(**interval).total_seconds())

    async def until(self, holds: Callable[[], object], minutes: float = 120) -> None:
        try:
            async with asyncio.timeout(minutes * 60):
                while not holds():  # noqa: ASYNC110 - of virtual time
                    await asyncio.sleep(1)
        except TimeoutError:
            raise AssertionError(f"it never happened: {self.unready()}") from None

    async def ready(self) -> None:
        """Wait until every object of ours is ready, and no task is left."""
        await self.until(lambda: not self.unready() and not self.all(TASK.kind))

    async def gone(self) -> None:
        await self.until(lambda: not self.ours() and not self.all(TASK.kind))

    # What there is

    def all(self, kind: str) -> list[JsonObject]:
        found = [
            GroupResource(one.group, one.plural) for one in self.plane.registry.all() if one.kind == kind
        ]
        return [item.decode() for one in found[:1] for item in self.plane.store.collection(one).ordered()]

    def find(self, kind: str, name: str, namespace: str = APPS) -> JsonObject:
        found = (
            one
            for one in self.all(kind)
            if (one["metadata"].get("namespace", ""), one["metadata"]["name"]) == (namespace, name)
        )
        return next(found)

    def ours(self) -> list[tuple[str, JsonObject]]:
        return [(kind, obj) for kind in OURS for obj in self.all(kind)]

    def told(self) -> dict[str, tuple[str, str, str]]:
        """Readiness, reason and message of every object of ours."""
        return {f"{kind}/{obj['metadata']['name']}": _told(kind, obj) for kind, obj in self.ours()}

    def unready(self) -> dict[str, tuple[str, str, str]]:
        return {name: told for name, told in self.told().items() if told[0] != "True"}

    def events(self, reason: str) -> list[str]:
        """Notes of events."""
        found = [event for event in self.all("Event") if event["reason"] == reason]
        return [str(event.get("note") or event.get("message") or "") for event in found]

    def owned_by(self) -> set[str]:
        """The ids of all clusters in the tags of AWS."""
        account = self.clouds.aws
        things = (
            *account.cloud.cloudfront.tenants.values(),
            *account.gateway.domains.values(),
            *account.certificates.shelf.values(),
        )
        return {one.tags[f"{TAG_PREFIX}cluster"] for one in things if f"{TAG_PREFIX}cluster" in one.tags}

    def snapshot(self, *kinds: str, status: bool = False) -> list[JsonObject]:
        """Objects as a backup has them, without what a server adds; by default without status as well."""
        found: list[JsonObject] = []
        for kind in kinds:
            resource = next(one for one in self.plane.registry.all() if one.kind == kind)
            api_version = f"{resource.group}/{resource.version}".lstrip("/")
            for obj in self.all(kind):
                metadata = {name: value for name, value in obj["metadata"].items() if name in _RESTORED}
                rest = {name: value for name, value in obj.items() if name not in ("metadata", "status")}
                body = {**rest, "apiVersion": api_version, "kind": kind, "metadata": metadata}
                found.append({**body, "status": obj["status"]} if status and "status" in obj else body)
        return found

    # The operator

    async def start(self, lost: Iterable[str] = ()) -> None:
        """Start the operator, or start it anew with other flags."""
        await self.stop()
        self._running = asyncio.create_task(self._run(frozenset(lost)))

    async def stop(self) -> None:
        if self._running is not None:
            self.operator.manager.stop()
            await self._running
            self._running = None

    async def _run(self, lost: frozenset[str]) -> None:
        async with self._assembled(lost) as self.operator:
            await self.operator.manager.run()

    async def plan(self, lost: Iterable[str] = ()) -> list[Preview]:
        """What `edgekeeper plan` shows for all objects."""
        async with self._assembled(frozenset(lost), dry_run=True) as operator:
            process = operator.preview_process()
            previews: list[Preview] = []
            for module in plannable(MODULES):
                objects = self.all(module.kind.kind)
                keys = [Key(one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in objects]
                if keys:
                    previews += await module.preview(process, _VALUES, objects, keys)
            return previews

    @asynccontextmanager
    async def _assembled(self, lost: frozenset[str], *, dry_run: bool = False) -> AsyncIterator[Operator]:
        clouds = self.clouds
        options = OperatorOptions(
            RuntimeOptions(
                server=UNHEARD, namespaces=self.namespaces, log=LogOptions(level="info"), dry_run=dry_run
            ),
            replace(self.common, lost_clusters=lost),
            values=_VALUES,
            signals=False,
            cloudflare_url="https://cloudflare.test/client/v4",
            cloudflare_sender=clouds.cloudflare.send,
        )
        transport = self.connect(self.plane)
        aws = clouds.aws.clients()
        async with assembled(options, transport, aws, clock=clouds.clock, host="plane") as operator:
            yield operator

    async def _kind(self, obj: JsonObject) -> Kind:
        group, _, version = obj["apiVersion"].rpartition("/")
        async with asyncio.timeout(600):
            while (served := await self._discovery.find(group, obj["kind"], version)) is None:  # noqa: ASYNC110 - of virtual time
                await asyncio.sleep(5)
        return served.kind


_VALUES: Final = {"bridge_mode": "direct"}


def _told(kind: str, obj: JsonObject) -> tuple[str, str, str]:
    if kind == HTTP_ROUTE.kind:
        found = dig_object(obj, "metadata", "annotations")
        ready, reason, message = (
            str(found.get(f"edgekeeper.io/{one}") or "") for one in ("ready", "reason", "message")
        )
        return ready, reason, message
    for one in dig_list(obj, "status", "conditions"):
        if one["type"] == "Ready":
            is_current = one.get("observedGeneration") == obj["metadata"]["generation"]
            return (one["status"] if is_current else "Unknown"), str(one["reason"]), str(one["message"])
    return "", "", ""


@asynccontextmanager
async def cluster(clouds: Clouds, seed: int, common: CommonOptions | None = None) -> AsyncIterator[Cluster]:
    """A new cluster, in which no operator runs yet. It is lost at the end."""
    config = PlaneConfig(
        simulators=frozenset({"workloads"}), gateway_api=True, now=clouds.clock.now, seed=seed
    )
    chosen = replace(common or CommonOptions(), namespace=HOME, pod_name=f"pod-{seed}")
    async with Plane(config) as plane:
        found = Cluster(clouds, plane, chosen)
        for kind in DEFINITIONS:
            await found.user.create(CUSTOM_RESOURCE_DEFINITION, kind.definition())
        await plane.settle()
        await found.user.create(NAMESPACE, {"metadata": {"name": HOME}})
        try:
            yield found
        finally:
            await found.stop()
