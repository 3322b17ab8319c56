"""ACK's controllers, simulated, against the server under test: over HTTP, as an administrator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Final

from edgekeeper.core.json import JsonObject, dig_list
from kubesim.ack.controller import AckControllers
from kubesim.ack.definitions import KINDS, AckKind
from kubesim.aws.cloud import AwsCloud
from kubesim.plane.errors import StatusError
from tests.conformance.client import Client

INTERVAL: Final = 0.3
"""Seconds between two looks at everything."""


class RemoteCluster:
    """The objects of a server, as they were listed last."""

    def __init__(self, api: Client) -> None:
        self._api = api
        self._listed: dict[str, list[JsonObject]] = {}

    async def refresh(self) -> None:
        for kind in KINDS:
            found = (await self._api.get(f"/apis/{kind.group}/v1alpha1/{kind.plural}")).expect(200)
            self._listed[kind.kind] = dig_list(found, "items")

    def objects(self, kind: AckKind) -> list[JsonObject]:
        return self._listed[kind.kind]

    async def merge(self, path: str, patch: JsonObject) -> None:
        answer = await self._api.patch(path, patch)
        if answer.status != 200:
            raise StatusError(answer.status, str(answer.body.get("reason", "")), answer.text)

    def now(self) -> datetime:
        return datetime.now(UTC)


@asynccontextmanager
async def ack_running(api: Client, cloud: AwsCloud, region: str) -> AsyncIterator[None]:
    """Keep objects of ACK. Their kinds must be installed."""
    cluster = RemoteCluster(api)
    controllers = AckControllers(cluster, cloud, region)

    async def work() -> None:
        while True:
            await cluster.refresh()
            await controllers.look()
            await asyncio.sleep(INTERVAL)

    task = asyncio.create_task(work(), name="ACK")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
