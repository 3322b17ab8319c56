"""A stage for the kinds of the bridge: what users, AWS and time do, and what can be seen then.

    @virtual_time
    async def test_…() -> None:
        async with playing() as scene:
            await scene.create(permission(statement("api")))
            await scene.ready(PERMISSION)

Whatever a test is about, the laws of a status are judged at every write of it, and no secret may be seen.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec

from edgekeeper.api.bridge import API_GATEWAY_DOMAIN
from edgekeeper.api.lambda_permission import LAMBDA_PERMISSION
from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.controllers.bridge.controller import Surroundings
from edgekeeper.controllers.bridge.domains.report import DECLARATION as DOMAIN_DECLARATION
from edgekeeper.controllers.bridge.domains.wiring import DomainOptions, domain_controller
from edgekeeper.controllers.bridge.metrics import BridgeMetrics
from edgekeeper.controllers.bridge.permissions.report import DECLARATION as PERMISSION_DECLARATION
from edgekeeper.controllers.bridge.permissions.wiring import permission_controller
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.lifecycle.module import kind_of
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.metrics import Metrics
from kubesim.ack import definitions as ack
from kubesim.ack.controller import AckControllers
from kubesim.aws.apigateway.state import ApiDomain
from kubesim.plane.kinds.gateway import gateway_crds
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from tests.bridge.estate import FUNCTION, REGION, BridgeEstate
from tests.crash.oracles import Watchman
from tests.crash.stage import Stage, staged
from tests.crash.system import System
from tests.tenants.estate import SECRET
from tests.tenants.scene import UNSAID, Fact, Told, facts, records_of

CLUSTER = "test-cluster"
DOMAINS, PERMISSIONS = kind_of(API_GATEWAY_DOMAIN), kind_of(LAMBDA_PERMISSION)
DOMAIN, PERMISSION = Key("default", "api-domain"), Key("default", "api-permission")
NAME = "api.example.com"
OPTIONS = DomainOptions(CLUSTER, mode="direct")
ACK_MODE = DomainOptions(CLUSTER, mode="ack")
APIS = Kind(ack.API.group, "v1alpha1", "API", "apis")
FUNCTIONS = Kind(ack.FUNCTION.group, "v1alpha1", "Function", "functions")
API = "a1b2c3d4e5"
SOURCE = f"arn:aws:execute-api:{REGION}:111122223333:a1b2c3d4e5/*/*"
STALLS = frozenset({"NameConflict", "PolicyLengthExceeded", "InvalidSpec", "AccessDenied", "DomainConflict"})
_EVENTS = GroupResource("", "events")


def statement(id_: str, **fields: Any) -> JsonObject:
    """A permission of a spec."""
    source = {} if "sourceRef" in fields else {"sourceArn": SOURCE}
    return {"statementId": id_, "principal": "apigateway.amazonaws.com", **source, **fields}


def permission(
    *permissions: JsonObject, key: Key = PERMISSION, function: JsonObject | None = None
) -> JsonObject:
    """A LambdaPermission."""
    ref = function if function is not None else {"functionName": FUNCTION}
    return {
        "apiVersion": PERMISSIONS.api_version,
        "kind": PERMISSIONS.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {"functionRef": ref, "permissions": list(permissions)},
    }


def domain(name: str = NAME, *, key: Key = DOMAIN, **spec: Any) -> JsonObject:
    """An APIGatewayDomain that leads to the ACK API `shop`."""
    return {
        "apiVersion": DOMAINS.api_version,
        "kind": DOMAINS.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {"domain": name, "apiRef": {"name": "shop"}, **spec},
    }


async def make(
    stage: Stage[BridgeEstate],
    kind: Kind,
    name: str,
    spec: JsonObject,
    status: JsonObject,
    namespace: str = "default",
) -> None:
    """An object of ACK that ACK has made."""
    managed = [f"finalizers.{kind.group}/{kind.kind}"]
    metadata = {"name": name, "namespace": namespace, "finalizers": managed}
    obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
    await stage.user.create(kind, obj)
    await made(stage, kind, name, status, namespace)


async def made(
    stage: Stage[BridgeEstate], kind: Kind, name: str, status: JsonObject, namespace: str = "default"
) -> None:
    """ACK has made it, or made it anew."""
    condition = {"type": "ACK.ResourceSynced", "status": "True"}
    owner = {"ownerAccountID": "111122223333", "region": REGION, **status.get("ackResourceMetadata", {})}
    body = {"status": {**status, "ackResourceMetadata": owner, "conditions": [condition]}}
    await stage.user.merge_patch(kind, Key(namespace, name), body, subresource="status")


async def make_api(
    stage: Stage[BridgeEstate], api_id: str = API, name: str = "shop", namespace: str = "default"
) -> None:
    """An API that ACK has made."""
    spec = {"name": name, "protocolType": "HTTP"}
    await make(stage, APIS, name, spec, {"apiID": api_id}, namespace)


class Scene:
    """See the module."""

    def __init__(self, stage: Stage[BridgeEstate]) -> None:
        self.stage = stage
        self.estate = stage.outside
        self.cloud = stage.outside.cloud
        self.versions: list[JsonObject] = []
        """Every object of ours that was ever committed, oldest first."""
        self._watchman = Watchman(stage)
        self._resources = {GroupResource(kind.group, kind.plural) for kind in stage.system.declarations}
        stage.plane.store.listen(self._remember)

    # What users and time do

    async def create(self, obj: JsonObject) -> None:
        await self.stage.create(obj)

    async def edit(self, kind: Kind, key: Key, **spec: Any) -> None:
        await self.stage.patch(kind, key, {"spec": spec})

    async def annotate(self, kind: Kind, key: Key, **annotations: str | None) -> None:
        named = {f"edgekeeper.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
        await self.stage.patch(kind, key, {"metadata": {"annotations": named}})

    async def delete(self, kind: Kind, key: Key) -> None:
        await self.stage.delete(kind, key)

    async def elapse(self, **interval: float) -> None:
        await self.stage.elapse(**interval)

    async def until(self, holds: Callable[[], bool]) -> None:
        try:
            await self.stage.until(holds)
        except TimeoutError:
            raise AssertionError(f"it never happened; {self.told()}") from None

    async def says(self, key: Key, type_: str, reason: str) -> Fact:
        """Wait until a condition has a reason, for the present spec, and return it."""
        await self.until(lambda: self.is_current(key) and self.fact(key, type_).reason == reason)
        return self.fact(key, type_)

    async def ready(self, key: Key) -> None:
        await self.until(lambda: self.is_current(key) and self.fact(key, "Ready").status == "True")
        assert self.status(key)["ready"] is True

    async def gone(self, key: Key) -> None:
        await self.until(lambda: self.find(key) is None)

    async def api(self, api_id: str = API, name: str = "shop", namespace: str = "default") -> None:
        """An API that ACK has made."""
        await make_api(self.stage, api_id, name, namespace)

    def certificate(self, *names: str) -> str:
        """A certificate that somebody has imported; its ARN."""
        return str(self.estate.certificates.add_issued(*names or (NAME,)).arn)

    # What can be seen in the cluster

    def find(self, key: Key) -> JsonObject | None:
        found = (one for one in self.stage.objects() if _key(one) == key)
        return next(found, None)

    def object(self, key: Key) -> JsonObject:
        found = self.find(key)
        assert found is not None
        return found

    def status(self, key: Key) -> JsonObject:
        return dig_object(self.object(key), "status")

    def fact(self, key: Key, type_: str) -> Fact:
        return facts(self.object(key)).get(type_, UNSAID)

    def is_current(self, key: Key) -> bool:
        """Does the status speak of the present spec?"""
        obj = self.object(key)
        ready = [one for one in dig_list(obj, "status", "conditions") if one["type"] == "Ready"]
        return any(one["observedGeneration"] == obj["metadata"]["generation"] for one in ready)

    def states(self, key: Key = PERMISSION) -> dict[str, str]:
        """The state of each permission."""
        return {one["statementId"]: one["state"] for one in self.status(key).get("permissions", ())}

    def events(self, key: Key, reason: str = "") -> list[str]:
        return [one.note for one in self._told(key) if reason in ("", one.reason)]

    def told(self) -> str:
        return f"{[(_key(one), dig(one, 'status')) for one in self.stage.objects()]}, {self.estate.state()}"

    # What can be seen in AWS

    @property
    def records(self) -> dict[str, str]:
        return records_of(self.estate.zone.records.values())

    def live(self, name: str = NAME) -> ApiDomain:
        """The domain name in API Gateway."""
        return self.estate.gateway.domain(name)

    @property
    def names(self) -> list[str]:
        """The domain names of the account."""
        return sorted(one.name for one in self.estate.gateway.domains.values())

    def mapped(self, name: str = NAME) -> dict[str, tuple[str, str]]:
        """The mappings of a domain name: API and stage by key."""
        return {one.key: (one.api, one.stage) for one in self.live(name).mappings}

    def phases(self, key: Key = DOMAIN) -> list[str]:
        """The phases that an object went through."""
        told = [
            str(dig(one, "status", "phase"))
            for one in self.versions
            if _key(one) == key and dig(one, "status")
        ]
        return [one for place, one in enumerate(told) if place == 0 or told[place - 1] != one]

    def calls(self, operation: str) -> int:
        return self.cloud.journal.counts[operation]

    def metric(self, name: str, **labels: str) -> float:
        return self.stage.operator.metrics.registry.get_sample_value(name, labels) or 0.0

    def _told(self, key: Key) -> Iterator[Told]:
        for item in self.stage.plane.store.collection(_EVENTS).ordered():
            event = item.decode()
            about = event["involvedObject"]
            if Key(about["namespace"], about["name"]) == key:
                told = Told(event["type"], event["reason"], event["message"])
                yield from [told] * (dig(event, "series", "count") or 1)

    def _remember(self, resource: GroupResource, event: Event) -> None:
        if resource in self._resources and event.type != "DELETED":
            self.versions.append(event.item.decode())

    def judge(self) -> None:
        assert not self._watchman.faults, "\n".join(self._watchman.faults)
        assert not self.estate.dangling, "\n".join(self.estate.dangling)


def controllers(
    services: Services, estate: BridgeEstate, calls: Calls, options: DomainOptions = OPTIONS
) -> Sequence[Controller]:
    assert isinstance(services.metrics, Metrics)
    registry = services.metrics.registry
    access, cloud_metrics = estate.access(calls, registry=registry)
    aws = AwsAccount(access, services.clock, cloud_metrics, options=options.intervals.pace)
    claims = Claims()
    claims.records.connect(aws.dns)
    around = Surroundings(services, aws, claims, BridgeMetrics(registry), options)
    return [permission_controller(around), domain_controller(around, options)]


def lies(obj: JsonObject, estate: BridgeEstate) -> str:
    """What an object that says it is Ready does not have in AWS, worked out without any code of the controllers."""
    spec = obj["spec"]
    if dig(obj, "status", "driftDetected") or not _claims_the_present(obj):
        return ""
    if "functionRef" in spec:
        function = spec["functionRef"].get("functionName", FUNCTION)
        found = {one.name: one.statements.get("", {}) for one in estate.functions.save()}
        lacking = {one["statementId"] for one in spec["permissions"]} - found.get(function, {}).keys()
        return f"Ready, but {function} lacks {sorted(lacking)}" if lacking else ""
    live = estate.gateway.domains.get(spec["domain"])
    if live is None:
        return "Ready, but there is no domain name"
    mapped = {one.key: one.stage for one in live.mappings}
    if mapped.get(spec.get("apiMappingKey", "")) != spec["stage"]:
        return f"Ready, but mapped are {mapped}"
    leads = estate.zone.target(f"{spec['domain']}.")
    is_named = dig(spec, "dnsConfig", "enabled") is not False and "hostedZoneId" not in spec["dnsConfig"]
    return f"Ready, but it leads to {leads}" if is_named and leads != f"{live.target}." else ""


def _claims_the_present(obj: JsonObject) -> bool:
    ready = [one for one in dig_list(obj, "status", "conditions") if one["type"] == "Ready"]
    return any(one.get("observedGeneration") == obj["metadata"]["generation"] for one in ready)


def comparable(obj: JsonObject, _: BridgeEstate) -> JsonObject:
    """An object without the ids that AWS makes up."""
    text = msgspec.json.encode(obj).decode()
    text = re.sub(r"certificate/[0-9a-f-]{36}", "certificate/ID", text)
    text = re.sub(r"d-[a-z0-9]+\\.execute-api", "d-ID.execute-api", text)
    plain: JsonObject = msgspec.json.decode(text)
    return plain


def wrongs(stage: Stage[BridgeEstate]) -> Iterator[str]:
    """Names that led nowhere for a moment; records and statements that no object answers for."""
    yield from stage.outside.dangling
    objects = [one for one in stage.objects() if one["kind"] in (DOMAINS.kind, PERMISSIONS.kind)]
    known = {
        (one.get("type"), one.get("name"), one.get("statementId"))
        for obj in objects
        for one in dig_list(obj, "status", "inventory")
        if one.get("state") != "Planned"
    }
    for record in stage.outside.zone.records.values():
        value = record.alias.name if record.alias else (record.values or ("",))[0]
        place = (record.type, record.name.rstrip("."), None)
        if (".execute-api." in value or "acm-validations" in value) and place not in known:
            yield f"orphan: {record.type} {record.name} is in no inventory"
    for function in stage.outside.functions.save():
        for id_ in function.statements.get("", {}):
            if (None, None, id_) not in known and id_ not in stage.outside.foreign:
                yield f"orphan: statement {id_} is in no inventory"


MASKED = frozenset(
    {
        *("lastTransitionTime", "id", "apiMappingId", "dnsChangeId", "dnsChanges", "hostedZoneId", "zone"),
        *("until",),
    }
)


async def _start_ack(stage: Stage[BridgeEstate]) -> None:
    controllers = AckControllers(stage.plane, stage.outside.cloud, REGION)
    stage.background.append(asyncio.create_task(controllers.run(), name="ACK"))
    stage.outside.ack = controllers


async def _nothing(_: Stage[BridgeEstate]) -> None:
    return


def system(options: DomainOptions = OPTIONS, *, ack_kinds: bool = True) -> System[BridgeEstate]:
    """The kinds, with an operator that was told this."""
    foreign = [kind.definition() for kind in ack.KINDS] if ack_kinds else []
    return System(
        definitions=(
            API_GATEWAY_DOMAIN.definition(),
            LAMBDA_PERMISSION.definition(),
            *foreign,
            *gateway_crds(),
        ),
        declarations={PERMISSIONS: PERMISSION_DECLARATION, DOMAINS: DOMAIN_DECLARATION},
        outside=BridgeEstate,
        controllers=partial(controllers, options=options),
        lies=lies,
        canary=SECRET,
        masked=MASKED,
        stalls=STALLS,
        quiet=timedelta(minutes=15),
        wrongs=wrongs,
        comparable=comparable,
        prepare=_start_ack if options.mode == "ack" else _nothing,
    )


DIRECT, THROUGH_ACK = system(), system(ACK_MODE)


@asynccontextmanager
async def playing(
    options: DomainOptions = OPTIONS, *, start: bool = True, ack_kinds: bool = True
) -> AsyncIterator[Scene]:
    """A scene with an operator; in `ack` mode also with ACK's controllers."""
    # What is Ready is judged by the tests themselves: here others change things, and no operator knows that at once.
    async with staged(replace(system(options, ack_kinds=ack_kinds), lies=lambda *_: "")) as stage:
        scene = Scene(stage)
        if start:
            stage.start_operator()
        yield scene
        scene.judge()


def _key(obj: JsonObject) -> Key:
    return Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
