"""Events about objects of ours, in the order of time.

told = await list_events(client, catalog, EventRequest("edge"))
async for one in watch_events(client, clock, catalog, request): …
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from edgekeeper.core.clock import Clock, timestamp
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.diagnosis.catalog import Catalog
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import EVENT, Key, Kind
from edgekeeper.kube.store import Change

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class EventRequest:
    """Which events to show."""

    namespace: str = ""
    """Empty for all namespaces."""
    kinds: tuple[Kind, ...] = ()
    """The kinds of the objects; empty for all of ours."""
    name: str = ""
    """The object; empty for all."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One event."""

    last: datetime
    type: str
    kind: str
    key: Key
    reason: str
    message: str
    count: int

    @property
    def tree(self) -> JsonObject:
        """For programs."""
        return {
            "time": timestamp(self.last),
            "type": self.type,
            "kind": self.kind,
            **({"namespace": self.key.namespace} if self.key.namespace else {}),
            "name": self.key.name,
            "reason": self.reason,
            "message": self.message,
            "count": self.count,
        }


async def list_events(client: KubeClient, catalog: Catalog, request: EventRequest) -> list[Happening]:
    """The events that there are, the oldest first. Raise ApiError if they cannot be listed."""
    found: list[Happening] = []
    async for page in client.pages(EVENT, namespace=request.namespace):
        told = (read_event(msgspec.json.decode(raw), catalog, request) for raw in page.items)
        found += [one for one in told if one is not None]
    return sorted(found, key=lambda one: one.last)


async def watch_events(
    client: KubeClient, clock: Clock, catalog: Catalog, request: EventRequest
) -> AsyncGenerator[Happening, None]:
    """The same, and then each new event and repetition, until the caller stops."""
    queue: asyncio.Queue[Happening] = asyncio.Queue()
    informers = Informers(client, clock)
    informer = informers.acquire(EVENT, namespace=request.namespace)
    await informers.start()
    try:
        await informer.wait_settled()
        first: list[Happening] = []

        def changed(change: Change) -> None:
            obj = msgspec.json.decode(change.new) if change.new is not None else None
            told = read_event(obj, catalog, request) if obj is not None else None
            if told is not None:
                first.append(told) if change.initial else queue.put_nowait(told)

        informer.subscribe(changed)
        for one in sorted(first, key=lambda one: one.last):
            yield one
        while True:
            yield await queue.get()
    finally:
        await informers.stop()


def read_event(obj: JsonObject, catalog: Catalog, request: EventRequest) -> Happening | None:
    """An event of `events.k8s.io`; None if it is not about an object that was asked for."""
    subject = dig_object(obj, "regarding")
    api_version, kind = str(subject.get("apiVersion") or ""), str(subject.get("kind") or "")
    group, slash, version = api_version.rpartition("/")
    known = catalog.of(Kind(group if slash else "", version, kind, ""))
    if known is None or (request.kinds and known.kind not in request.kinds):
        return None
    key = Key(str(subject.get("namespace") or ""), str(subject.get("name") or ""))
    if request.name and key.name != request.name:
        return None
    count = dig(obj, "series", "count") or obj.get("deprecatedCount") or 1
    return Happening(
        _last(obj),
        str(obj.get("type") or ""),
        kind,
        key,
        str(obj.get("reason") or ""),
        str(obj.get("note") or ""),
        count if isinstance(count, int) else 1,
    )


def _last(obj: JsonObject) -> datetime:
    """When it happened last. Events of older clients have timestamps of their own."""
    moments: tuple[Any, ...] = (
        dig(obj, "series", "lastObservedTime"),
        obj.get("deprecatedLastTimestamp"),
        obj.get("eventTime"),
        dig(obj, "metadata", "creationTimestamp"),
    )
    for moment in moments:
        if isinstance(moment, str):
            return datetime.fromisoformat(moment)
    return _BEGINNING
