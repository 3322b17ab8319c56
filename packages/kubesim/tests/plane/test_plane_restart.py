"""A plane with a data directory that stops and starts again is the same plane."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.plane import Plane
from kubesim.plane.request import Request
from packages.kubesim.tests.plane.cluster import (
    CONFIG_MAPS,
    DEFINITIONS,
    NAMESPACES,
    WIDGETS,
    config_map,
    define,
    exists,
    owned,
    running,
    take,
    widget,
)

EVERYTHING = (
    NAMESPACES,
    CONFIG_MAPS,
    DEFINITIONS,
    WIDGETS,
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
)


async def everything(plane: Plane) -> list[JsonObject]:
    return [await plane.client.get(target) for target in EVERYTHING]


async def test_objects_survive_a_restart_unchanged(tmp_path: Path) -> None:
    async with running(data_dir=tmp_path) as plane:
        await define(plane)
        await plane.client.create(WIDGETS, widget("w", size=1))
        await plane.client.merge(f"{WIDGETS}/w/status", {"status": {"phase": "Up"}})
        await plane.client.create(CONFIG_MAPS, config_map("kept"))
        await plane.client.create(CONFIG_MAPS, config_map("gone"))
        await plane.client.delete(f"{CONFIG_MAPS}/gone")
        before = await everything(plane)
    async with running(data_dir=tmp_path) as plane:
        assert await everything(plane) == before


async def test_custom_resources_are_served_as_soon_as_a_restart_is_over(tmp_path: Path) -> None:
    async with running(data_dir=tmp_path) as plane:
        await define(plane)
        await plane.client.create(WIDGETS, widget("w", size=1))
    async with running(data_dir=tmp_path) as plane:
        assert (await plane.client.get(f"{WIDGETS}/w"))["spec"] == {"size": 1}
        refused = await plane.handle(Request.of("POST", WIDGETS, widget("x", size="large")))
        assert refused.status == 422


async def test_plane_keeps_its_identity_and_keeps_it_to_itself(tmp_path: Path) -> None:
    async with running(data_dir=tmp_path) as plane:
        before = plane.admin_token, (await plane.serve()).ca_pem
        token = await plane.client.create(
            "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}}
        )
        assert token["metadata"]["name"] == "robot"
        issued = await plane.client.create(
            "/api/v1/namespaces/default/serviceaccounts/robot/token",
            {"kind": "TokenRequest", "spec": {"audiences": []}},
        )
    async with running(data_dir=tmp_path) as plane:
        assert (plane.admin_token, (await plane.serve()).ca_pem) == before
        review = {"kind": "TokenReview", "spec": {"token": issued["status"]["token"]}}
        answer = await plane.client.create("/apis/authentication.k8s.io/v1/tokenreviews", review)
        assert answer["status"]["user"]["username"] == "system:serviceaccount:default:robot"
    for secret in ("token", "ca.key", "tokens.key"):
        assert stat.S_IMODE((tmp_path / secret).stat().st_mode) == 0o600


async def test_planes_without_a_data_directory_are_strangers() -> None:
    async with running() as one, running() as other:
        assert one.admin_token != other.admin_token


async def test_revisions_go_on_where_they_ended(tmp_path: Path) -> None:
    async with running(data_dir=tmp_path) as plane:
        await plane.client.create(CONFIG_MAPS, config_map("a"))
        await plane.client.delete(f"{CONFIG_MAPS}/a")
        ended = plane.store.revision
    async with running(data_dir=tmp_path) as plane:
        created = await plane.client.create(CONFIG_MAPS, config_map("b"))
    assert int(created["metadata"]["resourceVersion"]) == ended + 1


async def test_watch_from_before_a_restart_is_told_to_list_again(tmp_path: Path) -> None:
    async with running(data_dir=tmp_path) as plane:
        first = await plane.client.create(CONFIG_MAPS, config_map("a"))
        second = await plane.client.create(CONFIG_MAPS, config_map("b"))
    async with running(data_dir=tmp_path) as plane:
        old = first["metadata"]["resourceVersion"]
        (event,) = await take(
            await plane.handle(Request.of("GET", f"{CONFIG_MAPS}?watch=true&resourceVersion={old}")), 1
        )
        assert event["type"] == "ERROR"
        assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
        newest = second["metadata"]["resourceVersion"]
        watch = await plane.handle(Request.of("GET", f"{CONFIG_MAPS}?watch=true&resourceVersion={newest}"))
        await plane.client.create(CONFIG_MAPS, config_map("c"))
        (event,) = await take(watch, 1)
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "c")


async def test_page_of_a_list_from_before_a_restart_is_gone(tmp_path: Path) -> None:
    async with running(data_dir=tmp_path) as plane:
        for name in "abc":
            await plane.client.create(CONFIG_MAPS, config_map(name))
        page = await plane.client.get(f"{CONFIG_MAPS}?limit=1")
        await plane.client.create(CONFIG_MAPS, config_map("d"))
    async with running(data_dir=tmp_path) as plane:
        token = page["metadata"]["continue"]
        refused = await plane.handle(Request.of("GET", f"{CONFIG_MAPS}?limit=1&continue={token}"))
        assert refused.status == 410
        fresh = refused.json()["metadata"]["continue"]
        rest = await plane.client.get(f"{CONFIG_MAPS}?continue={fresh}")
        assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c", "d"]


async def cut_short(plane: Plane) -> None:
    """Stop the controllers before they get to work, as a crash would."""
    for controller in plane._controllers:
        await controller.stop()


async def test_terminating_namespace_goes_on_terminating(tmp_path: Path) -> None:
    async with running(data_dir=tmp_path) as plane:
        await plane.client.create(NAMESPACES, {"metadata": {"name": "doomed"}})
        await plane.client.create("/api/v1/namespaces/doomed/configmaps", config_map("a"))
        await cut_short(plane)
        await plane.client.delete(f"{NAMESPACES}/doomed")
        assert await exists(plane, "/api/v1/namespaces/doomed/configmaps/a")
    async with running(data_dir=tmp_path) as plane:
        await plane.settle()
        assert not await exists(plane, f"{NAMESPACES}/doomed")
        assert not await exists(plane, "/api/v1/namespaces/doomed/configmaps/a")


async def test_garbage_is_collected_after_a_restart(tmp_path: Path) -> None:
    async with running(data_dir=tmp_path) as plane:
        owner = await plane.client.create(CONFIG_MAPS, config_map("owner"))
        await plane.client.create(CONFIG_MAPS, owned(config_map("early"), owner))
        await plane.client.create(CONFIG_MAPS, owned(config_map("late"), owner))
        await cut_short(plane)
        await plane.client.delete(f"{CONFIG_MAPS}/owner")
        assert await exists(plane, f"{CONFIG_MAPS}/early")
    async with running(data_dir=tmp_path) as plane:
        await plane.settle()
        assert not await exists(plane, f"{CONFIG_MAPS}/early")
        assert not await exists(plane, f"{CONFIG_MAPS}/late")


async def test_definition_that_was_going_goes(tmp_path: Path) -> None:
    async with running(data_dir=tmp_path) as plane:
        await define(plane)
        await plane.client.create(WIDGETS, widget("w"))
        await cut_short(plane)
        await plane.client.delete(f"{DEFINITIONS}/widgets.example.com")
    async with running(data_dir=tmp_path) as plane:
        await plane.settle()
        assert not await exists(plane, f"{DEFINITIONS}/widgets.example.com")
        assert (await plane.handle(Request.of("GET", WIDGETS))).status == 404


async def test_stopped_plane_leaves_no_task_behind(tmp_path: Path) -> None:
    async with running(data_dir=tmp_path) as plane:
        await plane.serve()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_second_start_repeats_no_bootstrap(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with running(data_dir=tmp_path) as plane:
        revision = plane.store.revision
    async with running(data_dir=tmp_path) as plane:
        await plane.settle()
        assert plane.store.revision == revision
    assert not caplog.records
