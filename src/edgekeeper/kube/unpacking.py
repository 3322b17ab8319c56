"""Answers that come compressed. An API server packs lists of more than 128 KiB, to a tenth of their size.

A thousand bytes can unpack to a million, so whoever unpacks says for how many there is room.
"""

from __future__ import annotations

import zlib

from edgekeeper.kube.transport import TransportError

_GZIP = 16 + zlib.MAX_WBITS


class Unpacker:
    """Unpacks gzip, piece by piece, and never more at once than there is room for."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP)
        self._begun = False

    def unpack(self, part: bytes, room: int) -> bytes:
        """As much as there is in the part, or `room` bytes where there is more."""
        self._begun = True
        try:
            unpacked = self._stream.decompress(part, room)
        except zlib.error as error:
            raise TransportError(f"the answer cannot be unpacked: {error}") from error
        if self._stream.unused_data:
            raise TransportError("the answer cannot be unpacked: something follows its end")
        return unpacked

    def confirm_end(self) -> None:
        """Raise TransportError where the end of what was packed is missing. An empty body has none to miss."""
        if self._begun and not self._stream.eof:
            raise TransportError("the answer cannot be unpacked: it is cut off")


def unpacker_for(encoding: str) -> Unpacker | None:
    """What a `content-encoding` asks for. Raise TransportError for one that we have not offered to take."""
    match encoding.lower():
        case "gzip":
            return Unpacker()
        case "identity" | "":
            return None
        case _:
            raise TransportError("the answer is encoded in a way that was not asked for")
