"""Stores that keep themselves up to date, shared by whoever needs them.

    informers = Informers(client, clock)
    widgets = informers.acquire(WIDGET)              # any number of times; one watch, one store
    stop = widgets.subscribe(lambda change: queue.add(change.key))
    await informers.start()
    await informers.wait_synced()
    …
    stop()
    informers.release(widgets)                       # the last one ends the watch

Kinds can be acquired and released while running, as definitions of custom resources come and go; one that the server
does not serve yet is waited for.

Guarantees
    - There is one watch for each kind and selection (namespace, labels, fields), however many users it has.
    - A handler is called for every change, in the order of the changes, after the store shows it. What it raises is
      logged, and concerns neither the store nor the other handlers.
    - A handler that subscribes late is first told every object that is there, as `initial` changes.

Handlers run within the watch and must not block: they put keys into queues, and nothing else.
"""

from __future__ import annotations

import asyncio
import random as shared_random
from collections.abc import Callable, Iterator
from datetime import timedelta
from random import Random

from edgekeeper.core.clock import Clock
from edgekeeper.core.log import get_logger
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import Kind
from edgekeeper.kube.ledger import Ledger
from edgekeeper.kube.requests import Selection
from edgekeeper.kube.store import Change, Store
from edgekeeper.kube.watch import Statistics, Watcher, WatchOptions

log = get_logger(__name__)

Handler = Callable[[Change], None]


class Informer:
    """The objects of a kind, within one selection, and the news of them."""

    def __init__(self, kind: Kind, selection: Selection) -> None:
        self.kind = kind
        self.selection = selection
        self.store = Store(kind)
        self._handlers: dict[object, Handler] = {}
        self._watcher: Watcher | None = None

    @property
    def statistics(self) -> Statistics:
        return self._watcher.statistics if self._watcher is not None else Statistics()

    @property
    def stale_since(self) -> float | None:
        """Since when, by the monotonic clock, the store may be out of date; None while it follows the server."""
        return self._watcher.health.stale_since if self._watcher is not None else None

    @property
    def trouble(self) -> str:
        """What keeps the store from following the server, in words; empty where nothing does."""
        return self._watcher.health.trouble if self._watcher is not None else ""

    @property
    def is_denied(self) -> bool:
        """Whether it is our rights that keep the store from following the server."""
        return self._watcher is not None and self._watcher.health.is_denied

    @property
    def is_served(self) -> bool:
        """Whether the server serves the kind, as far as is known."""
        return self._watcher is None or self._watcher.health.is_served

    async def wait_synced(self) -> None:
        await self.store.wait_synced()

    def subscribe(self, handler: Handler) -> Callable[[], None]:
        """Call `handler` for every object that is there, and for every change from now on, until the result is called."""
        token = object()
        self._handlers[token] = handler
        for key, raw in self.store.snapshot():
            self._call(handler, Change(key, None, raw, initial=True))

        def unsubscribe() -> None:
            self._handlers.pop(token, None)

        return unsubscribe

    def wake(self) -> None:
        """Try again at once, where the watch pauses after a failure: the definition has just appeared, say."""
        if self._watcher is not None:
            self._watcher.wake()

    def watched_by(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def deliver(self, change: Change) -> None:
        """Tell everybody. Handlers may subscribe and unsubscribe others, and themselves, meanwhile."""
        for token, handler in list(self._handlers.items()):
            if token in self._handlers:
                self._call(handler, change)

    def _call(self, handler: Handler, change: Change) -> None:
        try:
            handler(change)
        except Exception:
            log.exception(
                "handler of changes failed",
                resource=self.kind.qualified_plural,
                namespace=change.key.namespace,
                name=change.key.name,
            )


class _Shared:
    """An informer, how many use it, and the task of its watch."""

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
        silence: timedelta = timedelta(seconds=75),
        initial_events: bool = False,
        random: Random | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._options = WatchOptions(page_size=page_size, silence=silence, initial_events=initial_events)
        # From the module's generator, so that seeding that one makes every pause of a run repeatable.
        self._random = random or Random(shared_random.getrandbits(64))
        self._shared: dict[tuple[Kind, Selection], _Shared] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._running = False

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
        """The informer of a selection, which is watched from now on, or from `start` on. Release it after use."""
        selection = Selection(namespace, labels, fields, metadata_only)
        shared = self._shared.get((kind, selection))
        if shared is None:
            shared = self._shared[kind, selection] = _Shared(Informer(kind, selection))
            if self._running:
                self._watch(shared)
        shared.users += 1
        return shared.informer

    def release(self, informer: Informer) -> None:
        """Give an informer back. After the last user its watch ends, and its store is no longer kept up to date."""
        shared = self._shared.get((informer.kind, informer.selection))
        if shared is None or shared.informer is not informer:
            raise ValueError(f"the informer of {informer.kind.qualified_plural} is released already")
        shared.users -= 1
        if shared.users == 0:
            del self._shared[informer.kind, informer.selection]
            self._end(shared)

    async def start(self) -> None:
        """Start to watch what is acquired."""
        if self._running:
            return
        self._running = True
        for shared in self._shared.values():
            self._watch(shared)

    async def stop(self) -> None:
        """End every watch. Stores stay readable as they are."""
        self._running = False
        for shared in self._shared.values():
            self._end(shared)
        while self._ending:
            await asyncio.wait(self._ending)

    async def wait_synced(self) -> None:
        """Wait until every store has its first list. Kinds that are not served are synced, and empty."""
        for informer in self:
            await informer.wait_synced()

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
        informer.watched_by(watcher)
        shared.task = asyncio.create_task(watcher.run(), name=f"watch {informer.kind.qualified_plural}")

    def _end(self, shared: _Shared) -> None:
        task, shared.task = shared.task, None
        # A watch does not end by itself. Where one did, cancelling it would hide the reason from the event loop.
        if task is not None and not task.done():
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.cancel()
