"""The simulated Cloudflare on loopback: for the official SDK, for curl, and for the client's own tests.

    async with serving(cloud) as base_url:
        AsyncCloudflare(api_token=…, base_url=base_url)

Beside the API there is a control endpoint (`control`), for programs that cannot reach into this process.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from kubesim.cloudflare.cloud import BASE_PATH, CloudflareCloud, ConnectionBrokenError
from kubesim.cloudflare.control import CONTROL_PATH, control
from kubesim.cloudflare.state import unroutable
from kubesim.cloudflare.wire import Request, Response, refused

log = logging.getLogger(__name__)

_SHUTDOWN_SECONDS = 0.2


class HttpServer:
    """Serves one simulated Cloudflare on one address."""

    def __init__(self, cloud: CloudflareCloud) -> None:
        self._cloud = cloud
        server = web.Server(self._serve, logger=log, access_log=None, lingering_time=0.0)
        self._runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_SECONDS)

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen; return the port, which the system chooses where it was given as zero."""
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        bound: int = self._runner.addresses[0][1]
        return bound

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _serve(self, incoming: web.BaseRequest) -> web.StreamResponse:
        path, _, _ = incoming.raw_path.partition("?")
        request = Request(
            method=incoming.method,
            path=path.removeprefix(BASE_PATH),
            query=dict(incoming.query),
            headers={name.lower(): value for name, value in incoming.headers.items()},
            body=await incoming.content.read(),  # not `read()`, which stops at a megabyte
            peer=incoming.remote or "",
        )
        try:
            response = await self._respond(path, request)
        except ConnectionBrokenError:
            if incoming.transport is not None:
                incoming.transport.abort()
            response = Response(200, b"")
        return web.Response(status=response.status, body=response.body, headers=dict(response.headers))

    async def _respond(self, path: str, request: Request) -> Response:
        if path.startswith(f"{CONTROL_PATH}/"):
            return control(self._cloud, request)
        if path.startswith(f"{BASE_PATH}/"):
            return await self._cloud.handle(request)
        return refused(unroutable(path))


@asynccontextmanager
async def serving(cloud: CloudflareCloud, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serve for as long as the block lasts; the value is the base address of the API."""
    server = HttpServer(cloud)
    bound = await server.start(host, port)
    try:
        yield f"http://{host}:{bound}{BASE_PATH}"
    finally:
        await server.stop()
