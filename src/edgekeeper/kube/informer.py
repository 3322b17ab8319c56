"""The informer of one kind and selection: a store, and subscriptions to its changes. `kube.informers` shares them."""

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
    """The store of one kind and selection, with handlers that are called for its changes."""

    def __init__(self, kind: Kind, selection: Selection) -> None:
        self.kind = kind
        self.selection = selection
        self.store = Store(kind)
        self.store.on_state = self._notify_state
        self._handlers: dict[object, Handler] = {}
        self._state_handlers: dict[object, Callable[[], None]] = {}
        self._watcher: Watcher | None = None

    @property
    def statistics(self) -> Statistics:
        return self._watcher.statistics if self._watcher is not None else Statistics()

    @property
    def stale_since(self) -> float | None:
        """Since when, by the monotonic clock, the store may be out of date; None while a watch is open."""
        return self._watcher.health.stale_since if self._watcher is not None else None

    @property
    def trouble(self) -> str:
        """The text of the last error, while the store may be out of date because of it; else empty."""
        return self._watcher.health.trouble if self._watcher is not None else ""

    @property
    def is_denied(self) -> bool:
        """Whether the last error was a missing permission (403)."""
        return self._watcher is not None and self._watcher.health.is_denied

    @property
    def is_served(self) -> bool:
        """Whether the server serves the kind, as far as is known."""
        return self._watcher is None or self._watcher.health.is_served

    @property
    def blocked(self) -> SyncState | None:
        """Why the kind cannot be listed: it is not served, or forbidden. None if neither is the case so far."""
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
        """Call `handler` for every stored object, and for every change from now on, until the result is called."""
        token = object()
        self._handlers[token] = handler
        for key, raw in self.store.snapshot():
            self._call(handler, Change(key, None, raw, initial=True))

        def unsubscribe() -> None:
            self._handlers.pop(token, None)

        return unsubscribe

    def wake(self) -> None:
        """End the pause of the watch after a failure, for example because the definition was just created."""
        if self._watcher is not None:
            self._watcher.wake()

    def watched_by(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def deliver(self, change: Change) -> None:
        """Call all handlers. They may subscribe and unsubscribe handlers, themselves included, meanwhile."""
        for token, handler in list(self._handlers.items()):
            if token in self._handlers:
                self._call(handler, change)

    def _notify_state(self) -> None:
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
