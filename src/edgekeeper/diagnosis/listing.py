"""Lists and watches objects of several kinds, as rows.

    request = ListRequest("dt,routes", ("shop",), namespace="edge")
    rows = await list_rows(client, modules, request)
    async for rows in watch_rows(client, clock, modules, request): …

A watch follows all chosen kinds, and kinds of compositions that are defined meanwhile. Nothing is polled.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import msgspec

from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from edgekeeper.diagnosis.catalog import (
    ALL,
    Catalog,
    KnownKind,
    UnknownKindError,
    composed_kind,
    read_catalog,
)
from edgekeeper.diagnosis.reading import ClusterReader
from edgekeeper.diagnosis.rows import Row, row_of
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.informers import Informer, Informers
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import Change
from edgekeeper.lifecycle.module import KindModule

DELETED = "Deleted"
"""The reason of a row about an object that is gone."""


class NotServedError(Exception):
    """The cluster does not serve a kind that was asked for."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(f"the cluster does not serve {kind.qualified_plural}")
        self.kind = kind


class DeniedError(Exception):
    """RBAC does not allow listing a kind that was asked for."""


@dataclass(frozen=True, slots=True)
class ListRequest:
    """Which objects to list."""

    kinds: str = "all"
    """Names of kinds, separated by commas."""
    names: tuple[str, ...] = ()
    """Empty for all objects."""
    namespace: str = ""
    """Empty for all namespaces."""
    not_ready: bool = False
    """Whether to leave out objects that are ready."""

    @property
    def is_explicit(self) -> bool:
        """Whether kinds were named."""
        return not any(name in ALL for name in self.kinds.split(","))

    def shows(self, row: Row) -> bool:
        is_named = not self.names or row.key.name in self.names
        return is_named and not (self.not_ready and row.ready)


@dataclass(frozen=True)
class Listed:
    """Objects, and what could not be listed."""

    rows: list[Row]
    denials: dict[str, str]


async def list_rows(client: KubeClient, modules: Iterable[KindModule], request: ListRequest) -> Listed:
    """The objects, sorted by namespace, kind and name.

    Raise UnknownKindError for names of kinds that are none, NotServedError and DeniedError for kinds that were named and
    cannot be listed. Other kinds that cannot be listed are left out.
    """
    reader = ClusterReader(client)
    catalog = await read_catalog(modules, reader)
    rows: list[Row] = []
    for known in catalog.find(request.kinds):
        namespace = request.namespace if known.kind.namespaced else ""
        found = await reader.select(known.kind, namespace)
        rows += [row_of(obj, known) for obj in found if known.shows(obj)]
        _confirm(reader, known, request)
    chosen = [row for row in rows if request.shows(row)]
    return Listed(sorted(chosen, key=lambda row: row.sorted_by), reader.denials)


def _confirm(reader: ClusterReader, known: KnownKind, request: ListRequest) -> None:
    if not request.is_explicit:
        return
    if known.kind in reader.unserved:
        raise NotServedError(known.kind)
    namespace = request.namespace if known.kind.namespaced else ""
    if (message := reader.denial(known.kind, namespace)) is not None:
        raise DeniedError(message)


async def watch_rows(
    client: KubeClient, clock: Clock, modules: Sequence[KindModule], request: ListRequest
) -> AsyncGenerator[list[Row], None]:
    """The objects that there are, sorted, and then each change that is visible in a row, until the caller stops."""
    catalog = await read_catalog(modules, ClusterReader(client))
    catalog.find(request.kinds)
    watching = _Watching(client, clock, catalog, request)
    async with aclosing(watching.rows()) as told:
        async for rows in told:
            yield rows


class _Watching:
    """The informers of all chosen kinds, and the rows that were told."""

    def __init__(self, client: KubeClient, clock: Clock, catalog: Catalog, request: ListRequest) -> None:
        self._informers = Informers(client, clock)
        self._catalog = catalog
        self._request = request
        self._queue: asyncio.Queue[Row] = asyncio.Queue()
        self._told: dict[tuple[Kind, Key], Row] = {}
        self._followed: set[Kind] = set()

    async def rows(self) -> AsyncGenerator[list[Row], None]:
        for known in self._catalog.find(self._request.kinds):
            self._follow(known)
        definitions = self._informers.acquire(DEFINITION_KIND)
        definitions.subscribe(self._defined)
        await self._informers.start()
        try:
            await self._informers.wait_settled()
            yield sorted(self._taken(), key=lambda row: row.sorted_by)
            while True:
                yield [await self._queue.get()]
        finally:
            await self._informers.stop()

    def _taken(self) -> list[Row]:
        """What was told so far, and is not taken yet."""
        return [self._queue.get_nowait() for _ in range(self._queue.qsize())]

    def _follow(self, known: KnownKind) -> None:
        if known.kind in self._followed:
            return
        self._followed.add(known.kind)
        namespace = self._request.namespace if known.kind.namespaced else ""
        informer: Informer = self._informers.acquire(known.kind, namespace=namespace)
        informer.subscribe(self._teller(known))

    def _defined(self, change: Change) -> None:
        """Follow a kind that a new definition defines, if it was asked for."""
        known = composed_kind(msgspec.json.decode(change.new)) if change.new is not None else None
        if known is None or known.kind in self._followed:
            return
        try:
            chosen = Catalog((known,)).find(self._request.kinds)
        except UnknownKindError:
            return
        for one in chosen:
            self._follow(one)

    def _teller(self, known: KnownKind) -> Callable[[Change], None]:
        def told(change: Change) -> None:
            before = self._told.pop((known.kind, change.key), None)
            row = self._row(known, change, before)
            if row is not None and row.reason != DELETED:
                self._told[known.kind, change.key] = row
            if row is not None and row != before:
                self._queue.put_nowait(row)

        return told

    def _row(self, known: KnownKind, change: Change, before: Row | None) -> Row | None:
        """What to tell about a change; None for an object that is not shown, and was not."""
        obj: JsonObject | None = msgspec.json.decode(change.new) if change.new is not None else None
        if obj is not None and known.shows(obj):
            row = row_of(obj, known)
            if self._request.shows(row) or before is not None:
                return row
            return None
        return (
            None if before is None else replace(before, ready=False, reason=DELETED, waits_for="", until=None)
        )
