"""Sends HTTP requests to Cloudflare with aiohttp. Tests send them to the simulation instead.

Responses are not trusted: their size is limited, compressed and decompressed; redirects are not followed, because the
token must not be sent to another host; cookies are not stored. The transport sets timeouts, and a request is sent once
(`send_once`).
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from typing import Protocol

import aiohttp
from yarl import URL

from edgekeeper.cloud.send_once import NotRepeatedError, send_once
from edgekeeper.core.redaction import redact_text

_MIB = 1024 * 1024
_GZIP = zlib.MAX_WBITS | 16


class Sender(Protocol):
    """Sends one request and returns status, headers by lower-case name, and body.

    Raises OSError if there was no response, or one that is refused.
    """

    async def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]: ...


class NoAnswerError(OSError):
    """The connection failed, or the response is too large or cannot be decompressed."""


@dataclass(frozen=True, slots=True)
class SenderOptions:
    """Limits of the sender."""

    connections: int = 16
    largest_answer: int = 32 * _MIB
    """Bytes. A page of 5,000 records is between two and three megabytes."""
    connect: timedelta = timedelta(seconds=10)
    proxy_from_environment: bool = True
    """Whether to use `HTTPS_PROXY` and `NO_PROXY`."""


DEFAULT_OPTIONS = SenderOptions()


class HttpSender:
    """The sender for production. It may be created anywhere, and is used in one event loop."""

    def __init__(self, options: SenderOptions = DEFAULT_OPTIONS) -> None:
        self._options = options
        self._session: aiohttp.ClientSession | None = None

    async def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        try:
            async with self._opened().request(
                method,
                URL(url, encoded=True),
                data=BytesIO(body) if body else None,  # in chunks: the rules of a tunnel may have megabytes
                headers={**headers, "accept-encoding": "gzip"},
                allow_redirects=False,
            ) as response:
                raw = await self._read(response.content)
        except NotRepeatedError as failed:
            raise _no_answer(failed.error) from failed.error
        except aiohttp.ClientError as error:
            raise _no_answer(error) from error
        received = {name.lower(): value for name, value in response.headers.items()}
        return response.status, received, self._unpacked(raw, received.get("content-encoding", ""))

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)  # connections are closed by callbacks

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            options = self._options
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=options.connections, ttl_dns_cache=30),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=options.connect.total_seconds()),
                cookie_jar=aiohttp.DummyCookieJar(),
                middlewares=(send_once,),
                auto_decompress=False,
                trust_env=options.proxy_from_environment,
            )
        return self._session

    async def _read(self, content: aiohttp.StreamReader) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in content.iter_any():
            size += len(part)
            if size > self._options.largest_answer:
                raise self._too_large()
            parts.append(part)
        return b"".join(parts)

    def _unpacked(self, raw: bytes, encoding: str) -> bytes:
        """The decompressed body. Raise NoAnswerError if it exceeds the limit, or is invalid."""
        if encoding.lower() in ("", "identity"):
            return raw
        if encoding.lower() != "gzip":
            raise NoAnswerError(f"the response has an unsupported encoding: {encoding[:40]!r}")
        unpacking = zlib.decompressobj(_GZIP)
        try:
            body = unpacking.decompress(raw, self._options.largest_answer)
        except zlib.error as error:
            raise NoAnswerError(f"the response cannot be decompressed: {error}") from error
        if unpacking.unconsumed_tail:
            raise self._too_large()
        if not unpacking.eof:
            raise NoAnswerError("the response cannot be decompressed: it is truncated")
        return body

    def _too_large(self) -> NoAnswerError:
        return NoAnswerError(f"the response is larger than {self._options.largest_answer} bytes")


def _no_answer(error: Exception) -> NoAnswerError:
    return NoAnswerError(redact_text(str(error)) or type(error).__name__)
