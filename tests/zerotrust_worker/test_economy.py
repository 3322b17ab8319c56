"""Calls: as few as possible, for a fleet from nothing, for a single change, and at rest."""

from __future__ import annotations

from kubesim.virtual import virtual_time
from tests.zerotrust_worker.world import EMAILS, World, task, working


async def _publish(world: World, count: int, **fields: object) -> int:
    """Publish so many routes at once. Return the calls that it took."""
    world.account.quotas.applications = count
    before = world.calls()
    for number in range(count):
        await world.apply(task(f"r{number}", **fields))
    await world.completed(*(f"r{number}" for number in range(count)))
    return world.calls() - before


@virtual_time
async def test_fleet_with_access_takes_little_more_than_one_call_for_each_route() -> None:
    async with working() as world:
        world.estate.guarded |= {f"r{number}.example.com" for number in range(100)}
        calls = await _publish(world, 100, access=EMAILS)
        assert len(world.account.applications) == 100
        assert len(world.records()) == 100
        assert calls <= 125
        began, before = world.stage.clock.monotonic(), world.calls()
        await world.apply(task("r7", access={**EMAILS, "allowEmails": ["b@example.com"]}))
        await world.completed("r7")
        assert world.calls() - before <= 5
        assert world.stage.clock.monotonic() - began <= 3
        began, before = world.stage.clock.monotonic(), world.calls()
        await world.apply(task("new"))
        await world.completed("new")
        assert world.calls() - before <= 5
        assert world.stage.clock.monotonic() - began <= 3


@virtual_time
async def test_fleet_without_access_is_written_in_batches() -> None:
    async with working() as world:
        calls = await _publish(world, 300)
        assert len(world.records()) == 300
        assert len(world.estate.rules()) == 300
        assert calls <= 20
