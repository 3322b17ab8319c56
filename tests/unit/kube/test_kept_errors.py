"""Failures that are told again and again keep nothing of those who were told before."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from edgekeeper.core.clock import VirtualClock
from edgekeeper.kube.cluster import ClusterConfig
from edgekeeper.kube.execplugin import ExecCredentials, ExecPlugin
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.transport import ApiRequest, TransportError


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


async def test_transport_that_fails_keeps_nobody_who_used_it() -> None:
    transport = HttpTransport(ClusterConfig("http://127.0.0.1:1"), environ={})
    request = ApiRequest("GET", "/api")
    assert await _kept_by(lambda: transport.send(request, timedelta(seconds=5)), "127.0.0.1:1") == 0
    await transport.close()
    assert await _kept_by(lambda: transport.send(request, timedelta(seconds=5)), "closed") == 0


async def test_plugin_that_fails_keeps_nobody_who_needed_it(tmp_path: Path) -> None:
    credentials = ExecCredentials(ExecPlugin(str(tmp_path / "missing")), VirtualClock())
    assert await _kept_by(credentials.headers, "missing") == 0
    with pytest.raises(TransportError) as caught:
        await credentials.headers()
    assert caught.value.__cause__ is None
