"""Metadata-only informers of kinds, one for each kind and watched namespace, open as long as somebody uses the kind.

await watches.use("instance a", kinds)      watch these kinds for a user, and no others
watches.set_namespaces(("one", "two"))      watch these namespaces from now on; empty for all
watches.leave("instance a")                 kinds that nobody else uses are no longer watched
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass

from edgekeeper.controllers.composition.instance_plan import KIND_NOT_PERMITTED, KIND_NOT_SERVED
from edgekeeper.kube.informers import Informer, Informers
from edgekeeper.kube.kinds import Kind
from edgekeeper.kube.store import Change, IndexValues, Store, SyncState
from edgekeeper.runtime.watches import EVERYWHERE, watched_namespaces


class KindWatches:
    """The informers of the kinds that are in use, with one label selector."""

    def __init__(self, informers: Informers, namespaces: tuple[str, ...], selector: str) -> None:
        self._informers = informers
        self._namespaces = namespaces
        """Where the process may look; empty for everywhere."""
        self._selector = selector
        self._indexes: dict[str, IndexValues] = {}
        self._watches: dict[Kind, dict[str, _Watch]] = {}
        """By the namespace that each watches; empty for all."""
        self._used: dict[Hashable, frozenset[Kind]] = {}
        self._users: Counter[Kind] = Counter()
        self._progress = asyncio.Event()
        """Set, and replaced, when the state of a store or the set of informers changes."""
        self.on_change: Callable[[Kind, Change], None] | None = None
        self.on_state: Callable[[Kind], None] | None = None
        self.on_closed: Callable[[Kind], None] | None = None
        """Called when a kind is no longer watched."""

    def __contains__(self, kind: Kind) -> bool:
        return kind in self._watches

    def __iter__(self) -> Iterator[Kind]:
        return iter(tuple(self._watches))

    def add_index(self, name: str, values: IndexValues) -> None:
        """Index the objects of all kinds that are watched from now on."""
        self._indexes[name] = values

    # Who uses what

    async def use(self, user: Hashable, kinds: Iterable[Kind]) -> None:
        """Let a user have these kinds, and no others. Return when they are listed, or known not to be listable."""
        wanted = frozenset(kinds)
        before = self._used.get(user, frozenset())
        if wanted != before:
            self._used[user] = wanted
            self._users.update(wanted - before)
            for kind in _ordered(wanted - self._watches.keys()):
                self._watches[kind] = {}
                self._adjust(kind)
            self._give_up(before - wanted)
        for kind in _ordered(wanted):
            while any(store.state is SyncState.PENDING for store in self.stores(kind)):
                await self._progress.wait()

    def leave(self, user: Hashable) -> None:
        """A user needs no kind any more."""
        self._give_up(self._used.pop(user, frozenset()))

    def _give_up(self, kinds: Iterable[Kind]) -> None:
        self._users.subtract(kinds)
        for kind in _ordered(kinds):
            if not self._users[kind]:
                del self._users[kind]
                self._close(kind)

    def _close(self, kind: Kind) -> None:
        for watch in self._watches.pop(kind).values():
            self._release(watch)
        if self.on_closed is not None:
            self.on_closed(kind)

    def close(self) -> None:
        """Watch nothing any more."""
        self._used.clear()
        self._users.clear()
        for kind in self:
            self._close(kind)

    # Where

    def set_namespaces(self, namespaces: tuple[str, ...]) -> None:
        """Watch these namespaces from now on; empty for all."""
        self._namespaces = namespaces
        for kind in self:
            self._adjust(kind)

    def places(self, kind: Kind) -> tuple[str, ...]:
        """The namespaces in which a kind is watched; one that is empty stands for all."""
        return tuple(self._watches[kind])

    def covers(self, kind: Kind, namespace: str) -> bool:
        """Whether objects of a kind are watched in a namespace."""
        return not {EVERYWHERE, namespace}.isdisjoint(watched_namespaces(kind, self._namespaces))

    def _adjust(self, kind: Kind) -> None:
        """Acquire informers that are missing, and release those that are no longer needed."""
        watches, wanted = self._watches[kind], watched_namespaces(kind, self._namespaces)
        for place in watches.keys() - set(wanted):
            self._release(watches.pop(place))
        for place in wanted:
            if place not in watches:
                watches[place] = self._acquire(kind, place)
        self._advance()

    def _acquire(self, kind: Kind, place: str) -> _Watch:
        informer = self._informers.acquire(kind, namespace=place, labels=self._selector, metadata_only=True)
        for name, values in self._indexes.items():
            informer.store.add_index(name, values)
        changes = informer.subscribe(lambda change: self._changed(kind, change))
        state = informer.subscribe_state(lambda: self._state_changed(kind))
        return _Watch(informer, (changes, state))

    def _release(self, watch: _Watch) -> None:
        for stop in watch.stops:
            stop()
        self._informers.release(watch.informer)
        self._advance()

    # What is known

    def stores(self, kind: Kind) -> list[Store]:
        return [watch.informer.store for watch in self._watches[kind].values()]

    def store(self, kind: Kind, namespace: str) -> Store | None:
        """The store of the objects of a namespace; None if nobody looks there."""
        watches = self._watches[kind]
        watch = watches.get(EVERYWHERE) or watches.get(namespace)
        return watch.informer.store if watch is not None else None

    def obstacle(self, kind: Kind) -> tuple[str, str] | None:
        """The reason and the message, if objects of a kind cannot be known."""
        states = {store.state for store in self.stores(kind)}
        if states == {SyncState.SYNCED}:
            return None
        if SyncState.NOT_SERVED in states:
            return KIND_NOT_SERVED, f"the API server does not serve {kind.qualified_plural}"
        rule = f'apiGroups: ["{kind.group}"], resources: ["{kind.plural}"], verbs: ["*"]'
        return KIND_NOT_PERMITTED, f"{kind.qualified_plural} may not be listed: grant {{{rule}}}"

    def _changed(self, kind: Kind, change: Change) -> None:
        if self.on_change is not None:
            self.on_change(kind, change)

    def _state_changed(self, kind: Kind) -> None:
        self._advance()
        if self.on_state is not None:
            self.on_state(kind)

    def _advance(self) -> None:
        self._progress.set()
        self._progress = asyncio.Event()


def _ordered(kinds: Iterable[Kind]) -> list[Kind]:
    """Kinds in the same order in every process."""
    return sorted(kinds, key=lambda kind: (kind.group, kind.plural, kind.version))


@dataclass(frozen=True, slots=True)
class _Watch:
    informer: Informer
    stops: tuple[Callable[[], None], ...]
