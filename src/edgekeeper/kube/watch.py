"""List and watch of one kind, as a state machine that recovers from every error.

    state      step                          next state
    EMPTY      start a list                  LISTING
    LISTING    apply a page                  LISTING; after the last page SYNCED
    SYNCED     open a watch                  WATCHING
    WATCHING   apply a line                  WATCHING; at the end of the stream SYNCED, or EMPTY where an audit is due

    in state   error                                         next state   remarks
    any        410, by status or as an ERROR event           EMPTY        no pause, the first time
    any        404: the kind is not served                   EMPTY        a pause; the third time the store is emptied
    LISTING    anything else, a bad `continue` included      EMPTY        a pause; an incomplete list deletes nothing
    LISTING    a list older than the store                   EMPTY        a pause; accepted after two minutes of it
    SYNCED     anything else, 401, 403 and 429 included      SYNCED       a pause
    SYNCED     the server is behind us for two minutes       EMPTY        a pause
    WATCHING   broken connection                             SYNCED       a pause
    WATCHING   no line for `idle_timeout`                         SYNCED       no pause
    WATCHING   an unusable line                              SYNCED       a pause; a second one at that version: EMPTY

Guarantees
    - The first complete list makes the store synced, and it stays so. While the server cannot be reached, or refuses
      (revoked permissions, say), the store stays readable as it is and `stale_since` says since when that is.
    - A stream without a line for `idle_timeout` is closed. Bookmarks, which the server sends every minute, count as lines.
    - An interrupted watch resumes at the last resourceVersion; it lists again only if the server answers 410 for it.
    - Nothing is skipped: a line that cannot be decoded ends the stream, and the watch resumes before that line.
    - A kind that is not served is never treated as a kind without objects. It counts as not served after three 404s in
      a row, because proxies and servers that are just starting answer 404 too; then the store is emptied without
      delivering deletions, and is not synced until the kind can be listed again. The same holds for a kind that may
      not be listed and never could be.
    - Events that a server or proxy silently dropped are made up for by the next audit: a full list, about every hour,
      while the watch is healthy.

Pauses grow from 0.8 s to 30 s, with jitter, or are as long as the server asks; 120 s without an error reset them. A kind
that is not served and has no CustomResourceDefinition is listed every ten minutes, and when its definition is created.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from random import Random

from edgekeeper.core.backoff import spread
from edgekeeper.core.clock import Clock
from edgekeeper.core.log import get_logger
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import (
    ApiError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    UnreachableError,
)
from edgekeeper.kube.health import DEFAULT_HEALTH_OPTIONS, Health, HealthOptions, is_behind
from edgekeeper.kube.ledger import Ledger, StaleViewError
from edgekeeper.kube.lines import Bookmark, Deletion, Failure, Line, Upsert
from edgekeeper.kube.pages import Page
from edgekeeper.kube.raw import MalformedObjectError
from edgekeeper.kube.requests import Selection
from edgekeeper.kube.stream import IdleTimeoutError, ShortStreamError, Stream

log = get_logger(__name__)

_EXPECTED = (ApiError, MalformedObjectError, StaleViewError, IdleTimeoutError, ShortStreamError)
"""Errors of servers and networks. Any other exception is a bug in edgekeeper; it is logged and the watch goes on."""

_CONNECTION_ERRORS = (UnreachableError, IdleTimeoutError, ShortStreamError)
"""Errors of the stream itself, not of a line that it delivered."""


class State(Enum):
    """The state of a watcher; the table at the top of the module has the transitions."""

    EMPTY = "empty"
    LISTING = "listing"
    SYNCED = "synced"
    WATCHING = "watching"


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Page size, intervals and time limits of a watcher."""

    page_size: int = 500
    idle_timeout: timedelta = timedelta(seconds=75)
    """A stream without a line for this long is closed: the minute between two bookmarks, with a margin."""
    stream: timedelta = timedelta(minutes=5)
    """The minimum lifetime of a stream; the maximum is twice as long, at random, so that not all end at once."""
    audit: timedelta = timedelta(hours=1)
    """How often to list although the watch is healthy."""
    without_definition: timedelta = timedelta(minutes=10)
    """How often to list a kind that is not served and has no definition: an aggregated API server may serve it."""
    health: HealthOptions = DEFAULT_HEALTH_OPTIONS
    initial_events: bool = False
    """List with a watch and `sendInitialEvents`; by pages if the server does not support it."""


DEFAULT_OPTIONS = WatchOptions()


@dataclass(slots=True)
class Statistics:
    """What a watcher has done so far, for metrics and tests."""

    lists: int = 0
    audits: int = 0
    """How many of `lists` were made only because an audit was due."""
    streams: int = 0
    lines: int = 0
    failures: int = 0


class Watcher:
    """Lists and watches one kind, and applies the results to a ledger until cancelled."""

    def __init__(
        self,
        client: KubeClient,
        ledger: Ledger,
        selection: Selection,
        clock: Clock,
        random: Random,
        options: WatchOptions = DEFAULT_OPTIONS,
    ) -> None:
        self.on_health: Callable[[], None] | None = None
        """Called after every failure, and whenever a watch has been opened."""
        self.has_no_definition: Callable[[], bool] = lambda: False
        """Whether it is known that there is no CustomResourceDefinition of the kind. `wake` is called when there is one."""
        self.state = State.EMPTY
        self.statistics = Statistics()
        self._client = client
        self._ledger = ledger
        self._kind = ledger.store.kind
        self._selection = selection
        self._clock = clock
        self._options = options
        self._random = random
        self.health = Health(clock, options.health, self._random)
        self._pages: AsyncGenerator[Page, None] | None = None
        self._stream: Stream | None = None
        self._audit_at = 0.0
        self._failed_position: str | None = None
        """The position before the last line that could not be applied."""
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Repeat `step` until cancelled."""
        try:
            while True:
                await self.step()
        finally:
            await self._leave()

    def wake(self) -> None:
        """End the current pause, or skip the next one, because the next attempt is likely to succeed."""
        self.health.expect_success()
        self._woken.set()

    async def step(self) -> None:
        """Perform the step of the current state, and enter the next state. Raises nothing but cancellation."""
        try:
            match self.state:
                case State.EMPTY:
                    self.state = self._start_list()
                case State.LISTING:
                    self.state = await self._take_page()
                case State.SYNCED:
                    self.state = await self._open_stream()
                case State.WATCHING:
                    self.state = await self._take_line()
        except Exception as error:  # noqa: BLE001 - any error is logged, and the watch goes on
            last_line_at = self._stream.last_line_at if self._stream is not None else None
            await self._leave()
            await self._recover(error, last_line_at)

    # The steps of the states

    def _start_list(self) -> State:
        self.statistics.lists += 1
        self._ledger.begin_list()
        self._pages = self._initial_events() if self._options.initial_events else self._listed()
        return State.LISTING

    async def _take_page(self) -> State:
        assert self._pages is not None  # noqa: S101 - LISTING begins with it
        page = await anext(self._pages)
        self.health.mark_served()
        self._ledger.add_page(page.items, page.resource_version, trusted=self.health.must_accept_older_state)
        if not page.last:
            return State.LISTING
        self._ledger.end_list(page.resource_version)
        await self._pages.aclose()
        self._pages = None
        self._audit_at = self._now() + spread(self._options.audit, 0.1, self._random).total_seconds()
        return State.SYNCED

    async def _open_stream(self) -> State:
        if self._stream is None:
            self._stream = await self._opened(self._ledger.position)
        self.health.mark_following()
        self._notify_health()
        return State.WATCHING

    async def _take_line(self) -> State:
        assert self._stream is not None  # noqa: S101 - WATCHING begins with it
        line = await self._stream.next_line()
        if line is not None:
            self._apply(line)
            if self._now() < self._audit_at:
                return State.WATCHING
        await self._leave()
        if self._now() < self._audit_at:
            return State.SYNCED
        self.statistics.audits += 1
        return State.EMPTY

    def _apply(self, line: Line) -> None:
        self.statistics.lines += 1
        match line:
            case Upsert(raw):
                self._ledger.upsert(raw)
            case Deletion(raw):
                self._ledger.delete(raw)
            case Bookmark(resource_version):
                self._ledger.advance(resource_version)
            case Failure(error):
                raise error

    # Requests

    def _listed(self) -> AsyncGenerator[Page, None]:
        return self._client.pages(
            self._kind,
            namespace=self._selection.namespace,
            labels=self._selection.labels,
            fields=self._selection.fields,
            metadata_only=self._selection.metadata_only,
            page_size=self._options.page_size,
        )

    async def _initial_events(self) -> AsyncGenerator[Page, None]:
        """List by a watch: one object per line, until a bookmark with the version ends the list. The watch stays open."""
        self._stream = await self._opened("", initial_events=True)
        while line := await self._stream.next_line():
            match line:
                case Upsert(raw):
                    yield Page([raw], "", last=False)
                case Bookmark(resource_version, ends_initial_events=True):
                    yield Page([], resource_version, last=True)
                case Failure(error):
                    raise error
        raise UnreachableError("the watch ended before it had sent all objects")

    async def _opened(self, position: str, *, initial_events: bool = False) -> Stream:
        self.statistics.streams += 1
        lifetime = self._options.stream * (1 + self._random.random())
        if not initial_events:
            lifetime = min(lifetime, timedelta(seconds=max(1.0, self._audit_at - self._now())))
        stream = Stream(self._clock, self._options.idle_timeout)
        await stream.open(
            self._client,
            self._kind,
            self._selection,
            position=position,
            lifetime=lifetime,
            initial_events=initial_events,
        )
        return stream

    async def _leave(self) -> None:
        """Close the list and the stream, if they are open. Never raises."""
        pages, stream = self._pages, self._stream
        self._pages = self._stream = None
        for resource in (pages, stream):
            try:
                if resource is not None:
                    await resource.aclose()
            except Exception as error:  # noqa: BLE001 - the resource is not used again, and the watch must go on
                log.debug(
                    "watch did not close cleanly", resource=self._kind.qualified_plural, error=str(error)
                )

    # Errors

    async def _recover(self, error: Exception, last_line_at: float | None) -> None:
        self.statistics.failures += 1
        previous_trouble = self.health.trouble
        was_served = self.health.is_served
        pause = self.health.mark_failed(error, last_line_at)
        if not self.health.is_served and self.has_no_definition():
            pause = max(pause, spread(self._options.without_definition, 0.1, self._random))
        self.state, before = self._state_after(error), self.state
        if was_served and not self.health.is_served:
            self._ledger.forget()
        if self.health.is_denied:
            self._ledger.store.mark_forbidden()
        if self._options.initial_events and before is State.LISTING and isinstance(error, InvalidError):
            self._options = replace(self._options, initial_events=False)
        self._report(error, before, pause, is_new=self.health.trouble != previous_trouble)
        self._notify_health()
        await self._sleep(pause)

    def _notify_health(self) -> None:
        if self.on_health is not None:
            self.on_health()

    def _state_after(self, error: Exception) -> State:
        if self.state in (State.EMPTY, State.LISTING) or isinstance(error, ExpiredError | NotFoundError):
            return State.EMPTY
        if is_behind(error):
            return State.EMPTY if self.health.must_accept_older_state else State.SYNCED
        if self.state is State.WATCHING and not isinstance(error, _CONNECTION_ERRORS):
            # A line that failed twice at the same position will fail again, so list instead of resuming before it.
            before, self._failed_position = self._failed_position, self._ledger.position
            return State.EMPTY if before == self._failed_position else State.SYNCED
        return State.SYNCED

    def _report(self, error: Exception, state: State, pause: timedelta, *, is_new: bool) -> None:
        details = {
            "resource": self._kind.qualified_plural,
            "namespace": self._selection.namespace,
            "state": state.value,
            "retry_after": pause.total_seconds(),
        }
        if not isinstance(error, _EXPECTED):
            log.error("watch failed with an unexpected error", exc_info=error, **details)
        elif not is_new or isinstance(
            error, ExpiredError | IdleTimeoutError | NotFoundError | ForbiddenError
        ):
            # Kinds that are not served or may not be listed are logged by `kube.informers`, once for all their watches.
            log.debug("watch interrupted", error=str(error), **details)
        else:
            log.warning("watch interrupted", error=str(error), **details)

    async def _sleep(self, pause: timedelta) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(pause.total_seconds()):
                await self._woken.wait()
        self._woken.clear()

    def _now(self) -> float:
        return self._clock.monotonic()
