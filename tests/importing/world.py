"""A cluster without objects, clouds that others have filled by hand, and `edgekeeper import` between them, in virtual time.

@virtual_time
async def test_…() -> None:
    async with world() as here:
        here.fleet(tenants=3)
        results = await here.imported("tenants")
        await here.apply(results)
        async with here.operator():
            await here.ready()
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from copy import deepcopy
from datetime import timedelta
from typing import Any, Final

from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.cli.importing import collect
from edgekeeper.cli.kind_options import KindSettings
from edgekeeper.cli.kinds import DEFINITIONS, MODULES, importable
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, SECRET, Kind
from edgekeeper.lifecycle.importing import ImportRequest, ImportResult, key_of
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.options import LogOptions, RuntimeOptions, ServerOptions
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.resource import GroupResource
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock
from tests.bridge.estate import BridgeEstate
from tests.zerotrust_worker.world import Estate as CloudflareEstate

HOME: Final = "edgekeeper-system"
EDGE: Final = "edge"
"""Where imported objects go that have no better place."""
SHOP: Final = "shop"
"""The namespace of the Services."""
CLUSTER: Final = "blue"
SECRET_NAME: Final = "cloudflare-api-token"
UNHEARD: Final = ServerOptions(health_address=None, metrics_address=None, webhook_address=None)
URL: Final = "https://cloudflare.test/client/v4"
_READING: Final = ("Get", "List", "Describe", "AssumeRole")
_KINDS: Final = ("DistributionTenant", "APIGatewayDomain", "HTTPRoute", "CloudflareZeroTrustTenant")


class World:
    """See the module."""

    def __init__(self, plane: Plane, clock: LoopClock) -> None:
        self.plane = plane
        self.clock = clock
        self.aws = BridgeEstate(clock)
        self.cloudflare = CloudflareEstate(clock)
        self.user = KubeClient(InProcessTransport(plane), Calls(), clock)
        self._discovery = Discovery(self.user, clock)

    # The command

    async def imported(
        self, what: str, *patterns: str, namespace: str = EDGE, cluster: str = CLUSTER, **values: Any
    ) -> list[ImportResult]:
        """What `edgekeeper import` makes of one kind, after proof that it has written nothing anywhere."""
        before, seen = self.contents(), self.writes()
        objects = self.plane.store.revision
        module = next(one for one in importable(MODULES) if one.import_name == what)
        results = await collect(
            module,
            ImportRequest(namespace, EDGE, patterns, values.pop("progress", lambda *_: None)),
            KindSettings(
                common=CommonOptions(cluster, HOME, **values.pop("common", {})),
                values={"tenant_name_template": "{name}", **self.source, **values},
                cloudflare_url=URL,
            ),
            InProcessTransport(self.plane),
            self.aws.clients(),
            sender=self.cloudflare.send,
            clock=self.clock,
        )
        assert (self.contents(), self.writes()) == (before, seen)
        assert self.plane.store.revision == objects
        for body in (one for result in results for one in result.manifests):
            assert body["metadata"]["annotations"]["edgekeeper.io/adopt"] == "true"
        return results

    @property
    def source(self) -> dict[str, str]:
        """The tunnel of the account, for which there is no tenant yet."""
        return {
            "account": self.cloudflare.account.id,
            "tunnel": self.cloudflare.tunnel,
            "credential_secret": f"{EDGE}/{SECRET_NAME}",
        }

    async def apply(self, results: Iterable[ImportResult]) -> None:
        """Apply all manifests, as `kubectl apply` does."""
        for body in (one for result in results for one in result.manifests):
            fields = {name: value for name, value in body.items() if name not in ("apiVersion", "kind")}
            await self.user.apply(await self._kind(body), key_of(body), fields, manager="kubectl", force=True)

    # The cluster

    def objects(self, *kinds: str) -> list[JsonObject]:
        return [
            {**item.decode(), "kind": one.kind}
            for one in self.plane.registry.all()
            if one.kind in (kinds or _KINDS)
            for item in self.plane.store.collection(GroupResource(one.group, one.plural)).ordered()
        ]

    def unready(self) -> list[str]:
        """Objects that are not ready, and why."""
        return [f"{obj['kind']} {key_of(obj)}: {why}" for obj in self.objects() if (why := _why_unready(obj))]

    async def ready(self, minutes: float = 60) -> None:
        """Wait until all objects are ready, and no task is left."""
        try:
            async with asyncio.timeout(minutes * 60):
                while self.unready() or self.objects("CloudflareTask"):  # noqa: ASYNC110 - of virtual time
                    await asyncio.sleep(10)
        except TimeoutError:
            raise AssertionError("\n".join(self.unready()[:10])) from None

    async def orphan(self, body: JsonObject) -> None:
        """Delete an object, and leave everything in the clouds, without marks."""
        patch = {"metadata": {"annotations": {"edgekeeper.io/deletion-policy": "Orphan"}}}
        await self.user.merge_patch(await self._kind(body), key_of(body), patch)
        await self.delete(body)

    async def delete(self, body: JsonObject) -> None:
        await self.user.delete(await self._kind(body), key_of(body))

    async def gone(self, *kinds: str) -> None:
        """Wait until there is no object of these kinds."""
        try:
            async with asyncio.timeout(3600):
                while self.objects(*kinds) or self.objects("CloudflareTask"):  # noqa: ASYNC110 - of virtual time
                    await asyncio.sleep(5)
        except TimeoutError:
            raise AssertionError("\n".join(self.unready()[:10])) from None

    async def _kind(self, body: JsonObject) -> Kind:
        group, _, version = body["apiVersion"].rpartition("/")
        served = await self._discovery.find(group, body["kind"], version)
        assert served is not None
        return served.kind

    async def elapse(self, **interval: float) -> None:
        await asyncio.sleep(timedelta(**interval).total_seconds())

    @asynccontextmanager
    async def operator(self, cluster: str = CLUSTER) -> AsyncIterator[Operator]:
        """An operator with all kinds at work."""
        options = OperatorOptions(
            RuntimeOptions(server=UNHEARD, log=LogOptions(level="info")),
            CommonOptions(cluster, HOME, pod_name="pod-1"),
            signals=False,
            cloudflare_url=URL,
            cloudflare_sender=self.cloudflare.send,
        )
        clients, transport = self.aws.clients(), InProcessTransport(self.plane)
        async with (
            assembled(options, transport, clients, clock=self.clock, host="plane") as operator,
            operator.manager.running(),
        ):
            yield operator

    # The clouds

    def writes(self) -> list[str]:
        """All calls that changed something, or tried to."""
        aws = [one.operation for one in self.aws.cloud.journal.entries]
        return [
            *(name for name in aws if not name.startswith(_READING)),
            *(entry.operation for entry in self.cloudflare.cloud.journal.writes() if entry.token),
        ]

    def contents(self) -> JsonObject:
        """Everything in both clouds but our marks, and when it was changed."""
        account = self.cloudflare.account
        tenants = self.aws.cloud.cloudfront.tenants.values()
        return deepcopy(
            {
                "tenants": sorted(
                    (one.name, one.id, one.domains, one.enabled, one.group, one.parameters) for one in tenants
                ),
                "customizations": {one.name: one.customizations for one in tenants},
                "certificates": {one.name: one.managed_certificate for one in tenants},
                "tags": {one.name: _unmarked(one.tags) for one in tenants},
                "domains": {
                    one.name: (dict(one.configuration), one.mappings, one.mutual_tls, _unmarked(one.tags))
                    for one in self.aws.gateway.domains.values()
                },
                "records": sorted(repr(one) for one in self._records()),
                "applications": {
                    id_: _bare(one, "tags", "updated_at") for id_, one in account.applications.items()
                },
                "policies": account.policies,
                "tokens": account.service_tokens,
                "tunnels": account.configurations,
                "names": {
                    id_: _bare(one, "comment", "comment_modified_on", "modified_on")
                    for id_, one in self.cloudflare.zone.records.items()
                },
            }
        )

    def _records(self) -> Iterable[Any]:
        for zone in self.aws.cloud.route53.zones.values():
            yield from zone.records.values()


def _why_unready(obj: JsonObject) -> str:
    if obj["kind"] == "HTTPRoute":
        told = dig(obj, "metadata", "annotations") or {}
        if told.get("edgekeeper.io/ready") == "True":
            return ""
        return f"{told.get('edgekeeper.io/reason')}: {told.get('edgekeeper.io/message')}"
    for one in dig_list(obj, "status", "conditions"):
        is_current = one.get("observedGeneration") in (None, obj["metadata"]["generation"])
        if one["type"] == "Ready" and is_current:
            return "" if one["status"] == "True" else f"{one['reason']}: {one['message']}"
    return "nobody has looked at it"


def _unmarked(tags: Any) -> JsonObject:
    return {key: value for key, value in tags.items() if not key.startswith(TAG_PREFIX)}


def _bare(obj: JsonObject, *names: str) -> JsonObject:
    return {name: value for name, value in obj.items() if name not in names}


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """A cluster with all definitions, the Secret with the API token, and no object that declares anything."""
    clock = LoopClock()
    config = PlaneConfig(simulators=frozenset(), gateway_api=True, now=clock.now)
    async with Plane(config) as plane:
        here = World(plane, clock)
        for definition in DEFINITIONS:
            await here.user.create(CUSTOM_RESOURCE_DEFINITION, definition.definition())
        await plane.settle()
        for name in (HOME, EDGE, SHOP):
            await here.user.create(NAMESPACE, {"metadata": {"name": name}})
        metadata = {"name": SECRET_NAME, "namespace": EDGE}
        token = {"token": here.cloudflare.token.value}
        await here.user.create(SECRET, {"metadata": metadata, "stringData": token})
        yield here


def of(results: Iterable[ImportResult], name: str) -> ImportResult:
    """The result whose resource has a name."""
    found = [one for one in results if name in one.resource]
    assert len(found) == 1, [one.resource for one in found]
    return found[0]


def told(results: Iterable[ImportResult]) -> list[str]:
    """What was not imported, and why."""
    return [
        f"{one.resource}: {one.owner}{'; '.join(map(str, one.refusals))}"
        for one in results
        if one.owner or one.refusals
    ]
