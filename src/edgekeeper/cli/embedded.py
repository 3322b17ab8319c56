"""The one place where the command line touches the embedded API server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from edgekeeper.cli.failure import CommandError
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.local.plane import Plane, PlaneConfig
from edgekeeper.local.plane.request import Request

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class PlaneOptions:
    """How to start the server, as the options of `edgekeeper up` say."""

    port: int = 0
    data_dir: Path | None = None
    simulators: frozenset[str] | None = None
    """Which simulators run; `None` means all of them."""
    auth: bool = False


@dataclass(frozen=True)
class LocalServer:
    """A running server: where it listens, how to get in, and a way to call it without a socket."""

    plane: Plane
    url: str
    kubeconfig: str

    async def call(self, method: str, target: str, body: bytes = b"", content_type: str = "") -> JsonObject:
        """Make one API call as the cluster's administrator; a refusal carries the server's own words."""
        headers = {"content_type": content_type} if content_type else {}
        response = await self.plane.handle(Request.of(method, target, body, **headers))
        answer = response.json() if response.body else {}
        if response.status >= 400:
            raise CommandError(str(dig(answer, "message") or f"{method} {target} answered {response.status}"))
        return answer if isinstance(answer, dict) else {}


@asynccontextmanager
async def open_server(options: PlaneOptions) -> AsyncIterator[LocalServer]:
    """Start the embedded API server on the loopback interface and stop it in the end."""
    async with Plane(_plane_config(options)) as plane:
        try:
            endpoint = await plane.serve(host=LOOPBACK, port=options.port)
        except OSError as error:
            raise CommandError(
                f"cannot listen on {LOOPBACK}:{options.port}: {error.strerror}",
                "choose another --port, or 0 for any free one",
            ) from error
        yield LocalServer(plane, endpoint.url, plane.kubeconfig(endpoint))


def _plane_config(options: PlaneOptions) -> PlaneConfig:
    return PlaneConfig(data_dir=options.data_dir, auth=options.auth, simulators=options.simulators)
