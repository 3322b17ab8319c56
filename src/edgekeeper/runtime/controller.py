"""The controller of one kind: takes keys from the queue, runs a pass for each, and requeues them by its result.

A key that is taken from the queue gets a pass (see `passes`), unless its object no longer exists, or the store is
behind our last write or a conflict that the server reported: then the key waits for the store, without holding a
worker.

How passes end, and what follows:

    ending                   queue                             result          also counted as
    ───────────────────────  ────────────────────────────────  ──────────────  ────────────────────────
    Outcome                  forget; requeue after `resync`    success
    Outcome, requeue_after   forget; requeue after that        requeue_after
    Wait(after)              requeue after that                requeue_after
    Stall(after)             requeue after that, minutes       requeue_after   terminal error
    Conflict                 backoff; waits for the store      requeue
    Retry                    backoff                           error           error
    any other exception      backoff                           error           error and panic
    deadline exceeded        backoff                           error           error
    cancelled                nothing: the process is ending

Backoff is reset by a returned Outcome and by nothing else. Whatever the ending, a change of the object queues it at
once, so a corrected spec never waits for the backoff of the old one. That a cloud cannot be used (`unavailable`) is
logged once by the code that calls it; passes that fail because of it are logged at debug level only.

Guarantees
    - Never two passes of one key at once; at most one write of the object per pass; none that changes nothing.
    - A pass of one object cannot stop another's: not by raising, not by hanging, not by failing repeatedly.
    - Our own status write causes no pass.
    - No decision is made on a store that is not synced. Workers start when the controller's own kind is synced in at
      least one of its namespaces, and every other kind that it watches is synced, not served or forbidden. Reading
      one that is not served or forbidden raises NotSyncedError.
    - Namespaces, sources and the resync interval may change while passes run. Objects that are no longer watched are
      dropped from the stores; they do not count as deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import timedelta

import msgspec

from edgekeeper.core.backoff import spread
from edgekeeper.core.duration import format_duration
from edgekeeper.core.errors import Conflict, PassError, Stall, Wait
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.log import get_logger
from edgekeeper.core.outcome import Outcome
from edgekeeper.core.tracing import Span
from edgekeeper.kube.informers import Informer
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.store import Change, NotSyncedError, SyncState
from edgekeeper.runtime.contract import (
    ControllerMetrics,
    ControllerOptions,
    Explaining,
    Finalizing,
    LogFields,
    LogLevels,
    Reconciler,
    Request,
    Result,
    RuntimeMetrics,
    Services,
)
from edgekeeper.runtime.logs import COMPLETED, FAILED, about
from edgekeeper.runtime.named_objects import NamedObjects
from edgekeeper.runtime.passes import Ending, PassRunner
from edgekeeper.runtime.queue import AT_ONCE, Priority, ShutDownError, WorkQueue
from edgekeeper.runtime.read_your_writes import OutdatedKeys, ScopedView
from edgekeeper.runtime.sources import Primary, Source
from edgekeeper.runtime.watches import Watches
from edgekeeper.runtime.writer import Writer

__all__ = [
    "Controller",
    "ControllerMetrics",
    "ControllerOptions",
    "Explaining",
    "Finalizing",
    "Reconciler",
    "Request",
    "Result",
    "RuntimeMetrics",
    "Services",
]

_log = get_logger(__name__)
_decode = msgspec.json.Decoder(dict).decode


class Controller:
    """Runs the passes of one kind: watches its objects and sources, and works through their queue."""

    def __init__(
        self,
        options: ControllerOptions,
        reconciler: Reconciler,
        services: Services,
        sources: Sequence[Source] = (),
    ) -> None:
        if options.finalizer and not isinstance(reconciler, Finalizing):
            raise TypeError(f"controller {options.name} has a finalizer, so its reconciler needs `finalize`")
        self.options = options
        self._reconciler = reconciler
        # Checked once: `isinstance` of a protocol is slow, and these are asked for in every pass.
        self._log_fielder = reconciler if isinstance(reconciler, LogFields) else None
        self._log_leveler = reconciler if isinstance(reconciler, LogLevels) else None
        self._services = services
        self._resync = options.resync
        scope = options.scope
        self._primary = Primary(options.kind, options.labels, options.generation_predicate, scope)
        self._watches = Watches(services.informers, services.namespaces, self)
        for source in (self._primary, *sources):
            self._watches.add(source)
        self._named: list[NamedObjects] = []
        self._can_change = asyncio.Event()
        """Set whenever `is_warm` may have changed."""
        self.is_working = False
        """Whether workers have started: from then on passes may be running."""
        self._metrics = services.metrics.controller(options.name, options.max_concurrent)
        self.queue = WorkQueue(options.backoff, services.random, self._metrics)
        self._view = ScopedView()
        self._outdated = OutdatedKeys(self._view)
        self._passes = PassRunner(
            options,
            reconciler,
            Writer(services.client, options.kind),
            self._outdated,
            services.recorder,
            self._metrics,
            dry_run=services.client.options.dry_run,
        )

    @property
    def informers(self) -> tuple[Informer, ...]:
        """The informers that the controller uses, that of its own kind first; empty while it is detached."""
        return tuple(self._watches)

    @property
    def is_warm(self) -> bool:
        """Whether workers may start: the own kind is synced somewhere, and no other kind is still being listed."""
        own = self._watches.of(self._primary).values()
        return any(informer.store.synced for informer in own) and all(
            informer.store.state is not SyncState.PENDING for informer in self._watches
        )

    # Lifecycle: attach, run, shut down, detach

    def attach(self) -> None:
        """Start watching. From here on changes are queued; workers start with `run`."""
        for objects in self._named:
            objects.on_change(self._wake_user)
        self._watches.start()

    def detach(self) -> None:
        """Stop watching."""
        self._watches.stop()
        for objects in self._named:
            objects.close()
            objects.on_change(None)

    # What may change while it runs

    def add_source(self, source: Source) -> None:
        """Watch another source from now on."""
        self._watches.add(source)

    def remove_source(self, source: Source) -> None:
        """Stop watching a source. Raise ValueError if it is not watched."""
        self._watches.remove(source)

    def use(self, objects: NamedObjects) -> None:
        """Queue the users of these objects when they change, and drop the references of users that are deleted."""
        self._named.append(objects)
        objects.on_change(self._wake_user)

    def set_namespaces(self, namespaces: tuple[str, ...]) -> None:
        """Watch these namespaces from now on; empty for all. Objects in others are left as they are."""
        self._watches.set_namespaces(namespaces)

    def set_resync(self, interval: timedelta) -> None:
        """Change the resync interval. A shorter one applies to objects that are already queued, too."""
        is_shorter, self._resync = interval < self._resync, interval
        if is_shorter:
            for key in self._view.keys():  # noqa: SIM118 - a view is no dict
                self.queue.add(key, priority=Priority.RESYNC, after=self._resync_pause())

    def informers_changed(self) -> None:
        """Called when `informers` has changed, for subclasses that read stores themselves. Does nothing here."""

    def forgotten(self, key: Key) -> None:
        """Called when an object no longer exists or is no longer watched, for subclasses. Does nothing here."""

    async def run(self) -> None:
        """Wait until `is_warm`, then run passes until `shut_down`. Cancelling cancels the running passes."""
        while not self.is_warm:
            self._can_change.clear()
            await self._can_change.wait()
        self.is_working = True
        async with asyncio.TaskGroup() as workers:
            for number in range(self.options.max_concurrent):
                workers.create_task(self._work(), name=f"{self.options.name}-{number}")

    def shut_down(self) -> None:
        """Start no further pass. `run` returns when the running passes have ended."""
        self.queue.shut_down()

    # Where work comes from

    def wake(self, key: Key, *, priority: Priority = Priority.WAKE, after: timedelta = AT_ONCE) -> None:
        """Queue an object because of something outside Kubernetes that has changed, or will have after `after`."""
        self.queue.add(key, priority=priority, after=after)

    def changed(self, source: Source, change: Change) -> None:
        """Queue the objects that the change of a watched object concerns."""
        is_primary = source is self._primary
        if is_primary and self._outdated.caught_up(change.key):
            self.queue.add(change.key, priority=Priority.WAKE)
        usual = Priority.USER if is_primary else Priority.WAKE
        for key in self._concerned(source, change):
            self.queue.add(key, priority=Priority.START if change.initial else usual)

    def watches_changed(self) -> None:
        """The set of informers has changed."""
        own = self._watches.of(self._primary)
        if self._view.cover({place: informer.store for place, informer in own.items()}):
            self._outdated.clear()
        self.informers_changed()
        self.state_changed()

    def state_changed(self) -> None:
        """The sync state of an informer has changed."""
        own = self._watches.of(self._primary).values()
        if not all(informer.store.synced for informer in own):
            self._outdated.clear()
        self._can_change.set()

    def _wake_user(self, user: Key) -> None:
        self.wake(user)

    def _concerned(self, source: Source, change: Change) -> Sequence[Key]:
        try:
            return tuple(source.concerned(change))
        except Exception:  # noqa: BLE001 - an unexpected object must not end the watch, which is shared
            self._metrics.panicked()
            _log.exception("Cannot map a change to objects", source=source.kind.kind, subject=str(change.key))
            return ()

    # Passes

    async def _work(self) -> None:
        """A worker: process keys until the queue is shut down."""
        while True:
            try:
                key = await self.queue.get()
            except ShutDownError:
                return
            try:
                await self._visit(key)
            finally:
                self.queue.done(key)
            await asyncio.sleep(0)  # passes that never wait would block the event loop

    async def _visit(self, key: Key) -> None:
        """Run a pass, if the object exists and the store is not behind our last write of it."""
        try:
            left = self._outdated.wait_for(key)
            raw = self._view.raw(key)
        except NotSyncedError:
            self.queue.forget(
                key
            )  # when the store is synced again, all its objects are queued as at the start
            return
        if left is not None:
            self.queue.add(key, priority=Priority.RETRY, after=left)
        elif raw is None:
            self._forget(key)
        else:
            await self._pass(self._request(key, raw))

    def _forget(self, key: Key) -> None:
        """Drop what is kept about an object that no longer exists or is no longer watched."""
        self.queue.forget(key)
        for objects in self._named:
            objects.forget(key)
        self.forgotten(key)

    def _request(self, key: Key, raw: bytes) -> Request:
        return Request(key, raw, _decode(raw), f"{self._services.random.getrandbits(64):016x}")

    async def _pass(self, request: Request) -> None:
        started = self._services.clock.monotonic()
        result: Result | None = None
        self._metrics.pass_started()
        try:
            with self._about(request), self._span(request) as span:
                result = self._conclude(request.key, await self._passes.run(request))
                span.end(result, failed=result is Result.ERROR)
        finally:
            self._metrics.pass_ended(result, self._services.clock.monotonic() - started)

    def _span(self, request: Request) -> AbstractContextManager[Span]:
        key, options = request.key, self.options
        return self._services.tracer.reconciliation(
            options.name, options.kind.kind, key.namespace, key.name, request.reconcile_id
        )

    def _about(self, request: Request) -> AbstractContextManager[None]:
        """The context in which the pass runs: adds these fields to all log lines within, and sets the level."""
        options = self.options
        return about(
            level=self._log_level(request),
            controller=options.name,
            kind=options.kind.kind,
            namespace=request.key.namespace,
            name=request.key.name,
            generation=request.generation,
            reconcile_id=request.reconcile_id,
            **self._log_fields(request),
        )

    def _log_fields(self, request: Request) -> JsonObject:
        """The fields that the options and the reconciler add. An error in them must not prevent the pass."""
        found = {name: dig(request.object, *path) for name, path in self.options.log_fields.items()}
        if self._log_fielder is not None:
            try:
                found |= self._log_fielder.log_fields(request)
            except Exception:  # noqa: BLE001 - as above
                self._metrics.panicked()
                _log.exception("Cannot determine the log fields of an object", subject=str(request.key))
        return {name: value for name, value in found.items() if value}

    def _log_level(self, request: Request) -> str | None:
        """The log level that the reconciler returns, else the one in the object, else None."""
        if self._log_leveler is not None:
            try:
                level = self._log_leveler.log_level(request)
            except Exception:  # noqa: BLE001 - an error in the log level must not prevent the pass
                self._metrics.panicked()
                _log.exception("Cannot determine the log level of an object", subject=str(request.key))
                level = None
            if level is not None:
                return level
        level = dig(request.object, *self.options.log_level) if self.options.log_level else None
        return level if isinstance(level, str) else None

    def _conclude(self, key: Key, ending: Ending) -> Result:
        """Requeue, count and log a pass by how it ended, as in the table at the top of the module."""
        match ending:
            case Outcome(requeue_after=None):
                self.queue.forget(key)
                self.queue.add(key, priority=Priority.RESYNC, after=self._resync_pause())
                _log_completed(ending)
                return Result.SUCCESS
            case Outcome(requeue_after=after):
                self.queue.forget(key)
                self.queue.add(key, priority=Priority.RETRY, after=after or AT_ONCE)
                _log_completed(ending)
                return Result.REQUEUE_AFTER
            case Conflict():
                self.queue.retry(key)
                _log.debug("Object has changed, reading it again", why=ending.message)
                return Result.REQUEUE
            case Wait(after=after):
                self.queue.add(key, priority=Priority.RETRY, after=after)
                write_log = _log.info if ending.unavailable is None else _log.debug
                write_log(
                    "Reconciliation waits",
                    reason=ending.reason,
                    why=ending.message,
                    after=format_duration(after),
                )
                return Result.REQUEUE_AFTER
            case Stall(after=after):
                self.queue.add(key, priority=Priority.RETRY, after=after)
                self._metrics.stalled()
                _log.warning("Reconciliation stalled", reason=ending.reason, why=ending.message)
                return Result.REQUEUE_AFTER
            case PassError():
                pause = self.queue.retry(key)
                self._metrics.failed()
                write_log = _log.error if ending.unavailable is None else _log.debug
                write_log(FAILED, reason=ending.reason, why=ending.message, after=format_duration(pause))
                return Result.ERROR

    def _resync_pause(self) -> timedelta:
        return spread(self._resync, self.options.resync_jitter, self._services.random)


def _log_completed(outcome: Outcome) -> None:
    """Log at info level if something was written or done, else at debug level."""
    if outcome.write is None and not outcome.details:
        _log.debug(COMPLETED)
    else:
        _log.info(COMPLETED, **outcome.details)
