"""The watch of one kind, as a state machine: list, then follow, and get over everything that happens on the way.

    state      a step                        leads to
    EMPTY      start a list                  LISTING
    LISTING    take in a page                LISTING; after the last one SYNCED
    SYNCED     open a watch                  WATCHING
    WATCHING   take in a line                WATCHING; at the end of the stream SYNCED, or EMPTY where an audit is due

    in state   goes wrong                                    leads to     after
    any        410, by status or as an ERROR event           EMPTY        no pause, the first time
    any        404: the kind is not served                   EMPTY        a pause; the third time the store forgets
    LISTING    anything else, a bad `continue` included      EMPTY        a pause; the pages so far delete nothing
    LISTING    a list of the past                            EMPTY        a pause; believed after two minutes of it
    SYNCED     anything else, 401, 403 and 429 included      SYNCED       a pause
    SYNCED     the server is behind us for two minutes       EMPTY        a pause
    WATCHING   broken connection                             SYNCED       a pause
    WATCHING   silence                                       SYNCED       no pause
    WATCHING   an unusable line                              SYNCED       a pause; the second one in the same place: EMPTY

Guarantees
    - The first complete list makes the store synced, and it stays so. While the server cannot be reached, or refuses
      (revoked permissions, say), the store stays readable as it is and `stale_since` says since when that is.
    - A stream without a line for `silence` is given up. Bookmarks, which the server sends every minute, count as lines.
    - Interrupted watches go on where they were; only a server that has forgotten that place makes us list again.
    - Nothing is skipped: a line that cannot be understood ends the stream, and what it said is asked for again.
    - Of a kind that is not served nothing is known: it is never taken for a kind without objects. That it is not served
      is believed when it was said three times in a row, since proxies and servers that are just starting say it too;
      then the store forgets its objects, without changes, and is not synced until the kind can be listed again. The
      same holds for a kind that may not be listed and never could be.
    - What is lost without a trace, by a server or proxy that drops lines, is found by the next audit: a list, about
      every hour, while all is well.

Pauses grow from 0.8 s to 30 s, with jitter, or are as long as the server asks; 120 s without trouble reset them.
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
from edgekeeper.kube.health import DEFAULT_PATIENCE, Health, Patience, is_behind
from edgekeeper.kube.ledger import Ledger, StaleViewError
from edgekeeper.kube.lines import Bookmark, Deletion, Failure, Line, Upsert
from edgekeeper.kube.pages import Page
from edgekeeper.kube.raw import MalformedObjectError
from edgekeeper.kube.requests import Selection
from edgekeeper.kube.stream import ShortStreamError, SilenceError, Stream

log = get_logger(__name__)

_EXPECTED = (ApiError, MalformedObjectError, StaleViewError, SilenceError, ShortStreamError)
"""What servers and networks do. Anything else is a mistake of ours, though it is survived as well."""

_OF_THE_WAY = (UnreachableError, SilenceError, ShortStreamError)
"""Trouble with the stream as such, not with anything that it said."""


class State(Enum):
    """Where a watcher is. See the module for what leads where."""

    EMPTY = "empty"
    LISTING = "listing"
    SYNCED = "synced"
    WATCHING = "watching"


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How a watcher asks, and how patient it is."""

    page_size: int = 500
    silence: timedelta = timedelta(seconds=75)
    """Longer than the minute between two bookmarks, with a margin."""
    stream: timedelta = timedelta(minutes=5)
    """How long a stream is asked for at least; at most twice as long, so that not all end at once."""
    audit: timedelta = timedelta(hours=1)
    patience: Patience = DEFAULT_PATIENCE
    initial_events: bool = False
    """List by a watch that begins with the present objects; by pages where the server knows nothing of that."""


DEFAULT_OPTIONS = WatchOptions()


@dataclass(slots=True)
class Statistics:
    """What a watcher went through, for metrics and tests."""

    lists: int = 0
    audits: int = 0
    """Lists, among those, for which there was no other reason than the time."""
    streams: int = 0
    lines: int = 0
    failures: int = 0


class Watcher:
    """Keeps a ledger up to date, for ever."""

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
        """Called after every failure, and when a watch is open."""
        self.state = State.EMPTY
        self.statistics = Statistics()
        self._client = client
        self._ledger = ledger
        self._kind = ledger.store.kind
        self._selection = selection
        self._clock = clock
        self._options = options
        self._random = random
        self.health = Health(clock, options.patience, self._random)
        self._pages: AsyncGenerator[Page, None] | None = None
        self._stream: Stream | None = None
        self._audit_at = 0.0
        self._stumbled_at: str | None = None
        """The position of the last line that could not be used."""
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Take step after step until cancelled."""
        try:
            while True:
                await self.step()
        finally:
            await self._leave()

    def wake(self) -> None:
        """End a pause, or skip the next one: there is reason to think that the next attempt will succeed."""
        self.health.expect_success()
        self._woken.set()

    async def step(self) -> None:
        """Do what the state asks for, and pass to the state that follows from how it went."""
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
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported, and the watch goes on
            heard = self._stream.heard if self._stream is not None else None
            await self._leave()
            await self._recover(error, heard)

    # What each state asks for

    def _start_list(self) -> State:
        self.statistics.lists += 1
        self._ledger.begin_list()
        self._pages = self._initial_events() if self._options.initial_events else self._listed()
        return State.LISTING

    async def _take_page(self) -> State:
        assert self._pages is not None  # noqa: S101 - LISTING begins with it
        page = await anext(self._pages)
        self.health.mark_served()
        self._ledger.add_page(page.items, page.resource_version, trusted=self.health.is_past_doubt)
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
        self._tell_health()
        return State.WATCHING

    async def _take_line(self) -> State:
        assert self._stream is not None  # noqa: S101 - WATCHING begins with it
        line = await self._stream.next_line()
        if line is not None:
            self._take_in(line)
            if self._now() < self._audit_at:
                return State.WATCHING
        await self._leave()
        if self._now() < self._audit_at:
            return State.SYNCED
        self.statistics.audits += 1
        return State.EMPTY

    def _take_in(self, line: Line) -> None:
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

    # Asking the server

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
        """A list told by a watch: an object a line, until a bookmark says at which version that was. It stays open."""
        self._stream = await self._opened("", initial_events=True)
        while line := await self._stream.next_line():
            match line:
                case Upsert(raw):
                    yield Page([raw], "", last=False)
                case Bookmark(resource_version, ends_initial_events=True):
                    yield Page([], resource_version, last=True)
                case Failure(error):
                    raise error
        raise UnreachableError("the watch ended before all objects were told")

    async def _opened(self, position: str, *, initial_events: bool = False) -> Stream:
        self.statistics.streams += 1
        lifetime = self._options.stream * (1 + self._random.random())
        if not initial_events:
            lifetime = min(lifetime, timedelta(seconds=max(1.0, self._audit_at - self._now())))
        stream = Stream(self._clock, self._options.silence)
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
        """Close what is open."""
        pages, stream = self._pages, self._stream
        self._pages = self._stream = None
        for resource in (pages, stream):
            try:
                if resource is not None:
                    await resource.aclose()
            except Exception as error:  # noqa: BLE001 - it is given up anyway, and must not take the watch with it
                log.debug(
                    "watch did not close cleanly", resource=self._kind.qualified_plural, error=str(error)
                )

    # When something goes wrong

    async def _recover(self, error: Exception, heard: float | None) -> None:
        self.statistics.failures += 1
        known = self.health.trouble
        was_served = self.health.is_served
        pause = self.health.mark_failed(error, heard)
        self.state, before = self._state_after(error), self.state
        if was_served and not self.health.is_served:
            self._ledger.forget()
        if self.health.is_denied:
            self._ledger.store.mark_forbidden()
        if self._options.initial_events and before is State.LISTING and isinstance(error, InvalidError):
            self._options = replace(self._options, initial_events=False)
        self._report(error, before, pause, is_new=self.health.trouble != known)
        self._tell_health()
        await self._sleep(pause)

    def _tell_health(self) -> None:
        if self.on_health is not None:
            self.on_health()

    def _state_after(self, error: Exception) -> State:
        if self.state in (State.EMPTY, State.LISTING) or isinstance(error, ExpiredError | NotFoundError):
            return State.EMPTY
        if is_behind(error):
            return State.EMPTY if self.health.is_past_doubt else State.SYNCED
        if self.state is State.WATCHING and not isinstance(error, _OF_THE_WAY):
            # A line that cannot be used twice in the same place will never be: only a list leads around it.
            before, self._stumbled_at = self._stumbled_at, self._ledger.position
            return State.EMPTY if before == self._stumbled_at else State.SYNCED
        return State.SYNCED

    def _report(self, error: Exception, state: State, pause: timedelta, *, is_new: bool) -> None:
        facts = {
            "resource": self._kind.qualified_plural,
            "namespace": self._selection.namespace,
            "state": state.value,
            "retry_after": pause.total_seconds(),
        }
        if not isinstance(error, _EXPECTED):
            log.error("watch failed by a mistake of ours", exc_info=error, **facts)
        elif not is_new or isinstance(error, ExpiredError | SilenceError | NotFoundError | ForbiddenError):
            # Of kinds that are not served or may not be listed `kube.informers` tells, once for all their watches.
            log.debug("watch interrupted", error=str(error), **facts)
        else:
            log.warning("watch interrupted", error=str(error), **facts)

    async def _sleep(self, pause: timedelta) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(pause.total_seconds()):
                await self._woken.wait()
        self._woken.clear()

    def _now(self) -> float:
        return self._clock.monotonic()
