"""Updates for browsers that are open, as Server-Sent Events.

    event: hello       {"about": "edgekeeper 1.0 …"}              at the beginning
    event: rows        {"rows": [...], "gone": ["id", ...]}       rows that changed, each at most once in an event
    event: change      an entry of the journal
    event: reset       too much has changed: load the page again
    : beat             nothing has happened for a while

A client has no queue of events but a set of ids that have changed since it was last served, so what is held for a slow one
is bounded, and it gets the newest state. Ids of events have the form `start-number`: a browser that reconnects sends the last
one, and gets what has changed since; after a restart of the process, or if too much has changed, `reset`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection
from typing import Final

import msgspec

from edgekeeper.web.journal import Entry
from edgekeeper.web.rows import ObjectRow

MOST_CLIENTS: Final = 32
MOST_ROWS: Final = 200
"""How many changed rows are sent in one event; with more, `reset` is."""
MOST_ENTRIES: Final = 50
REMEMBERED: Final = 4_096
"""How many changes can be caught up with after a reconnect."""
BEAT_SECONDS: Final = 15.0
PAUSE_SECONDS: Final = 0.2
"""The shortest time between two events for one client."""

_encode = msgspec.json.Encoder().encode


class Full(Exception):  # noqa: N818 - it is a state, not a mistake
    """There are as many clients as there may be."""


class Hub:
    """Tells all open browsers what has changed."""

    def __init__(self, row: Callable[[str], ObjectRow | None], start: str, about: str = "") -> None:
        """`row` finds a row by its id. `start` identifies this process, and `about` describes it to people."""
        self._about = about
        self._row = row
        self._start = start
        self._number = 0
        self._recent: deque[tuple[int, str]] = deque(maxlen=REMEMBERED)
        self._clients: set[_Client] = set()
        self._closed = asyncio.Event()

    @property
    def clients(self) -> int:
        return len(self._clients)

    def rows_changed(self, ids: Collection[str]) -> None:
        for id_ in ids:
            self._number += 1
            self._recent.append((self._number, id_))
        for client in self._clients:
            client.add(ids)

    def entry_added(self, entry: Entry) -> None:
        for client in self._clients:
            client.tell(entry)

    def close(self) -> None:
        """End all streams."""
        self._closed.set()
        for client in self._clients:
            client.wake.set()

    async def stream(self, last: str = "") -> AsyncGenerator[bytes, None]:
        """The events of one client, until the hub is closed. Raise Full at once if there are too many clients."""
        if len(self._clients) >= MOST_CLIENTS or self._closed.is_set():
            raise Full
        client = _Client(self._missed(last))
        self._clients.add(client)
        try:
            yield self._framed("hello", {"about": self._about})
            while not self._closed.is_set():
                if not await client.wait():
                    yield b": beat\n\n"
                    continue
                if self._closed.is_set():
                    return
                for chunk in self._events(client):
                    yield chunk
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            self._clients.discard(client)

    def _missed(self, last: str) -> Collection[str] | None:
        """The ids that changed after an event; None if that is not known."""
        start, _, number = last.rpartition("-")
        if not last:
            return ()
        if start != self._start or not (number.isascii() and number.isdigit() and len(number) < 16):
            return None
        seen = int(number)
        oldest = self._recent[0][0] if self._recent else self._number + 1
        if seen > self._number or seen + 1 < oldest:
            return None
        return [id_ for position, id_ in self._recent if position > seen]

    def _events(self, client: _Client) -> list[bytes]:
        """What a client has to be told now."""
        ids, entries, is_lost = client.take()
        if is_lost:
            return [self._framed("reset", {})]
        events = []
        if ids:
            rows = {id_: self._row(id_) for id_ in ids}
            told = {
                "rows": [row for row in rows.values() if row is not None],
                "gone": [id_ for id_, row in rows.items() if row is None],
            }
            events.append(self._framed("rows", told))
        return [*events, *(self._framed("change", entry) for entry in entries)]

    def _framed(self, event: str, data: object) -> bytes:
        id_ = f"{self._start}-{self._number}"
        return b"id: %s\nevent: %s\ndata: %s\n\n" % (id_.encode(), event.encode(), _encode(data))


class _Client:
    """What one browser has not been told yet."""

    def __init__(self, missed: Collection[str] | None) -> None:
        self.wake = asyncio.Event()
        self._ids: dict[str, None] = {}
        self._entries: deque[Entry] = deque(maxlen=MOST_ENTRIES)
        self._is_lost = missed is None
        self.add(missed or ())
        if self._is_lost:
            self.wake.set()

    def add(self, ids: Collection[str]) -> None:
        if not ids or self._is_lost:
            return
        self._ids |= dict.fromkeys(ids)
        if len(self._ids) > MOST_ROWS:
            self._is_lost = True
            self._ids.clear()
        self.wake.set()

    def tell(self, entry: Entry) -> None:
        if len(self._entries) == MOST_ENTRIES:
            self._is_lost = True
        self._entries.append(entry)
        self.wake.set()

    async def wait(self) -> bool:
        """Wait until there is something to tell; False if there is nothing for a while."""
        try:
            async with asyncio.timeout(BEAT_SECONDS):
                await self.wake.wait()
        except TimeoutError:
            return False
        return True

    def take(self) -> tuple[list[str], list[Entry], bool]:
        self.wake.clear()
        taken = list(self._ids), list(self._entries), self._is_lost
        self._ids.clear()
        self._entries.clear()
        self._is_lost = False
        return taken
