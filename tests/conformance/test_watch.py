"""Watching: the stream of changes, from where it was left, until it ends."""

from __future__ import annotations

import asyncio

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client, eventually
from tests.conformance.definitions import define, define_afresh, definition_name, version
from tests.conformance.kinds import CONFIG_MAPS, DEFINITIONS, PODS, config_map, pod

GUARD = "conformance.example/guard"


def seen(events: list[JsonObject]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


async def version_of(api: Client, path: str) -> str:
    version: str = (await api.get(path)).expect(200)["metadata"]["resourceVersion"]
    return version


async def test_changes_arrive_in_order(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    start = await version_of(api, path)
    async with api.watch(path, resourceVersion=start) as watch:
        created = (await api.create(path, config_map("one"))).expect(201)
        updated = (await api.patch(f"{path}/one", {"data": {"colour": "red"}})).expect(200)
        await api.delete(f"{path}/one")
        added, modified, deleted = await watch.take(3)
    assert added == {"type": "ADDED", "object": created}
    assert modified == {"type": "MODIFIED", "object": updated}
    assert (deleted["type"], deleted["object"]["data"]) == ("DELETED", {"colour": "red"})
    # The deletion has a version of its own, from which a watch can go on.
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in (added, modified, deleted)]
    assert versions == sorted(set(versions))


async def test_without_a_version_what_exists_comes_first(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    for name in "ab":
        await api.create(path, config_map(name))
    async with api.watch(path) as watch:
        assert sorted(seen(await watch.take(2))) == [("ADDED", "a"), ("ADDED", "b")]
        await api.create(path, config_map("c"))
        assert seen([await watch.next()]) == [("ADDED", "c")]


async def test_version_zero_starts_with_what_exists(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    await api.create(path, config_map("one"))
    async with api.watch(path, resourceVersion="0") as watch:
        assert seen([await watch.next()]) == [("ADDED", "one")]


async def test_watch_resumes_where_it_was_left(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    start = await version_of(api, path)
    for name in "abcd":
        await api.create(path, config_map(name))
    async with api.watch(path, resourceVersion=start) as watch:
        first = await watch.take(2)
    left_at = first[-1]["object"]["metadata"]["resourceVersion"]
    async with api.watch(path, resourceVersion=left_at) as watch:
        rest = await watch.take(2)
    assert seen(first + rest) == [("ADDED", name) for name in "abcd"]


async def test_list_and_watch_leave_no_gap(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)

    async def write() -> None:
        for index in range(30):
            (await api.create(path, config_map(f"item-{index:02}"))).expect(201)

    writing = asyncio.create_task(write())
    listed = (await api.get(path)).expect(200)
    names = [item["metadata"]["name"] for item in listed["items"]]
    async with api.watch(path, resourceVersion=listed["metadata"]["resourceVersion"]) as watch:
        while len(names) < 30:
            names.append((await watch.next())["object"]["metadata"]["name"])
    await writing
    assert names == [f"item-{index:02}" for index in range(30)]


async def test_deletion_with_a_finalizer_is_a_modification_first(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    await api.create(path, CONFIG_MAPS.new("one", metadata={"finalizers": [GUARD]}))
    async with api.watch(path, resourceVersion=await version_of(api, path)) as watch:
        await api.delete(f"{path}/one")
        marked = await watch.next()
        await api.patch(f"{path}/one", {"metadata": {"finalizers": None}})
        gone = await watch.next()
    assert marked["type"] == "MODIFIED"
    assert marked["object"]["metadata"]["deletionTimestamp"]
    assert gone["type"] == "DELETED"


async def test_label_selector_turns_leaving_into_deletion(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    async with api.watch(path, resourceVersion=await version_of(api, path), labelSelector="app=web") as watch:
        await api.create(path, config_map("ignored"))
        await api.create(path, config_map("one"))
        await api.patch(f"{path}/one", {"metadata": {"labels": {"app": "web"}}})
        await api.patch(f"{path}/one", {"data": {"a": "b"}})
        await api.patch(f"{path}/one", {"metadata": {"labels": {"app": "db"}}})
        await api.patch(f"{path}/one", {"metadata": {"labels": {"app": "web"}}})
        await api.delete(f"{path}/one")
        events = await watch.take(5)
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"]
    # Who leaves the selection is shown as it was while selected.
    assert events[2]["object"]["metadata"]["labels"] == {"app": "web"}


async def test_field_selector_watches_one_object(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    selector = "metadata.name=one"
    async with api.watch(path, resourceVersion=await version_of(api, path), fieldSelector=selector) as watch:
        await api.create(path, config_map("other"))
        await api.create(path, config_map("one"))
        await api.delete(f"{path}/other")
        await api.delete(f"{path}/one")
        assert seen(await watch.take(2)) == [("ADDED", "one"), ("DELETED", "one")]


async def test_field_selector_turns_leaving_into_deletion(api: Client, namespace: str) -> None:
    path = PODS.path(namespace)
    start = await version_of(api, path)
    async with api.watch(path, resourceVersion=start, fieldSelector="status.phase=Running") as watch:
        await api.create(path, pod())
        for phase in ("Running", "Succeeded"):
            await api.patch(f"{path}/web/status", {"status": {"phase": phase}})
        entered, left = await watch.take(2)
    assert [entered["type"], left["type"]] == ["ADDED", "DELETED"]
    assert entered["object"]["status"]["phase"] == "Running"


async def test_selectable_field_of_a_custom_kind_can_be_watched(api: Client, namespace: str) -> None:
    kind = await define(api, version(selectableFields=[{"jsonPath": ".spec.colour"}]))
    path = kind.path(namespace)
    start = await version_of(api, path)
    async with api.watch(path, resourceVersion=start, fieldSelector="spec.colour=green") as watch:
        await api.create(path, kind.new("one", spec={"colour": "blue"}))
        await api.patch(f"{path}/one", {"spec": {"colour": "green"}})
        await api.patch(f"{path}/one", {"spec": {"colour": "red"}})
        assert seen(await watch.take(2)) == [("ADDED", "one"), ("DELETED", "one")]


async def test_path_of_one_object_is_read_not_watched(api: Client, namespace: str) -> None:
    created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    assert (await api.get(CONFIG_MAPS.path(namespace, "one"), watch="1")).expect(200) == created


async def test_old_watch_path_still_works(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    async with api.watch(f"/api/v1/watch/namespaces/{namespace}/configmaps") as watch:
        assert seen([await watch.next()]) == [("ADDED", "one")]


async def test_all_namespaces_can_be_watched(api: Client, namespace: str) -> None:
    start = await version_of(api, CONFIG_MAPS.path())
    async with api.watch(CONFIG_MAPS.path(), resourceVersion=start) as watch:
        await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
        event = await watch.until(lambda event: event["object"]["metadata"]["namespace"] == namespace)
    assert seen([event]) == [("ADDED", "one")]


async def test_timeout_ends_the_stream_quietly(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    await api.create(path, config_map("one"))
    async with api.watch(path, timeoutSeconds=1) as watch:
        assert seen(await watch.rest()) == [("ADDED", "one")]


@pytest.mark.parametrize("compacted", [False, True], ids=["before-the-kind", "compacted"])
async def test_version_that_is_too_old_is_an_error_event(
    api: Client, namespace: str, compacted: bool
) -> None:
    kind = await define(api)
    if compacted:
        await api.create(kind.path(namespace), kind.new("one"))
        api.server.compact()
    async with api.watch(kind.path(namespace), resourceVersion="1") as watch:
        (event,) = await watch.rest()
    status = event["object"]
    assert (watch.status, event["type"]) == (200, "ERROR")
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")


async def test_malformed_version_is_refused(api: Client, namespace: str) -> None:
    answer = await api.get(CONFIG_MAPS.path(namespace), watch="1", resourceVersion="abc")
    assert 'resourceVersion: Invalid value: "abc"' in answer.refuse(500, "")["message"]


async def test_bookmark_before_the_end_tells_how_far_the_watch_is(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    start = await version_of(api, path)
    async with api.watch(path, resourceVersion=start, allowWatchBookmarks=True, timeoutSeconds=3) as watch:
        created = (await api.create(path, config_map("one"))).expect(201)
        added, *bookmarks = await watch.rest()
    assert added == {"type": "ADDED", "object": created}
    assert {event["type"] for event in bookmarks} == {"BOOKMARK"}
    bookmark = bookmarks[-1]["object"]
    assert (bookmark["kind"], bookmark["apiVersion"]) == ("ConfigMap", "v1")
    assert "name" not in bookmark["metadata"]
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(created["metadata"]["resourceVersion"])


async def test_bookmarks_come_only_when_asked_for(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    async with api.watch(path, resourceVersion=await version_of(api, path), timeoutSeconds=3) as watch:
        await api.create(path, config_map("one"))
        assert seen(await watch.rest()) == [("ADDED", "one")]


async def test_watch_of_an_unknown_kind_is_not_found(api: Client) -> None:
    assert (await api.get("/apis/nowhere.example/v1/things", watch="1")).status == 404


async def test_custom_objects_can_be_watched(api: Client, namespace: str) -> None:
    kind = await define(api)
    path = kind.path(namespace)
    async with api.watch(path, resourceVersion=await version_of(api, path)) as watch:
        created = (await api.create(path, kind.new("one", spec={"size": 1}))).expect(201)
        assert await watch.next() == {"type": "ADDED", "object": created}


async def test_new_definition_is_first_seen_without_conditions(api: Client) -> None:
    start = await version_of(api, DEFINITIONS.path())
    kind = await define_afresh(api)
    selector = f"metadata.name={definition_name(kind)}"
    async with api.watch(DEFINITIONS.path(), resourceVersion=start, fieldSelector=selector) as watch:
        added = await watch.next()
        assert added["type"] == "ADDED"
        assert added["object"]["status"]["conditions"] is None
        await watch.until(
            lambda event: any(
                condition["type"] == "Established" and condition["status"] == "True"
                for condition in event["object"]["status"]["conditions"] or []
            )
        )


async def test_watchers_do_not_disturb_each_other(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    start = await version_of(api, path)
    async with (
        api.watch(path, resourceVersion=start) as first,
        api.watch(path, resourceVersion=start, labelSelector="app=web") as second,
    ):
        await api.create(path, CONFIG_MAPS.new("web", metadata={"labels": {"app": "web"}}))
        await api.create(path, config_map("plain"))
        assert seen(await first.take(2)) == [("ADDED", "web"), ("ADDED", "plain")]
        assert seen([await second.next()]) == [("ADDED", "web")]


async def test_burst_of_events_loses_nothing(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    start = await version_of(api, path)
    async with api.watch(path, resourceVersion=start) as watch:
        for lot in range(0, 300, 20):
            await asyncio.gather(
                *(api.create(path, config_map(f"item-{index:03}")) for index in range(lot, lot + 20))
            )
        events = await watch.take(300)
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(versions)
    assert {name for _, name in seen(events)} == {f"item-{index:03}" for index in range(300)}


async def test_abandoned_watch_leaves_the_server_well(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    for _ in range(5):
        async with api.watch(path):
            pass
    await api.create(path, config_map("one"))

    async def healthy() -> bool | None:
        return (await api.get("/readyz")).text == "ok" or None

    await eventually(healthy, what="the server is ready")
