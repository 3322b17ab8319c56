"""Planes to test with, objects to fill them with, and a way to wait that does not sleep."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.request import Request, Response

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NAMESPACES = "/api/v1/namespaces"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
PATIENCE = 10.0
"""How long `until` waits, in seconds, before it gives up."""


@dataclass
class Clock:
    """A time of day that stands still unless told otherwise."""

    moment: datetime = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


QUIET = PlaneConfig(simulators=frozenset(), gateway_api=False, seed=7, now=Clock())
"""A plane that does only what it is told, the same way every time."""


@asynccontextmanager
async def running(**changes: Any) -> AsyncIterator[Plane]:
    """A quiet plane, as far as `changes` do not say otherwise."""
    async with Plane(replace(QUIET, **{"now": Clock(), **changes})) as plane:
        yield plane


def config_map(name: str, **data: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def owned(tree: JsonObject, *owners: JsonObject, block: bool = False) -> JsonObject:
    """The same object, with owners."""
    references = [_reference(owner, block=block) for owner in owners]
    return {**tree, "metadata": {**tree["metadata"], "ownerReferences": references}}


def _reference(owner: JsonObject, *, block: bool) -> JsonObject:
    metadata = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    return {**reference, "blockOwnerDeletion": True} if block else reference


def definition(plural: str = "widgets", kind: str = "Widget", **spec: Any) -> JsonObject:
    """A definition of a custom resource with one version, a status and a little schema."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version("v1")],
            **spec,
        },
    }


def version(name: str, *, served: bool = True, storage: bool = True, **more: Any) -> JsonObject:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"size": {"type": "integer"}, "replicas": {"type": "integer"}},
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    return {
        "name": name,
        "served": served,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        **more,
    }


def widget(name: str, **spec: Any) -> JsonObject:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


async def define(plane: Plane, tree: JsonObject | None = None) -> JsonObject:
    """Create a definition and wait until it is in service."""
    created = await plane.client.create(DEFINITIONS, tree or definition())
    await plane.settle()
    return await plane.client.get(f"{DEFINITIONS}/{created['metadata']['name']}")


async def exists(plane: Plane, target: str) -> bool:
    credentials = f"Bearer {plane.admin_token}"
    response = await plane.handle(Request.of("GET", target, authorization=credentials))
    assert response.status in (200, 404), response.body
    return response.status == 200


async def take(response: Response, count: int) -> list[JsonObject]:
    """The first events of a watch, which is then left."""
    assert isinstance(response.stream, AsyncGenerator), response.body
    events: list[JsonObject] = []
    async with asyncio.timeout(PATIENCE), aclosing(response.stream) as stream:
        async for chunk in stream:
            events += map(msgspec.json.decode, chunk.splitlines())
            if len(events) >= count:
                break
    return events


async def until(holds: Callable[[], bool]) -> None:
    """Let everybody else go on until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0)


def names(tree: JsonObject) -> list[str]:
    """The names in a list."""
    return [item["metadata"]["name"] for item in tree["items"]]
