"""Mirrors and writers that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from edgekeeper.cloud.members import Members
from edgekeeper.cloud.origin import Origin, acting_for, current_origin
from kubesim.virtual import virtual_time
from tests.unit.cloud.provider import SHOP


class Member:
    """Runs until it is cancelled, or has a bug."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.starts = 0
        self.running = False
        self.origin: Origin | None = None
        self.broken = asyncio.Event()

    async def run(self) -> None:
        self.starts += 1
        self.running = True
        self.origin = current_origin()
        try:
            await self.broken.wait()
            raise RuntimeError("a bug")
        finally:
            self.running = False


@asynccontextmanager
async def running(members: Members[str, Member]) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(members.run())
    await asyncio.sleep(0)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


@virtual_time
async def test_members_are_made_once_and_started_when_first_needed() -> None:
    members: Members[str, Member] = Members(Member)
    async with running(members):
        one = members.at("Z1")
        assert members.at("Z1") is one
        assert members.at("Z2") is not one
        await asyncio.sleep(1)
        assert [(member.key, member.starts) for member in members] == [("Z1", 1), ("Z2", 1)]


@virtual_time
async def test_members_that_were_needed_before_the_start_are_started_with_it() -> None:
    members: Members[str, Member] = Members(Member)
    early = members.at("Z1")
    async with running(members):
        await asyncio.sleep(1)
        assert early.running


@virtual_time
async def test_members_end_when_all_ends() -> None:
    members: Members[str, Member] = Members(Member)
    async with running(members):
        one = members.at("Z1")
        await asyncio.sleep(1)
    assert not one.running


@virtual_time
async def test_members_dropped_end_and_are_made_anew_when_needed() -> None:
    members: Members[str, Member] = Members(Member)
    async with running(members):
        one = members.at("Z1")
        await asyncio.sleep(1)
        await members.drop("Z1")
        await members.drop("never there")
        assert not one.running
        assert members.at("Z1") is not one


@virtual_time
async def test_members_do_not_act_for_whoever_needed_them_first() -> None:
    members: Members[str, Member] = Members(Member)
    async with running(members):
        with acting_for(SHOP):
            one = members.at("Z1")
        await asyncio.sleep(1)
        assert one.origin == Origin()


@virtual_time
async def test_members_mistake_ends_all_of_them() -> None:
    members: Members[str, Member] = Members(Member)
    async with running(members) as task:
        one, other = members.at("Z1"), members.at("Z2")
        await asyncio.sleep(1)
        one.broken.set()
        with pytest.raises(ExceptionGroup) as caught:
            await task
        assert caught.group_contains(RuntimeError, match="a bug")
        assert not other.running
