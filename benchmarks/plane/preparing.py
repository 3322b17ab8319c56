"""Bring a server into the state that a measurement starts from: the kind defined, the namespaces there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import aiohttp

from benchmarks.plane.session import open_session
from benchmarks.plane.target import Target
from benchmarks.plane.workload import CRD_NAME, CRDS_PATH, NAMESPACES_PATH, definition, sites_path
from edgekeeper.core.json import JsonObject


def prepare(target: Target, namespaces: Sequence[str]) -> None:
    asyncio.run(_prepare(target, namespaces))


async def _prepare(target: Target, namespaces: Sequence[str]) -> None:
    async with open_session(target) as session:
        await set_stage(session, namespaces, definition())


async def set_stage(
    session: aiohttp.ClientSession, namespaces: Sequence[str], definition: JsonObject
) -> None:
    """Create the namespaces and the kind, and wait until the kind is served."""
    for name in namespaces:
        await _create(session, NAMESPACES_PATH, {"metadata": {"name": name}})
    await _create(session, CRDS_PATH, definition)
    async with asyncio.timeout(30):
        await _until_served(session, namespaces[0])


async def _create(session: aiohttp.ClientSession, path: str, body: dict[str, object]) -> None:
    async with session.post(path, json=body) as response:
        if response.status != 201:
            raise RuntimeError(f"POST {path} answered {response.status}: {await response.text()}")


async def _until_served(session: aiohttp.ClientSession, namespace: str) -> None:
    while True:
        if await _is_served(session, namespace):
            return
        await asyncio.sleep(0.05)


async def _is_served(session: aiohttp.ClientSession, namespace: str) -> bool:
    """Established, and the kind's own path answers: right after the first it may still be 404 or 429."""
    async with session.get(f"{CRDS_PATH}/{CRD_NAME}") as response:
        conditions = (await response.json()).get("status", {}).get("conditions") or []
    established = any(item["type"] == "Established" and item["status"] == "True" for item in conditions)
    if not established:
        return False
    async with session.get(sites_path(namespace)) as response:
        return response.status == 200
