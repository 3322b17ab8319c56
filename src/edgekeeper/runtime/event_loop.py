"""The event loop of a process: uvloop where it is installed (`pip install edgekeeper[uvloop]`), otherwise asyncio's own."""

from __future__ import annotations

import asyncio
from asyncio import sslproto
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

TLS_BUFFER: Final = 32 * 1024
"""Bytes that asyncio's loop holds for each TLS connection to receive into: two TLS records. Its own choice is 256 KiB, and
every watch and every concurrent request has a connection."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a new event loop, as `asyncio.run` does."""
    try:
        import uvloop  # noqa: PLC0415 - optional
    except ImportError:
        sslproto.SSLProtocol.max_size = TLS_BUFFER
        return asyncio.run(main)
    result: T = uvloop.run(main)
    return result
