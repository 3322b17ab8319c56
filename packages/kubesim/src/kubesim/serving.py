"""The API server for code that has no event loop: it runs in a thread of its own, and listens on the loopback interface.

    with api_server() as server:
        subprocess.run(["kubectl", "--kubeconfig", server.kubeconfig, "get", "namespaces"])

Tests get it from the fixture `kube_api_server`. Code with an event loop uses `kubesim.plane.Plane` directly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.plane import Endpoint, Plane, PlaneConfig

NAME = "kubesim"
"""Of the thread, and of cluster, user and context in the kubeconfig."""


@dataclass(frozen=True)
class _Running:
    plane: Plane
    endpoint: Endpoint
    loop: asyncio.AbstractEventLoop
    stop: asyncio.Event


class ApiServer:
    """A server that listens. It may be used from any thread."""

    def __init__(self, running: _Running, kubeconfig: Path) -> None:
        self._running = running
        self.kubeconfig = kubeconfig
        """The file that leads there as its administrator; it exists as long as the server runs."""

    @property
    def url(self) -> str:
        return self._running.endpoint.url

    @property
    def token(self) -> str:
        """The administrator's bearer token."""
        return self._running.endpoint.token

    @property
    def ca_pem(self) -> bytes:
        """The certificate of the authority that signed the server's."""
        return self._running.endpoint.ca_pem

    def call(self, method: str, path: str, body: Any = None) -> JsonObject:
        """Make a call as the administrator, without a socket, to arrange or examine objects.

        Raise `kubesim.plane.errors.StatusError` for what the server refuses.
        """
        call = self._running.plane.client.call(method, path, body)
        return asyncio.run_coroutine_threadsafe(call, self._running.loop).result()

    def settle(self) -> None:
        """Wait until the server's own controllers have nothing left to do."""
        asyncio.run_coroutine_threadsafe(self._running.plane.settle(), self._running.loop).result()


@contextmanager
def api_server(config: PlaneConfig | None = None) -> Iterator[ApiServer]:
    """Run a server for as long as the context lasts, on a free port."""
    started: Future[_Running] = Future()
    thread = Thread(target=_run, args=(config, started), name=NAME, daemon=True)
    thread.start()
    running = started.result()
    try:
        with TemporaryDirectory(prefix=f"{NAME}-") as directory:
            kubeconfig = Path(directory) / "kubeconfig"
            kubeconfig.touch(0o600)
            kubeconfig.write_text(running.plane.kubeconfig(running.endpoint, NAME))
            yield ApiServer(running, kubeconfig)
    finally:
        running.loop.call_soon_threadsafe(running.stop.set)
        thread.join()


def _run(config: PlaneConfig | None, started: Future[_Running]) -> None:
    try:
        asyncio.run(_serve(config, started))
    except BaseException as error:
        if started.done():
            raise
        started.set_exception(error)


async def _serve(config: PlaneConfig | None, started: Future[_Running]) -> None:
    async with Plane(config) as plane:
        endpoint = await plane.serve()
        running = _Running(plane, endpoint, asyncio.get_running_loop(), asyncio.Event())
        started.set_result(running)
        await running.stop.wait()
