"""The API client: requests and pagination.

A request is sent with `cloud.transport`, which numbers, rate-limits, retries and audits it, and with the `Sender`; `reply`
validates the response. The token is read for every attempt, so that a changed Secret is used immediately.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from edgekeeper import __version__
from edgekeeper.cloud.cloudflare.credential import Credential
from edgekeeper.cloud.cloudflare.errors import classify, is_absent, unreadable
from edgekeeper.cloud.cloudflare.operations import Endpoint
from edgekeeper.cloud.cloudflare.reply import PageInfo, RefusedError, Reply, parse_reply
from edgekeeper.cloud.cloudflare.sender import Sender
from edgekeeper.cloud.transport import Transport

BASE_URL = "https://api.cloudflare.com/client/v4"
USER_AGENT = f"edgekeeper/{__version__}"

_MOST_PAGES = 10_000
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CloudflareCall:
    """A request to an endpoint."""

    endpoint: Endpoint
    ids: Mapping[str, str]
    query: Mapping[str, str] | None = None
    body: Any = None
    """Must not contain null, which Cloudflare treats as a value."""

    @property
    def subject(self) -> str:
        return self.endpoint.path(self.ids)


class CloudflareClient:
    """Calls Cloudflare with one credential."""

    def __init__(
        self, transport: Transport, sender: Sender, credential: Credential, base_url: str = BASE_URL
    ) -> None:
        self.credential = credential
        self._transport = transport
        self._sender = sender
        self._base_url = checked_base(base_url)

    async def call(self, call: CloudflareCall, type_: type[T]) -> T:
        """Send a request, and return the result as `type_`. Raise one of the four errors if it fails."""

        async def send() -> T:
            return (await self._send(call)).read(type_)

        return await self._via_transport(call, send)

    async def find(self, call: CloudflareCall, type_: type[T]) -> T | None:
        """Send a request for an object, and return it as `type_`, or None if it does not exist."""

        async def send() -> T | None:
            try:
                return (await self._send(call)).read(type_)
            except RefusedError as error:
                if is_absent(error):
                    return None
                raise

        return await self._via_transport(call, send)

    async def pages(self, call: CloudflareCall, type_: type[T], per_page: int) -> AsyncIterator[list[T]]:
        """All objects of a collection, page by page. Ends normally only after the last page."""
        seen = 0
        for page in range(1, _MOST_PAGES + 1):
            numbers = {"page": str(page), "per_page": str(per_page)}
            paged = CloudflareCall(call.endpoint, call.ids, {**(call.query or {}), **numbers})
            items, info = await self._page(paged, type_)
            seen += len(items)
            last = _is_last(items, seen, info, per_page)
            yield items
            if last:
                return
        raise unreadable(f"{call.subject} has more than {_MOST_PAGES} pages")

    async def _page(self, call: CloudflareCall, type_: type[T]) -> tuple[list[T], PageInfo]:
        async def send() -> tuple[list[T], PageInfo]:
            reply = await self._send(call)
            return reply.read_list(type_), reply.info or PageInfo()

        return await self._via_transport(call, send)

    async def _send(self, call: CloudflareCall) -> Reply:
        query = f"?{urlencode(call.query)}" if call.query else ""
        url = f"{self._base_url}{call.subject}{query}"
        headers = {
            "authorization": self.credential.token().header,
            "user-agent": USER_AGENT,
            "accept": "application/json",
        }
        body = b""
        if call.body is not None:
            body = msgspec.json.encode(call.body)
            headers["content-type"] = "application/json"
        return parse_reply(*await self._sender(call.endpoint.method, url, headers, body))

    async def _via_transport(self, call: CloudflareCall, send: Callable[[], Awaitable[T]]) -> T:
        return await self._transport.call(
            call.endpoint.operation,
            call.subject,
            send,
            credential=self.credential.token().fingerprint,
            classify=classify,
        )


def _is_last(items: Sequence[object], seen: int, info: PageInfo, requested: int) -> bool:
    """Whether a page is the last one. Raise Retry if there are fewer objects than its total count.

    Servers may return shorter pages than requested, and omit the total count.
    """
    size = info.per_page if info.per_page is not None and info.per_page > 0 else requested
    if len(items) >= size and (info.total_count is None or seen < info.total_count):
        return False
    if info.total_count is not None and seen < info.total_count:
        raise unreadable(f"the listing ends after {seen} of {info.total_count} objects")
    return True


def checked_base(base_url: str) -> str:
    """The base URL without a trailing slash. Raise ValueError if a token would be sent unencrypted."""
    parts = urlsplit(base_url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise ValueError(f"an API token is only sent over https, not to {base_url!r}")
    return base_url.rstrip("/")
