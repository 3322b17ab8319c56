"""Shared informers: one watch and one store for each kind and selection, used by all controllers.

    informers = Informers(client, clock)
    widgets = informers.acquire(WIDGET)              # any number of times; one watch, one store
    stop = widgets.subscribe(lambda change: queue.add(change.key))
    await informers.start()
    await informers.wait_synced()
    …
    stop()
    informers.release(widgets)                       # the last one ends the watch

Kinds can be acquired and released while running, as CustomResourceDefinitions are created and deleted.

A kind that the server does not serve, or that may not be listed, is retried with backoff, and at once when its
definition changes, if definitions may be watched; while they show that it has none, every ten minutes. That is logged
once for each kind and namespace, and once more when the kind can be listed. Meanwhile its store is not synced, which is
not the same as having no objects (`kube.store`).

Guarantees
    - There is one watch for each kind and selection (namespace, labels, fields), however many users it has.
    - A handler is called for every change, in the order of the changes, after the store contains it. An exception of a
      handler is logged, and affects neither the store nor other handlers.
    - A handler that subscribes late first gets all stored objects, as `initial` changes.

Handlers run within the watch and must not block: they should only add keys to queues.
"""

from __future__ import annotations

import asyncio
import random as shared_random
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from random import Random

from edgekeeper.core.clock import Clock
from edgekeeper.kube.awaited import AwaitedKinds
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.informer import Handler, Informer
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.ledger import Ledger
from edgekeeper.kube.requests import Selection
from edgekeeper.kube.watch import Watcher, WatchOptions

__all__ = ["Handler", "Informer", "Informers"]


class _Shared:
    """An informer, its number of users, and the task of its watch."""

    def __init__(self, informer: Informer) -> None:
        self.informer = informer
        self.users = 0
        self.task: asyncio.Task[None] | None = None


class Informers:
    """All informers of a process."""

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        *,
        page_size: int = 500,
        idle_timeout: timedelta = timedelta(seconds=75),
        initial_events: bool = False,
        random: Random | None = None,
    ) -> None:
        self.remedies: Mapping[str, str] = {}
        """What to do for kinds that are not served, by group: the log names it."""
        self._client = client
        self._clock = clock
        self._options = WatchOptions(
            page_size=page_size, idle_timeout=idle_timeout, initial_events=initial_events
        )
        # Derived from the global generator, so that seeding it makes all pauses reproducible.
        self._random = random or Random(shared_random.getrandbits(64))
        self._shared: dict[tuple[Kind, Selection], _Shared] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._running = False
        self._awaited = AwaitedKinds(self)

    def __iter__(self) -> Iterator[Informer]:
        return iter([shared.informer for shared in self._shared.values()])

    def acquire(
        self,
        kind: Kind,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> Informer:
        """The informer of a selection. It watches from now on, or from `start` on. Release it after use."""
        selection = Selection(namespace, labels, fields, metadata_only)
        shared = self._shared.get((kind, selection))
        if shared is None:
            shared = self._shared[kind, selection] = _Shared(Informer(kind, selection))
            if self._running:
                self._watch(shared)
        shared.users += 1
        return shared.informer

    def acquire_object(self, kind: Kind, key: Key, *, metadata_only: bool = False) -> Informer:
        """An informer for one object: that of its namespace or of all namespaces if synced, else one for its name.

        The one for its name needs only the permission to list and watch that object (`resourceNames` of RBAC).
        """
        for namespace in dict.fromkeys(("", key.namespace)):
            shared = self._shared.get((kind, Selection(namespace, metadata_only=metadata_only)))
            if shared is not None and shared.informer.store.synced:
                return self.acquire(kind, namespace=namespace, metadata_only=metadata_only)
        fields = f"metadata.name={key.name}"
        return self.acquire(kind, namespace=key.namespace, fields=fields, metadata_only=metadata_only)

    def release(self, informer: Informer) -> None:
        """Release an informer. With its last user the watch ends, and its store is no longer updated."""
        shared = self._shared.get((informer.kind, informer.selection))
        if shared is None or shared.informer is not informer:
            raise ValueError(f"the informer of {informer.kind.qualified_plural} is released already")
        shared.users -= 1
        if shared.users == 0:
            del self._shared[informer.kind, informer.selection]
            self._end(shared)
            self._awaited.released(informer.kind)

    async def start(self) -> None:
        """Start the watches of all acquired informers."""
        if self._running:
            return
        self._running = True
        for shared in self._shared.values():
            self._watch(shared)

    async def stop(self) -> None:
        """End all watches. Stores stay readable as they are."""
        self._running = False
        for shared in self._shared.values():
            self._end(shared)
        while self._ending:
            await asyncio.wait(self._ending)

    async def wait_synced(self) -> None:
        """Wait until all stores are synced."""
        for informer in self:
            await informer.wait_synced()

    async def wait_settled(self) -> None:
        """Wait until every store is synced, or its kind turns out not to be served, or not to be listable."""
        for informer in self:
            await informer.wait_settled()

    def _watch(self, shared: _Shared) -> None:
        informer = shared.informer
        watcher = Watcher(
            self._client,
            Ledger(informer.store, informer.deliver),
            informer.selection,
            self._clock,
            Random(self._random.getrandbits(64)),
            self._options,
        )
        watcher.on_health = partial(self._awaited.note, informer)
        watcher.has_no_definition = partial(self._awaited.has_no_definition, informer.kind)
        informer.watched_by(watcher)
        shared.task = asyncio.create_task(watcher.run(), name=f"watch {informer.kind.qualified_plural}")

    def _end(self, shared: _Shared) -> None:
        task, shared.task = shared.task, None
        # A watch does not end by itself. If one did, cancelling it would hide its exception from the event loop.
        if task is not None and not task.done():
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.cancel()
