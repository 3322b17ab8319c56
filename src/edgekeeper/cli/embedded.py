"""The one place where the command line touches the embedded API server."""

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
    """How to start the server, as the options of `edgekeeper up` say."""

    port: int = 0
    data_dir: Path | None = None
    simulators: frozenset[str] = frozenset(SIMULATOR_NAMES)
    auth: bool = False


@dataclass(frozen=True)
class LocalServer:
    """A running server: where it listens, how to get in, and a way to call it without a socket."""

    plane: Plane
    url: str
    kubeconfig: str

    async def get(self, path: str) -> JsonObject:
        return await _as_command_error(self.plane.client.get(path))

    async def apply(self, path: str, body: JsonObject, manager: str) -> JsonObject:
        return await _as_command_error(self.plane.client.apply(path, body, manager=manager, force=True))


async def _as_command_error(answer: Awaitable[JsonObject]) -> JsonObject:
    """Turn a refusal into an error that keeps the server's own words."""
    try:
        return await answer
    except StatusError as error:
        raise CommandError(error.message) from error


@asynccontextmanager
async def open_server(options: PlaneOptions) -> AsyncIterator[LocalServer]:
    """Start the embedded API server on the loopback interface and stop it in the end."""
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
