"""A stage for the behaviour of DistributionTenants: what users, the console and time do, and what can be seen then.

    @virtual_time
    async def test_…() -> None:
        async with playing() as scene:
            await scene.create(tenant())
            await scene.ready()
            assert scene.aws().domains == ("shop.example.com",)

Whatever a test is about, the ten laws of a status are judged at every write of it, and no secret may be seen.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from edgekeeper.controllers.cloudfront.wiring import KIND, TenantOptions
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.kinds import Key
from kubesim.aws.cloudfront.resources import Tenant
from kubesim.aws.route53.records import Record
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from tests.crash.oracles import Watchman
from tests.crash.stage import Stage, staged
from tests.tenants.estate import Estate
from tests.tenants.system import KEY, OPTIONS, system

_TENANTS = GroupResource(KIND.group, KIND.plural)
_EVENTS = GroupResource("", "events")
"""Where the server keeps the events of both groups."""


class Fact(NamedTuple):
    """A condition, as far as people read it."""

    status: str
    reason: str
    message: str = ""


class Told(NamedTuple):
    """An event."""

    type: str
    reason: str
    note: str


UNSAID = Fact("", "")


class Scene:
    """See the module."""

    def __init__(self, stage: Stage[Estate]) -> None:
        self.stage = stage
        self.estate = stage.outside
        self.cloud = stage.outside.cloud
        self.zone = stage.outside.zone
        self.versions: list[JsonObject] = []
        """Every DistributionTenant that was ever committed, oldest first."""
        self._watchman = Watchman(stage)
        stage.plane.store.listen(self._remember)

    # What users and time do

    async def create(self, obj: JsonObject) -> None:
        await self.stage.create(obj)

    async def edit(self, key: Key = KEY, /, **spec: Any) -> None:
        await self.stage.patch(KIND, key, {"spec": spec})

    async def annotate(self, key: Key = KEY, /, **annotations: str | None) -> None:
        """Annotations of ours: `paused="true"`."""
        named = {f"edgekeeper.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
        await self.stage.patch(KIND, key, {"metadata": {"annotations": named}})

    async def delete(self, key: Key = KEY) -> None:
        await self.stage.delete(KIND, key)

    async def elapse(self, **interval: float) -> None:
        await self.stage.elapse(**interval)

    async def until(self, holds: Callable[[], bool]) -> None:
        try:
            await self.stage.until(holds)
        except TimeoutError:
            raise AssertionError(f"it never happened; {self.told()}") from None

    async def says(self, type_: str, reason: str, key: Key = KEY) -> Fact:
        """Wait until a condition has a reason, for the present spec, and return it."""
        await self.until(lambda: self.is_current(key) and self.fact(type_, key).reason == reason)
        return self.fact(type_, key)

    async def ready(self, key: Key = KEY) -> None:
        await self.says("Ready", "Deployed", key)

    async def gone(self, key: Key = KEY) -> None:
        await self.until(lambda: self.find(key) is None)

    # What can be seen in the cluster

    def find(self, key: Key = KEY) -> JsonObject | None:
        found = (one for one in self.stage.objects() if _key(one) == key)
        return next(found, None)

    def object(self, key: Key = KEY) -> JsonObject:
        found = self.find(key)
        assert found is not None
        return found

    def status(self, key: Key = KEY) -> JsonObject:
        return dig_object(self.object(key), "status")

    def fact(self, type_: str, key: Key = KEY) -> Fact:
        return facts(self.object(key)).get(type_, UNSAID)

    def is_current(self, key: Key = KEY) -> bool:
        """Does the status speak of the present spec?"""
        obj = self.object(key)
        ready = [one for one in dig_list(obj, "status", "conditions") if one["type"] == "Ready"]
        return any(one["observedGeneration"] == obj["metadata"]["generation"] for one in ready)

    def reasons(self, type_: str, key: Key = KEY) -> list[Fact]:
        """How a condition changed, without its messages and without repetitions."""
        told: list[Fact] = []
        for version in self.versions:
            fact = facts(version).get(type_)
            if _key(version) == key and fact and (not told or told[-1] != (*fact[:2], "")):
                told.append(Fact(fact.status, fact.reason))
        return told

    def events(self, reason: str = "", key: Key = KEY) -> list[str]:
        """What was told about an object, each as often as it was told."""
        return [one.note for one in self.facts_told(key) if reason in ("", one.reason)]

    def facts_told(self, key: Key = KEY) -> Iterator[Told]:
        for item in self.stage.plane.store.collection(_EVENTS).ordered():
            event = item.decode()
            about = event["involvedObject"]
            if Key(about["namespace"], about["name"]) == key:
                told = Told(event["type"], event["reason"], event["message"])
                yield from [told] * (dig(event, "series", "count") or 1)

    def told(self) -> str:
        """Everything, for the message of a test that failed."""
        return f"{[(_key(one), dig(one, 'status')) for one in self.stage.objects()]}, {self.estate.state()}"

    # What can be seen in AWS

    def aws(self, name: str = KEY.name) -> Tenant:
        return self.cloud.cloudfront.tenant(name)

    @property
    def names(self) -> list[str]:
        """The tenants of the account."""
        return sorted(one.name for one in self.cloud.cloudfront.tenants.values())

    @property
    def records(self) -> dict[str, str]:
        """Where names lead, by type and name: `{"CNAME shop.example.com": "d1.cloudfront.net"}`."""
        return records_of(self.zone.records.values())

    @property
    def endpoint(self) -> str:
        """Where tenants of the default connection group are reached."""
        return self.cloud.cloudfront.default_group().endpoint

    def dns(self, **settings: Any) -> JsonObject:
        """`spec.dns` for the estate's zone."""
        return {"provider": "route53", "hostedZoneId": self.zone.id, **settings}

    def calls(self, operation: str) -> int:
        return self.cloud.journal.counts[operation]

    def metric(self, name: str, **labels: str) -> float:
        """The value of a metric of the operator that lives; zero where it is not there."""
        return self.stage.operator.metrics.registry.get_sample_value(name, labels) or 0.0

    def errors(self, error_type: str) -> float:
        return self.metric("cloudfront_tenant_operator_reconcile_errors_total", error_type=error_type)

    def _remember(self, resource: GroupResource, event: Event) -> None:
        if resource == _TENANTS and event.type != "DELETED":
            self.versions.append(event.item.decode())

    def judge(self) -> None:
        assert not self._watchman.faults, "\n".join(self._watchman.faults)


@asynccontextmanager
async def playing(
    options: TenantOptions = OPTIONS, *, start: bool = True, virgin: bool = False, loose: bool = False
) -> AsyncIterator[Scene]:
    """A scene with an operator. The account has had tenants before, unless it is `virgin`.

    If `loose`, the definition is one of before there were rules, under which users could store anything.
    """
    # What is Ready is judged by the tests themselves: here others change tenants, and no operator knows that at once.
    async with staged(replace(system(options, loose=loose), lies=lambda *_: "")) as stage:
        scene = Scene(stage)
        if not virgin:
            stage.outside.cloud.cloudfront.default_group()
        if start:
            stage.start_operator()
        yield scene
        scene.judge()


def facts(obj: JsonObject) -> dict[str, Fact]:
    """The conditions of an object by type."""
    conditions = dig_list(obj, "status", "conditions")
    return {one["type"]: Fact(one["status"], one["reason"], one["message"]) for one in conditions}


def records_of(records: Any) -> dict[str, str]:
    """Records that lead somewhere, and where."""
    return {
        f"{one.type} {one.name.rstrip('.')}": _target(one) for one in records if one.type not in ("NS", "SOA")
    }


def _target(record: Record) -> str:
    return (record.alias.name if record.alias else record.values[0]).rstrip(".")


def _key(obj: JsonObject) -> Key:
    return Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
