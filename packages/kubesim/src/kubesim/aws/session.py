"""aiobotocore without a socket: an HTTP session that hands requests to a simulated cloud in this process.

    AioConfig(http_session_cls=session_class(cloud))

Everything above HTTP is what production runs: signing, serialising, parsing, retrying. What a network would do to an
answer shows as the exceptions that aiobotocore's own session raises, and time is the event loop's, which may be
virtual.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, NoReturn

from aiobotocore.awsrequest import AioAWSResponse
from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from botocore.httpsession import ConnectionClosedError, EndpointConnectionError, ReadTimeoutError

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.request import Answer, Delivery, Request


@dataclass
class _Body:
    """A body that has arrived."""

    content: bytes

    async def read(self) -> bytes:
        return self.content


class InProcessSession:
    """Made by aiobotocore, once per client. `session_class` binds it to a cloud."""

    cloud: ClassVar[AwsCloud]

    def __init__(self, timeout: float | tuple[float, float] | None = None, **_: Any) -> None:
        self._timeout = timeout[1] if isinstance(timeout, list | tuple) else timeout

    async def __aenter__(self) -> InProcessSession:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Nothing is open."""

    async def send(self, request: AWSPreparedRequest) -> AioAWSResponse:
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self.cloud.handle(_translated(request))
                if answer.delivery is Delivery.SILENT:
                    await asyncio.get_running_loop().create_future()
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=request.url, error=error) from error
        if answer.delivery is not Delivery.COMPLETE:
            _break(request, answer)
        headers = HTTPHeaders()
        for name, value in answer.headers.items():
            headers[name] = value
        return AioAWSResponse(request.url, answer.status, headers, _Body(answer.body))


def session_class(cloud: AwsCloud) -> type[InProcessSession]:
    """What to configure aiobotocore's clients with, so that they talk to `cloud`."""
    return type("BoundSession", (InProcessSession,), {"cloud": cloud})


def _translated(request: AWSPreparedRequest) -> Request:
    headers = {name: _text(value) for name, value in request.headers.items()}
    return Request.of(request.method, request.url, headers, _bytes(request.body))


def _bytes(body: object) -> bytes:
    if isinstance(body, str):
        return body.encode()
    return bytes(body) if isinstance(body, bytes | bytearray) else b""


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _break(request: AWSPreparedRequest, answer: Answer) -> NoReturn:
    """Fail as aiobotocore's session does when a connection breaks."""
    if answer.delivery is Delivery.REFUSED:
        raise EndpointConnectionError(endpoint_url=request.url, error=ConnectionRefusedError())
    raise ConnectionClosedError(endpoint_url=request.url, request=request, error=ConnectionResetError())
