"""The HTTP session of aiobotocore's clients, with limits that its own does not set.

Nothing is assumed about what arrives from the network:

 - redirects are not followed: AWS sends none, and a signed request must not be sent to another host;
 - an answer has a largest size, a refusal a smaller one, and neither is decompressed (we ask for none that is compressed);
 - a request is sent once (`send_once`), and the transport decides about another attempt.

Failures are raised as botocore's own exceptions, which the simulated AWS raises as well, so that one table serves both.
"""

from __future__ import annotations

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
from edgekeeper.cloud.send_once import NotRepeatedError, send_once
from edgekeeper.core.redaction import redact_text

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest
    from botocore.compat import HTTPHeaders

LARGEST_ANSWER: Final = 4 * 1024 * 1024
"""Bytes. A page of a hundred tenants or domain names stays far below one megabyte."""
LARGEST_JSON_ANSWER: Final = 16 * 1024 * 1024
"""The same for services that speak plain JSON, of which ACM is one: the largest page of certificates fits (`acm.PAGE_SIZE`)."""
LARGEST_REFUSAL: Final = 512 * 1024
"""Bytes. Route 53 refuses a batch of a thousand records with one message for each, of less than 400 characters."""


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
            middlewares=(send_once,),
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
                return await _whole_answer(response, _largest_answer(request))
        except NotRepeatedError as failed:
            raise _failure(failed.error, request.url or "") from failed.error
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


class _Body:
    """A body that has been read, where aiobotocore expects one to read."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def read(self) -> bytes:
        return self._content


def _largest_answer(request: AWSPreparedRequest) -> int:
    """By what was asked, not by what was answered."""
    return LARGEST_JSON_ANSWER if "X-Amz-Target" in request.headers else LARGEST_ANSWER


async def _whole_answer(response: aiohttp.ClientResponse, largest: int) -> AioAWSResponse:
    if 300 <= response.status < 400:
        target = redact_text(response.headers.get("location", "nowhere"))
        raise BrokenAnswerError(f"redirected to {target}, which is not followed")
    if response.status >= 300:
        largest = LARGEST_REFUSAL
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > largest:
            raise BrokenAnswerError(f"the answer is larger than {largest} bytes")
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
