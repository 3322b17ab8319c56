"""What the status page answers: views made from the directory, the journal and the budgets of the process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from edgekeeper.cloud.budget import Budget
from edgekeeper.core.json import JsonObject
from edgekeeper.diagnosis.catalog import KnownKind
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.informer import Informer
from edgekeeper.kube.kinds import HTTP_ROUTE, Key, Kind
from edgekeeper.web.consoles import Resource, resources_of, route_resources
from edgekeeper.web.details import ObjectDetail, detail_of
from edgekeeper.web.directory import Directory
from edgekeeper.web.graphs import Graphs, GraphView
from edgekeeper.web.journal import Entry, Journal
from edgekeeper.web.managers import last_person
from edgekeeper.web.overview import (
    MOST_ENTRIES,
    Overview,
    budget_views,
    count_by_kind,
    counted_states,
    watch_views,
    worst_rows,
)
from edgekeeper.web.plans import Plans, PlanView
from edgekeeper.web.queries import ListQuery, ObjectPage, QueryError, list_objects
from edgekeeper.web.route_states import state_of_route
from edgekeeper.web.rows import ANY_GROUP, NO_NAMESPACE, ObjectRow, object_id

LARGEST_TIMELINE: Final = 200
OBJECT_TIMELINE: Final = 30

Query = Mapping[str, str]


class MissingError(LookupError):
    """There is no such object or page."""


class Changes(msgspec.Struct, frozen=True):
    """Recent changes, the newest first."""

    items: list[Entry]
    more: bool = False
    """Whether there are older ones."""


class Writer(msgspec.Struct, frozen=True):
    """The client that changed an object last, and when; empty if that is not known."""

    who: str = ""
    at: str = ""


@dataclass(frozen=True)
class Found:
    """An object that is shown."""

    known: KnownKind
    key: Key
    object: JsonObject
    row: ObjectRow


def _no_pass(_: KnownKind, __: Key) -> float | None:
    return None


@dataclass(frozen=True)
class Site:
    """All pages. Each method answers one kind of request: its path below the prefix, and its parameters."""

    directory: Directory
    journal: Journal
    informers: Iterable[Informer]
    budget: Budget
    plans: Plans | None = None
    graphs: Graphs | None = None
    links: bool = True
    """Whether resources lead to the consoles of the clouds: not where these are simulated."""
    read: Callable[[Kind, Key], Awaitable[JsonObject]] | None = None
    """Reads an object from the API server, with what caches leave out. Raises ApiError."""
    next_pass: Callable[[KnownKind, Key], float | None] = field(default=_no_pass)
    """Seconds until an object is looked at again."""

    async def overview(self, _: str, __: Query) -> Overview:
        await self.directory.settled()
        listed = self.directory.listed
        return Overview(
            len(listed),
            counted_states(self.directory),
            count_by_kind(listed),
            worst_rows(listed),
            budget_views(self.budget.figures()),
            watch_views(self.informers),
            self.journal.entries(limit=MOST_ENTRIES),
        )

    async def objects(self, _: str, query: Query) -> ObjectPage:
        await self.directory.settled()
        return list_objects(self.directory.listed, ListQuery.parse(query))

    async def object(self, path: str, _: Query) -> ObjectDetail:
        await self.directory.settled()
        found = self._find(path)
        subject = (found.row.kind, found.key.namespace, found.key.name)
        detail = detail_of(
            found.object,
            found.known,
            found.row,
            self.journal.entries(subject, OBJECT_TIMELINE),
            self.journal.drift_of(subject),
            self.directory.drift_policy,
        )
        return msgspec.structs.replace(
            detail,
            resources=self._resources(found),
            next_pass=self.next_pass(found.known, found.key),
            plannable=self.plans is not None and self.plans.is_possible(found.known),
            has_graph=self.graphs is not None and self.graphs.graph_of(found.known.kind) is not None,
        )

    def _resources(self, found: Found) -> list[Resource]:
        state = state_of_route(self.informers, found.key) if found.known.kind == HTTP_ROUTE else None
        if state is not None:
            return route_resources(state, links=self.links)
        return resources_of(found.row.kind, found.object, links=self.links)

    async def writer(self, path: str, _: Query) -> Writer:
        """Who changed an object last, apart from the operator."""
        found = self._find(path)
        if self.read is None:
            return Writer()
        try:
            manager = last_person(await self.read(found.known.kind, found.key))
        except NotFoundError:
            return Writer()
        return Writer(manager.shown, manager.time) if manager is not None else Writer()

    async def changes(self, _: str, query: Query) -> Changes:
        before = query.get("before", "0")
        if not (before.isascii() and before.isdigit() and len(before) < 16):
            raise QueryError("before: the id of a change")
        found = self.journal.entries(limit=LARGEST_TIMELINE + 1, before=int(before))
        return Changes(found[:LARGEST_TIMELINE], more=len(found) > LARGEST_TIMELINE)

    async def plan(self, path: str, _: Query) -> PlanView:
        found = self._find(path)
        if self.plans is None or not self.plans.is_possible(found.known):
            raise MissingError(f"{found.known.kind.kind} has no plan")
        return await self.plans.plan(found.known, found.key)

    async def graph(self, path: str, _: Query) -> GraphView:
        graphs, found = self._graph(path)
        return await graphs.view(found.known.kind, found.key, found.object)

    async def picture(self, path: str, query: Query) -> str:
        graphs, found = self._graph(path)
        dark = query.get("theme") == "dark"
        return await graphs.picture(found.known.kind, found.key, found.object, dark=dark)

    def _graph(self, path: str) -> tuple[Graphs, Found]:
        found = self._find(path)
        if self.graphs is None or self.graphs.graph_of(found.known.kind) is None:
            raise MissingError(f"no graph of {found.known.kind.kind} is in force")
        return self.graphs, found

    def _find(self, path: str) -> Found:
        group, _, rest = path.partition("/")
        kind, _, rest = rest.partition("/")
        namespace, _, name = rest.partition("/")
        known = self.directory.known("" if group == NO_NAMESPACE else group, kind)
        if group == ANY_GROUP:
            known = self.directory.known_by_name(kind)
        key = Key("" if namespace == NO_NAMESPACE else namespace, name)
        obj = self.directory.get(known, key) if known is not None else None
        row = self.directory.row(object_id(known.kind, key)) if known is not None else None
        if known is None or obj is None or row is None:
            raise MissingError("there is no such object, or no longer")
        return Found(known, key, obj, row)
