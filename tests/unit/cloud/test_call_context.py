"""On whose behalf calls are made."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from edgekeeper.cloud.call_context import CallContext, Priority, acting_for, current_context, sweeping
from tests.unit.cloud.provider import SHOP

BLOG = replace(SHOP, name="blog")
OTHER = replace(SHOP, namespace="team-b")


def test_origin_is_nobody_and_urgent_by_default() -> None:
    assert current_context() == CallContext((), Priority.USER)


def test_origin_holds_within_its_block_and_nests() -> None:
    with acting_for(SHOP):
        with sweeping():
            assert current_context() == CallContext((), Priority.SWEEP)
        assert current_context() == CallContext((SHOP,), Priority.USER)
    assert current_context() == CallContext()


async def test_origin_travels_with_tasks_and_does_not_leak_from_them() -> None:
    async def inner() -> CallContext:
        with acting_for(BLOG):
            await asyncio.sleep(0)
            return current_context()

    with acting_for(SHOP):
        task = asyncio.create_task(inner())
        await asyncio.sleep(0)
        assert current_context().actors == (SHOP,)
        assert (await task).actors == (BLOG,)


def test_origin_takes_from_the_share_of_its_namespace() -> None:
    assert CallContext((SHOP, BLOG)).namespace == "team-a"
    assert CallContext((SHOP, OTHER)).namespace == ""
    assert CallContext().namespace == ""


def test_actor_tells_everything_that_an_audit_needs() -> None:
    assert str(SHOP) == "DistributionTenant team-a/shop uid 6f1c generation 3"
