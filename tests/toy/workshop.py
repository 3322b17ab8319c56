"""A service outside the cluster that builds items: slow, picky, and with a memory of everything that was asked of it.

    create   ──► BUILDING ──(build time)──► ACTIVE
    update   ──► BUILDING ──(build time)──► ACTIVE     only of the version that was read, as with an ETag
    delete   ──► DELETING ──(build time)──► gone       only of the version that was read

Names are unique. Items carry tags, by which their owner knows them again. Some colours are refused, with a message that
quotes the caller's credential, as careless services do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import TAG_PREFIX

BUILD_TIME = timedelta(seconds=20)
REFUSED_COLOURS = frozenset({"octarine", "grue"})
ROLE = f"{TAG_PREFIX}role"


class State(StrEnum):
    """How far an item is."""

    BUILDING = "building"
    ACTIVE = "active"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True)
class Item:
    """One item as the workshop describes it."""

    name: str
    colour: str
    tags: Mapping[str, str]
    version: int
    state: State


class WorkshopError(Exception):
    """The workshop says no."""


class ItemExistsError(WorkshopError):
    """The name is taken."""


class NoSuchItemError(WorkshopError):
    """There is no item of that name."""


class VersionError(WorkshopError):
    """The item is not of that version any more."""


class RefusedError(WorkshopError):
    """What is asked for can never be."""


@dataclass(slots=True)
class _Stored:
    item: Item
    until: float
    """When the present state ends; ACTIVE lasts."""


class Workshop:
    """The service itself. Time passes by the clock alone: nothing runs here."""

    def __init__(self, clock: Clock, build_time: timedelta = BUILD_TIME) -> None:
        self._clock = clock
        self._build_time = build_time.total_seconds()
        self._items: dict[str, _Stored] = {}
        self._created: Counter[tuple[str, str]] = Counter()
        self.creates: Counter[str] = Counter()
        self.deletes: Counter[str] = Counter()
        self.journal: list[str] = []
        """Everything that took effect, in order: `create default-one-wheel`."""

    # What clients may ask

    def describe(self, name: str) -> Item | None:
        self._let_time_pass(name)
        stored = self._items.get(name)
        return None if stored is None else stored.item

    def create(self, name: str, colour: str, tags: Mapping[str, str], credential: str) -> None:
        self._let_time_pass(name)
        _confirm_colour(colour, credential)
        if name in self._items:
            raise ItemExistsError(f"{name} exists already")
        self._store(Item(name, colour, dict(tags), 1, State.BUILDING))
        self.creates[name] += 1
        self._created[name, tags.get(f"{TAG_PREFIX}uid", "")] += 1
        self.journal.append(f"create {name}")

    def update(self, name: str, colour: str, version: int, credential: str) -> None:
        item = self._current(name, version)
        _confirm_colour(colour, credential)
        self._store(replace(item, colour=colour, version=version + 1, state=State.BUILDING))
        self.journal.append(f"update {name}")

    def delete(self, name: str, version: int) -> None:
        item = self._current(name, version)
        self._store(replace(item, version=version + 1, state=State.DELETING))
        self.deletes[name] += 1
        self.journal.append(f"delete {name}")

    # What happens behind the operator's back

    def vandalise(self, name: str, colour: str) -> None:
        """Somebody repaints an item."""
        item = self._items[name].item
        self._items[name].item = replace(item, colour=colour, version=item.version + 1)

    def steal(self, name: str) -> None:
        """Somebody takes an item away."""
        del self._items[name]

    def squat(self, name: str, tags: Mapping[str, str]) -> None:
        """Somebody else has an item of this name already."""
        self._items[name] = _Stored(Item(name, "black", dict(tags), 1, State.ACTIVE), 0.0)

    # What the harness looks at

    @property
    def writes(self) -> int:
        return len(self.journal)

    def state(self) -> JsonObject:
        """What there is, in words that do not differ from run to run."""
        self._let_time_pass(*self._items)
        return {name: _comparable(stored.item) for name, stored in sorted(self._items.items())}

    def tally(self) -> dict[str, tuple[int, int]]:
        """How often each item was created and deleted."""
        return {name: (self.creates[name], self.deletes[name]) for name in {**self.creates, **self.deletes}}

    def repeated(self) -> list[str]:
        """What was created more than once for one owner."""
        return [name for (name, _), count in self._created.items() if count > 1]

    def owners(self) -> dict[str, tuple[str, str]]:
        """Of every item that bears a mark, the uid of its owner and what it is to it."""
        self._let_time_pass(*self._items)
        items = {name: stored.item for name, stored in self._items.items() if stored.item.tags}
        return {name: (one.tags[f"{TAG_PREFIX}uid"], one.tags[ROLE]) for name, one in items.items()}

    # Inside

    def _current(self, name: str, version: int) -> Item:
        item = self.describe(name)
        if item is None:
            raise NoSuchItemError(f"there is no {name}")
        if item.version != version:
            raise VersionError(f"{name} is of version {item.version}, not {version}")
        return item

    def _store(self, item: Item) -> None:
        self._items[item.name] = _Stored(item, self._clock.monotonic() + self._build_time)

    def _let_time_pass(self, *names: str) -> None:
        """Bring items up to date before anybody looks at them."""
        now = self._clock.monotonic()
        for name in names:
            stored = self._items.get(name)
            if stored is None or stored.until > now:
                continue
            if stored.item.state is State.BUILDING:
                stored.item = replace(stored.item, state=State.ACTIVE)
            elif stored.item.state is State.DELETING:
                del self._items[name]


def _confirm_colour(colour: str, credential: str) -> None:
    if colour in REFUSED_COLOURS:
        raise RefusedError(f"no such colour: {colour} (Authorization: Bearer {credential})")


def _comparable(item: Item) -> JsonObject:
    tags = {name: value for name, value in item.tags.items() if name != f"{TAG_PREFIX}uid"}
    return {"colour": item.colour, "state": item.state.value, "tags": tags}
