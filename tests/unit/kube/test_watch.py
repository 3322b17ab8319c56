"""Whatever happens to a watch, the store ends up equal to the server, and nobody is told of deaths that were none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from random import Random

import msgspec
import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.ledger import Ledger
from edgekeeper.kube.requests import Selection
from edgekeeper.kube.store import NotSyncedError, SyncState
from edgekeeper.kube.transport import ApiRequest, ApiResponse, TransportError
from edgekeeper.kube.watch import State, Watcher
from kubesim.transport import InProcessTransport
from kubesim.virtual import virtual_time
from packages.kubesim.tests.plane.cluster import DEFINITIONS, WIDGETS, define, widget
from tests.logs import capture_logs
from tests.unit.kube.faults import FORBIDDEN, NOT_FOUND, Fault, refusal
from tests.unit.kube.world import World, eventually, quiet_plane, uid_of, unwatched, watching

WIDGET = Kind("example.com", "v1", "Widget", "widgets")
A_WHILE = 200.0
"""Long enough for every pause, and for silence to be noticed; too short for an audit."""

NEVER_LISTS = (Fault.END, Fault.CUT, Fault.CUT_IN_LINE, Fault.SILENCE, Fault.GARBAGE, Fault.NAMELESS, Fault.UNKNOWN,
               Fault.BROKEN, Fault.DUPLICATE, Fault.REPLAY, Fault.REVERSED)  # fmt: skip


def is_list(request: ApiRequest) -> bool:
    return "limit" in request.query


def is_watch(request: ApiRequest) -> bool:
    return "watch" in request.query


async def change_everything(world: World) -> None:
    """Every kind of change, one of each."""
    await world.create("new", at="once")
    await world.update("b", at="twice")
    await world.delete("c")
    await world.recreate("d", at="thrice")


# The ordinary way


@virtual_time
async def test_watch_lists_then_follows() -> None:
    async with watching("a", "b", "c", "d", page_size=2) as world:
        await change_everything(world)
        await asyncio.sleep(1)
        assert await world.is_true()
        assert world.told() == ["+new", "~b", "-c", "-d", "+d"]
        assert world.relists == 0


@virtual_time
async def test_watch_tells_the_first_list_as_initial() -> None:
    async with unwatched("a", "b") as world:
        await world.informers.start()
        await world.informers.wait_synced()
        assert [(change.key.name, change.initial) for change in world.changes] == [("a", True), ("b", True)]


@virtual_time
async def test_watch_goes_through_its_states_in_order() -> None:
    async with unwatched("a", "b", "c") as world:
        ledger = Ledger(world.informer.store, world.informer.deliver)
        watcher = Watcher(world.client, ledger, Selection(), world.clock, Random(1))
        states = [watcher.state]
        while watcher.state is not State.WATCHING:
            await watcher.step()
            states.append(watcher.state)
        assert states == [State.EMPTY, State.LISTING, State.SYNCED, State.WATCHING]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await watcher.run()


@virtual_time
async def test_watch_resumes_where_the_last_bookmark_was() -> None:
    async with watching("a") as world:
        for number in range(20):
            await world.plane.client.create("/api/v1/namespaces", {"metadata": {"name": f"n{number}"}})
        await asyncio.sleep(61)
        revision = str(world.plane.store.revision)
        await world.transport.strike(Fault.CUT)
        await asyncio.sleep(5)
        assert world.transport.positions[-1] == revision


@virtual_time
async def test_watch_by_initial_events_needs_no_list() -> None:
    async with watching("a", "b", "c", "d", initial_events=True) as world:
        assert world.transport.lists == 0
        await change_everything(world)
        await asyncio.sleep(1)
        assert await world.is_true()
        assert world.told() == ["+new", "~b", "-c", "-d", "+d"]


@virtual_time
async def test_watch_by_initial_events_falls_back_to_lists() -> None:
    def know_nothing_of_it(request: ApiRequest) -> ApiResponse | None:
        return refusal(422, "Invalid", "forbidden") if "sendInitialEvents" in request.query else None

    async with unwatched("a", "b", initial_events=True) as world:
        world.transport.refuse = know_nothing_of_it
        await world.informers.start()
        await world.informers.wait_synced()
        assert await world.is_true()
        assert world.transport.lists == 1


@virtual_time
async def test_watch_of_a_selection_sees_objects_leave_and_come_back() -> None:
    async with watching() as world:
        informer = world.informers.acquire(world.informer.kind, labels="app=edge")
        tree: JsonObject = {"metadata": {"name": "a", "labels": {"app": "edge"}}}
        path = "/api/v1/namespaces/default/configmaps"
        await world.plane.client.create(path, tree)
        await asyncio.sleep(1)
        seen = [len(informer.store)]
        for app in ("other", "edge"):
            await world.plane.client.merge(f"{path}/a", {"metadata": {"labels": {"app": app}}})
            await asyncio.sleep(1)
            seen.append(len(informer.store))
        assert seen == [1, 0, 1]


@virtual_time
async def test_watch_lets_others_have_their_turn_during_a_flood() -> None:
    async with watching() as world:
        world.transport.refuse = lambda _: TransportError("no route to host")
        await world.transport.strike(Fault.CUT)
        for number in range(1000):
            await world.create(f"n{number}")
        begun = asyncio.Event()
        world.informer.subscribe(lambda _: begun.set())
        world.transport.refuse = lambda _: None
        await begun.wait()
        turns = 0
        while len(world.changes) < 1000:
            turns += 1
            await asyncio.sleep(0)
        assert turns >= 1000 / 250


# Incidents on an open watch


@pytest.mark.parametrize("fault", NEVER_LISTS, ids=lambda fault: fault.name)
@virtual_time
async def test_watch_survives_without_a_list(fault: Fault) -> None:
    async with watching("a", "b", "c", "d") as world:
        await world.update("a", before="it")
        await asyncio.sleep(1)
        await world.transport.strike(fault)
        await change_everything(world)
        await asyncio.sleep(A_WHILE)
        assert await world.is_true()
        assert world.told() == ["~a", "+new", "~b", "-c", "-d", "+d"]
        assert world.relists == 0


@virtual_time
async def test_watch_lists_once_after_an_expired_position() -> None:
    async with watching("a", "b", "c", "d") as world:
        await world.transport.strike(Fault.EXPIRED)
        await change_everything(world)
        await asyncio.sleep(0.1)
        assert await world.is_true()
        assert sorted(world.told()) == sorted(["+new", "~b", "-c", "-d", "+d"])
        assert world.relists == 1


@pytest.mark.parametrize("told_by", ["status", "event"])
@virtual_time
async def test_watch_lists_once_when_its_position_is_compacted(told_by: str) -> None:
    async with watching("a", "b", "c", "d") as world:
        world.transport.refuse = lambda _: TransportError("no route to host")
        await world.transport.strike(Fault.CUT)
        await change_everything(world)
        world.plane.store.compact()
        await asyncio.sleep(30)
        gone = refusal(410, "Expired") if told_by == "status" else None
        world.transport.refuse = lambda request: gone if is_watch(request) and world.relists == 0 else None
        await asyncio.sleep(A_WHILE)
        assert await world.is_true()
        assert world.relists == 1
        assert len(world.changes) == 5


@virtual_time
async def test_watch_notices_silence_within_75_seconds() -> None:
    async with watching("a") as world:
        await world.transport.strike(Fault.SILENCE)
        await world.create("b")
        assert await eventually(lambda: "b" in world.names(), within=80) <= 75
        assert world.relists == 0


@virtual_time
async def test_watch_that_fell_silent_is_stale_since_it_was_last_heard() -> None:
    async with watching("a") as world:
        heard = world.clock.monotonic()
        await world.update("a", last="words")
        await asyncio.sleep(1)
        world.transport.refuse = lambda _: TransportError("no route to host")
        await world.transport.strike(Fault.SILENCE)
        await asyncio.sleep(80)
        assert world.informer.stale_since == pytest.approx(heard, abs=0.1)


@virtual_time
async def test_watch_of_a_server_without_bookmarks_stays_quick() -> None:
    """Silence is looked into, but it is no failure that would make the next pause longer, or the store stale."""
    async with watching("a") as world:
        world.transport.drop = lambda line: b"BOOKMARK" in line
        await asyncio.sleep(3000)
        assert world.informer.stale_since is None
        await world.transport.strike(Fault.CUT)
        await world.create("b")
        assert await eventually(lambda: "b" in world.names(), within=10) <= 1
        assert world.relists == 0


@virtual_time
async def test_watch_notices_a_server_that_accepts_and_never_answers() -> None:
    async with watching("a") as world:
        world.transport.hang = True
        await world.transport.strike(Fault.CUT)
        await eventually(lambda: "30 s" in world.informer.trouble, within=75)
        world.transport.hang = False
        await world.create("b")
        await eventually(lambda: "b" in world.names(), within=A_WHILE)


@virtual_time
async def test_watch_is_kept_alive_by_bookmarks() -> None:
    async with watching("a") as world:
        await asyncio.sleep(3000)
        assert world.informer.statistics.failures == 0
        assert world.informer.stale_since is None


@virtual_time
async def test_watch_lists_around_a_line_that_stays_unusable() -> None:
    async with watching("a") as world:
        position = world.transport.positions[-1]

        def poison(request: ApiRequest) -> ApiResponse | None:
            stuck = is_watch(request) and request.query["resourceVersion"] == position
            return ApiResponse(200, {}, b'{"type":"ADDED"}\n') if stuck else None

        world.transport.refuse = poison
        await world.transport.strike(Fault.CUT)
        await world.create("b")
        await eventually(lambda: "b" in world.names(), within=30)
        assert world.relists == 1


@virtual_time
async def test_watch_does_not_hammer_a_server_that_ends_every_stream() -> None:
    async with watching("a") as world:
        world.transport.refuse = lambda request: ApiResponse(200, {}, b"") if is_watch(request) else None
        await world.transport.strike(Fault.END)
        before = world.informer.statistics.streams
        await asyncio.sleep(600)
        assert world.informer.statistics.streams - before < 40
        assert world.relists == 0


@virtual_time
async def test_watch_finds_dropped_lines_by_its_audit() -> None:
    async with watching("a", "b", "c", "d") as world:
        world.transport.drop = lambda line: b"BOOKMARK" not in line
        await change_everything(world)
        await asyncio.sleep(10)
        assert world.changes == []
        world.transport.drop = lambda _: False
        await asyncio.sleep(3600)
        assert await world.is_true()
        assert world.relists == 0
        assert world.informer.statistics.audits == 1


# The server refuses


@virtual_time
async def test_watch_keeps_its_store_while_permission_is_revoked() -> None:
    async with watching("a", "b", "c", "d") as world:
        world.transport.refuse = lambda _: FORBIDDEN
        revoked = world.clock.monotonic()
        await world.transport.strike(Fault.END)
        await change_everything(world)
        await asyncio.sleep(300)
        store = world.informer.store
        assert store.synced
        assert world.names() == ["a", "b", "c", "d"]
        assert world.informer.stale_since == pytest.approx(revoked, abs=1)
        assert "forbidden" in world.informer.trouble
        assert world.changes == []
        world.transport.refuse = lambda _: None
        await asyncio.sleep(31)
        assert await world.is_true()
        assert world.relists == 0
        assert world.informer.stale_since is None


@virtual_time
async def test_watch_that_was_never_allowed_does_not_sync() -> None:
    async with unwatched("a") as world:
        world.transport.refuse = lambda _: FORBIDDEN
        await world.informers.start()
        await asyncio.sleep(300)
        assert not world.informer.store.synced
        with pytest.raises(NotSyncedError):
            world.informer.store.get(Key("default", "a"))
        world.transport.refuse = lambda _: None
        await eventually(lambda: world.informer.store.synced, within=31)
        assert await world.is_true()


@virtual_time
async def test_watch_pauses_ever_longer_up_to_half_a_minute() -> None:
    async with watching("a") as world:
        attempts: list[float] = []

        def refuse(_: ApiRequest) -> ApiResponse:
            attempts.append(world.clock.monotonic())
            return FORBIDDEN

        world.transport.refuse = refuse
        await world.transport.strike(Fault.CUT)
        await asyncio.sleep(400)
        pauses = [later - earlier for earlier, later in pairwise(attempts)]
        assert 0.4 <= pauses[0] <= 1.6
        assert max(pauses) <= 30.5
        assert min(pauses[-4:]) >= 15


@virtual_time
async def test_watch_waits_as_long_as_the_server_asks() -> None:
    async with watching("a") as world:
        attempts: list[float] = []

        def refuse(_: ApiRequest) -> ApiResponse:
            attempts.append(world.clock.monotonic())
            return refusal(429, "TooManyRequests", "storage is (re)initializing", **{"retry-after": "50"})

        world.transport.refuse = refuse
        await world.transport.strike(Fault.CUT)
        await asyncio.sleep(300)
        assert all(later - earlier >= 50 for earlier, later in pairwise(attempts))


@virtual_time
async def test_watch_starts_over_with_short_pauses_after_a_healthy_time() -> None:
    async with watching("a") as world:
        world.transport.refuse = lambda _: FORBIDDEN
        await world.transport.strike(Fault.CUT)
        await asyncio.sleep(300)
        world.transport.refuse = lambda _: None
        await asyncio.sleep(200)
        await world.transport.strike(Fault.CUT)
        await eventually(lambda: world.informer.stale_since is not None, within=1)
        await eventually(lambda: world.informer.stale_since is None, within=1)


@virtual_time
async def test_watch_can_be_woken_from_a_pause() -> None:
    async with watching("a") as world:
        world.transport.refuse = lambda _: FORBIDDEN
        await world.transport.strike(Fault.CUT)
        await asyncio.sleep(300)
        world.transport.refuse = lambda _: None
        world.informer.wake()
        await asyncio.sleep(0.01)
        assert world.informer.stale_since is None


# Lists that go wrong


@pytest.mark.parametrize(
    "answer",
    [refusal(410, "Expired"), refusal(400, "BadRequest", "invalid continue token"), refusal(500), FORBIDDEN],
    ids=["forgotten", "bad token", "broken", "forbidden"],
)
@virtual_time
async def test_list_that_fails_within_starts_again_and_deletes_nothing(answer: ApiResponse) -> None:
    async with watching("a", "b", "c", "d", "e", page_size=2) as world:
        failures = iter([answer, None, answer])

        def fail(request: ApiRequest) -> ApiResponse | None:
            return next(failures, None) if request.query.get("continue") else None

        world.transport.refuse = fail
        await world.transport.strike(Fault.EXPIRED)
        await world.delete("e")
        await asyncio.sleep(A_WHILE)
        assert await world.is_true()
        assert world.told() == ["-e"]


@virtual_time
async def test_list_with_an_unreadable_object_deletes_nothing() -> None:
    async with watching("a", "b", page_size=2) as world:
        broken = {"metadata": {"resourceVersion": "999"}, "items": [{"metadata": {"labels": {}}}]}
        answer = ApiResponse(200, {}, msgspec.json.encode(broken))
        world.transport.refuse = lambda request: answer if is_list(request) else None
        await world.transport.strike(Fault.EXPIRED)
        await asyncio.sleep(A_WHILE)
        assert world.changes == []
        assert world.names() == ["a", "b"]


@virtual_time
async def test_list_that_is_empty_by_mistake_deletes_only_when_it_is_a_list() -> None:
    async with watching("a", "b") as world:
        world.transport.refuse = lambda request: ApiResponse(200, {}, b"{}") if is_list(request) else None
        await world.transport.strike(Fault.EXPIRED)
        await asyncio.sleep(A_WHILE)
        assert world.changes == []
        assert world.names() == ["a", "b"]


# Kinds that come and go


@virtual_time
async def test_watch_of_a_deleted_kind_forgets_its_objects_and_waits_for_its_return() -> None:
    def known() -> list[str] | None:
        return world.names() if world.informer.store.synced else None

    async with watching(kind=WIDGET) as world:
        assert not world.informer.is_served
        with pytest.raises(NotSyncedError, match=r"widgets\.example\.com are not served"):
            world.informer.store.keys()
        definition = await define(world.plane)
        await world.plane.client.create(WIDGETS, widget("one"))
        await eventually(lambda: known() == ["one"], within=31)
        await asyncio.sleep(1)
        await world.plane.client.delete(f"{DEFINITIONS}/{definition['metadata']['name']}")
        await eventually(lambda: not world.informer.is_served, within=10)
        await asyncio.sleep(600)
        assert world.informer.store.state is SyncState.NOT_SERVED
        await define(world.plane)
        await world.plane.client.create(WIDGETS, widget("two"))
        await eventually(lambda: known() == ["two"], within=31)
        assert world.told() == ["+one", "-one", "+two"]


@virtual_time
async def test_watch_believes_that_a_kind_is_gone_only_the_third_time() -> None:
    async with watching("a") as world:
        answers = iter([NOT_FOUND, NOT_FOUND, FORBIDDEN, NOT_FOUND, NOT_FOUND])
        world.transport.refuse = lambda _: next(answers, None)
        await world.transport.strike(Fault.END)
        await asyncio.sleep(A_WHILE)
        assert world.changes == []
        assert world.relists == 5
        world.transport.refuse = lambda _: NOT_FOUND
        await world.transport.strike(Fault.END)
        await asyncio.sleep(A_WHILE)
        assert world.changes == [], "what cannot be seen is not deleted"
        assert len(world.informer.store) == 0
        assert world.informer.store.state is SyncState.NOT_SERVED
        world.transport.refuse = lambda _: None
        await asyncio.sleep(A_WHILE)
        assert await world.is_true()
        assert [(change.key.name, change.old, change.initial) for change in world.changes] == [
            ("a", None, True)
        ]


@virtual_time
async def test_kind_that_can_be_listed_is_not_gone() -> None:
    async with watching("a") as world:
        world.transport.refuse = lambda request: NOT_FOUND if is_watch(request) else None
        await world.transport.strike(Fault.END)
        await asyncio.sleep(A_WHILE)
        assert world.changes == []
        assert world.informer.is_served


# Servers that look back in time


@virtual_time
async def test_old_list_neither_deletes_nor_resurrects() -> None:
    async with watching("old", "doomed") as world:
        request = ApiRequest("GET", "/api/v1/configmaps", {"limit": "500"}, {"accept": "application/json"})
        past = await world.transport.inner.send(request, timedelta(seconds=1))
        await world.delete("doomed")
        await world.create("young")
        await asyncio.sleep(1)
        world.changes.clear()
        world.transport.refuse = lambda request: past if is_list(request) else None
        await world.transport.strike(Fault.EXPIRED)
        await asyncio.sleep(60)
        assert world.changes == []
        assert world.names() == ["old", "young"]
        assert world.informer.stale_since is not None
        world.transport.refuse = lambda _: None
        await asyncio.sleep(31)
        assert world.changes == []
        assert await world.is_true()


@virtual_time
async def test_server_that_is_behind_is_given_time_to_catch_up() -> None:
    async with watching("a") as world, quiet_plane(world.clock) as lagging:
        present = world.transport.inner
        for name in ("b", "c"):
            world.transport.inner = InProcessTransport(lagging)
            await world.transport.strike(Fault.CUT)
            await asyncio.sleep(90)
            world.transport.inner = present
            await world.create(name)
            await asyncio.sleep(31)
        assert world.told() == ["+b", "+c"]
        assert world.relists == 0


@virtual_time
async def test_server_that_stays_in_the_past_is_believed_in_the_end() -> None:
    async with watching("a", "b", "c") as world, quiet_plane(world.clock, seed=8) as restored:
        path = "/api/v1/namespaces/default/configmaps"
        await restored.client.create(path, {"metadata": {"name": "a"}})
        world.transport.inner = InProcessTransport(restored)
        await world.transport.strike(Fault.CUT)
        await asyncio.sleep(100)
        assert world.names() == ["a", "b", "c"]
        await asyncio.sleep(200)
        world.plane = restored
        assert await world.is_true()
        assert sorted(world.told()) == ["+a", "-a", "-b", "-c"]
        await restored.client.create(path, {"metadata": {"name": "z"}})
        await asyncio.sleep(1)
        assert await world.is_true()


# Never


@virtual_time
async def test_watch_never_tells_a_deletion_of_what_exists() -> None:
    """Each incident in turn, with changes in between: every deletion told is one that happened."""
    async with watching("a", "b", "c", "d") as world:
        deleted: set[str] = set()
        for number, fault in enumerate(Fault):
            objects = await world.on_server()
            deleted |= {uid for key, (uid, _, _) in objects.items() if key.name in ("a", f"n{number - 1}")}
            await world.transport.strike(fault)
            await world.recreate("a", number=str(number))
            await world.create(f"n{number}")
            if number:
                await world.delete(f"n{number - 1}")
            await asyncio.sleep(A_WHILE)
            assert await world.is_true(), fault
        assert {uid_of(change.old) for change in world.changes if change.new is None} <= deleted
        assert world.relists <= 1


@virtual_time
async def test_watch_ends_cleanly_in_every_state() -> None:
    hangs: list[Callable[[World], None]] = [
        lambda world: None,
        lambda world: setattr(world.transport, "hang", True),
        lambda world: setattr(world.transport, "refuse", lambda _: FORBIDDEN),
    ]
    for hang in hangs:
        async with unwatched("a") as world:
            hang(world)
            await world.informers.start()
            await asyncio.sleep(5)
            await world.informers.stop()
            assert world.transport.watches == []


@virtual_time
async def test_watch_survives_mistakes_of_its_own() -> None:
    async with watching("a") as world:

        def fail(_: ApiRequest) -> ApiResponse:
            raise ZeroDivisionError("a bug")

        world.transport.refuse = fail
        with capture_logs() as logs:
            await world.transport.strike(Fault.CUT)
            await asyncio.sleep(10)
        assert [entry["event"] for entry in logs if entry["log_level"] == "error"][:1] == [
            "watch failed with an unexpected error"
        ]
        assert "a bug" in world.informer.trouble
        world.transport.refuse = lambda _: None
        await world.create("b")
        await asyncio.sleep(31)
        assert world.names() == ["a", "b"]


@virtual_time
async def test_watch_is_indifferent_to_jumps_of_the_wall_clock() -> None:
    async with watching("a") as world:
        for hours in (1, -3, 200, -200):
            world.clock.jump(timedelta(hours=hours))
            await world.update("a", jumped=str(hours))
            await asyncio.sleep(1)
        assert len(world.changes) == 4
        assert world.informer.statistics.failures == 0
