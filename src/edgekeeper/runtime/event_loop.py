"""The event loop of a process: uvloop where it is installed (`pip install edgekeeper[uvloop]`), otherwise asyncio's own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a new event loop, as `asyncio.run` does."""
    try:
        import uvloop  # noqa: PLC0415 - optional
    except ImportError:
        return asyncio.run(main)
    result: T = uvloop.run(main)
    return result
