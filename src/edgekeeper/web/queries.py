"""Lists of objects: filtered, searched, sorted and paged by the server. Pure.

A search is a list of words, all of which must occur in the kind, name, namespace, hostnames, reason or message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec

from edgekeeper.web.directory import Listed
from edgekeeper.web.rows import RANKS, ObjectRow, State

PAGE_SIZE: Final = 50
LARGEST_PAGE: Final = 200
LONGEST_SEARCH: Final = 200

E = TypeVar("E", bound=StrEnum)


class QueryError(ValueError):
    """A parameter is not valid. The message names it, and what it may be."""


class Sort(StrEnum):
    """The order of a list."""

    PROBLEMS = "problems"
    NAME = "name"
    KIND = "kind"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Which objects are asked for."""

    search: tuple[str, ...] = ()
    kind: str = ""
    namespace: str = ""
    state: State | None = None
    sort: Sort = Sort.PROBLEMS
    page: int = 1
    size: int = PAGE_SIZE

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> ListQuery:
        """Read the parameters of a request. Raise QueryError."""
        text = given.get("q", "")
        if len(text) > LONGEST_SEARCH:
            raise QueryError(f"q: at most {LONGEST_SEARCH} characters")
        return cls(
            tuple(text.lower().split()),
            given.get("kind", ""),
            given.get("namespace", ""),
            _choice("state", given.get("state", ""), State),
            _choice("sort", given.get("sort", ""), Sort) or Sort.PROBLEMS,
            _number("page", given.get("page", "1"), 1_000_000),
            _number("size", given.get("size", str(PAGE_SIZE)), LARGEST_PAGE),
        )

    def matches(self, listed: Listed) -> bool:
        """Whether an object is asked for, whatever its state."""
        row = listed.row
        if self.kind and row.kind != self.kind:
            return False
        if self.namespace and row.namespace != self.namespace:
            return False
        return all(word in listed.text for word in self.search)


class ObjectPage(msgspec.Struct, frozen=True):
    """One page of a list."""

    items: list[ObjectRow]
    total: int
    page: int
    pages: int
    states: dict[str, int]
    """How many there are of each state, before the list is limited to one."""
    kinds: dict[str, int]
    """How many objects there are of each kind, whatever was asked for."""


def list_objects(listed: Collection[Listed], query: ListQuery) -> ObjectPage:
    """The page that was asked for: the last one if there are fewer."""
    found = [one.row for one in listed if query.matches(one)]
    states = Counter(row.state for row in found)
    if query.state is not None:
        found = [row for row in found if row.state is query.state]
    found.sort(key=_ORDERS[query.sort])
    if query.sort is Sort.NEWEST:
        found.sort(key=lambda row: row.created, reverse=True)
    pages = max(1, -(-len(found) // query.size))
    page = min(query.page, pages)
    items = found[(page - 1) * query.size : page * query.size]
    return ObjectPage(items, len(found), page, pages, _counted(states), count_kinds(listed))


def count_kinds(listed: Iterable[Listed]) -> dict[str, int]:
    counts = Counter(one.row.kind for one in listed)
    return dict(sorted(counts.items()))


def _counted(states: Mapping[State, int]) -> dict[str, int]:
    return {str(state): states[state] for state in State if states.get(state)}


_ORDERS: Final[Mapping[Sort, Callable[[ObjectRow], Any]]] = {
    Sort.PROBLEMS: lambda row: (RANKS[row.state], row.kind, row.namespace, row.name),
    Sort.NAME: lambda row: (row.name, row.namespace, row.kind),
    Sort.KIND: lambda row: (row.kind, row.namespace, row.name),
    Sort.NEWEST: lambda row: (row.namespace, row.name, row.kind),
}


def _choice(name: str, text: str, choices: type[E]) -> E | None:
    if not text:
        return None
    try:
        return choices(text)
    except ValueError as error:
        raise QueryError(f"{name}: one of {', '.join(choices)}") from error


def _number(name: str, text: str, largest: int) -> int:
    if not (
        text.isascii() and text.isdigit() and len(text) <= len(str(largest)) and 1 <= int(text) <= largest
    ):
        raise QueryError(f"{name}: a number from 1 to {largest}")
    return int(text)
