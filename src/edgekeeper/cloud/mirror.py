"""A local copy of a remote collection: an informer for clouds that offer no watch.

    mirror = Mirror("tenants of E1ABC", list_tenants, clock, metrics, in_progress=lambda t: t.status == "InProgress")
    mirror.subscribe(lambda key, old, new: controller.wake(owner_of(new or old)))
    group.create_task(mirror.run())
    …
    mirror.get("shop")                      None: there is none, since the collection was listed completely
    mirror.put("shop", created)             after an own write, so that the next pass sees it

*Expected flow*
 1. `run` lists, applies the listing as a whole, and notifies subscribers of what changed.
 2. It rests: `options.fast` while anything is in progress or in doubt, `options.slow` otherwise, less some jitter; longer
    where a listing takes long, shortly after `poke`, and with growing pauses while listings fail (`cloud.pace`).

*Guarantees*
 - An object that was not listed yet is never treated as absent. Until the first complete listing `get` raises
   `NotSyncedError`; a listing that fails half-way changes nothing.
 - An own write is not undone by a listing that began before it, or within `options.settling` after it (eventual
   consistency).
 - Mass disappearance requires confirmation (the brake): if more than `max(5, 10 %)` of the objects are missing they are
   kept, counted as doubted, until their absence is confirmed: by a read of each if there is `confirm`, else by a second
   complete listing. If a read finds its object, the listing is discarded.
 - Subscribers are notified of a key only when its version has changed, also by own writes. One that raises does not
   disturb the others.

*Assumptions*
 - The lister ends normally only after the last page, and raises in every other case.
"""

from __future__ import annotations

import asyncio
import random as shared_random
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any, Generic, TypeAlias, TypeVar

from edgekeeper.cloud.call_context import sweeping
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror_state import Change, MirrorState
from edgekeeper.cloud.pace import Pace, PaceOptions
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Cause, PassError, Wait, fresh
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Page: TypeAlias = Mapping[K, V]
"""Some objects of the collection, by key."""
Lister: TypeAlias = Callable[[], AsyncIterator[Page[K, V]]]
"""Yields all objects of the collection, page by page, or raises."""
Confirm: TypeAlias = Callable[[K], Awaitable[V | None]]
"""Reads one object live. None: it is gone."""
Handler: TypeAlias = Callable[[K, V | None, V | None], None]
"""Called with a key, the old and the new object. It wakes the objects concerned, and does nothing else."""


class NotSyncedError(Wait):
    """The collection was not listed completely yet."""

    def __init__(self, name: str, problem: PassError | None = None) -> None:
        """`problem` is why the last listing failed, where it did."""
        why = f": {problem.message}" if problem is not None else ""
        super().__init__(timedelta(seconds=5), "MirrorNotSynced", f"{name}: not listed completely yet{why}")
        self.unavailable = (problem.unavailable if problem is not None else None) or Cause.UNLISTED


@dataclass(frozen=True, slots=True)
class MirrorOptions(PaceOptions):
    """How often a mirror lists, and when a listing needs confirmation."""

    settling: timedelta = timedelta(seconds=10)
    """How long reads may return the state before an own write."""
    brake_count: int = 5
    brake_share: float = 0.1
    """The brake applies if more than this many objects, and more than this share of all, are missing."""

    def is_mass(self, missing: int, total: int) -> bool:
        return missing > max(self.brake_count, self.brake_share * total)


DEFAULT_OPTIONS = MirrorOptions()


def _never(_: object) -> bool:
    return False


def _content(value: object) -> object:
    return value


class Mirror(Generic[K, V]):
    """Keeps the copy and notifies subscribers."""

    def __init__(  # noqa: PLR0913 - four things that it needs, the rest by name
        self,
        name: str,
        lister: Lister[K, V],
        clock: Clock,
        metrics: CloudMetrics,
        *,
        options: MirrorOptions = DEFAULT_OPTIONS,
        in_progress: Callable[[V], bool] = _never,
        version: Callable[[V], object] = _content,
        confirm: Confirm[K, V] | None = None,
        random: Random | None = None,
    ) -> None:
        """`version` is what must differ for a change to be one, such as an ETag: the whole value by default."""
        self.name = name
        self._problem: PassError | None = None
        self._lister = lister
        self._clock = clock
        self._metrics = metrics
        self._options = options
        self._confirm = confirm
        self._state: MirrorState[K, V] = MirrorState(version, in_progress)
        self._handlers: list[Handler[K, V]] = []
        self._doubted: frozenset[K] = frozenset()
        self._synced = asyncio.Event()
        self._tried = asyncio.Event()
        self._as_of = clock.monotonic()
        self._listing = asyncio.Lock()
        self._pace = Pace(options, random or Random(shared_random.getrandbits(64)))

    # Reading

    @property
    def synced(self) -> bool:
        """Whether there was a complete listing."""
        return self._synced.is_set()

    @property
    def problem(self) -> PassError | None:
        """Why the last listing failed; None if it succeeded. A copy, which may be raised."""
        return None if self._problem is None else fresh(self._problem)

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def wait_listed(self) -> None:
        """Wait for the end of the first attempt to list, whether it was a success or not."""
        await self._tried.wait()

    def get(self, key: K) -> V | None:
        """The object, or None where there is none. Raise NotSyncedError before the first complete listing."""
        return self._known().get(key)

    def items(self) -> list[tuple[K, V]]:
        """All objects. Raise NotSyncedError before the first complete listing."""
        return list(self._known().items())

    @property
    def count(self) -> int:
        """How many objects there are."""
        return len(self._state.objects)

    @property
    def doubted(self) -> frozenset[K]:
        """Keys that are missing from the last listing, and kept because too many were missing at once."""
        return self._doubted

    @property
    def age(self) -> timedelta:
        """The time since the start of the last complete listing, or since the creation of the mirror."""
        return timedelta(seconds=self._clock.monotonic() - self._as_of)

    def _known(self) -> dict[K, V]:
        if not self.synced:
            raise NotSyncedError(self.name, self.problem)
        return self._state.objects

    # Following

    def subscribe(self, handler: Handler[K, V]) -> Callable[[], None]:
        """Call `handler` for every change from now on. Returns a function that ends the subscription."""
        self._handlers.append(handler)
        return lambda: self._handlers.remove(handler)

    # Writing through

    def put(self, key: K, value: V) -> None:
        """Record an own write: the object as it is now."""
        self._wrote(key, value)

    def remove(self, key: K) -> None:
        """Record that an object is gone, by an own deletion or a live read."""
        self._wrote(key, None)

    def hasten(self) -> None:
        """Choose the next interval as if an object were in progress, although the mirror has none."""
        self._pace.hasten()

    def poke(self) -> None:
        """List soon: something is expected to have changed."""
        self._pace.poke()

    def _wrote(self, key: K, value: V | None) -> None:
        self._notify(self._state.write(key, value, self._clock.monotonic()))
        self._doubted -= {key}
        self._set_pace()

    # Listing

    async def run(self) -> None:
        """Keep the copy fresh until cancelled."""
        self._metrics.watch_mirror(self.name, self)
        try:
            while True:
                await self._try_to_refresh()
                await self._pace.rest()
        finally:
            self._metrics.forget_mirror(self.name, self)

    async def refresh(self) -> None:
        """List once and apply the listing. Raise what the lister raises; then nothing has changed."""
        async with self._listing:
            with sweeping():
                await self._refresh()

    async def _try_to_refresh(self) -> None:
        before = self._problem
        try:
            await self.refresh()
        except PassError as error:
            # Once for each reason. That a cloud cannot be used at all is logged once, by the transport.
            is_new = (before is None or before.reason != error.reason) and error.unavailable is None
            write = log.warning if is_new else log.debug
            write("Mirror cannot be refreshed", mirror=self.name, reason=error.reason, error=error.message)
            self._pace.failed(error.after if isinstance(error, Wait) else timedelta(0))
        except Exception:
            # A bug in the lister must not end the mirror: all objects that depend on it would wait without end.
            log.exception("Mirror cannot be refreshed", mirror=self.name)
            self._pace.failed(timedelta(0))
        finally:
            self._tried.set()

    async def _refresh(self) -> None:
        began = self._clock.monotonic()
        self._pace.began()
        try:
            listed = {key: value async for page in self._lister() for key, value in page.items()}
        except Exception as error:
            self._problem = fresh(error) if isinstance(error, PassError) else None
            self._metrics.count_listing(self.name, "failed")
            raise
        self._problem = None
        self._pace.ended()
        await self._take_in(listed, began)
        self._set_pace()

    async def _take_in(self, listed: Page[K, V], began: float) -> None:
        as_of = self._shown_at(began)
        missing = self._state.missing(listed, as_of)
        is_mass = self._options.is_mass(len(missing), self.count)
        changes = self._state.take_in(listed, as_of)
        self._as_of = began
        self._synced.set()
        self._notify(changes)
        self._metrics.count_listing(self.name, "doubted" if is_mass else "complete")
        if is_mass:
            await self._doubt(missing, as_of)
        else:
            self._doubted = frozenset()
            self._notify(self._state.drop(missing, as_of))

    async def _doubt(self, missing: list[K], as_of: float) -> None:
        """Keep the missing objects until it is confirmed that they are gone."""
        total = self.count
        log.warning(
            "Listing lacks too many objects: waiting for confirmation",
            mirror=self.name,
            missing=len(missing),
            of=total,
        )
        before, self._doubted = self._doubted, frozenset(missing)
        if self._confirm is None:
            # The second listing in a row that lacks them confirms it.
            self._settle([key for key in missing if key in before], as_of)
            return
        for key in missing:
            as_of = self._shown_at(self._clock.monotonic())
            if await self._confirm(key) is not None:
                log.error(
                    "Listing is incomplete: an object that it lacks exists",
                    mirror=self.name,
                    key=str(key),
                )
                return
            self._settle([key], as_of)

    def _shown_at(self, asked: float) -> float:
        """A response to a request sent at `asked` includes everything that was written before this moment."""
        return asked - self._options.settling.total_seconds()

    def _settle(self, gone: list[K], as_of: float) -> None:
        self._doubted -= set(gone)
        self._notify(self._state.drop(gone, as_of))

    def _notify(self, changes: list[Change[K, V]]) -> None:
        for change in changes:
            for handler in list(self._handlers):
                try:
                    handler(*change)
                except Exception:
                    log.exception("A subscriber of a mirror failed", mirror=self.name, key=str(change.key))

    def _set_pace(self) -> None:
        self._pace.set_busy(bool(self._state.unfinished or self._doubted))


async def wait_listed(mirrors: Iterable[Mirror[Any, Any]], limit: timedelta) -> None:
    """Wait for the first attempts to list, whether they were a success or not, at most for `limit`."""
    waiting = [asyncio.create_task(mirror.wait_listed()) for mirror in mirrors]
    try:
        await asyncio.wait(waiting, timeout=limit.total_seconds())
    finally:
        for task in waiting:
            task.cancel()
