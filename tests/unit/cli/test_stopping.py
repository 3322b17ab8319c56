"""Signals end work in order, and only once."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from edgekeeper.cli.failure import CommandError, ExitCode
from edgekeeper.cli.stopping import stop_on_signals, until_stopped


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED)],
    ids=["Ctrl-C", "kill"],
)
async def test_signal_cancels_unfinished_work(number: signal.Signals, code: ExitCode) -> None:
    cleaned = asyncio.Event()

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    with stop_on_signals() as stop, pytest.raises(CommandError, match=number.name) as caught:
        await stop.unless_stopped(work())
    assert caught.value.code == code
    assert cleaned.is_set()


async def test_finished_work_gives_its_result_and_its_error() -> None:
    async def succeed() -> int:
        return 7

    async def fail() -> None:
        raise CommandError("broken")

    with stop_on_signals() as stop:
        assert await stop.unless_stopped(succeed()) == 7
        with pytest.raises(CommandError, match="broken"):
            await stop.unless_stopped(fail())


async def test_waiting_ends_with_the_signal_that_came() -> None:
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert await stop.wait() is signal.SIGTERM


async def test_handlers_are_gone_after_the_first_signal_and_after_the_block() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        await stop.wait()
        assert signal.getsignal(signal.SIGTERM) == before
    with stop_on_signals():
        pass
    assert signal.getsignal(signal.SIGTERM) == before


async def test_work_without_an_end_ends_by_a_signal_and_is_done() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("cleaned up")

    asyncio.get_running_loop().call_later(0.01, os.kill, os.getpid(), signal.SIGINT)
    await until_stopped(work())
    assert ended == ["cleaned up"]


async def test_work_that_ends_or_fails_by_itself_is_not_waited_for() -> None:
    async def fail() -> None:
        raise ValueError("no")

    async def end() -> None:
        """Nothing is to be done."""

    await until_stopped(end())
    with pytest.raises(ValueError, match="no"):
        await until_stopped(fail())
