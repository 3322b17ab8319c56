"""The loop at the heart of it all: take a key, look at how things are, do one thing, write it down, come back.

A key that is taken from the queue gets a pass (`passes` tells of what happens in one), unless its object is gone, or
the store is behind what we wrote or were told: then the key waits for the store, without holding a worker.

How passes end, and what follows:

    ending                   queue                             result          also counted as
    ───────────────────────  ────────────────────────────────  ──────────────  ────────────────────────
    Outcome                  forget; resync, much later        success
    Outcome, requeue_after   forget; again after that          requeue_after
    Wait(after)              again after that                  requeue_after
    Stall(after)             again after that, minutes         requeue_after   terminal error
    Conflict                 backoff; waits for the store      requeue
    Retry                    backoff                           error           error
    any other exception      backoff                           error           error and panic
    deadline exceeded        backoff                           error           error
    cancelled                nothing: the process is ending

Backoff is reset by a returned Outcome and by nothing else. Whatever the ending, a change of the object brings it back
at once, so a corrected spec never waits for the mistake in the old one. That a cloud cannot be used (`unavailable`) is
logged once by whoever calls it; the passes that meet it are logged at the level of debugging only.

Guarantees
    - Never two passes of one key at once; at most one write of the object per pass; none that changes nothing.
    - A pass of one object cannot stop another's: not by raising, not by hanging, not by failing for ever.
    - Our own status write causes no pass.
    - Nothing is concluded from a store that is not synced. Work begins when the objects of the controller's own kind are
      known, in one of its namespaces at least, and of every other kind that it watches are known or known not to be had
      (not served, or forbidden): whoever reads those is told so by NotSyncedError.
    - Namespaces, sources and the resync interval may change while passes run. What is watched no longer is forgotten;
      it does not count as deleted.
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
from edgekeeper.core.json import dig
from edgekeeper.core.log import get_logger
from edgekeeper.core.outcome import Outcome
from edgekeeper.kube.informers import Informer
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.store import Change, NotSyncedError, SyncState
from edgekeeper.runtime.contract import (
    ControllerMetrics,
    ControllerOptions,
    Explaining,
    Finalizing,
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
    """Keeps the objects of one kind as they should be."""

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
        """Whether workers have begun: from then on there may be passes to wait for."""
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
        """What the controller watches, its own kind first; empty while it is detached."""
        return tuple(self._watches)

    @property
    def is_warm(self) -> bool:
        """Whether the stores know enough to begin. See the module."""
        own = self._watches.of(self._primary).values()
        return any(informer.store.synced for informer in own) and all(
            informer.store.state is not SyncState.PENDING for informer in self._watches
        )

    # Life: attach, run, shut down, detach

    def attach(self) -> None:
        """Watch what concerns us. From here on changes are queued; nobody works on them before `run`."""
        for objects in self._named:
            objects.on_change(self._wake_user)
        self._watches.start()

    def detach(self) -> None:
        """Watch nothing any more."""
        self._watches.stop()
        for objects in self._named:
            objects.close()
            objects.on_change(None)

    # What may change while it works

    def add_source(self, source: Source) -> None:
        """Watch one more kind, or another part of one, from now on."""
        self._watches.add(source)

    def remove_source(self, source: Source) -> None:
        """Watch a source no longer. Raise ValueError for one that is not watched."""
        self._watches.remove(source)

    def use(self, objects: NamedObjects) -> None:
        """Give passes to the users of these objects when they change, and let go of what deleted objects referred to."""
        self._named.append(objects)
        objects.on_change(self._wake_user)

    def set_namespaces(self, namespaces: tuple[str, ...]) -> None:
        """Look at these namespaces from now on; empty for all. Objects elsewhere are left as they are."""
        self._watches.set_namespaces(namespaces)

    def set_resync(self, interval: timedelta) -> None:
        """Look at objects that need nothing that often, at the latest, from now on."""
        is_shorter, self._resync = interval < self._resync, interval
        if is_shorter:
            for key in self._view.keys():  # noqa: SIM118 - a view is no dict
                self.queue.add(key, priority=Priority.RESYNC, after=self._resync_pause())

    def informers_changed(self) -> None:
        """For controllers that look into stores themselves: `informers` are others now."""

    async def run(self) -> None:
        """Wait until the stores are warm, then work until `shut_down`; cancelling cuts passes short."""
        while not self.is_warm:
            self._can_change.clear()
            await self._can_change.wait()
        self.is_working = True
        async with asyncio.TaskGroup() as workers:
            for number in range(self.options.max_concurrent):
                workers.create_task(self._work(), name=f"{self.options.name}-{number}")

    def shut_down(self) -> None:
        """Start no further pass. `run` returns when those that are running have ended."""
        self.queue.shut_down()

    # Where work comes from

    def wake(self, key: Key, *, priority: Priority = Priority.WAKE, after: timedelta = AT_ONCE) -> None:
        """Ask for a pass: something outside Kubernetes that concerns the object has changed, or will have."""
        self.queue.add(key, priority=priority, after=after)

    def changed(self, source: Source, change: Change) -> None:
        """An object that a source looks at has changed."""
        is_primary = source is self._primary
        if is_primary and self._outdated.caught_up(change.key):
            self.queue.add(change.key, priority=Priority.WAKE)
        usual = Priority.USER if is_primary else Priority.WAKE
        for key in self._concerned(source, change):
            self.queue.add(key, priority=Priority.START if change.initial else usual)

    def watches_changed(self) -> None:
        """Other informers than before are watched."""
        own = self._watches.of(self._primary)
        if self._view.cover({place: informer.store for place, informer in own.items()}):
            self._outdated.clear()
        self.informers_changed()
        self.state_changed()

    def state_changed(self) -> None:
        """The objects of an informer are known now, or unknown."""
        own = self._watches.of(self._primary).values()
        if not all(informer.store.synced for informer in own):
            self._outdated.clear()
        self._can_change.set()

    def _wake_user(self, user: Key) -> None:
        self.wake(user)

    def _concerned(self, source: Source, change: Change) -> Sequence[Key]:
        try:
            return tuple(source.concerned(change))
        except Exception:  # noqa: BLE001 - an odd object must not end the watch that everybody depends on
            self._metrics.panicked()
            _log.exception(
                "Cannot tell whom a change concerns", source=source.kind.kind, subject=str(change.key)
            )
            return ()

    # Passes

    async def _work(self) -> None:
        """One worker: pass after pass, until the queue has nothing more to give."""
        while True:
            try:
                key = await self.queue.get()
            except ShutDownError:
                return
            try:
                await self._visit(key)
            finally:
                self.queue.done(key)
            await asyncio.sleep(0)  # passes that never wait would keep everybody else waiting

    async def _visit(self, key: Key) -> None:
        """A pass, if there is an object, and the store is not behind what we know of it."""
        try:
            left = self._outdated.wait_for(key)
            raw = self._view.raw(key)
        except NotSyncedError:
            self.queue.forget(key)  # once its objects are known, each is queued as at the start
            return
        if left is not None:
            self.queue.add(key, priority=Priority.RETRY, after=left)
        elif raw is None:
            self._forget(key)
        else:
            await self._pass(self._request(key, raw))

    def _forget(self, key: Key) -> None:
        """The object is gone, or does not concern us any more."""
        self.queue.forget(key)
        for objects in self._named:
            objects.forget(key)

    def _request(self, key: Key, raw: bytes) -> Request:
        return Request(key, raw, _decode(raw), f"{self._services.random.getrandbits(64):016x}")

    async def _pass(self, request: Request) -> None:
        started = self._services.clock.monotonic()
        result: Result | None = None
        self._metrics.pass_started()
        try:
            with self._about(request):
                result = self._conclude(request.key, await self._passes.run(request))
        finally:
            self._metrics.pass_ended(result, self._services.clock.monotonic() - started)

    def _about(self, request: Request) -> AbstractContextManager[None]:
        """What every line that is logged within the pass tells, whoever logs it."""
        options = self.options
        return about(
            level=self._log_level(request),
            controller=options.name,
            kind=options.kind.kind,
            namespace=request.key.namespace,
            name=request.key.name,
            generation=request.generation,
            reconcile_id=request.reconcile_id,
        )

    def _log_level(self, request: Request) -> str | None:
        """What the reconciler says, else what the object says."""
        if isinstance(self._reconciler, LogLevels):
            try:
                level = self._reconciler.log_level(request)
            except Exception:  # noqa: BLE001 - how a pass is logged must not decide whether there is one
                self._metrics.panicked()
                _log.exception("Cannot tell the log level of an object", subject=str(request.key))
                level = None
            if level is not None:
                return level
        level = dig(request.object, *self.options.log_level) if self.options.log_level else None
        return level if isinstance(level, str) else None

    def _conclude(self, key: Key, ending: Ending) -> Result:
        """The table of the module: what a pass means for the queue, the metrics and the log."""
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
                tell = _log.info if ending.unavailable is None else _log.debug
                tell(
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
                tell = _log.error if ending.unavailable is None else _log.debug
                tell(FAILED, reason=ending.reason, why=ending.message, after=format_duration(pause))
                return Result.ERROR

    def _resync_pause(self) -> timedelta:
        return spread(self._resync, self.options.resync_jitter, self._services.random)


def _log_completed(outcome: Outcome) -> None:
    """A line for people where something was written or done; one for the curious where nothing was."""
    if outcome.write is None and not outcome.details:
        _log.debug(COMPLETED)
    else:
        _log.info(COMPLETED, **outcome.details)
