"""An HTTP session with a server that is measured."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from benchmarks.plane.target import Target


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
