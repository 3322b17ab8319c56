"""What is asked of the server to learn what it serves, and for how long the answer counts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import VirtualClock
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.discovery import LIFETIME, Discovery
from edgekeeper.kube.errors import UnreachableError
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, Key
from edgekeeper.kube.openapi import OpenApiSchemas
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, Transport
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock, virtual_time
from tests.unit.kube.scripted import ScriptedTransport, answer
from tests.unit.kube.world import quiet_plane
from tests.unit.runtime.world import PART, WIDGET, definition, settle


class Counted:
    """A transport that remembers what was asked, and may be of a server that knows no aggregated discovery."""

    def __init__(self, inner: Transport, *, old: bool) -> None:
        self._inner = inner
        self._old = old
        self.asked: list[str] = []

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        self.asked.append(request.path)
        if self._old:
            request = replace(request, headers={**request.headers, "accept": "application/json"})
        return await self._inner.send(request, deadline)

    def stream(self, request: ApiRequest) -> AbstractAsyncContextManager[ApiStream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@asynccontextmanager
async def serving(*, old: bool = False) -> AsyncIterator[tuple[KubeClient, Counted, LoopClock]]:
    clock = LoopClock()
    async with quiet_plane(clock) as plane:
        transport = Counted(InProcessTransport(plane), old=old)
        client = KubeClient(transport, Calls(), clock)
        await client.create(CUSTOM_RESOURCE_DEFINITION, definition(WIDGET))
        await settle()
        transport.asked.clear()
        yield client, transport, clock


@virtual_time
async def test_all_groups_are_learnt_by_two_questions() -> None:
    async with serving() as (client, transport, clock):
        discovery = Discovery(client, clock)
        widget = await discovery.find("example.com", "Widget")
        assert widget is not None
        assert (widget.kind, widget.subresources) == (WIDGET, frozenset({"status"}))
        assert await discovery.is_served(DEPLOYMENT)
        assert transport.asked == ["/api", "/apis"]


@virtual_time
async def test_server_without_aggregated_discovery_is_asked_for_the_groups_that_matter() -> None:
    async with serving(old=True) as (client, transport, clock):
        discovery = Discovery(client, clock)
        widget = await discovery.find("example.com", "Widget")
        assert widget is not None
        assert (widget.kind, widget.singular, widget.subresources) == (
            WIDGET,
            "widget",
            frozenset({"status"}),
        )
        deployment = await discovery.find("apps", "Deployment")
        assert deployment is not None
        assert (deployment.kind, deployment.short_names) == (DEPLOYMENT, ("deploy",))
        assert {"status", "scale"} <= deployment.subresources
        assert await discovery.find_resource("", "configmaps") is not None
        assert transport.asked == ["/api", "/apis", "/apis/example.com/v1", "/apis/apps/v1", "/api/v1"]


@pytest.mark.parametrize("old", [False, True], ids=["aggregated", "old"])
async def test_both_forms_of_discovery_say_the_same(old: bool) -> None:
    async with quiet_plane(LoopClock()) as plane:
        client = KubeClient(Counted(InProcessTransport(plane), old=old), Calls(), VirtualClock())
        found = await Discovery(client, VirtualClock()).kinds("apps")
        reference = await Discovery(
            KubeClient(InProcessTransport(plane), Calls(), VirtualClock()), VirtualClock()
        ).kinds("apps")
    assert len(found) > 3
    assert {each.kind.kind: each for each in found} == {each.kind.kind: each for each in reference}


@virtual_time
async def test_kind_that_is_missing_is_asked_for_anew_but_not_all_the_time() -> None:
    async with serving() as (client, transport, clock):
        discovery = Discovery(client, clock)
        for _ in range(5):
            assert await discovery.find("example.com", "Part") is None
        assert transport.asked == ["/api", "/apis"]
        await client.create(CUSTOM_RESOURCE_DEFINITION, definition(PART))
        await settle()
        assert await discovery.is_served(PART)


@virtual_time
async def test_answer_counts_until_it_is_invalidated_or_old() -> None:
    async with serving() as (client, transport, clock):
        discovery = Discovery(client, clock)
        assert await discovery.is_served(WIDGET)
        await client.delete(CUSTOM_RESOURCE_DEFINITION, Key("", WIDGET.qualified_plural))
        await settle()
        transport.asked.clear()
        assert await discovery.is_served(WIDGET)
        assert transport.asked == []
        discovery.invalidate()
        assert not await discovery.is_served(WIDGET)
        await client.create(CUSTOM_RESOURCE_DEFINITION, definition(WIDGET))
        await settle(LIFETIME)
        assert await discovery.is_served(WIDGET)


async def test_kind_of_an_extension_that_does_not_answer_is_unknown_and_not_missing() -> None:
    groups = {
        "kind": "APIGroupDiscoveryList",
        "items": [
            {
                "metadata": {"name": "broken.example"},
                "versions": [{"version": "v1", "resources": [], "freshness": "Stale"}],
            }
        ],
    }
    empty = answer(200, {"kind": "APIGroupDiscoveryList", "items": []})
    client = KubeClient(ScriptedTransport(empty, answer(200, groups)), Calls(), VirtualClock())
    discovery = Discovery(client, VirtualClock())
    with pytest.raises(UnreachableError, match=r"broken\.example"):
        await discovery.find("broken.example", "Thing")
    assert await discovery.find("missing.example", "Thing") is None


@virtual_time
async def test_document_of_schemas_is_fetched_again_only_when_it_has_changed() -> None:
    async with serving() as (client, transport, clock):
        schemas = OpenApiSchemas(client, clock)
        first = await schemas.schema_of(WIDGET)
        assert first is not None
        assert await schemas.schema_of(WIDGET) is first
        schemas.invalidate()
        assert await schemas.schema_of(WIDGET) is first
        document = "/openapi/v3/apis/example.com/v1"
        assert transport.asked == ["/openapi/v3", document, "/openapi/v3"]
        described = definition(WIDGET)
        described["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "A widget."
        await client.merge_patch(CUSTOM_RESOURCE_DEFINITION, Key("", WIDGET.qualified_plural), described)
        await settle()
        schemas.invalidate()
        second = await schemas.schema_of(WIDGET)
        assert second is not None
        assert second["description"] == "A widget."
        assert transport.asked.count(document) == 2


@virtual_time
async def test_document_that_has_changed_since_the_index_was_read_is_read_as_it_is() -> None:
    """The server redirects whoever asks for the one before."""
    async with serving() as (client, _, clock):
        schemas = OpenApiSchemas(client, clock)
        assert await schemas.schema_of(DEPLOYMENT) is not None, "reads the index"
        described = definition(WIDGET)
        described["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "A widget."
        await client.merge_patch(CUSTOM_RESOURCE_DEFINITION, Key("", WIDGET.qualified_plural), described)
        await settle()
        found = await schemas.schema_of(WIDGET)
        assert found is not None
        assert found["description"] == "A widget."
