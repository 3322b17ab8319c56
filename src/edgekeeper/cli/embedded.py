"""Starts the embedded API server for commands. No other module of the command line uses it directly."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from edgekeeper.cli.failure import CommandError
from edgekeeper.core.json import JsonObject
from kubesim.plane import Plane, PlaneConfig
from kubesim.plane.controllers.simulate import SIMULATORS
from kubesim.plane.errors import StatusError

LOOPBACK = "127.0.0.1"
SIMULATOR_NAMES = tuple(sorted(SIMULATORS))


@dataclass(frozen=True)
class PlaneOptions:
    """Options of `edgekeeper up` for the server."""

    port: int = 0
    data_dir: Path | None = None
    simulators: frozenset[str] = frozenset(SIMULATOR_NAMES)
    auth: bool = False


@dataclass(frozen=True)
class LocalServer:
    """A running server: its URL, its kubeconfig, and requests that do not use the network."""

    plane: Plane
    url: str
    kubeconfig: str

    async def get(self, path: str) -> JsonObject:
        return await _as_command_error(self.plane.client.get(path))

    async def apply(self, path: str, body: JsonObject, manager: str) -> JsonObject:
        return await _as_command_error(self.plane.client.apply(path, body, manager=manager, force=True))


async def _as_command_error(answer: Awaitable[JsonObject]) -> JsonObject:
    """Await a response, and convert a refusal into CommandError with the server's message."""
    try:
        return await answer
    except StatusError as error:
        raise CommandError(error.message) from error


@asynccontextmanager
async def open_server(options: PlaneOptions) -> AsyncIterator[LocalServer]:
    """Run the embedded API server on the loopback interface. Raise CommandError if the port is not available."""
    config = PlaneConfig(data_dir=options.data_dir, auth=options.auth, simulators=options.simulators)
    async with Plane(config) as plane:
        try:
            endpoint = await plane.serve(host=LOOPBACK, port=options.port)
        except OSError as error:
            raise CommandError(
                f"cannot listen on {LOOPBACK}:{options.port}: {error.strerror}",
                "choose another --port, or 0 for any free one",
            ) from error
        yield LocalServer(plane, endpoint.url, plane.kubeconfig(endpoint))
