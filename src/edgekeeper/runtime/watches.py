"""The watches of a controller: an informer for each source, namespace and name, which may change while it runs.

When a namespace is removed, its objects are no longer visible, but no deletions are delivered for them. When one is
added, its objects are delivered as at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from edgekeeper.kube.informers import Informer, Informers
from edgekeeper.kube.kinds import Kind
from edgekeeper.kube.store import Change
from edgekeeper.runtime.sources import Source, scope_of

EVERYWHERE = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace and a name that a source watches; each empty for all."""

    namespace: str = EVERYWHERE
    name: str = ""


class Watcher(Protocol):
    """Receives the changes of all watches: the controller."""

    def changed(self, source: Source, change: Change) -> None:
        """An object that a source watches has changed."""

    def watches_changed(self) -> None:
        """The set of informers has changed. New ones are not subscribed to yet."""

    def state_changed(self) -> None:
        """The sync state of an informer has changed."""


@dataclass(slots=True)
class _Watch:
    informer: Informer
    stops: tuple[Callable[[], None], ...] = ()


class Watches:
    """The informers of one controller, from `start` to `stop`."""

    def __init__(self, informers: Informers, namespaces: tuple[str, ...], watcher: Watcher) -> None:
        self._informers = informers
        self._watcher = watcher
        self._namespaces = namespaces
        self._sources: dict[int, Source] = {}
        self._watches: dict[tuple[int, Place], _Watch] = {}
        """By the `id` of the source: equal sources are watched separately."""
        self._is_running = False

    def __iter__(self) -> Iterator[Informer]:
        return iter([watch.informer for watch in self._watches.values()])

    def of(self, source: Source) -> dict[Place, Informer]:
        """The informers of one source."""
        return {
            place: watch.informer
            for (source_id, place), watch in self._watches.items()
            if source_id == id(source)
        }

    def start(self) -> None:
        """Start watching. Handlers are subscribed after all informers are acquired, because they may read any store."""
        self._is_running = True
        self._adjust()

    def stop(self) -> None:
        """Stop watching."""
        self._is_running = False
        self._adjust()

    def add(self, source: Source) -> None:
        """Watch another source."""
        self._sources[id(source)] = source
        self._adjust()

    def remove(self, source: Source) -> None:
        """Stop watching a source. Raise ValueError for one that is not watched."""
        if self._sources.pop(id(source), None) is None:
            raise ValueError(f"the source of {source.kind.qualified_plural} is not watched")
        self._adjust()

    def set_namespaces(self, namespaces: tuple[str, ...]) -> None:
        """Watch these namespaces from now on; empty for all. Sources with namespaces of their own are not affected."""
        self._namespaces = namespaces
        self._adjust()

    def _adjust(self) -> None:
        """Acquire informers that are missing, and release those that are no longer needed."""
        wanted = dict(self._wanted()) if self._is_running else {}
        missing = [at for at in wanted if at not in self._watches]
        spare = [at for at in self._watches if at not in wanted]
        for at in missing:
            self._watches[at] = _Watch(self._acquire(wanted[at], at[1]))
        for at in spare:
            self._release(self._watches.pop(at))
        if not missing and not spare:
            return
        self._watcher.watches_changed()
        for at in missing:
            self._subscribe(wanted[at], self._watches[at])

    def _wanted(self) -> Iterable[tuple[tuple[int, Place], Source]]:
        for source_id, source in self._sources.items():
            for place in places_of(source, self._namespaces):
                yield (source_id, place), source

    def _acquire(self, source: Source, place: Place) -> Informer:
        return self._informers.acquire(
            source.kind,
            namespace=place.namespace,
            labels=source.labels,
            fields=f"metadata.name={place.name}" if place.name else "",
            metadata_only=scope_of(source).metadata_only,
        )

    def _subscribe(self, source: Source, watch: _Watch) -> None:
        state = watch.informer.subscribe_state(self._watcher.state_changed)
        changes = watch.informer.subscribe(lambda change: self._watcher.changed(source, change))
        watch.stops = (state, changes)

    def _release(self, watch: _Watch) -> None:
        for stop in watch.stops:
            stop()
        self._informers.release(watch.informer)


def places_of(source: Source, namespaces: tuple[str, ...]) -> list[Place]:
    """What a source watches, in a process that watches these namespaces."""
    scope = scope_of(source)
    chosen = namespaces if scope.namespaces is None else scope.namespaces
    if chosen:
        chosen = (*chosen, *scope.also)
    return [
        Place(namespace, name)
        for namespace in watched_namespaces(source.kind, chosen)
        for name in scope.names or ("",)
    ]


def watched_namespaces(kind: Kind, namespaces: tuple[str, ...]) -> tuple[str, ...]:
    """The namespaces in which a kind is watched. Limits do not apply to cluster-scoped kinds."""
    return tuple(dict.fromkeys(namespaces)) if kind.namespaced and namespaces else (EVERYWHERE,)
