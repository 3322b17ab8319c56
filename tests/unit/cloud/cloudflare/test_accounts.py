"""Several accounts and tokens at once: nobody sees or spends what is another's."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from edgekeeper.cloud.cloudflare.credential import Credential
from edgekeeper.cloud.cloudflare.record_plan import RecordChange, WantedRecord
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange
from edgekeeper.cloud.cloudflare.tunnel_rules import TunnelRule
from edgekeeper.cloud.cloudflare.zone_writer import ZoneWriter
from edgekeeper.cloud.mirror import Mirror, NotSyncedError
from edgekeeper.cloud.registry import CHECKED_EVERY, LINGERING
from edgekeeper.core.errors import Conflict, PassError, Retry, Stall, Wait
from kubesim.cloudflare.faults import Fault
from tests.unit.cloud.cloudflare.world import World, both_ways, gather, in_virtual_time

MARK = "cfzt:v1 o=0123456789ab"


def _credential(name: str, value: str) -> Credential:
    return Credential(name, lambda: value)


def _record(name: str) -> RecordChange:
    return RecordChange(name, MARK, (WantedRecord("A", "192.0.2.1", ttl=120),))


@both_ways
async def test_accounts_are_worked_on_side_by_side(world: World) -> None:
    second = world.cloud.add_account("second")
    zone = world.cloud.add_zone(second.id, "example.net")
    token = world.cloud.add_token(accounts=frozenset({second.id}))
    other = world.cloudflare.account(_credential("team-b/secret/token", token.value), second.id)
    await asyncio.gather(world.account.zones.wait_synced(), other.zones.wait_synced())
    assert [item.name for _, item in world.account.zones.items()] == ["example.com"]
    assert [item.name for _, item in other.zones.items()] == ["example.net"]
    writers = [world.account.zone(world.zone.id), other.zone(zone.id)]
    await asyncio.gather(*[writer.mirror.wait_synced() for writer in writers])
    changes = [_record("a.example.com"), _record("a.example.net")]
    await gather(*[writer.submit(change).wait() for writer, change in zip(writers, changes, strict=True)])
    assert [record["name"] for record in zone.records.values()] == ["a.example.net"]
    assert [record["name"] for record in world.records()] == ["a.example.com"]


@both_ways
async def test_account_is_the_same_for_the_same_credential_and_another_for_another(world: World) -> None:
    assert world.account is world.account
    other = _credential("team-b/secret/token", world.secret["token"])
    assert world.cloudflare.account(other, world.owner.id) is not world.account


@in_virtual_time
async def test_credential_has_one_set_of_mirrors_and_writers_whoever_asks(world: World) -> None:
    """Two kinds build their credential from the same Secret, each for itself."""
    askers = [_credential("team-a/cloudflare/token", world.secret["token"]) for _ in range(2)]
    first, second = (world.cloudflare.account(asker, world.owner.id) for asker in askers)
    assert first is second
    assert first.zones is second.zones
    assert first.zone(world.zone.id) is second.zone(world.zone.id)
    assert first.tunnel(world.tunnel) is second.tunnel(world.tunnel)
    writer = first.zone(world.zone.id)
    await writer.mirror.wait_synced()
    changes = [_record(f"{name}.example.com") for name in "abc"]
    accounts = (first, second, first)
    tickets = [
        account.zone(world.zone.id).submit(change) for account, change in zip(accounts, changes, strict=True)
    ]
    await gather(*[ticket.wait() for ticket in tickets])
    assert len(world.records()) == 3
    assert len(world.cloud.journal.writes()) == 1, "one call for all askers"


async def _two_credentials(world: World) -> tuple[ZoneWriter, ZoneWriter]:
    """Two writers of one zone, because two tokens reach it."""
    token = world.cloud.add_token().value
    other = world.cloudflare.account(_credential("team-b/secret/token", token), world.owner.id)
    writers = world.account.zone(world.zone.id), other.zone(world.zone.id)
    for writer in writers:
        await writer.mirror.wait_synced()
    return writers


@in_virtual_time
async def test_zone_that_two_credentials_reach_is_written_by_one_call_at_a_time(world: World) -> None:
    mine, theirs = await _two_credentials(world)
    world.cloud.faults.add(Fault("delay", method="POST", seconds=10, times=2))
    began = asyncio.get_running_loop().time()
    await asyncio.gather(
        mine.submit(_record("a.example.com")).wait(), theirs.submit(_record("b.example.com")).wait()
    )
    assert asyncio.get_running_loop().time() - began >= 20
    assert sorted(record["name"] for record in world.records()) == ["a.example.com", "b.example.com"]


@in_virtual_time
async def test_zone_writer_knows_what_was_written_with_another_credential(world: World) -> None:
    mine, theirs = await _two_credentials(world)
    stored = await mine.submit(_record("a.example.com")).wait()
    assert theirs.records_of("a.example.com") == stored
    foreign = RecordChange("a.example.com", "cfzt:v1 o=another", (WantedRecord("A", "192.0.2.2"),))
    (refused,) = await gather(theirs.submit(foreign).wait())
    assert isinstance(refused, Stall)
    assert refused.reason == "RecordConflict"
    assert len(world.records()) == 1


@in_virtual_time
async def test_zone_is_listed_after_an_answer_to_another_credential_was_lost(world: World) -> None:
    mine, theirs = await _two_credentials(world)
    world.cloud.faults.add(Fault("lost", method="POST"))
    (lost,) = await gather(mine.submit(_record("a.example.com")).wait())
    assert isinstance(lost, Retry)
    foreign = RecordChange("a.example.com", "cfzt:v1 o=another", (WantedRecord("A", "192.0.2.2"),))
    (refused,) = await gather(theirs.submit(foreign).wait())
    assert isinstance(refused, Stall)
    assert refused.reason == "RecordConflict"
    assert len(world.records()) == 1


@both_ways
async def test_nobody_writes_through_the_token_of_another(world: World) -> None:
    """The second tenant's token may not touch tunnels, so its change is refused although the first one's would do."""
    weak = world.cloud.add_token(permissions=frozenset({"DNS Write"}))
    theirs = world.cloudflare.account(_credential("team-b/secret/token", weak.value), world.owner.id)
    world.account.tunnel(world.tunnel)
    change = HostnameChange("a.example.com", (TunnelRule("a.example.com", "http://origin:80"),))
    (result,) = await gather(theirs.tunnel(world.tunnel).submit(change).wait())
    assert isinstance(result, Stall)
    assert result.reason == "AuthFailed"
    assert world.config() is None


@in_virtual_time
async def test_blocked_token_leaves_other_tokens_alone(world: World) -> None:
    free = world.cloudflare.account(
        _credential("team-b/secret/token", world.cloud.add_token().value), world.owner.id
    )
    world.cloud.throttle.block(world.token_id)
    with pytest.raises(Wait):
        await world.account.access.organization()
    assert (await free.access.organization()).team == "acme"


@in_virtual_time
async def test_two_secrets_with_the_same_token_share_its_budget(world: World) -> None:
    """Cloudflare counts by token, and does not care where we keep it."""
    copy = world.cloudflare.account(_credential("team-b/copy/token", world.secret["token"]), world.owner.id)
    world.cloud.throttle.block(world.token_id)
    with pytest.raises(Wait):
        await world.account.access.organization()
    before = world.count()
    with pytest.raises(Wait):
        await copy.access.organization()
    assert world.count() == before, "the pause holds for the other Secret too"


@in_virtual_time
async def test_pause_of_a_token_ends_with_the_block(world: World) -> None:
    world.cloud.throttle.block(world.token_id)
    with pytest.raises(Wait) as caught:
        await world.account.access.organization()
    await asyncio.sleep(caught.value.after.total_seconds() + 1)
    assert (await world.account.access.organization()).team == "acme"


@both_ways
async def test_zone_of_a_hostname_is_the_longest_active_one(world: World) -> None:
    world.cloud.add_zone(world.owner.id, "dev.example.com")
    world.cloud.add_zone(world.owner.id, "new.example.com", status="pending")
    account = world.account
    with pytest.raises(NotSyncedError):
        account.zone_of("a.example.com")
    await account.zones.wait_synced()
    for hostname, expected in (
        ("a.dev.example.com", "dev.example.com"),
        ("a.new.example.com", "example.com"),
        ("example.com", "example.com"),
    ):
        found = account.zone_of(hostname)
        assert found is not None
        assert found.name == expected
    assert account.zone_of("a.example.org") is None


@both_ways
async def test_more_zones_than_fit_into_a_page_are_all_seen(world: World) -> None:
    for number in range(120):
        world.cloud.add_zone(world.owner.id, f"zone-{number}.net")
    await world.account.zones.wait_synced()
    assert len(list(world.account.zones.items())) == 121
    assert world.count("GET /zones") == 3


@both_ways
async def test_token_is_verified_whether_it_is_of_a_user_or_of_an_account(world: World) -> None:
    assert (await world.account.verify()).status == "active"
    owned = world.cloud.add_token(owner=world.owner.id)
    owned.expires = world.cloud.clock.now() + timedelta(days=10)
    status = await world.cloudflare.account(
        _credential("team-b/secret/token", owned.value), world.owner.id
    ).verify()
    assert status.id == owned.id
    assert status.expires_on is not None


@both_ways
async def test_token_that_does_not_work_stalls_when_verified(world: World) -> None:
    world.cloud.world.tokens[world.secret["token"]].status = "disabled"
    with pytest.raises(Stall) as caught:
        await world.account.verify()
    assert caught.value.reason == "AuthFailed"


@in_virtual_time
async def test_nothing_is_asked_for_before_somebody_wants_it(world: World) -> None:
    """An installation without Access works with a token without its permissions."""
    assert world.account.id == world.owner.id
    await asyncio.sleep(3600)
    assert not world.count()


@in_virtual_time
async def test_account_that_nobody_needs_is_not_looked_at_any_more(world: World) -> None:
    needed = [True]
    world.cloudflare.add_user(lambda key: needed[0] and key.credential == world.credential)
    account = world.account
    writer = account.zone(world.zone.id)
    await writer.mirror.wait_synced()
    await asyncio.sleep(3600)
    assert world.account is account
    needed.clear()
    needed.append(False)
    await asyncio.sleep((LINGERING + CHECKED_EVERY).total_seconds())
    before = world.count()
    await asyncio.sleep(3600)
    assert world.count() == before
    (result,) = await gather(writer.submit(_record("a.example.com")).wait())
    assert isinstance(result, PassError)
    assert world.account is not account


@in_virtual_time
async def test_account_stays_while_a_change_is_on_its_way(world: World) -> None:
    world.cloudflare.add_user(lambda _: False)
    account = world.account
    writer = account.zone(world.zone.id)
    await writer.mirror.wait_synced()
    world.cloud.faults.add(Fault("delay", method="POST", seconds=20))
    await asyncio.sleep(LINGERING.total_seconds() - 0.5)
    await writer.submit(_record("a.example.com")).wait()
    assert [record["name"] for record in world.records()] == ["a.example.com"]
    assert world.account is account


@in_virtual_time
async def test_mirrors_of_an_account_cost_one_call_each_in_five_minutes(world: World) -> None:
    account = world.account
    mirrors: list[Mirror[str, Any]] = [
        account.zones,
        account.applications,
        account.policies,
        account.groups,
        account.issued_tokens,
    ]
    mirrors += [account.zone(world.zone.id).mirror, account.tunnel(world.tunnel).mirror]
    for mirror in mirrors:
        await mirror.wait_synced()
    world.cloud.journal.clear()
    await asyncio.sleep(3000)
    assert 7 * 10 <= world.count() <= 7 * 12


@both_ways
async def test_own_writes_are_seen_in_the_mirrors_at_once(world: World) -> None:
    account = world.account
    for mirror in (
        account.applications.wait_synced(),
        account.policies.wait_synced(),
        account.issued_tokens.wait_synced(),
    ):
        await mirror
    fields = {"name": "people", "decision": "allow", "include": [{"everyone": {}}]}
    policy = await account.access.create_policy(fields)
    assert account.policies.get(policy.id) == policy
    application = await account.access.create_application({"domain": "app.example.com"}, [policy.id])
    assert account.applications.get(application.id) == application
    changed = await account.access.put_application(application.id, {"domain": "b.example.com"}, [policy.id])
    assert account.applications.get(application.id) == changed
    token = await account.service_tokens.create("app", "24h")
    assert account.issued_tokens.get(token.id) == await account.service_tokens.get(token.id)
    await account.service_tokens.delete(token.id)
    await account.access.delete_application(application.id)
    await account.access.delete_policy(policy.id)
    for gone in (
        account.issued_tokens.get(token.id),
        account.applications.get(application.id),
        account.policies.get(policy.id),
    ):
        assert gone is None


@in_virtual_time
async def test_object_that_turns_out_to_be_gone_leaves_the_mirror(world: World) -> None:
    account = world.account
    await account.issued_tokens.wait_synced()
    token = await account.service_tokens.create("app", "24h")
    world.cloud.act("DELETE", f"/accounts/{world.owner.id}/access/service_tokens/{token.id}")
    with pytest.raises(Conflict):
        await account.service_tokens.refresh(token.id)
    assert account.issued_tokens.get(token.id) is None
