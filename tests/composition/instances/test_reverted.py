"""Children that another controller keeps changing back: corrected a few times at once, and then seldom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from edgekeeper.core.clock import parse_timestamp
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import CONFIG_MAP, Key
from edgekeeper.lifecycle.corrections import BURST, INTERVAL
from kubesim.virtual import virtual_time
from tests.composition.world import World, composing, instance, rgd

PAIR = rgd(
    "pairs",
    "Pair",
    "{text: string | default=ours}",
    """
- {id: fought, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: fought}, data: {text: "${schema.spec.text}"}}}
- {id: calm, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: calm}, data: {text: "${schema.spec.text}"}}}
""",
)
FOUGHT = Key("default", "fought")


@asynccontextmanager
async def meddling(world: World, *, deleting: bool = False) -> AsyncIterator[None]:
    """Another controller, which wants the ConfigMap otherwise, or not at all."""

    async def meddle() -> None:
        while True:
            await asyncio.sleep(0.25)
            with suppress(NotFoundError):
                if deleting:
                    await world.user.delete(CONFIG_MAP, FOUGHT)
                elif (await world.user.get(CONFIG_MAP, FOUGHT))["data"] != {"text": "theirs"}:
                    fields = {"data": {"text": "theirs"}}
                    await world.user.apply(CONFIG_MAP, FOUGHT, fields, manager="argocd", force=True)

    task = asyncio.create_task(meddle())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def applied(world: World) -> int:
    return sum("configmaps default/fought" in write for write in world.requests.writes)


@virtual_time
async def test_child_that_is_reverted_is_applied_seldom_and_the_condition_names_who_reverts_it() -> None:
    async with composing() as world:
        await world.define(PAIR)
        await world.apply(instance("Pair", "demo"))
        await world.settle(3600)
        world.requests.clear()
        async with meddling(world):
            await world.settle(60)
            assert applied(world) == BURST
            found = (await world.conditions("Pair", "demo"))["ResourcesReady"]
            assert (found["status"], found["reason"]) == ("False", "RevertedByOthers")
            start, _, moment = found["message"].rpartition(" ")
            assert start == (
                "resource fought: ConfigMap default/fought is changed by argocd whenever it is applied: "
                "it is applied again at"
            )
            left = parse_timestamp(moment) - world.clock.now()
            assert left.total_seconds() > 4 * INTERVAL.total_seconds() - 60
            assert await world.state("Pair", "demo") == "ERROR"
            writes = len(world.requests.writes)
            await world.settle(left.total_seconds() - 5)
            assert len(world.requests.writes) == writes, "nothing is written meanwhile, the status included"
            await world.settle(10)
            assert applied(world) > BURST
            await world.settle(24 * 3600)
            assert applied(world) <= BURST + (24 * 3600 + 3600) / INTERVAL.total_seconds()
        await world.settle(BURST * INTERVAL.total_seconds() + 10)
        assert await world.state("Pair", "demo") == "ACTIVE"
        assert (await world.get("ConfigMap", "fought"))["data"] == {"text": "ours"}


@virtual_time
async def test_child_that_others_delete_again_and_again_is_created_seldom() -> None:
    async with composing() as world:
        await world.define(PAIR)
        await world.apply(instance("Pair", "demo"))
        async with meddling(world, deleting=True):
            await world.settle(600)
            assert applied(world) == BURST
            message = (await world.conditions("Pair", "demo"))["Ready"]["message"]
            assert "ConfigMap default/fought is deleted by others whenever it is applied" in message
        assert await world.exists("ConfigMap", "calm")


@virtual_time
async def test_change_by_the_user_is_applied_at_once_while_corrections_are_held_back() -> None:
    async with composing() as world:
        await world.define(PAIR)
        await world.apply(instance("Pair", "demo"))
        async with meddling(world):
            await world.settle(60)
        await world.apply(instance("Pair", "demo", {"text": "new"}))
        await world.settle()
        assert (await world.get("ConfigMap", "fought"))["data"] == {"text": "new"}
        assert (await world.get("ConfigMap", "calm"))["data"] == {"text": "new"}
        assert await world.state("Pair", "demo") == "ACTIVE"
