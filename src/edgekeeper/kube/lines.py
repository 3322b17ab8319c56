"""Parses the lines of a watch into events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from edgekeeper.kube.errors import ApiError, error_from_status
from edgekeeper.kube.nesting import cut
from edgekeeper.kube.raw import MalformedObjectError

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends the initial events of a watch."""


@dataclass(frozen=True, slots=True)
class Upsert:
    """An object was added or modified. The two are not distinguished: the store knows whether the object is new."""

    object: bytes


@dataclass(frozen=True, slots=True)
class Deletion:
    """An object was deleted, or no longer matches the selection. This is its last version."""

    object: bytes


@dataclass(frozen=True, slots=True)
class Bookmark:
    """All events up to this version have been sent."""

    resource_version: str
    ends_initial_events: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """The server ended the watch with an error, which it reports as an event because the status was sent before."""

    error: ApiError


Line: TypeAlias = Upsert | Deletion | Bookmark | Failure


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _BookmarkMetadata(msgspec.Struct):
    resource_version: str = msgspec.field(name="resourceVersion")
    annotations: dict[str, str] | None = None


class _BookmarkObject(msgspec.Struct):
    metadata: _BookmarkMetadata


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_bookmark = msgspec.json.Decoder(_BookmarkObject).decode
_decode_status = msgspec.json.Decoder(dict).decode


def parse_line(line: bytes) -> Line:
    """Parse a line. Raise MalformedObjectError if it is not an event of a known type."""
    try:
        return _parse(line)
    except RecursionError:
        return _parse(cut(line))


def _parse(line: bytes) -> Line:
    try:
        event = _decode_event(line)
        match event.type:
            case "ADDED" | "MODIFIED":
                return Upsert(bytes(event.object))
            case "DELETED":
                return Deletion(bytes(event.object))
            case "BOOKMARK":
                return _bookmark(_decode_bookmark(event.object).metadata)
            case "ERROR":
                return Failure(error_from_status(_decode_status(event.object)))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedObjectError(f"a line of the watch cannot be read: {error}") from error
    raise MalformedObjectError(f"a line of the watch is of an unknown type: {event.type[:40]!r}")


def _bookmark(metadata: _BookmarkMetadata) -> Bookmark:
    if not metadata.resource_version:
        raise MalformedObjectError("a bookmark has no resourceVersion")
    ends = (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true"
    return Bookmark(metadata.resource_version, ends)
