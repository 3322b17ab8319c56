"""A server to measure, as client processes see it, and an HTTP session with it."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import msgspec


class Target(msgspec.Struct, frozen=True):
    """Where a server listens and how to get in; travels between processes as JSON."""

    url: str
    ca_file: str
    token: str = ""


@asynccontextmanager
async def open_session(target: Target) -> AsyncIterator[aiohttp.ClientSession]:
    """A session that trusts exactly this server; as many connections as there are requests at once."""
    headers = {"Authorization": f"Bearer {target.token}"} if target.token else {}
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=target.ca_file), limit=0)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
    async with aiohttp.ClientSession(
        target.url, connector=connector, headers=headers, timeout=timeout
    ) as session:
        yield session
