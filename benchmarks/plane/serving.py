"""What the server processes share: announce the address, then serve until standard input is closed."""

from __future__ import annotations

import asyncio
import sys

import msgspec

from benchmarks.plane.target import Target

SERVER_CORE = 0


async def serve_until_closed(target: Target) -> None:
    """Tell the parent where we are; its end closes our standard input, and with it ends us."""
    print(msgspec.json.encode(target).decode(), flush=True)
    await asyncio.to_thread(sys.stdin.read)
