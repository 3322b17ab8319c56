"""The oracles of tenants have teeth: whatever an operator must not do is seen at the call that does it.

There is no operator here. Somebody with its credentials makes the calls that it must not make.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from edgekeeper.cloud.aws.cloudfront import CloudFront
from edgekeeper.cloud.aws.dns.changes import Action, Change
from edgekeeper.cloud.aws.dns.records import Record
from edgekeeper.cloud.aws.route53 import Route53
from edgekeeper.cloud.aws.tenants import TenantSettings
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject
from kubesim.virtual import run_virtual, virtual_time
from tests.chaos.operation import Operation, op
from tests.chaos.tenant_estate import ChaosEstate
from tests.chaos.tenant_operations import ACTIONS
from tests.chaos.tenants import TENANTS, TenantJudge
from tests.chaos.world import World, parse_key
from tests.crash.stage import staged
from tests.tenants.estate import DISTRIBUTION
from tests.tenants.system import CLUSTER

SHOP, WWW = "shop.example.com", "www.example.com"
SPEC = {
    "distributionId": "$distribution:main",
    "domains": [{"domain": SHOP}],
    "dns": {"provider": "route53", "hostedZoneId": "$zone:main"},
}
CREATE = op("create", key="alpha", spec=SPEC)
BY_HAND = op("make_tenant", name="alpha", domains=[SHOP], tags={"made": "by hand"})
ENTRY: JsonObject = {"name": SHOP, "type": "CNAME", "ttl": 300}


@dataclass
class Rogue:
    """Somebody with the credentials of the operator."""

    world: World[ChaosEstate]
    judge: TenantJudge
    cloudfront: CloudFront
    route53: Route53

    @property
    def estate(self) -> ChaosEstate:
        return self.world.outside

    @property
    def laws(self) -> list[str]:
        return [violation.law for violation in self.judge.found()]

    async def play(self, *operations: Operation) -> None:
        for operation in operations:
            await ACTIONS[operation.action](self.world, **operation.arguments)

    async def create_tenant(self, *domains: str, uid: str = "") -> None:
        parts = {"cluster": CLUSTER, "namespace": "default", "name": "alpha", "uid": uid}
        tags = {f"edgekeeper.io/{part}": value for part, value in parts.items()} if uid else {}
        await self.cloudfront.create_tenant("alpha", TenantSettings(DISTRIBUTION, domains), tags=tags)

    async def update_tenant(self, **changes: Any) -> None:
        found = await self.cloudfront.find_tenant("alpha")
        assert found is not None
        settings = TenantSettings(DISTRIBUTION, changes.pop("domains", found.settings.domains), **changes)
        await self.cloudfront.update_tenant(found.id, found.etag, settings)

    async def change_record(self, action: Action, name: str = SHOP, ttl: int = 300) -> None:
        record = Record(name, "CNAME", ttl, (self.estate.words["$endpoint"],))
        await self.route53.change(self.estate.zone.id, [Change(action, record)])

    async def say(self, **status: Any) -> None:
        await self.world.stage.user.merge_patch(
            KIND, parse_key("alpha"), {"status": status}, subresource="status"
        )

    async def say_ready(self, status: str, reason: str, **more: Any) -> None:
        condition = {
            "type": "Ready",
            "status": status,
            "reason": reason,
            "message": "so it says",
            "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        await self.say(conditions=[condition], **more)

    async def remember(self, **entry: Any) -> None:
        target = self.estate.words["$endpoint"]
        await self.say(inventory=[{**ENTRY, "zone": self.estate.zone.id, "target": target, **entry}])

    def uid(self) -> str:
        found = self.world.find(parse_key("alpha"))
        assert found is not None
        return str(found["metadata"]["uid"])


@asynccontextmanager
async def rogue() -> AsyncIterator[Rogue]:
    async with staged(TENANTS.system) as stage:
        world: World[ChaosEstate] = World(stage)
        judge = await TENANTS.judge(world)
        access, _ = world.outside.access(Calls())
        yield Rogue(world, judge, CloudFront(access.caller()), Route53(access.caller()))
        await access.clients.close()


async def deletes_what_somebody_made(one: Rogue) -> None:
    await one.play(BY_HAND, CREATE)
    found = await one.cloudfront.find_tenant("alpha")
    assert found is not None
    await one.cloudfront.tag(found.arn, {"mine": "now"})


async def changes_what_bears_another_mark(one: Rogue) -> None:
    await one.play(CREATE)
    await one.create_tenant(SHOP, uid="00000000-0000-4000-8000-000000000000")
    await one.update_tenant(enabled=False)


async def removes_a_record_of_somebody(one: Rogue) -> None:
    await one.play(CREATE, op("write_record", zone="$zone:main", domain=SHOP, target="$endpoint"))
    await one.remember()
    await one.change_record(Action.DELETE)


async def replaces_a_record_of_somebody(one: Rogue) -> None:
    await one.play(CREATE, op("write_record", zone="$zone:main", domain=SHOP, target="$endpoint"))
    await one.remember(ttl=60)
    await one.change_record(Action.UPSERT, ttl=60)


async def removes_a_record_that_was_changed_since(one: Rogue) -> None:
    await one.play(CREATE)
    await one.remember()
    await one.change_record(Action.CREATE)
    await one.play(op("write_record", zone="$zone:main", domain=SHOP, target="$endpoint", ttl=17))
    await one.change_record(Action.DELETE, ttl=17)


async def writes_a_record_that_nobody_remembers(one: Rogue) -> None:
    await one.play(CREATE)
    await one.change_record(Action.CREATE)


async def creates_a_tenant_for_nobody(one: Rogue) -> None:
    await one.create_tenant(SHOP)


async def gives_up_a_name_that_leads_here(one: Rogue) -> None:
    await one.play(CREATE)
    await one.remember()
    await one.change_record(Action.CREATE)
    await one.create_tenant(SHOP, uid=one.uid())
    await one.update_tenant(domains=(WWW,))


async def gives_up_a_name_before_the_world_knows(one: Rogue) -> None:
    await one.play(CREATE)
    await one.remember()
    await one.change_record(Action.CREATE)
    await one.create_tenant(SHOP, uid=one.uid())
    await one.change_record(Action.DELETE)
    await one.world.stage.elapse(seconds=30)
    await one.update_tenant(domains=(WWW,))


async def works_for_an_object_that_is_paused(one: Rogue) -> None:
    await one.play(op("create", key="alpha", spec=SPEC, annotations={"edgekeeper.io/paused": "True"}))
    await one.world.stage.elapse(hours=1)
    await one.create_tenant(SHOP, uid=one.uid())


async def deletes_for_a_misspelt_annotation(one: Rogue) -> None:
    annotations = {"edgekeeper.io/deletion-policy": "retain"}
    await one.play(op("create", key="alpha", spec=SPEC, annotations=annotations))
    await one.create_tenant(SHOP, uid=one.uid())
    await one.world.stage.elapse(hours=1)
    await one.update_tenant(enabled=False)


async def corrects_drift_that_is_only_to_be_reported(one: Rogue) -> None:
    await one.play(op("create", key="alpha", spec=SPEC, annotations={"edgekeeper.io/drift-policy": "report"}))
    await one.create_tenant(SHOP, uid=one.uid())
    await one.say(observedGeneration=1)
    await one.world.stage.elapse(hours=1)
    await one.play(op("change_tenant", name="alpha", change="toggle"))
    await one.update_tenant(enabled=True)


@pytest.mark.parametrize(
    ("misdeed", "law"),
    [
        (deletes_what_somebody_made, "foreign"),
        (changes_what_bears_another_mark, "foreign"),
        (removes_a_record_of_somebody, "foreign"),
        (replaces_a_record_of_somebody, "foreign"),
        (removes_a_record_that_was_changed_since, "foreign"),
        (writes_a_record_that_nobody_remembers, "forgotten"),
        (creates_a_tenant_for_nobody, "forgotten"),
        (gives_up_a_name_that_leads_here, "dangling"),
        (gives_up_a_name_before_the_world_knows, "dangling"),
        (works_for_an_object_that_is_paused, "uninvited"),
        (deletes_for_a_misspelt_annotation, "uninvited"),
        (corrects_drift_that_is_only_to_be_reported, "uninvited"),
    ],
    ids=lambda value: value.__name__ if callable(value) else value,
)
def test_ledger_sees(misdeed: Callable[[Rogue], Awaitable[None]], law: str) -> None:
    async def scenario() -> None:
        async with rogue() as one:
            await misdeed(one)
            assert one.laws == [law]

    run_virtual(scenario)


@virtual_time
async def test_ledger_allows_what_an_operator_has_to_do() -> None:
    async with rogue() as one:
        await one.play(CREATE)
        await one.remember(state="Planned")
        await one.change_record(Action.CREATE)
        await one.create_tenant(SHOP, uid=one.uid())
        await one.play(op("write_record", zone="$zone:main", domain=SHOP, target="$endpoint", ttl=17))
        await one.change_record(Action.UPSERT)
        await one.change_record(Action.DELETE)
        await one.world.stage.elapse(seconds=61)
        await one.update_tenant(domains=(WWW,), enabled=False)
        assert one.laws == []


@pytest.mark.parametrize(
    "reason",
    [
        *("ValidationFailed", "InvalidSpec", "CertificateSANMismatch", "DomainConflict", "NameConflict"),
        *("DNSConflict", "DNSError", "DomainValidationPending", "ExternalDeletion", "InvalidAnnotation"),
        *("AccessDenied", "CloudUnavailable", "AWSError"),
    ],
)
def test_reason_that_is_not_true_is_seen(reason: str) -> None:
    async def scenario() -> None:
        async with rogue() as one:
            await one.play(CREATE)
            await one.say_ready("False", reason)
            assert [violation.law for violation in one.judge.at_rest()] == ["untrue"]

    run_virtual(scenario)


@pytest.mark.parametrize(
    ("reason", "operations"),
    [
        ("DomainConflict", [op("squat", domain=SHOP)]),
        ("DomainConflict", [op("make_tenant", name="theirs", domains=[SHOP], tags={})]),
        ("NameConflict", [op("make_tenant", name="alpha", domains=[WWW], tags={})]),
        ("DNSConflict", [op("write_record", zone="$zone:main", domain=SHOP, target="$endpoint", type="A")]),
        ("ValidationFailed", [op("edit", key="alpha", spec={"distributionId": "$distribution:none"})]),
        ("InvalidSpec", [op("edit", key="alpha", spec={"connectionGroupId": "$group:none"})]),
        ("DNSError", [op("edit", key="alpha", spec={"dns": {"hostedZoneId": "$zone:none"}})]),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0].action,
)
def test_reason_that_is_true_is_believed(reason: str, operations: list[Operation]) -> None:
    async def scenario() -> None:
        async with rogue() as one:
            await one.play(CREATE, *operations)
            await one.say_ready("False", reason)
            assert list(one.judge.at_rest()) == []

    run_virtual(scenario)


@virtual_time
async def test_ready_object_without_its_tenant_is_seen() -> None:
    async with rogue() as one:
        await one.play(CREATE)
        await one.say_ready("True", "Deployed", id="dt_none")
        assert [violation.law for violation in one.judge.at_rest()] == ["untrue"]


@virtual_time
async def test_records_in_two_places_and_in_none_are_seen() -> None:
    async with rogue() as one:
        await one.play(CREATE, op("create", key="beta", spec=SPEC))
        await one.remember()
        await one.change_record(Action.CREATE)
        alpha = one.world.find(parse_key("alpha"))
        assert alpha is not None
        await one.world.stage.user.merge_patch(
            KIND,
            parse_key("beta"),
            {"status": {"inventory": alpha["status"]["inventory"]}},
            subresource="status",
        )
        assert "duplicate" in [violation.law for violation in one.judge.at_rest()]
        for key in ("alpha", "beta"):
            await one.world.stage.user.merge_patch(
                KIND, parse_key(key), {"status": {"inventory": None}}, subresource="status"
            )
        assert "orphan" in [violation.law for violation in one.judge.at_rest()]
