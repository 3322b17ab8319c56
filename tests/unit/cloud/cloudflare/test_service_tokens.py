"""Service tokens: the secret is seen once, kept out of sight, and replaced without a gap."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from edgekeeper.core.errors import Conflict, Retry, Stall
from edgekeeper.core.redaction import redact
from kubesim.cloudflare.faults import Fault
from tests.unit.cloud.cloudflare.world import World, both_ways, in_virtual_time

CREATE = "POST /accounts/{account}/access/service_tokens"


@both_ways
async def test_service_token_opens_the_door_with_the_secret_shown_once(world: World) -> None:
    tokens = world.account.service_tokens
    made = await tokens.create("cfzt/cluster/team-a/app", "8760h")
    assert world.cloud.opens(world.owner.id, made.client_id, made.client_secret.reveal())
    found = await tokens.get(made.id)
    assert found is not None
    assert (found.client_id, found.name) == (made.client_id, "cfzt/cluster/team-a/app")
    assert found.expires_at is not None
    assert found.expires_at - world.cloud.clock.now() > timedelta(days=364)


@both_ways
async def test_service_token_is_found_by_its_whole_name(world: World) -> None:
    tokens = world.account.service_tokens
    made = await tokens.create("app", "24h")
    await tokens.create("app-2", "24h")
    assert [token.id for token in await tokens.find("app")] == [made.id]
    listed = {id_: item.name async for page in tokens.pages() for id_, item in page.items()}
    assert sorted(listed.values()) == ["app", "app-2"]


@both_ways
async def test_service_token_is_not_made_twice_after_a_lost_answer(world: World) -> None:
    """Its secret is lost, so the next pass looks, finds, and rotates."""
    tokens = world.account.service_tokens
    world.cloud.faults.add(Fault("lost", method="POST"))
    with pytest.raises(Retry):
        await tokens.create("app", "24h")
    (orphan,) = await tokens.find("app")
    assert world.count(CREATE) == 1
    rotated = await tokens.rotate(orphan.id, old_until=world.cloud.clock.now())
    assert world.cloud.opens(world.owner.id, rotated.client_id, rotated.client_secret.reveal())


@in_virtual_time
async def test_service_token_is_refreshed_before_it_ends(world: World) -> None:
    tokens = world.account.service_tokens
    made = await tokens.create("app", "48h")
    world.cloud.advance(timedelta(hours=40))
    refreshed = await tokens.refresh(made.id)
    assert refreshed.expires_at == (world.cloud.clock.now() + timedelta(hours=48)).replace(microsecond=0)
    world.cloud.advance(timedelta(hours=40))
    assert world.cloud.opens(world.owner.id, made.client_id, made.client_secret.reveal())
    world.cloud.advance(timedelta(hours=9))
    assert not world.cloud.opens(world.owner.id, made.client_id, made.client_secret.reveal())


@in_virtual_time
async def test_service_token_rotates_with_a_time_in_which_both_secrets_work(world: World) -> None:
    tokens = world.account.service_tokens
    made = await tokens.create("app", "8760h")
    rotated = await tokens.rotate(made.id, old_until=world.cloud.clock.now() + timedelta(hours=24))
    old, new = made.client_secret.reveal(), rotated.client_secret.reveal()
    assert old != new
    assert rotated.client_id == made.client_id
    world.cloud.advance(timedelta(hours=23))
    assert [world.cloud.opens(world.owner.id, made.client_id, secret) for secret in (old, new)] == [
        True,
        True,
    ]
    world.cloud.advance(timedelta(hours=2))
    assert [world.cloud.opens(world.owner.id, made.client_id, secret) for secret in (old, new)] == [
        False,
        True,
    ]


@both_ways
async def test_service_token_that_is_gone_conflicts_on_change_and_satisfies_delete(world: World) -> None:
    tokens = world.account.service_tokens
    made = await tokens.create("app", "24h")
    await tokens.delete(made.id)
    await tokens.delete(made.id)
    assert await tokens.get(made.id) is None
    with pytest.raises(Conflict):
        await tokens.refresh(made.id)
    with pytest.raises(Conflict):
        await tokens.rotate(made.id, old_until=world.cloud.clock.now())


@both_ways
async def test_service_tokens_beyond_the_quota_stall(world: World) -> None:
    world.owner.quotas.service_tokens = 0
    with pytest.raises(Stall) as caught:
        await world.account.service_tokens.create("app", "24h")
    assert caught.value.reason == "QuotaExceeded"


@both_ways
async def test_secret_of_a_service_token_is_never_shown_by_accident(world: World) -> None:
    made = await world.account.service_tokens.create("app", "24h")
    secret = made.client_secret.reveal()
    for shown in (repr(made), str(made.client_secret), f"{made.client_secret}", str(redact({"token": made}))):
        assert secret not in shown
    with pytest.raises(TypeError):
        msgspec.json.encode(made)


@both_ways
async def test_token_is_updated_without_a_new_secret(world: World) -> None:
    tokens = world.account.service_tokens
    made = await tokens.create("app", "8760h")
    changed = await tokens.update(made.id, "web", "24h")
    assert (changed.id, changed.client_id, changed.name, changed.duration) == (
        made.id,
        made.client_id,
        "web",
        "24h",
    )
    assert world.cloud.opens(world.owner.id, made.client_id, made.client_secret.reveal())
    with pytest.raises(Conflict):
        await tokens.update("gone", "web", "24h")


@both_ways
async def test_tunnels_show_whether_they_are_connected(world: World) -> None:
    (tunnel,) = await world.account.tunnels.all()
    assert (tunnel.connected, tunnel.since) == (False, tunnel.conns_inactive_at)
    world.cloud.connect(world.owner.id, world.tunnel)
    shown = await world.account.tunnels.get(world.tunnel)
    assert shown is not None
    assert shown.connected
    assert shown.since == shown.conns_active_at
