"""Every verb of the client against the embedded server, in memory and over HTTPS: the same laws on both ways."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.config import load_config
from edgekeeper.kube.errors import (
    AlreadyExistsError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    StaleError,
    UnauthorizedError,
)
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.kinds import CONFIG_MAP, NAMESPACE, Key, Kind
from edgekeeper.kube.transport import ApiRequest, Transport, TransportError
from kubesim.plane.auth.authentication import utc_now
from kubesim.plane.plane import Plane
from kubesim.plane.request import Request, Response, User
from kubesim.transport import InProcessTransport
from kubesim.virtual import virtual_time
from packages.kubesim.tests.plane.cluster import QUIET, define, running, until
from tests.logs import capture_logs

WIDGET = Kind("example.com", "v1", "Widget", "widgets")
ONE = Key("default", "one")
MINUTE = timedelta(minutes=1)


@asynccontextmanager
async def _connected(way: str, plane: Plane, folder: Path) -> AsyncIterator[KubeClient]:
    client = KubeClient(await _transport(way, plane, folder), Calls(), SystemClock())
    try:
        yield client
    finally:
        await client.close()


async def _transport(way: str, plane: Plane, folder: Path) -> Transport:
    if way == "in process":
        return InProcessTransport(plane)
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(plane.kubeconfig(await plane.serve()))
    return HttpTransport(load_config(kubeconfig))


@pytest.fixture(params=["in process", "over HTTPS"])
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[KubeClient]:
    # Certificates are checked by the real time.
    async with Plane(replace(QUIET, now=utc_now)) as plane:
        await define(plane)
        async with _connected(request.param, plane, tmp_path) as connected:
            yield connected


async def _create(client: KubeClient, name: str = "one", **spec: int) -> JsonObject:
    return await client.create(WIDGET, {"metadata": {"name": name}, "spec": spec}, namespace="default")


async def test_created_object_can_be_read(client: KubeClient) -> None:
    created = await _create(client, size=1)
    assert await client.get(WIDGET, ONE) == created
    assert (created["kind"], created["spec"]) == ("Widget", {"size": 1})


async def test_object_is_created_once(client: KubeClient) -> None:
    await _create(client)
    with pytest.raises(AlreadyExistsError, match="already exists"):
        await _create(client)


async def test_object_that_is_not_there_is_not_found(client: KubeClient) -> None:
    with pytest.raises(NotFoundError, match='"one" not found'):
        await client.get(WIDGET, ONE)


async def test_kind_that_is_not_there_is_not_found(client: KubeClient) -> None:
    """Answered in plain text: nothing is served in that group."""
    with pytest.raises(NotFoundError, match="404 page not found"):
        await client.get(Kind("gone.example.com", "v1", "Thing", "things"), ONE)


async def test_object_that_is_wrong_is_invalid_and_says_where(client: KubeClient) -> None:
    with pytest.raises(InvalidError) as caught:
        await client.create(
            WIDGET, {"metadata": {"name": "one"}, "spec": {"size": "big"}}, namespace="default"
        )
    assert [cause["field"] for cause in caught.value.causes] == ["spec.size"]


async def test_replace_needs_the_present_version(client: KubeClient) -> None:
    created = await _create(client, size=1)
    replaced = await client.replace(WIDGET, ONE, {**created, "spec": {"size": 2}})
    assert replaced["spec"] == {"size": 2}
    with pytest.raises(StaleError, match="has been modified"):
        await client.replace(WIDGET, ONE, {**created, "spec": {"size": 3}})


async def test_merge_patch_keeps_the_rest(client: KubeClient) -> None:
    await _create(client, size=1)
    patched = await client.merge_patch(WIDGET, ONE, {"spec": {"replicas": 3}})
    assert patched["spec"] == {"size": 1, "replicas": 3}


async def test_merge_patch_with_a_version_is_a_precondition(client: KubeClient) -> None:
    created = await _create(client, size=1)
    version = {"metadata": {"resourceVersion": created["metadata"]["resourceVersion"]}}
    await client.merge_patch(WIDGET, ONE, {**version, "spec": {"size": 2}})
    with pytest.raises(StaleError):
        await client.merge_patch(WIDGET, ONE, {**version, "spec": {"size": 3}})


async def test_merge_patch_version_is_that_of_the_object_from_then_on(client: KubeClient) -> None:
    await _create(client, size=1)
    version = await client.merge_patch_version(WIDGET, ONE, {"spec": {"size": 2}})
    patched = await client.get(WIDGET, ONE)
    assert (patched["spec"], patched["metadata"]["resourceVersion"]) == ({"size": 2}, version)


async def test_status_is_written_apart_from_spec(client: KubeClient) -> None:
    await _create(client, size=1)
    change = {"spec": {"size": 9}, "status": {"ready": True}}
    patched = await client.merge_patch(WIDGET, ONE, change, subresource="status")
    assert (patched["spec"], patched["status"]) == ({"size": 1}, {"ready": True})


async def test_json_patch_applies_as_a_whole(client: KubeClient) -> None:
    await _create(client, size=1)
    test, change = (
        {"op": "test", "path": "/spec/size", "value": 1},
        {"op": "replace", "path": "/spec/size", "value": 2},
    )
    assert (await client.json_patch(WIDGET, ONE, [test, change]))["spec"] == {"size": 2}
    with pytest.raises(InvalidError):
        await client.json_patch(WIDGET, ONE, [test, change])


async def test_apply_owns_its_fields_and_creates_what_is_missing(client: KubeClient) -> None:
    applied = await client.apply(
        WIDGET, ONE, {"metadata": {"labels": {"a": "b"}}, "spec": {"size": 1}}, manager="sizes"
    )
    assert (applied["metadata"]["labels"], applied["spec"]) == ({"a": "b"}, {"size": 1})
    assert [entry["manager"] for entry in applied["metadata"]["managedFields"]] == ["sizes"]
    assert "spec" not in await client.apply(WIDGET, ONE, {}, manager="sizes")


async def test_apply_without_force_respects_other_owners(client: KubeClient) -> None:
    await client.apply(WIDGET, ONE, {"spec": {"size": 1}}, manager="theirs")
    with pytest.raises(StaleError) as caught:
        await client.apply(WIDGET, ONE, {"spec": {"size": 2}}, manager="ours", force=False)
    assert [cause["field"] for cause in caught.value.causes] == [".spec.size"]
    forced = await client.apply(WIDGET, ONE, {"spec": {"size": 2}}, manager="ours")
    assert forced["spec"] == {"size": 2}


async def test_delete_takes_only_the_object_that_is_meant(client: KubeClient) -> None:
    created = await _create(client)
    with pytest.raises(StaleError):
        await client.delete(WIDGET, ONE, uid="another")
    with pytest.raises(StaleError):
        await client.delete(WIDGET, ONE, resource_version="1")
    metadata = created["metadata"]
    await client.delete(
        WIDGET,
        ONE,
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        propagation="Background",
    )
    with pytest.raises(NotFoundError):
        await client.delete(WIDGET, ONE)


async def test_pages_have_every_object_once_as_of_one_moment(client: KubeClient) -> None:
    for number in range(7):
        await _create(client, f"w{number}", size=number)
    names: list[str] = []
    versions: set[str] = set()
    async for page in client.pages(WIDGET, namespace="default", page_size=3):
        names += [msgspec.json.decode(item)["metadata"]["name"] for item in page.items]
        versions.add(page.resource_version)
        if len(names) == 3:
            await _create(client, "w9")
    assert names == [f"w{number}" for number in range(7)]
    assert len(versions) == 1


async def test_pages_select_by_labels_and_fields(client: KubeClient) -> None:
    for name, color in (("a", "red"), ("b", "blue")):
        tree = {"metadata": {"name": name, "labels": {"color": color}}}
        await client.create(WIDGET, tree, namespace="default")
    red = [page async for page in client.pages(WIDGET, labels="color=red")]
    named = [page async for page in client.pages(WIDGET, fields="metadata.name=b")]
    assert [len(page.items) for page in red + named] == [1, 1]


async def test_watch_goes_on_where_a_list_ended(client: KubeClient) -> None:
    await _create(client, "old")
    version = [page async for page in client.pages(WIDGET)][-1].resource_version
    async with client.watch(WIDGET, resource_version=version, timeout=MINUTE) as lines:
        await _create(client, "new")
        await client.delete(WIDGET, Key("default", "old"))
        events = [msgspec.json.decode(await anext(lines)) for _ in range(2)]
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [
        ("ADDED", "new"),
        ("DELETED", "old"),
    ]


async def test_writer_is_known_by_the_name_of_the_client(client: KubeClient) -> None:
    created = await _create(client, size=1)
    assert [entry["manager"] for entry in created["metadata"]["managedFields"]] == ["edgekeeper"]


async def test_unusual_names_arrive_as_they_are(client: KubeClient) -> None:
    role = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)
    name = "example:a role?with#signs&more=1+1"
    await client.create(role, {"metadata": {"name": name}})
    assert (await client.get(role, Key("", name)))["metadata"]["name"] == name
    await client.delete(role, Key("", name))


# In process only


@virtual_time
async def test_watch_ends_when_its_time_is_over() -> None:
    async with running() as plane:
        client = KubeClient(InProcessTransport(plane), Calls(), SystemClock())
        version = [page async for page in client.pages(CONFIG_MAP)][-1].resource_version
        async with client.watch(
            CONFIG_MAP, resource_version=version, timeout=timedelta(minutes=10), bookmarks=False
        ) as lines:
            assert [line async for line in lines] == []
        assert asyncio.get_running_loop().time() == pytest.approx(600)


def _watchers(plane: Plane) -> int:
    return sum(len(collection._wakers) for collection in plane.store.collections())


async def test_stream_that_is_left_leaves_no_watcher_behind() -> None:
    async with running() as plane:
        client = KubeClient(InProcessTransport(plane), Calls(), SystemClock())
        before = _watchers(plane)
        async with client.watch(CONFIG_MAP, resource_version="1", timeout=MINUTE) as lines:
            waiting = asyncio.ensure_future(anext(lines))
            await until(lambda: _watchers(plane) == before + 1)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        assert _watchers(plane) == before


async def test_stream_that_was_never_read_is_closed_too() -> None:
    async with running() as plane:
        client = KubeClient(InProcessTransport(plane), Calls(), SystemClock())
        before = _watchers(plane)
        async with client.watch(CONFIG_MAP, resource_version="1", timeout=MINUTE):
            pass
        assert _watchers(plane) == before


async def test_transport_is_who_its_token_says() -> None:
    reader = User("reader", ("system:authenticated",))
    async with running(auth=True, tokens={"r": reader}) as plane:

        def as_(token: str) -> KubeClient:
            return KubeClient(InProcessTransport(plane, token), Calls(), SystemClock())

        assert (await as_(plane.admin_token).get(NAMESPACE, Key("", "default")))["kind"] == "Namespace"
        with pytest.raises(ForbiddenError, match='User "reader" cannot get'):
            await as_("r").get(CONFIG_MAP, ONE)
        with pytest.raises(UnauthorizedError):
            await as_("nonsense").get(CONFIG_MAP, ONE)


async def test_watch_in_process_can_be_refused() -> None:
    async with running(auth=True) as plane:
        client = KubeClient(InProcessTransport(plane), Calls(), SystemClock())
        with pytest.raises(ForbiddenError, match="cannot watch"):
            async with client.watch(CONFIG_MAP, resource_version="1", timeout=MINUTE):
                pytest.fail("nobody may watch")


async def test_warnings_arrive_in_process_as_they_do_over_the_wire() -> None:
    async with running() as plane:
        await define(plane)
        client = KubeClient(InProcessTransport(plane), Calls(), SystemClock())
        with capture_logs() as logs:
            await client.create(
                WIDGET, {"metadata": {"name": "one"}, "spec": {"colour": 1}}, namespace="default"
            )
    assert [line["warning"] for line in logs] == ['unknown field "spec.colour"']


async def test_stream_is_no_answer_to_an_ordinary_request() -> None:
    async with running() as plane:
        before = _watchers(plane)
        request = ApiRequest("GET", "/api/v1/configmaps", {"watch": "1"})
        with pytest.raises(TransportError, match="stream"):
            await InProcessTransport(plane).send(request, MINUTE)
        assert _watchers(plane) == before


@virtual_time
async def test_request_in_process_has_a_deadline_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_: Request) -> Response:
        await asyncio.sleep(3600)
        raise AssertionError

    async with running() as plane:
        monkeypatch.setattr(plane, "handle", never)
        with pytest.raises(TransportError, match="no answer within 30 s"):
            await InProcessTransport(plane).send(ApiRequest("GET", "/version"), timedelta(seconds=30))
        monkeypatch.undo()
