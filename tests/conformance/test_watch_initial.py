"""Streaming lists: a watch that first sends what exists, then says so, then goes on."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.definitions import define
from tests.conformance.kinds import CONFIG_MAPS, config_map, labelled

STREAM = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}
END = "k8s.io/initial-events-end"


def is_end(event: JsonObject) -> bool:
    return event["type"] == "BOOKMARK" and END in event["object"]["metadata"].get("annotations", {})


@pytest.mark.parametrize("custom", [False, True], ids=["built-in", "custom"])
async def test_initial_events_end_with_a_bookmark(api: Client, namespace: str, custom: bool) -> None:
    kind = await define(api) if custom else CONFIG_MAPS
    created = [(await api.create(kind.path(namespace), kind.new(name))).expect(201) for name in "ab"]
    async with api.watch(kind.path(namespace), **STREAM) as watch:
        initial = await watch.take(2)
        end = await watch.next()
        await api.create(kind.path(namespace), kind.new("c"))
        later = await watch.until(lambda event: event["type"] != "BOOKMARK")
    assert initial == [{"type": "ADDED", "object": item} for item in created]
    assert is_end(end)
    assert end["object"]["metadata"]["annotations"] == {END: "true"}
    assert int(end["object"]["metadata"]["resourceVersion"]) >= int(
        created[-1]["metadata"]["resourceVersion"]
    )
    assert (later["type"], later["object"]["metadata"]["name"]) == ("ADDED", "c")


async def test_empty_collection_ends_at_once(api: Client, namespace: str) -> None:
    async with api.watch(CONFIG_MAPS.path(namespace), **STREAM) as watch:
        assert is_end(await watch.next())


async def test_initial_events_respect_selectors(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), labelled("a", app="web"))
    await api.create(CONFIG_MAPS.path(namespace), labelled("b", app="db"))
    async with api.watch(CONFIG_MAPS.path(namespace), labelSelector="app=web", **STREAM) as watch:
        only = await watch.next()
        assert only["object"]["metadata"]["name"] == "a"
        assert is_end(await watch.next())


async def test_initial_events_can_be_left_out(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("old"))
    parameters = {**STREAM, "sendInitialEvents": "false"}
    async with api.watch(CONFIG_MAPS.path(namespace), **parameters) as watch:
        await api.create(CONFIG_MAPS.path(namespace), config_map("new"))
        event = await watch.until(lambda event: event["type"] != "BOOKMARK")
    assert event["object"]["metadata"]["name"] == "new"


async def test_version_match_must_be_given(api: Client, namespace: str) -> None:
    answer = await api.get(
        CONFIG_MAPS.path(namespace), watch="1", sendInitialEvents="true", allowWatchBookmarks="true"
    )
    answer.refuse(
        422,
        "Invalid",
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires '
        "setting resourceVersionMatch to NotOlderThan",
    )


async def test_initial_events_are_for_watches_only(api: Client, namespace: str) -> None:
    answer = await api.get(CONFIG_MAPS.path(namespace), **STREAM)
    status = answer.refuse(422, "Invalid")
    assert "sendInitialEvents is forbidden for list" in status["message"]
