"""Transports to servers that tests make up."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from edgekeeper.kube.cluster import ClusterConfig
from edgekeeper.kube.http import HttpOptions, HttpTransport


@asynccontextmanager
async def transport_to(
    url: str, options: HttpOptions | None = None, **cluster: Any
) -> AsyncIterator[HttpTransport]:
    transport = HttpTransport(ClusterConfig(url, **cluster), options or HttpOptions(), environ={})
    try:
        yield transport
    finally:
        await transport.close()
