"""The first page: how many objects there are in which state, what needs somebody, budgets, and what is watched."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from edgekeeper.cloud.budget import LaneFigures
from edgekeeper.core.redaction import redact_text
from edgekeeper.kube.informers import Informer
from edgekeeper.kube.store import SyncState
from edgekeeper.web.directory import Directory, Listed
from edgekeeper.web.journal import Entry
from edgekeeper.web.rows import RANKS, ObjectRow, State

MOST_PROBLEMS: Final = 20
MOST_ENTRIES: Final = 15


class KindCount(msgspec.Struct, frozen=True):
    """How many objects of a kind there are in each state."""

    kind: str
    total: int
    states: dict[str, int]


class BudgetView(msgspec.Struct, frozen=True, rename="camel"):
    """How much of a rate limit is used. Times are in seconds."""

    credential: str
    lane: str
    rate: float
    burst: int
    available: float
    waiting: int
    expected_wait: float
    paused_for: float
    calls: int
    mean_wait: float


class WatchView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A kind that cannot be watched, or whose cache may be out of date."""

    kind: str
    namespace: str
    state: str
    trouble: str = ""


class Overview(msgspec.Struct, frozen=True):
    """The first page."""

    total: int
    states: dict[str, int]
    kinds: list[KindCount]
    problems: list[ObjectRow]
    budgets: list[BudgetView]
    watches: list[WatchView]
    changes: list[Entry]


def count_by_kind(listed: Iterable[Listed]) -> list[KindCount]:
    """By kind, and within it by state, the worst first."""
    counts: defaultdict[str, Counter[State]] = defaultdict(Counter)
    for one in listed:
        counts[one.row.kind][one.row.state] += 1
    return [
        KindCount(kind, states.total(), {str(state): states[state] for state in State if states[state]})
        for kind, states in sorted(counts.items())
    ]


def worst_rows(listed: Collection[Listed]) -> list[ObjectRow]:
    """Objects that are not ready, those first that need somebody."""
    rows = [one.row for one in listed if one.row.state not in (State.READY, State.PAUSED)]
    rows.sort(key=lambda row: (RANKS[row.state], row.since, row.kind, row.namespace, row.name))
    return rows[:MOST_PROBLEMS]


def budget_views(figures: Mapping[tuple[str, str], LaneFigures]) -> list[BudgetView]:
    """By credential and lane, those first in which calls wait."""
    views = [
        BudgetView(
            redact_text(credential),
            lane,
            one.rate,
            one.burst,
            round(one.available, 1),
            one.waiting,
            round(one.expected_wait, 2),
            round(one.paused_for, 2),
            one.admitted,
            round(one.waited / one.admitted, 3) if one.admitted else 0.0,
        )
        for (credential, lane), one in figures.items()
    ]
    return sorted(views, key=lambda view: (-view.expected_wait, view.credential, view.lane))


def watch_views(informers: Iterable[Informer]) -> list[WatchView]:
    """What is not, or may not be, up to date."""
    return [
        WatchView(
            one.kind.qualified_plural,
            one.selection.namespace,
            one.store.state.value,
            redact_text(one.trouble),
        )
        for one in informers
        if one.store.state is not SyncState.SYNCED or one.stale_since is not None
    ]


def counted_states(directory: Directory) -> dict[str, int]:
    counts = Counter(one.row.state for one in directory.listed)
    return {str(state): counts[state] for state in State if counts[state]}
