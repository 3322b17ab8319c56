"""Requests for several children at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from edgekeeper.controllers.composition.children import ApplySetConflictError, Children
from edgekeeper.controllers.composition.instance_plan import Address, Desired
from edgekeeper.controllers.composition.instance_removal import Removal
from edgekeeper.controllers.composition.watched import MOST_AT_ONCE
from edgekeeper.core.errors import PassError
from edgekeeper.core.notes import notes
from edgekeeper.kube.errors import ApiError

_Call = Callable[[], Awaitable[object]]


async def apply_all(children: Children, wanted: list[Desired]) -> dict[str, str]:
    """Apply a wave. Return why objects of which nodes could not be."""
    names = {one.address: one.node for one in wanted}
    failed = await _all({one.address: partial(children.apply, one) for one in wanted}, names)
    for one in wanted:
        if one.node not in failed:
            notes().step(*described(one), ())
    return failed


def described(wanted: Desired) -> tuple[str, str]:
    """What is done by applying an object, and why, in words."""
    if wanted.exists:
        return f"update {wanted.address}", f"it is not as resource {wanted.node} of the graph says"
    return f"create {wanted.address}", f"resource {wanted.node} of the graph wants it"


async def remove_all(children: Children, removal: Removal, reason: str) -> dict[str, str]:
    """Delete or release a wave. Return why which objects could not be."""
    calls: dict[Address, _Call] = {
        address: partial(children.delete, address, live) for address, live in removal.delete.items()
    }
    for address, live in removal.release.items():
        calls[address] = partial(children.release, address, live)
    failed = await _all(calls, {})
    for verb, addresses in (("delete", removal.delete), ("release", removal.release)):
        for address in addresses:
            if str(address) not in failed:
                notes().step(f"{verb} {address}", reason, ())
    return failed


async def _all(calls: Mapping[Address, _Call], names: Mapping[Address, str]) -> dict[str, str]:
    """Make calls concurrently. Return the messages of those that failed, by name or address. Raise PassError."""
    open_calls = iter(calls.items())
    failed: dict[str, str] = {}
    ended: list[PassError] = []

    async def work() -> None:
        for address, call in open_calls:
            try:
                await call()
            except (ApiError, ApplySetConflictError) as error:
                failed.setdefault(names.get(address, str(address)), str(error))
            except PassError as error:
                ended.append(error)  # nothing may be written any more
            await asyncio.sleep(0)  # calls that never wait would block the event loop

    async with asyncio.TaskGroup() as group:
        for _ in range(min(MOST_AT_ONCE, len(calls))):
            group.create_task(work())
    if ended:
        raise ended[0]
    return failed
