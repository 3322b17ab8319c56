"""Requests for several children at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping

from edgekeeper.controllers.composition.children import ApplySetConflictError, Children
from edgekeeper.controllers.composition.instance_plan import Address, Desired
from edgekeeper.controllers.composition.instance_removal import Removal
from edgekeeper.controllers.composition.watched import MOST_AT_ONCE
from edgekeeper.core.errors import PassError
from edgekeeper.kube.errors import ApiError


async def apply_all(children: Children, wanted: list[Desired]) -> dict[str, str]:
    """Apply a wave. Return why objects of which nodes could not be."""
    names = {one.address: one.node for one in wanted}
    return await _all({one.address: children.apply(one) for one in wanted}, names)


async def remove_all(children: Children, removal: Removal) -> dict[str, str]:
    """Delete or release a wave. Return why which objects could not be."""
    calls: dict[Address, Awaitable[object]] = {
        address: children.delete(address, live) for address, live in removal.delete.items()
    }
    for address, live in removal.release.items():
        calls[address] = children.release(address, live)
    return await _all(calls, {})


async def _all(calls: Mapping[Address, Awaitable[object]], names: Mapping[Address, str]) -> dict[str, str]:
    """Make calls concurrently. Return the messages of those that failed, by name or address. Raise PassError."""
    gate = asyncio.Semaphore(MOST_AT_ONCE)
    failed: dict[str, str] = {}
    ended: list[PassError] = []

    async def attempt(address: Address, call: Awaitable[object]) -> None:
        async with gate:
            try:
                await call
            except (ApiError, ApplySetConflictError) as error:
                failed.setdefault(names.get(address, str(address)), str(error))
            except PassError as error:
                ended.append(error)  # nothing may be written any more

    async with asyncio.TaskGroup() as group:
        for address, call in calls.items():
            group.create_task(attempt(address, call))
    if ended:
        raise ended[0]
    return failed
