"""What a controller watches: an informer for each source, namespace and name, which may change while it works.

A namespace that is left out from now on takes its objects along without a word: no change is delivered that a reconciler
could take for a deletion. One that comes in delivers its objects as they are found, as at the start.
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
    """Where a source looks; empty for every namespace, and for every name."""

    namespace: str = EVERYWHERE
    name: str = ""


class Watcher(Protocol):
    """Who is told of what is watched: the controller."""

    def changed(self, source: Source, change: Change) -> None:
        """An object that a source looks at has changed."""

    def watches_changed(self) -> None:
        """Other informers are watched now. Those that are new have not been subscribed to yet."""

    def state_changed(self) -> None:
        """The objects of some informer have become known, or unknown."""


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
        """By the identity of the source: two of them may be equal, and each is told for itself."""
        self._is_running = False

    def __iter__(self) -> Iterator[Informer]:
        return iter([watch.informer for watch in self._watches.values()])

    def of(self, source: Source) -> dict[Place, Informer]:
        """The informers of one source."""
        return {
            place: watch.informer for (known, place), watch in self._watches.items() if known == id(source)
        }

    def start(self) -> None:
        """Watch from now on. Everybody is subscribed once all are acquired, since handlers may look at any store."""
        self._is_running = True
        self._adjust()

    def stop(self) -> None:
        """Watch nothing any more."""
        self._is_running = False
        self._adjust()

    def add(self, source: Source) -> None:
        """Watch one more source."""
        self._sources[id(source)] = source
        self._adjust()

    def remove(self, source: Source) -> None:
        """Stop watching a source. Raise ValueError for one that is not watched."""
        if self._sources.pop(id(source), None) is None:
            raise ValueError(f"the source of {source.kind.qualified_plural} is not watched")
        self._adjust()

    def set_namespaces(self, namespaces: tuple[str, ...]) -> None:
        """Look at these namespaces from now on; empty for all. Sources with namespaces of their own stay there."""
        self._namespaces = namespaces
        self._adjust()

    def _adjust(self) -> None:
        """Acquire what is wanted and missing, release what is there and not wanted."""
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
        for known, source in self._sources.items():
            for place in places_of(source, self._namespaces):
                yield (known, place), source

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
    """Where a source looks, in a process that looks at these namespaces."""
    scope = scope_of(source)
    chosen = namespaces if scope.namespaces is None else scope.namespaces
    return [
        Place(namespace, name)
        for namespace in watched_namespaces(source.kind, chosen)
        for name in scope.names or ("",)
    ]


def watched_namespaces(kind: Kind, namespaces: tuple[str, ...]) -> tuple[str, ...]:
    """The namespaces in which a kind is watched. Cluster-scoped kinds are in none, so limits do not concern them."""
    return tuple(dict.fromkeys(namespaces)) if kind.namespaced and namespaces else (EVERYWHERE,)
