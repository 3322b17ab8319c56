"""The HTTP session of aiobotocore's clients, with limits that its own does not set.

Nothing is assumed about what arrives from the network:

 - redirects are not followed: AWS sends none, and a signed request must not be sent to another host;
 - an answer has a largest size and is never decompressed (we ask for none that is compressed);
 - aiohttp repeats a GET, PUT or DELETE by itself when a kept connection turns out to be dead. That would be a call
   without a number, so it is prevented, and the transport decides;
 - a success without a body where there must be one, or with a page of HTML in it, is broken. botocore would read such
   an answer as an empty listing.

Failures are raised as botocore's own exceptions, which the simulated AWS raises as well, so that one table serves both.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

import aiohttp
from aiobotocore.awsrequest import AioAWSResponse
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.httpsession import ProxyConfiguration, get_cert_path
from yarl import URL

from edgekeeper.cloud.aws.answers import BrokenAnswerError
from edgekeeper.core.redaction import redact_text

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest
    from botocore.compat import HTTPHeaders
    from botocore.model import OperationModel

LARGEST_ANSWER: Final = 16 * 1024 * 1024
"""Bytes. A page of a hundred tenants or a thousand certificates stays far below one megabyte."""

_FIRST_ELEMENT = re.compile(rb"<([A-Za-z_][\w:.-]*)")
_NOT_AN_ANSWER = frozenset({b"html", b"error", b"errorresponse"})


class GuardedSession:
    """The HTTP session of production, with the constructor that aiobotocore calls."""

    def __init__(
        self,
        *,
        verify: bool | str = True,
        timeout: tuple[float, float] = (5, 30),
        max_pool_connections: int = 20,
        client_cert: str | tuple[str, str] | None = None,
        proxies: dict[str, str] | None = None,
        proxies_config: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        connect, read = timeout
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect, sock_read=read)
        self._proxies = ProxyConfiguration(proxies=proxies, proxies_settings=dict(proxies_config or {}))
        self._connections = max_pool_connections
        self._tls = _tls_context(verify, client_cert)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> GuardedSession:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, ssl=self._tls, keepalive_timeout=12),
            timeout=self._timeout,
            skip_auto_headers={"CONTENT-TYPE"},
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(_once,),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(self, request: AWSPreparedRequest) -> AioAWSResponse:
        if self._session is None:
            raise RuntimeError("the session has not been opened")
        try:
            async with self._session.request(
                request.method or "GET",
                URL(request.url or "", encoded=True),
                data=request.body or None,
                headers={**_headers_of(request), "Accept-Encoding": "identity"},
                allow_redirects=False,
                proxy=self._proxies.proxy_url_for(request.url),
                proxy_headers=self._proxies.proxy_headers_for(request.url),
            ) as response:
                return await _whole_answer(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _failure(error, request.url or "") from error


@lru_cache(maxsize=8)
def _tls_context(verify: bool | str, client_cert: str | tuple[str, str] | None) -> ssl.SSLContext:
    """One for all clients: reading the trusted certificates takes a while, and megabytes."""
    if verify is False:
        raise ValueError("certificates of AWS are always checked: name a bundle of trusted ones instead")
    bundle = verify if isinstance(verify, str) else get_cert_path(True)
    context = ssl.create_default_context(cafile=bundle)
    if client_cert is not None:
        context.load_cert_chain(*([client_cert] if isinstance(client_cert, str) else client_cert))
    return context


def _headers_of(request: AWSPreparedRequest) -> dict[str, str]:
    return {name: _text(value) for name, value in request.headers.items()}


def _text(value: object) -> str:
    """Signers use both str and bytes in headers."""
    return value.decode() if isinstance(value, bytes) else str(value)


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a request again, by an error that it does not know."""
    try:
        return await handler(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _failure(error, str(request.url.origin())) from error


class _Body:
    """A body that has been read, where aiobotocore expects one to read."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def read(self) -> bytes:
        return self._content


async def _whole_answer(response: aiohttp.ClientResponse) -> AioAWSResponse:
    if 300 <= response.status < 400:
        target = redact_text(response.headers.get("location", "nowhere"))
        raise BrokenAnswerError(f"redirected to {target}, which is not followed")
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > LARGEST_ANSWER:
            raise BrokenAnswerError(f"the answer is larger than {LARGEST_ANSWER} bytes")
        parts.append(part)
    headers = cast("HTTPHeaders", {name.lower(): value for name, value in response.headers.items()})
    return AioAWSResponse(str(response.url), response.status, headers, _Body(b"".join(parts)))


def _failure(error: Exception, url: str) -> Exception:
    """The same failure as botocore names it. The first three mean that the request never left."""
    if isinstance(error, aiohttp.ClientSSLError):
        return SSLError(endpoint_url=url, error=error)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return ConnectTimeoutError(endpoint_url=url, error=error)
    if isinstance(error, aiohttp.ClientConnectorError):
        return EndpointConnectionError(endpoint_url=url, error=error)
    if isinstance(error, TimeoutError):
        return ReadTimeoutError(endpoint_url=url, error=error)
    return ConnectionClosedError(endpoint_url=url, error=error)


def refuse_broken(operation_model: OperationModel, response_dict: dict[str, Any], **_: Any) -> None:
    """Refuse a success that botocore would read as an empty answer. Called before any answer is parsed."""
    status = response_dict["status_code"]
    if status >= 300 or status == 204 or not _has_body(operation_model):
        return
    body: bytes = response_dict["body"].lstrip()
    name = operation_model.name
    if not body:
        raise BrokenAnswerError(f"{name} was answered with nothing")
    if operation_model.service_model.protocol in {"rest-xml", "query"}:
        root = _FIRST_ELEMENT.search(body)
        if root is None or root[1].lower() in _NOT_AN_ANSWER:
            raise BrokenAnswerError(f"{name} was answered with something else than its result")
    elif not body.startswith(b"{"):
        raise BrokenAnswerError(f"{name} was answered with something else than an object")


def _has_body(operation_model: OperationModel) -> bool:
    shape = operation_model.output_shape
    if shape is None:
        return False
    return any("location" not in member.serialization for member in shape.members.values())
