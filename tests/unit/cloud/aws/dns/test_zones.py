"""Zones that come into use, are needed by nobody any more, and are wanted again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from edgekeeper.cloud.aws.dns.changes import Absent, Present
from edgekeeper.cloud.aws.dns.records import Record, RecordKey
from edgekeeper.cloud.aws.dns.zone import Zone
from edgekeeper.cloud.aws.dns.zones import Zones
from edgekeeper.cloud.aws.roles import OWN, Role
from edgekeeper.cloud.mirror import NotSyncedError
from edgekeeper.cloud.registry import CHECKED_EVERY, LINGERING
from edgekeeper.core.errors import Retry, Stall
from kubesim.aws import faults, identity
from kubesim.aws.cloud import ACCOUNT
from kubesim.aws.route53.records import Record as RemoteRecord
from kubesim.aws.route53.state import Zone as RemoteZone
from tests.unit.cloud.aws.world import ENDPOINT, World, in_virtual_time

LISTINGS = "ListResourceRecordSets"
WANTED = Record("shop.example.com", "CNAME", 300, (ENDPOINT,))
CHANGES = "ChangeResourceRecordSets"
SAME_ACCOUNT = Role(f"arn:aws:iam::{ACCOUNT}:role/records")
DNS = Role("arn:aws:iam::222222222222:role/dns")


class _Needs:
    """Somebody who knows which zones are needed."""

    def __init__(self, *zones: tuple[str, Role]) -> None:
        self.zones = set(zones)

    def __call__(self, zone_id: str, role: Role) -> bool:
        return (zone_id, role) in self.zones


@asynccontextmanager
async def _running(world: World, *users: _Needs) -> AsyncIterator[Zones]:
    zones = Zones(world.access, world.clock, world.metrics)
    for user in users:
        zones.add_user(user)
    running = asyncio.create_task(zones.run())
    try:
        yield zones
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _pass(interval: timedelta) -> None:
    await asyncio.sleep(interval.total_seconds())


async def _release() -> None:
    """Wait for as long as it takes until a zone that nobody needs is released."""
    await _pass(LINGERING + CHECKED_EVERY)


def _mirrors(world: World) -> set[str]:
    """The mirrors that metrics show."""
    families = [*world.metrics._listings.collect(), *world.metrics._gauges()]
    samples = [one for family in families for one in family.samples]
    return {one.labels["mirror"] for one in samples if "mirror" in one.labels}


async def _listed(zones: Zones, remote: RemoteZone, role: Role = OWN) -> Zone:
    zone = zones.get(remote.id, role)
    await zone.mirror.wait_synced()
    return zone


@in_virtual_time
async def test_zone_that_nobody_needs_leaves_nothing_behind(world: World) -> None:
    remote = world.cloud.route53.add_zone("example.com")
    async with _running(world, _Needs()) as zones:
        await _pass(timedelta(seconds=1))
        before = len(asyncio.all_tasks())
        await _listed(zones, remote)
        assert len(asyncio.all_tasks()) > before
        assert _mirrors(world) == {f"records of zone {remote.id}"}
        await _release()
        assert (len(asyncio.all_tasks()), _mirrors(world), len(zones)) == (before, set(), 0)
        world.cloud.journal.clear()
        await _pass(timedelta(days=1))
        assert world.counts == {}


@in_virtual_time
async def test_zone_that_one_of_its_users_needs_stays(world: World) -> None:
    remote = world.cloud.route53.add_zone("example.com")
    needs = _Needs((remote.id, OWN))
    async with _running(world, _Needs(), needs) as zones:
        zone = await _listed(zones, remote)
        await _pass(timedelta(hours=1))
        assert zones.get(remote.id) is zone
        assert world.counts[LISTINGS] >= 12
        needs.zones.clear()
        await _release()
        assert len(zones) == 0


@in_virtual_time
async def test_zone_stays_for_a_while_after_somebody_has_asked_for_it(world: World) -> None:
    remote = world.cloud.route53.add_zone("example.com")
    async with _running(world, _Needs()) as zones:
        zone = await _listed(zones, remote)
        for _ in range(5):
            await _pass(LINGERING - timedelta(seconds=1))
            assert zones.get(remote.id) is zone
        await _release()
        assert len(zones) == 0


@in_virtual_time
async def test_zones_without_any_user_stay(world: World) -> None:
    remote = world.cloud.route53.add_zone("example.com")
    async with _running(world) as zones:
        zone = await _listed(zones, remote)
        await _pass(timedelta(hours=1))
        assert zones.get(remote.id) is zone


@in_virtual_time
async def test_batch_that_is_on_its_way_when_its_zone_could_be_released_is_written(world: World) -> None:
    """The wish waits for others in the window of the writer, and then for an answer that takes its time."""
    remote = world.cloud.route53.add_zone("example.com")
    async with _running(world, _Needs()) as zones:
        zone = await _listed(zones, remote)
        world.cloud.faults.add(faults.delay(timedelta(seconds=20)), operation="ChangeResourceRecordSets")
        await _pass(LINGERING - timedelta(seconds=0.5))
        ticket = zone.submit(Present(WANTED))
        written = await ticket.wait()
        assert written.change is not None
        assert len(zones) == 1
        assert ("shop.example.com.", "CNAME") in {(one.name, one.type) for one in remote.records.values()}
        await _release()
        assert len(zones) == 0


@in_virtual_time
async def test_zone_stays_while_somebody_waits_for_the_world_to_know_its_batch(world: World) -> None:
    remote = world.cloud.route53.add_zone("example.com")
    async with _running(world, _Needs()) as zones:
        zone = await _listed(zones, remote)
        written = await zone.submit(Present(WANTED)).wait()
        world.cloud.faults.add(
            faults.error("ServiceUnavailable", status=503), operation="GetChange", times=None
        )
        woken: list[str] = []
        assert not zone.in_sync(written.change_id, lambda: woken.append(written.change_id))
        await _pass(timedelta(minutes=20))
        assert (len(zones), woken) == (1, [])
        world.cloud.faults.clear()
        await _pass(timedelta(minutes=2))
        assert woken == [written.change_id]
        await _release()
        assert len(zones) == 0


@in_virtual_time
async def test_zone_that_is_wanted_again_starts_anew(world: World) -> None:
    remote = world.cloud.route53.add_zone("example.com")
    seen: list[Zone] = []
    async with _running(world, _Needs()) as zones:
        zones.on_new(seen.append)
        first = await _listed(zones, remote)
        await _release()
        world.cloud.route53.put_record(
            remote, RemoteRecord("shop.example.com.", "CNAME", 60, ("old.example.net.",))
        )
        second = zones.get(remote.id)
        assert seen == [first, second]
        key = RecordKey("shop.example.com", "CNAME")
        with pytest.raises(NotSyncedError):
            second.mirror.get(key)
        await second.mirror.wait_synced()
        assert second.mirror.get(key) is not None
        assert _mirrors(world) == {f"records of zone {remote.id}"}


@in_virtual_time
async def test_role_is_released_with_its_last_zone(world: World) -> None:
    world.cloud.world.identities.add_role(identity.Role(DNS.arn))
    route53 = world.cloud.account("222222222222").route53
    kept, left = route53.add_zone("example.com"), route53.add_zone("example.org")
    needs = _Needs((kept.id, DNS))
    async with _running(world, needs) as zones:
        await _listed(zones, kept, DNS)
        await _listed(zones, left, DNS)
        client = await world.access.client("route53", "", DNS)
        await _release()
        assert len(zones) == 1
        assert await world.access.client("route53", "", DNS) is client
        assert world.counts["AssumeRole"] == 1
        needs.zones.clear()
        await _release()
        assert len(zones) == 0
        await _listed(zones, kept, DNS)
        assert await world.access.client("route53", "", DNS) is not client
        assert world.counts["AssumeRole"] == 2


@in_virtual_time
async def test_zone_that_two_roles_see_is_two_in_metrics(world: World) -> None:
    world.cloud.world.identities.add_role(identity.Role(DNS.arn))
    remote = world.cloud.account("222222222222").route53.add_zone("example.com")
    needs = _Needs((remote.id, OWN))
    async with _running(world, needs) as zones:
        zones.get(remote.id)
        await _listed(zones, remote, DNS)
        own, lent = f"records of zone {remote.id}", f"records of zone {remote.id} as {DNS.arn}"
        assert _mirrors(world) == {own, lent}
        await _release()
        assert _mirrors(world) == {own}


@in_virtual_time
async def test_zone_is_the_same_however_its_id_is_written(world: World) -> None:
    async with _running(world) as zones:
        assert zones.get("/hostedzone/Z1") is zones.get("Z1")
        assert zones.get("Z1").id == "Z1"


@in_virtual_time
async def test_zone_has_one_writer_for_all_who_ask_through_the_same_role(world: World) -> None:
    remote = world.cloud.route53.add_zone("example.com")
    world.cloud.world.identities.add_role(identity.Role(SAME_ACCOUNT.arn))
    async with _running(world) as zones:
        for role in (OWN, SAME_ACCOUNT):
            first, second = zones.get(remote.id, role), zones.get(remote.id, Role(role.arn))
            assert first is second
        wishes = [Present(Record(f"{name}.example.com", "CNAME", 300, (ENDPOINT,))) for name in "abc"]
        tickets = [zones.get(remote.id).submit(wish) for wish in wishes]
        written = [await ticket.wait() for ticket in tickets]
        assert len({result.change_id for result in written}) == 1, "one batch for all askers"


@asynccontextmanager
async def _two_roles(world: World) -> AsyncIterator[tuple[RemoteZone, Zone, Zone]]:
    """One hosted zone as two roles of its account see it."""
    remote = world.cloud.route53.add_zone("example.com")
    world.cloud.world.identities.add_role(identity.Role(SAME_ACCOUNT.arn))
    async with _running(world) as zones:
        yield remote, await _listed(zones, remote), await _listed(zones, remote, SAME_ACCOUNT)


@in_virtual_time
async def test_zone_that_two_roles_reach_is_written_by_one_batch_at_a_time(world: World) -> None:
    async with _two_roles(world) as (remote, own, lent):
        world.cloud.faults.add(faults.delay(timedelta(seconds=20)), operation=CHANGES, times=2)
        began = world.clock.monotonic()
        other = Record("blog.example.com", "CNAME", 300, (ENDPOINT,))
        tickets = [own.submit(Present(WANTED)), lent.submit(Present(other))]
        for ticket in tickets:
            await ticket.wait()
        assert world.clock.monotonic() - began >= 40
        assert {remote.target(f"{record.name}.") for record in (WANTED, other)} == {f"{ENDPOINT}."}


@in_virtual_time
async def test_zone_learns_what_was_written_through_another_role(world: World) -> None:
    async with _two_roles(world) as (_, own, lent):
        await own.submit(Present(WANTED)).wait()
        assert lent.mirror.get(WANTED.key) == WANTED
        taken = lent.submit(Present(Record(WANTED.name, "CNAME", 300, ("other.example.net",))))
        with pytest.raises(Stall, match="exists and was not created by this object"):
            await taken.wait()
        assert world.counts[CHANGES] == 1
        await lent.submit(Absent(WANTED)).wait()
        assert own.mirror.get(WANTED.key) is None


@in_virtual_time
async def test_zone_is_read_after_an_answer_to_another_role_was_lost(world: World) -> None:
    async with _two_roles(world) as (_, own, lent):
        world.cloud.faults.add(faults.lost_response(), operation=CHANGES)
        with pytest.raises(Retry):
            await own.submit(Present(WANTED)).wait()
        before = world.counts[LISTINGS]
        written = await lent.submit(Present(WANTED)).wait()
        assert written.change is None, "what the lost batch did counts as done"
        assert world.counts[LISTINGS] > before
        assert world.counts[CHANGES] == 1
