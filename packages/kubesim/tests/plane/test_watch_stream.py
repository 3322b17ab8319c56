"""Watches in memory: nothing lost, nothing twice, and nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.plane.plane import Plane
from kubesim.plane.request import Request
from kubesim.plane.resource import GroupResource
from kubesim.plane.watch import BOOKMARK_INTERVAL, INITIAL_EVENTS_END
from kubesim.virtual import run_virtual
from packages.kubesim.tests.plane.cluster import (
    CONFIG_MAPS,
    DEFINITIONS,
    WIDGETS,
    config_map,
    define,
    running,
    take,
    until,
    widget,
)

STORED = GroupResource("", "configmaps")
INITIAL = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


@asynccontextmanager
async def watching(
    plane: Plane, query: str = "", path: str = CONFIG_MAPS
) -> AsyncIterator[AsyncGenerator[bytes]]:
    """A watch as chunks of bytes, closed at the end."""
    response = await plane.handle(Request.of("GET", f"{path}?watch=true&{query}"))
    assert isinstance(response.stream, AsyncGenerator), response.body
    async with aclosing(response.stream) as stream:
        yield stream


def decoded(chunk: bytes) -> list[JsonObject]:
    return [msgspec.json.decode(line) for line in chunk.splitlines()]


async def drained(stream: AsyncIterator[bytes]) -> list[JsonObject]:
    """Every event until the stream ends."""
    return [event async for chunk in stream for event in decoded(chunk)]


def brief(events: list[JsonObject]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


async def labelled(plane: Plane, name: str, tier: str) -> JsonObject:
    tree = config_map(name)
    tree["metadata"]["labels"] = {"tier": tier}
    return await plane.client.create(CONFIG_MAPS, tree)


async def test_watch_begins_with_what_is_there_and_goes_on_with_what_happens(plane: Plane) -> None:
    for name in "ba":
        await plane.client.create(CONFIG_MAPS, config_map(name))
    async with watching(plane) as stream:
        seen = brief(decoded(await anext(stream)))
        await plane.client.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
        await plane.client.delete(f"{CONFIG_MAPS}/b")
        seen += brief(decoded(await anext(stream)))
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


async def test_event_shows_the_object_as_the_write_answered_it(plane: Plane) -> None:
    async with watching(plane) as stream:
        created = await plane.client.create(CONFIG_MAPS, config_map("a"))
        (event,) = decoded(await anext(stream))
    assert event == {"type": "ADDED", "object": created}


async def test_deleted_object_bears_the_revision_of_its_end(plane: Plane) -> None:
    await plane.client.create(CONFIG_MAPS, config_map("a"))
    before = plane.store.revision
    async with watching(plane, f"resourceVersion={before}") as stream:
        await plane.client.delete(f"{CONFIG_MAPS}/a")
        (event,) = decoded(await anext(stream))
    assert event["object"]["metadata"]["resourceVersion"] == str(before + 1)


async def test_watch_resumes_after_any_revision_it_has_seen(plane: Plane) -> None:
    start = plane.store.revision
    for name in "abc":
        await plane.client.create(CONFIG_MAPS, config_map(name))
    for skipped in range(3):
        query = f"{CONFIG_MAPS}?watch=true&resourceVersion={start + skipped}"
        events = await take(await plane.handle(Request.of("GET", query)), 1)
        assert brief(events) == [("ADDED", name) for name in "abc"[skipped:]]


async def test_watch_from_a_forgotten_revision_is_told_to_list_again(plane: Plane) -> None:
    start = plane.store.revision
    await plane.client.create(CONFIG_MAPS, config_map("a"))
    plane.store.compact()
    async with watching(plane, f"resourceVersion={start}") as stream:
        (event,) = await drained(stream)
    assert event["type"] == "ERROR"
    assert event["object"]["code"] == 410
    assert event["object"]["message"] == f"too old resource version: {start} ({start + 1})"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("resourceVersion=x", 500),
        ("resourceVersion=99999999", 504),
        ("resourceVersion=" + "9" * 5000, 500),
        ("timeoutSeconds=soon", 400),
        ("timeoutSeconds=1" + "0" * 400, 400),
        ("labelSelector=%21%21", 400),
        ("fieldSelector=spec.x%3D1", 400),
        ("resourceVersionMatch=Exact", 422),
        ("sendInitialEvents=true", 422),
        ("sendInitialEvents=true&resourceVersionMatch=Exact", 422),
    ],
)
async def test_watch_with_bad_options_is_refused(
    plane: Plane, query: str, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await plane.handle(Request.of("GET", f"{CONFIG_MAPS}?watch=true&{query}"))
    assert (answer.status, answer.json()["kind"]) == (code, "Status")
    assert not caplog.records


async def test_selection_sees_objects_come_and_go(plane: Plane) -> None:
    async with watching(plane, "labelSelector=tier%3Dx") as stream:
        await labelled(plane, "out", "y")
        await labelled(plane, "in", "x")
        await plane.client.merge(f"{CONFIG_MAPS}/in", {"data": {"k": "v"}})
        left = await plane.client.merge(f"{CONFIG_MAPS}/in", {"metadata": {"labels": {"tier": "y"}}})
        await plane.client.merge(f"{CONFIG_MAPS}/in", {"data": {"k": "unseen"}})
        await plane.client.merge(f"{CONFIG_MAPS}/out", {"metadata": {"labels": {"tier": "x"}}})
        await plane.client.delete(f"{CONFIG_MAPS}/out")
        await plane.client.delete(f"{CONFIG_MAPS}/in")
        events = decoded(await anext(stream))
    assert brief(events) == [
        ("ADDED", "in"),
        ("MODIFIED", "in"),
        ("DELETED", "in"),
        ("ADDED", "out"),
        ("DELETED", "out"),
    ]
    last = events[2]["object"]["metadata"]
    assert last["labels"] == {"tier": "x"}
    assert last["resourceVersion"] == left["metadata"]["resourceVersion"]


async def test_watch_of_a_namespace_sees_no_other(plane: Plane) -> None:
    async with watching(plane) as stream, watching(plane, path="/api/v1/configmaps") as everywhere:
        await plane.client.create("/api/v1/namespaces/kube-system/configmaps", config_map("other"))
        await plane.client.create(CONFIG_MAPS, config_map("own"))
        assert brief(decoded(await anext(stream))) == [("ADDED", "own")]
        assert brief(decoded(await anext(everywhere))) == [("ADDED", "other"), ("ADDED", "own")]


async def test_watch_of_one_name_sees_no_other(plane: Plane) -> None:
    async with watching(plane, "fieldSelector=metadata.name%3Db") as stream:
        for name in "abc":
            await plane.client.create(CONFIG_MAPS, config_map(name))
        assert brief(decoded(await anext(stream))) == [("ADDED", "b")]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json;as=Table;v=v1;g=meta.k8s.io", "Table"),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "PartialObjectMetadata"),
    ],
)
async def test_watch_in_another_form(plane: Plane, accept: str, kind: str) -> None:
    response = await plane.handle(Request.of("GET", f"{CONFIG_MAPS}?watch=true", b"", accept=accept))
    await plane.client.create(CONFIG_MAPS, config_map("a", k="v"))
    (event,) = await take(response, 1)
    assert (event["type"], event["object"]["kind"]) == ("ADDED", kind)
    assert b'"data"' not in msgspec.json.encode(event)


async def test_initial_events_end_with_a_bookmark_at_their_revision(plane: Plane) -> None:
    for name in "ab":
        await plane.client.create(CONFIG_MAPS, config_map(name))
    revision = plane.store.revision
    async with watching(plane, INITIAL) as stream:
        events = decoded(await anext(stream)) + decoded(await anext(stream))
    assert brief(events) == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]
    metadata = events[-1]["object"]["metadata"]
    assert metadata["resourceVersion"] == str(revision)
    assert metadata["annotations"] == {INITIAL_EVENTS_END: "true"}


async def test_bookmark_after_initial_events_promises_no_event_that_is_still_to_come(plane: Plane) -> None:
    await plane.client.create(CONFIG_MAPS, config_map("a"))
    revision = plane.store.revision
    async with watching(plane, INITIAL) as stream:
        await anext(stream)
        await plane.client.create(CONFIG_MAPS, config_map("b"))
        (bookmark,) = decoded(await anext(stream))
        assert bookmark["object"]["metadata"]["resourceVersion"] == str(revision)
        assert brief(decoded(await anext(stream))) == [("ADDED", "b")]


def test_quiet_watch_gets_bookmarks_and_ends_in_time() -> None:
    async def scenario() -> None:
        async with running() as plane:
            loop = asyncio.get_running_loop()
            started = loop.time()
            async with watching(plane, "allowWatchBookmarks=true&timeoutSeconds=150") as stream:
                times = []
                async for chunk in stream:
                    (event,) = decoded(chunk)
                    assert event["type"] == "BOOKMARK"
                    assert event["object"]["metadata"]["resourceVersion"] == str(plane.store.revision)
                    times.append(loop.time() - started)
            assert times == pytest.approx([BOOKMARK_INTERVAL, 2 * BOOKMARK_INTERVAL, 150])

    run_virtual(scenario)


def test_watch_without_bookmarks_just_ends() -> None:
    async def scenario() -> None:
        async with running() as plane, watching(plane, "timeoutSeconds=5") as stream:
            assert await drained(stream) == []
            assert asyncio.get_running_loop().time() == pytest.approx(5)

    run_virtual(scenario)


def test_busy_watch_ends_in_time_too() -> None:
    async def scenario() -> None:
        async with running() as plane, watching(plane, "timeoutSeconds=5") as stream:
            await plane.client.create(CONFIG_MAPS, config_map("first"))
            rounds = 0
            async for _ in stream:
                rounds += 1
                await asyncio.sleep(1)
                await plane.client.create(CONFIG_MAPS, config_map(f"n{rounds}"))
                assert rounds < 20

    run_virtual(scenario)


async def test_end_of_a_resource_ends_its_watches(plane: Plane) -> None:
    await define(plane)
    await plane.client.create(WIDGETS, widget("w"))
    async with watching(plane, path=WIDGETS) as stream:
        first = decoded(await anext(stream))
        await plane.client.delete(f"{DEFINITIONS}/widgets.example.com")
        rest = await drained(stream)
    assert brief(first + rest) == [("ADDED", "w"), ("DELETED", "w")]


async def test_watch_that_has_yet_to_begin_ends_with_its_resource(plane: Plane) -> None:
    await define(plane)
    await plane.client.create(WIDGETS, widget("w"))
    async with asyncio.timeout(5), watching(plane, path=WIDGETS) as stream:
        assert brief(decoded(await anext(stream))) == [("ADDED", "w")]
        await plane.client.delete(f"{DEFINITIONS}/widgets.example.com")
        await plane.settle()
        assert brief(await drained(stream)) == [("DELETED", "w")]


async def test_watcher_that_fell_behind_the_log_is_let_go() -> None:
    async with running(history=10) as plane:
        await plane.client.create(CONFIG_MAPS, config_map("a"))
        async with watching(plane) as stream:
            await anext(stream)
            for number in range(50):
                await plane.client.merge(f"{CONFIG_MAPS}/a", {"data": {"k": str(number)}})
            assert await drained(stream) == []
        assert len(plane.store.collection(STORED).log) <= 12


async def test_ten_thousand_events_reach_everybody_once_and_in_order(plane: Plane) -> None:
    count, watchers = 10_000, 5
    tree = config_map("a")
    await plane.client.create(CONFIG_MAPS, tree)
    start = plane.store.revision

    async def follow() -> list[int]:
        seen: list[int] = []
        async with watching(plane, f"resourceVersion={start}") as stream:
            async for chunk in stream:
                seen += [int(event["object"]["metadata"]["resourceVersion"]) for event in decoded(chunk)]
                if len(seen) >= count:
                    break
        return seen

    followers = [asyncio.create_task(follow()) for _ in range(watchers)]
    await until(lambda: len(plane.store.collection(STORED)._wakers) == watchers)
    for number in range(count):
        stored = {"metadata": {"name": "a", "namespace": "default", "uid": "u"}, "data": {"k": str(number)}}
        plane.store.put(STORED, stored)
        if number % 100 == 0:
            await asyncio.sleep(0)
    for seen in await asyncio.gather(*followers):
        assert seen == list(range(start + 1, start + count + 1))


async def test_hundred_watchers_see_the_same(plane: Plane) -> None:
    async def follow() -> bytes:
        async with watching(plane) as stream:
            got = b""
            async for chunk in stream:
                got += chunk
                if got.count(b"\n") == 20:
                    break
            return got

    followers = [asyncio.create_task(follow()) for _ in range(100)]
    await until(lambda: len(plane.store.collection(STORED)._wakers) == 100)
    for number in range(20):
        await plane.client.create(CONFIG_MAPS, config_map(f"n{number}"))
    assert len(set(await asyncio.gather(*followers))) == 1
    assert not plane.store.collection(STORED)._wakers


async def test_abandoned_watch_leaves_neither_task_nor_waker(plane: Plane) -> None:
    before = asyncio.all_tasks()

    async def follow() -> None:
        async for _ in plane.client.watch(f"{CONFIG_MAPS}?watch=true"):
            pass

    followers = [asyncio.create_task(follow()) for _ in range(10)]
    await until(lambda: len(plane.store.collection(STORED)._wakers) == 10)
    for follower in followers:
        follower.cancel()
    await asyncio.gather(*followers, return_exceptions=True)
    await until(lambda: not plane.store.collection(STORED)._wakers)
    assert asyncio.all_tasks() == before


async def test_watch_that_is_never_read_leaves_nothing(plane: Plane) -> None:
    response = await plane.handle(Request.of("GET", f"{CONFIG_MAPS}?watch=true"))
    assert response.stream is not None
    assert not plane.store.collection(STORED)._wakers


async def test_stopping_the_plane_ends_its_watches() -> None:
    async with running() as plane, watching(plane) as stream:
        last = asyncio.create_task(drained(stream))
        await until(lambda: bool(plane.store.collection(STORED)._wakers))
        await plane.stop()
        assert await last == []


async def test_refused_watch_is_raised_by_the_client(plane: Plane) -> None:
    with pytest.raises(StatusError) as refused:
        await anext(plane.client.watch("/apis/apps/v1/things?watch=true"))
    assert refused.value.code == 404


STEPS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(["x", "y", "gone"]), st.booleans()), max_size=25
)


@settings(max_examples=30, deadline=None)
@given(STEPS, st.sampled_from(["", "labelSelector=tier%3Dx", "labelSelector=tier%21%3Dx"]))
def test_watcher_reconstructs_what_a_list_shows(steps: list[tuple[str, str, bool]], query: str) -> None:
    """Whatever happens, and wherever the watcher reads on, it ends up with what a list with its selectors shows."""

    async def scenario() -> None:
        async with running() as plane:
            seen: dict[str, JsonObject] = {}
            async with watching(plane, f"{query}&allowWatchBookmarks=true") as stream:
                for name, tier, read in steps:
                    await step(plane, name, tier)
                    if read:
                        follow(seen, decoded(await anext(stream)))
                plane.store.collection(STORED).close()
                async for chunk in stream:
                    follow(seen, decoded(chunk))
            listed = await plane.client.get(f"{CONFIG_MAPS}?{query}")
            assert seen == {item["metadata"]["name"]: versionless(item) for item in listed["items"]}

    run_virtual(scenario)


async def step(plane: Plane, name: str, tier: str) -> None:
    """Bring one object into a state."""
    present = ("default", name) in plane.store.collection(STORED).items
    if tier == "gone":
        if present:
            await plane.client.delete(f"{CONFIG_MAPS}/{name}")
    elif present:
        await plane.client.merge(f"{CONFIG_MAPS}/{name}", {"metadata": {"labels": {"tier": tier}}})
    else:
        await labelled(plane, name, tier)


def follow(seen: dict[str, JsonObject], events: list[JsonObject]) -> None:
    for event in events:
        name = event["object"]["metadata"].get("name")
        if event["type"] == "DELETED":
            del seen[name]
        elif event["type"] != "BOOKMARK":
            assert (event["type"] == "ADDED") == (name not in seen)
            seen[name] = versionless(event["object"])


def versionless(tree: JsonObject) -> JsonObject:
    return {key: value for key, value in tree.items() if key not in ("apiVersion", "kind")}
