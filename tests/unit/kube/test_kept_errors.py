"""Failures that are told again and again keep nothing of those who were told before."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from edgekeeper.core.clock import VirtualClock
from edgekeeper.kube.connection import Connection
from edgekeeper.kube.execplugin import ExecCredentials, ExecPlugin
from edgekeeper.kube.transport import TransportError
from edgekeeper.kube.wire import AnswerReader


class Cargo:
    """Something that a frame holds."""


async def _kept_by(ask: Callable[[], Awaitable[object]], message: str) -> int:
    """How many of those who ask and are refused somebody still keeps."""

    async def attempt() -> weakref.ref[Cargo]:
        load = Cargo()
        with pytest.raises(TransportError, match=message):
            await ask()
        return weakref.ref(load)

    held = [await attempt() for _ in range(3)]
    gc.collect()
    return sum(one() is not None for one in held)


async def test_connection_that_has_failed_keeps_nobody_who_used_it() -> None:
    connection = Connection()
    connection.begin_tls(Mock(asyncio.Transport))
    connection.abort()
    kept = await _kept_by(lambda: connection.exchange(b"", AnswerReader(100)), "was given up")
    assert kept == 0
    assert not connection.is_usable


async def test_plugin_that_fails_keeps_nobody_who_needed_it(tmp_path: Path) -> None:
    credentials = ExecCredentials(ExecPlugin(str(tmp_path / "missing")), VirtualClock())
    assert await _kept_by(credentials.headers, "missing") == 0
    with pytest.raises(TransportError) as caught:
        await credentials.headers()
    assert caught.value.__cause__ is None
