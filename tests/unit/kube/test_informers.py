"""One watch for everybody, and nobody in each other's way."""

from __future__ import annotations

import asyncio

import pytest

from edgekeeper.kube.kinds import CONFIG_MAP, NAMESPACE, SECRET, Key
from edgekeeper.kube.store import Change
from edgekeeper.kube.transport import TransportError
from kubesim.virtual import virtual_time
from tests.logs import capture_logs
from tests.unit.kube.faults import FORBIDDEN, Fault
from tests.unit.kube.world import unwatched, watching


@virtual_time
async def test_informer_is_shared_by_all_its_users() -> None:
    async with watching("a") as world:
        assert world.informers.acquire(CONFIG_MAP) is world.informer
        assert world.transport.lists == 1
        assert len(world.transport.watches) == 1


@virtual_time
async def test_informers_of_other_selections_are_others() -> None:
    async with watching("a") as world:
        narrow = world.informers.acquire(CONFIG_MAP, namespace="default")
        labelled = world.informers.acquire(CONFIG_MAP, labels="app=x")
        named = world.informers.acquire(CONFIG_MAP, fields="metadata.name=b")
        others = (narrow, labelled, named)
        await world.informers.wait_synced()
        await asyncio.sleep(1)
        assert len({id(informer) for informer in world.informers}) == 4
        assert [len(informer.store) for informer in (world.informer, *others)] == [1, 1, 0, 0]
        await world.create("b")
        await asyncio.sleep(1)
        assert [len(informer.store) for informer in (world.informer, *others)] == [2, 2, 0, 1]


@virtual_time
async def test_informer_is_watched_until_its_last_user_is_gone() -> None:
    async with watching("a") as world:
        world.informers.acquire(CONFIG_MAP)
        world.informers.release(world.informer)
        await asyncio.sleep(1)
        assert len(world.transport.watches) == 1
        world.informers.release(world.informer)
        await asyncio.sleep(1)
        assert world.transport.watches == []
        assert list(world.informers) == []


@virtual_time
async def test_informer_cannot_be_released_twice() -> None:
    async with watching("a") as world:
        world.informers.release(world.informer)
        with pytest.raises(ValueError, match="released already"):
            world.informers.release(world.informer)
        again = world.informers.acquire(CONFIG_MAP)
        with pytest.raises(ValueError, match="released already"):
            world.informers.release(world.informer)
        await again.wait_synced()
        assert again is not world.informer


@virtual_time
async def test_informer_can_be_acquired_while_running() -> None:
    async with watching("a") as world:
        namespaces = world.informers.acquire(NAMESPACE)
        assert not namespaces.store.synced
        await world.informers.wait_synced()
        assert namespaces.store.raw(Key("", "default")) is not None
        world.informers.release(namespaces)


@virtual_time
async def test_informers_wait_for_all_their_stores() -> None:
    async with unwatched("a") as world:
        secrets = world.informers.acquire(SECRET)
        world.transport.refuse = lambda request: FORBIDDEN if "secrets" in request.path else None
        await world.informers.start()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await world.informers.wait_synced()
        assert (world.informer.store.synced, secrets.store.synced) == (True, False)
        world.transport.refuse = lambda _: None
        await world.informers.wait_synced()
        assert secrets.store.synced


@virtual_time
async def test_handler_that_raises_is_logged_and_disturbs_nobody() -> None:
    async with watching("a") as world:

        def fail(_: Change) -> None:
            raise RuntimeError("a bug of a handler")

        seen: list[str] = []
        with capture_logs() as logs:
            world.informer.subscribe(fail)
            world.informer.subscribe(lambda change: seen.append(change.key.name))
            await world.create("b")
            await world.create("c")
            await asyncio.sleep(1)
        assert [(entry["event"], entry["name"]) for entry in logs] == [
            ("handler of changes failed", name) for name in ("a", "b", "c")
        ]
        assert seen == ["a", "b", "c"]
        assert await world.is_true()
        assert world.informer.statistics.failures == 0


@virtual_time
async def test_handler_sees_the_change_in_the_store() -> None:
    async with watching("a") as world:
        seen: list[bool] = []
        world.informer.subscribe(
            lambda change: seen.append(world.informer.store.raw(change.key) == change.new)
        )
        await world.update("a", x="1")
        await world.delete("a")
        await asyncio.sleep(1)
        assert seen == [True, True, True]


@virtual_time
async def test_late_handler_is_told_what_is_there() -> None:
    async with watching("a", "b") as world:
        seen: list[Change] = []
        world.informer.subscribe(seen.append)
        assert [(change.key.name, change.old, change.initial) for change in seen] == [
            ("a", None, True),
            ("b", None, True),
        ]
        assert world.changes == []


@virtual_time
async def test_handler_is_not_called_after_it_unsubscribed() -> None:
    async with watching() as world:
        first: list[Change] = []
        second: list[Change] = []
        stop = world.informer.subscribe(first.append)

        def stop_the_next(change: Change) -> None:
            second.append(change)
            stop_third()

        world.informer.subscribe(stop_the_next)
        third: list[Change] = []
        stop_third = world.informer.subscribe(third.append)
        stop()
        stop()
        await world.create("a")
        await asyncio.sleep(1)
        assert first == []
        assert len(second) == 1
        assert third == [], "unsubscribed by its neighbour"


@virtual_time
async def test_informers_start_again_where_the_world_has_moved_on() -> None:
    async with watching("a", "b", "c") as world:
        await world.informers.stop()
        await world.update("a", x="1")
        await world.delete("b")
        await world.create("d")
        assert world.names() == ["a", "b", "c"]
        await world.informers.start()
        await world.informers.start()
        await asyncio.sleep(1)
        assert await world.is_true()
        assert sorted(world.told()) == ["+d", "-b", "~a"]
        assert len(world.transport.watches) == 1


@virtual_time
async def test_informer_says_what_troubles_it() -> None:
    async with watching("a") as world:
        assert (world.informer.trouble, world.informer.stale_since) == ("", None)
        world.transport.refuse = lambda _: FORBIDDEN
        await world.transport.strike(Fault.END)
        await asyncio.sleep(5)
        assert "widgets is forbidden" in world.informer.trouble
        assert world.informer.stale_since is not None


@virtual_time
async def test_informer_that_is_denied_says_so_until_it_is_not() -> None:
    async with watching("a") as world:
        told = [world.informer.is_denied]
        for answer in (FORBIDDEN, TransportError("no route to host"), FORBIDDEN, None):
            world.transport.refuse = lambda _, answer=answer: answer  # type: ignore[misc]
            await world.transport.strike(Fault.END)
            await asyncio.sleep(60)
            told.append(world.informer.is_denied)
        assert told == [False, True, False, True, False], "who cannot be reached has denied nothing"


@virtual_time
async def test_informer_before_its_start_has_no_troubles() -> None:
    async with unwatched() as world:
        world.informer.wake()
        assert world.informer.is_served
        assert world.informer.stale_since is None
        assert world.informer.trouble == ""
        assert not world.informer.is_denied
        assert world.informer.statistics.lists == 0
