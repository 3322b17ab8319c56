"""Watch: the log of a collection as a stream of events, from any revision it still remembers.

    position in the log ──► events since ──► selection ──► lines ──► client
            ▲                                                  │
            └──────────── sleep until woken ◄── caught up ─────┘

A watcher holds nothing but its position, so a slow one costs no memory; when the log has moved past it the stream
ends and the client's next watch is answered 410. What a selector admits is judged before and after each change: an
object that enters the selection is ADDED, one that leaves it DELETED, whatever happened to the object itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.field_error import FieldError
from kubesim.plane.body import JSON, PROTOBUF, YAML
from kubesim.plane.call import Call
from kubesim.plane.errors import StatusError, expired, failure, invalid, not_acceptable
from kubesim.plane.negotiate import Wanted
from kubesim.plane.protobuf import encode_watch_event
from kubesim.plane.read import Selection, parse_revision, too_large_revision
from kubesim.plane.render import encode, encode_as, item_bytes, partial
from kubesim.plane.request import Response
from kubesim.plane.store import Collection, CompactedError, Event, Item
from kubesim.plane.table import build_table

BOOKMARK_INTERVAL = 60.0
DEFAULT_TIMEOUT = 1800.0
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_BATCH = 512
"""Events per write: large enough to be quick, small enough to let other clients in between."""


def watch(call: Call) -> Response:
    """Open a watch. Bad options are refused here; a revision too old is told inside the stream, as the server does."""
    selection = Selection(call)
    options = _read_options(call)
    wanted = call.negotiated()
    if wanted.media_type == YAML:
        raise not_acceptable([f"{media_type};stream=watch" for media_type in (JSON, PROTOBUF)])
    lines = _Lines(call, selection, wanted)
    try:
        beginning = _begin(call, options)
    except CompactedError as error:
        stream = _complain(lines, error)
    else:
        stream = _stream(call, lines, options, beginning)
    return Response(200, stream=stream, content_type=lines.content_type)


@dataclass(frozen=True, slots=True)
class _Options:
    revision: int | None
    """Resume after this revision; None starts with the current state."""
    bookmarks: bool
    initial_events: bool | None
    timeout: float


def _read_options(call: Call) -> _Options:
    text = call.request.parameter("resourceVersion")
    match = call.request.parameter("resourceVersionMatch")
    initial: bool | None = None
    if call.request.parameter("sendInitialEvents"):
        initial = call.flag("sendInitialEvents")
    _check_options(match, initial)
    revision = None if text in ("", "0") else _parse_revision(text)
    current = call.cluster.store.revision
    if revision is not None and revision > current:
        raise too_large_revision(revision, current)
    timeout = float(call.number("timeoutSeconds")) or DEFAULT_TIMEOUT
    return _Options(revision, call.flag("allowWatchBookmarks"), initial, timeout)


def _parse_revision(text: str) -> int:
    try:
        return parse_revision(text)
    except StatusError as error:
        raise failure(error.message) from error


def _check_options(match: str, initial: bool | None) -> None:
    problem: FieldError | None = None
    if initial is None and match:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        problem = FieldError("resourceVersionMatch", "Forbidden", why)
    elif initial is not None and not match:
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        problem = FieldError("resourceVersionMatch", "Forbidden", why)
    elif initial is not None and match != "NotOlderThan":
        problem = FieldError(
            "resourceVersionMatch", "Unsupported value", 'supported values: "NotOlderThan"', match
        )
    if problem is not None:
        raise invalid("meta.k8s.io", "ListOptions", "", [problem])


@dataclass(frozen=True, slots=True)
class _Beginning:
    """Where a watch begins, fixed when it is opened: what happens before its stream is first read is not lost."""

    collection: Collection
    position: int
    revision: int
    initial: list[Item]
    """The objects to announce first."""


def _begin(call: Call, options: _Options) -> _Beginning:
    collection, revision = call.collection, call.cluster.store.revision
    snapshot = options.initial_events is True or (options.revision is None and options.initial_events is None)
    if snapshot:
        return _Beginning(collection, collection.end(), revision, list(collection.ordered()))
    if options.revision is None:
        return _Beginning(collection, collection.end(), revision, [])
    return _Beginning(collection, collection.position_after(options.revision), revision, [])


async def _complain(lines: _Lines, error: CompactedError) -> AsyncIterator[bytes]:
    yield lines.error(expired(f"too old resource version: {error.requested} ({error.compacted})"))


async def _stream(
    call: Call, lines: _Lines, options: _Options, beginning: _Beginning
) -> AsyncIterator[bytes]:
    deadline = asyncio.get_running_loop().time() + options.timeout
    waker = beginning.collection.subscribe()
    try:
        initial = beginning.initial
        for start in range(0, len(initial), _BATCH):
            yield b"".join(lines.initial(item) for item in initial[start : start + _BATCH])
        if options.initial_events and options.bookmarks:
            # The events since the beginning follow: the bookmark must not promise that they were sent.
            yield lines.bookmark(beginning.revision, {INITIAL_EVENTS_END: "true"})
        async for chunk in _follow(call, lines, beginning, _Timing(waker, deadline, options.bookmarks)):
            yield chunk
    finally:
        beginning.collection.unsubscribe(waker)


@dataclass(frozen=True, slots=True)
class _Timing:
    waker: asyncio.Event
    deadline: float
    bookmarks: bool


async def _follow(call: Call, lines: _Lines, beginning: _Beginning, timing: _Timing) -> AsyncIterator[bytes]:
    collection, position = beginning.collection, beginning.position
    loop = asyncio.get_running_loop()
    next_bookmark = loop.time() + BOOKMARK_INTERVAL
    while True:
        timing.waker.clear()
        events = collection.events_from(position)
        if events is None:
            return
        for start in range(0, len(events), _BATCH):
            chunk = b"".join(filter(None, map(lines.event, events[start : start + _BATCH])))
            if chunk:
                yield chunk
        position += len(events)
        overdue = loop.time() >= timing.deadline
        if timing.waker.is_set() and not overdue:
            continue
        if collection.closed or overdue:
            if timing.bookmarks and position == collection.end() and not collection.closed:
                yield lines.bookmark(call.cluster.store.revision)
            return
        if timing.bookmarks and loop.time() >= next_bookmark:
            next_bookmark = loop.time() + BOOKMARK_INTERVAL
            yield lines.bookmark(call.cluster.store.revision)
        await _sleep(timing, next_bookmark)


async def _sleep(timing: _Timing, next_bookmark: float) -> None:
    until = min(timing.deadline, next_bookmark) if timing.bookmarks else timing.deadline
    try:
        async with asyncio.timeout_at(until):
            await timing.waker.wait()
    except TimeoutError:
        return


class _Lines:
    """Renders events for one watcher. Plain watchers of one version share the bytes of each event."""

    def __init__(self, call: Call, selection: Selection, wanted: Wanted) -> None:
        self._call = call
        self._selection = selection
        self._wanted = wanted
        plain = wanted.form == "object" and wanted.media_type != PROTOBUF
        self._render: Callable[[Item], bytes] = self._plain if plain else self._formed

    @property
    def content_type(self) -> str:
        return f"{PROTOBUF};stream=watch" if self._wanted.media_type == PROTOBUF else JSON

    def initial(self, item: Item) -> bytes:
        return self._line(b"ADDED", item) if self._selection.matches(item) else b""

    def event(self, event: Event) -> bytes:
        if self._selection.everything:
            return self._line(event.type.encode(), event.item)
        before = event.previous is not None and self._selection.matches(event.previous)
        after = event.type != "DELETED" and self._selection.matches(event.item)
        if event.type == "DELETED":
            return self._line(b"DELETED", event.item) if before else b""
        if after:
            return self._line(b"MODIFIED" if before else b"ADDED", event.item)
        if before and event.previous is not None:
            # The client gets the last state it was entitled to see, at the revision of the change.
            return self._line(b"DELETED", _at_revision(event.previous, event.revision))
        return b""

    def bookmark(self, revision: int, annotations: JsonObject | None = None) -> bytes:
        resource = self._call.resource
        metadata: JsonObject = {"resourceVersion": str(revision), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        kind, version = resource.kind, resource.api_version
        if self._wanted.form == "partial":
            kind, version = "PartialObjectMetadata", f"meta.k8s.io/{self._wanted.meta_version}"
        tree: JsonObject = {"kind": kind, "apiVersion": version, "metadata": metadata}
        return self._framed(b"BOOKMARK", self._encoded(tree))

    def error(self, error: StatusError) -> bytes:
        return self._framed(b"ERROR", self._encoded(error.status()))

    def _line(self, kind: bytes, item: Item) -> bytes:
        return self._framed(kind, self._render(item))

    def _framed(self, kind: bytes, encoded: bytes) -> bytes:
        if self._wanted.media_type == PROTOBUF:
            return encode_watch_event(kind, encoded)
        return b'{"type":"%b","object":%b}\n' % (kind, encoded)

    def _encoded(self, tree: JsonObject) -> bytes:
        return encode_as(PROTOBUF if self._wanted.media_type == PROTOBUF else JSON, tree)

    def _plain(self, item: Item) -> bytes:
        return item_bytes(self._call.resource, item)

    def _formed(self, item: Item) -> bytes:
        tree = self._call.in_own_version(item)
        if self._wanted.form == "table":
            tree = build_table(self._call, [tree], {"resourceVersion": str(item.revision)}, self._wanted)
        elif self._wanted.form == "partial":
            tree = partial(tree, self._wanted)
        return self._encoded(tree)


def _at_revision(item: Item, revision: int) -> Item:
    tree = item.decode()
    tree["metadata"]["resourceVersion"] = str(revision)
    return Item(item.key, revision, item.uid, encode(tree))
