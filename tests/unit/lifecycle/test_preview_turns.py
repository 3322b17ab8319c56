"""Previews of a fleet leave other tasks their turns."""

from __future__ import annotations

import asyncio

from edgekeeper.lifecycle.preview import SLICE, in_turns, store_of
from kubesim.virtual import virtual_time
from tests.unit.web.fleet import TENANT, tenant


@virtual_time
async def test_items_come_in_order_and_others_run_between_slices() -> None:
    turns = 0

    async def work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(work())
    assert [item async for item in in_turns(range(SLICE * 5))] == list(range(SLICE * 5))
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
    assert turns >= 4


@virtual_time
async def test_store_has_all_objects_and_is_synced() -> None:
    objects = [tenant(f"t{number}") for number in range(SLICE * 2 + 1)]
    store = await store_of(TENANT, objects)
    assert sorted(key.name for key, _ in store.snapshot()) == sorted(
        one["metadata"]["name"] for one in objects
    )
    await asyncio.wait_for(store.wait_synced(), 1)
