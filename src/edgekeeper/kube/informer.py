"""The objects of a kind, within one selection, and the news of them: what `kube.informers` shares."""

from __future__ import annotations

from collections.abc import Callable

from edgekeeper.core.log import get_logger
from edgekeeper.kube.kinds import Kind
from edgekeeper.kube.requests import Selection
from edgekeeper.kube.store import Change, Store, SyncState
from edgekeeper.kube.watch import Statistics, Watcher

log = get_logger(__name__)

Handler = Callable[[Change], None]


class Informer:
    """The objects of a kind, within one selection, and the news of them."""

    def __init__(self, kind: Kind, selection: Selection) -> None:
        self.kind = kind
        self.selection = selection
        self.store = Store(kind)
        self.store.on_state = self._tell_state
        self._handlers: dict[object, Handler] = {}
        self._state_handlers: dict[object, Callable[[], None]] = {}
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

    @property
    def blocked(self) -> SyncState | None:
        """Why the server does not let us list the kind: it is not served, or forbidden. None where neither is known."""
        if not self.is_served:
            return SyncState.NOT_SERVED
        return SyncState.FORBIDDEN if self.is_denied else None

    async def wait_synced(self) -> None:
        await self.store.wait_synced()

    async def wait_settled(self) -> None:
        """Wait until the store is synced, or the kind is known to be blocked."""
        await self.store.wait_settled()

    def subscribe_state(self, handler: Callable[[], None]) -> Callable[[], None]:
        """Call `handler` whenever the state of the store changes, until the result is called."""
        token = object()
        self._state_handlers[token] = handler

        def unsubscribe() -> None:
            self._state_handlers.pop(token, None)

        return unsubscribe

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

    def _tell_state(self) -> None:
        for token, handler in list(self._state_handlers.items()):
            if token in self._state_handlers:
                handler()

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
