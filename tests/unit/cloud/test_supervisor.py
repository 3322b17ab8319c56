"""Tasks that are started, stopped and restarted by key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from edgekeeper.cloud.call_context import CallContext, acting_for, current_context
from edgekeeper.cloud.supervisor import Supervisor
from kubesim.virtual import virtual_time
from tests.logs import capture_logs
from tests.unit.cloud.provider import SHOP


class Job:
    """Runs until it is cancelled, told to end, or told to fail."""

    def __init__(self) -> None:
        self.starts: list[float] = []
        self.running = False
        self.context: CallContext | None = None
        self.end: asyncio.Future[None] = asyncio.Future()

    async def run(self) -> None:
        self.starts.append(asyncio.get_running_loop().time())
        self.running = True
        self.context = current_context()
        self.end = asyncio.Future()
        try:
            await self.end
        finally:
            self.running = False

    def fail(self) -> None:
        self.end.set_exception(RuntimeError("a bug"))


@asynccontextmanager
async def running(supervisor: Supervisor[str]) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(supervisor.run())
    await asyncio.sleep(0)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


def _supervisor() -> Supervisor[str]:
    return Supervisor("zones")


@virtual_time
async def test_supervisor_runs_what_is_started_before_it_and_after_it() -> None:
    supervisor, early, late = _supervisor(), Job(), Job()
    supervisor.start("Z1", early.run)
    async with running(supervisor):
        supervisor.start("Z2", late.run)
        await asyncio.sleep(1)
        assert [job.running for job in (early, late)] == [True, True]
    assert [job.running for job in (early, late)] == [False, False]


@virtual_time
async def test_supervisor_refuses_a_key_that_is_in_use() -> None:
    supervisor = _supervisor()
    async with running(supervisor):
        supervisor.start("Z1", Job().run)
        with pytest.raises(ValueError, match="zones: Z1 is already running"):
            supervisor.start("Z1", Job().run)


@virtual_time
async def test_supervisor_stops_one_task_and_its_key_can_be_used_again() -> None:
    supervisor, first, second, other = _supervisor(), Job(), Job(), Job()
    async with running(supervisor):
        supervisor.start("Z1", first.run)
        supervisor.start("Z2", other.run)
        await asyncio.sleep(1)
        await supervisor.stop("Z1")
        await supervisor.stop("never there")
        assert not first.running
        supervisor.start("Z1", second.run)
        await asyncio.sleep(1)
        assert second.running
        assert other.running


@virtual_time
async def test_supervisor_does_not_hand_on_the_context_of_whoever_starts_a_task() -> None:
    supervisor, job = _supervisor(), Job()
    async with running(supervisor):
        with acting_for(SHOP):
            supervisor.start("Z1", job.run)
        await asyncio.sleep(1)
        assert job.context == CallContext()


@virtual_time
async def test_supervisor_restarts_what_fails_and_leaves_the_others_alone() -> None:
    supervisor, job, other = _supervisor(), Job(), Job()
    async with running(supervisor) as task:
        supervisor.start("Z1", job.run)
        supervisor.start("Z2", other.run)
        await asyncio.sleep(1)
        with capture_logs() as lines:
            job.fail()
            await asyncio.sleep(0.5)
        assert (job.running, other.running) == (False, True)
        (line,) = lines
        assert (line["log_level"], line["owner"], line["task"]) == ("error", "zones", "Z1")
        await asyncio.sleep(1)
        assert (job.running, other.running) == (True, True)
        assert (len(job.starts), len(other.starts)) == (2, 1)
        assert not task.done()


@virtual_time
async def test_supervisor_pauses_grow_while_a_task_keeps_failing_and_shrink_after_it_has_lasted() -> None:
    supervisor, job = _supervisor(), Job()
    async with running(supervisor):
        supervisor.start("Z1", job.run)
        await asyncio.sleep(0)
        for pause in (1, 2, 4, 8):
            job.fail()
            await asyncio.sleep(pause - 0.1)
            assert not job.running
            await asyncio.sleep(0.2)
            assert job.running
        await asyncio.sleep(600)
        job.fail()
        await asyncio.sleep(1.1)
        assert job.running, "the first pause again"


@virtual_time
async def test_supervisor_does_not_restart_what_has_ended_by_itself() -> None:
    supervisor, job = _supervisor(), Job()
    async with running(supervisor):
        supervisor.start("Z1", job.run)
        await asyncio.sleep(1)
        job.end.set_result(None)
        await asyncio.sleep(3600)
        assert len(job.starts) == 1


@virtual_time
async def test_supervisor_stops_a_task_that_waits_to_be_restarted() -> None:
    supervisor, job = _supervisor(), Job()
    async with running(supervisor):
        supervisor.start("Z1", job.run)
        await asyncio.sleep(1)
        job.fail()
        await asyncio.sleep(0.1)
        await supervisor.stop("Z1")
        await asyncio.sleep(3600)
        assert len(job.starts) == 1
