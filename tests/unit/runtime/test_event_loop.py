"""Which event loop a process runs on."""

from __future__ import annotations

import asyncio
import ssl
import sys
from asyncio import sslproto
from collections.abc import Coroutine
from types import ModuleType
from typing import Any

import pytest

from edgekeeper.runtime import event_loop


async def _loop() -> type:
    return type(asyncio.get_running_loop())


async def _fail() -> None:
    raise ValueError("no")


class _Installed(ModuleType):
    """Something that looks like uvloop, and counts what it runs."""

    def __init__(self) -> None:
        super().__init__("uvloop")
        self.runs = 0

    def run(self, main: Coroutine[Any, Any, Any]) -> Any:
        self.runs += 1
        return asyncio.run(main)


def test_loop_is_that_of_asyncio_where_uvloop_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert event_loop.run(_loop()).__module__.startswith("asyncio.")


def test_loop_is_that_of_uvloop_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = _Installed()
    monkeypatch.setitem(sys.modules, "uvloop", installed)
    event_loop.run(_loop())
    assert installed.runs == 1


@pytest.mark.parametrize("installed", [None, _Installed()], ids=["asyncio", "uvloop"])
def test_loop_hands_errors_on(installed: ModuleType | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", installed)
    with pytest.raises(ValueError, match="no"):
        event_loop.run(_fail())


async def _tls_buffer() -> int:
    """The size of the buffer that a connection really has."""
    loop, context = asyncio.get_running_loop(), ssl.create_default_context()
    protocol = sslproto.SSLProtocol(loop, asyncio.Protocol(), context, loop.create_future())
    size = len(protocol.get_buffer(-1))
    protocol.connection_lost(None)
    return size


def test_tls_connections_of_asyncio_hold_a_small_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    monkeypatch.setattr(sslproto.SSLProtocol, "max_size", 2**18)
    assert event_loop.run(_tls_buffer()) == event_loop.TLS_BUFFER
