"""The simulated cloud over HTTP on loopback, for boto3, the AWS CLI, and anything else that speaks to AWS.

One address serves all services: which one is meant is in each request's signature. Below `/_control/` the cloud itself
can be turned (`control`).

    async with serve(cloud) as server:
        boto3.client("cloudfront", endpoint_url=server.url, …)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from kubesim.aws import control
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.request import Answer, Delivery, Request


@dataclass(frozen=True)
class AwsServer:
    """A cloud that listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


@asynccontextmanager
async def serve(cloud: AwsCloud, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[AwsServer]:
    """Listen as long as the context lasts. Port zero lets the system choose."""

    async def respond(incoming: web.BaseRequest) -> web.StreamResponse:
        headers = dict(incoming.headers)
        request = Request.of(incoming.method, incoming.raw_path, headers, await incoming.read())
        if request.path.startswith(control.PREFIX):
            return await _carried_out(incoming, control.handle(cloud, request))
        return await _carried_out(incoming, await cloud.handle(request))

    runner = web.ServerRunner(
        web.Server(respond, access_log=None, handler_cancellation=True), shutdown_timeout=0.2
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield AwsServer(host, runner.addresses[0][1])
    finally:
        await runner.cleanup()


async def _carried_out(incoming: web.BaseRequest, answer: Answer) -> web.StreamResponse:
    """Send an answer, or as much of it as the network lets through."""
    if answer.delivery is Delivery.COMPLETE:
        return web.Response(status=answer.status, headers=answer.headers, body=answer.body)
    if answer.delivery is Delivery.SILENT:
        await asyncio.get_running_loop().create_future()
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    if answer.delivery is Delivery.TRUNCATED:
        response.content_length = len(answer.body)
        await response.prepare(incoming)
        await response.write(answer.body[: len(answer.body) // 2])
    if incoming.transport is not None:
        incoming.transport.abort()
    return response
