"""Lists in pages, and watches in lines: the two answers that are cut up without being decoded.

A list of ten thousand objects costs half a second to decode and twenty milliseconds to cut into pieces. Whoever needs
an object decodes that one, so items and events stay the bytes that the server sent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

import msgspec

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes after which a line of a watch is no event but a fault: etcd holds objects of a few megabytes at most."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list."""

    items: list[bytes]
    """Objects as JSON. Items of built-in kinds carry neither apiVersion nor kind: the list says it once for all."""
    resource_version: str
    """Of the whole list, and the same on each of its pages: where a watch goes on."""
    last: bool


class _ListMeta(msgspec.Struct):
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    continue_: str = msgspec.field(default="", name="continue")


class _ListBody(msgspec.Struct):
    items: list[msgspec.Raw] | None
    """Required, though it may be null: an object without items is no list."""
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


_DECODER = msgspec.json.Decoder(_ListBody)


def parse_page(body: bytes) -> tuple[Page, str]:
    """A page, and the token of the next one; raise msgspec.DecodeError where the body is no list."""
    listed = _DECODER.decode(body)
    # `bytes` copies each item out of the body, which would otherwise stay in memory as long as any of its items.
    items = [bytes(item) for item in listed.items or ()]
    token = listed.metadata.continue_
    return Page(items, listed.metadata.resource_version, last=not token), token


class BrokenLineError(Exception):
    """A stream ended in the middle of a line, or a line did not end."""


async def split_lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Complete lines, without their ends, of a stream that is cut anywhere. Empty lines are left out."""
    started: list[bytes] = []
    size = 0
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        started.append(first)
        size += len(first)
        if size > LONGEST_LINE:
            raise BrokenLineError(f"a line is longer than {LONGEST_LINE} bytes")
        if not others:
            continue
        for line in (b"".join(started), *others[:-1]):
            if line:
                yield line
        started = [others[-1]]
        size = len(others[-1])
    if size:
        raise BrokenLineError("the stream ended in the middle of a line")
