"""What all kinds of a process share of an AWS account runs once, for as long as one of them does."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

import pytest

from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.core.clock import SystemClock


class _Dns:
    """Counts how often it is started, and fails when it is told to."""

    def __init__(self) -> None:
        self.running = 0
        self.starts = 0
        self.fails = asyncio.Event()

    async def run(self) -> None:
        self.running += 1
        self.starts += 1
        try:
            await self.fails.wait()
            raise RuntimeError("a bug")
        finally:
            self.running -= 1


def _account() -> tuple[AwsAccount, _Dns]:
    account, dns = AwsAccount(Mock(), SystemClock(), Mock()), _Dns()
    account.dns = dns  # type: ignore[assignment] # only `run` is used
    return account, dns


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_account_runs_once_until_its_last_user_is_cancelled() -> None:
    account, dns = _account()
    users = [asyncio.create_task(account.run()) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (dns.starts, dns.running) == (1, 1)
    await _cancelled(users[0])
    assert dns.running == 1
    await _cancelled(users[1])
    assert dns.running == 0
    later = asyncio.create_task(account.run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (dns.starts, dns.running) == (2, 1)
    await _cancelled(later)


async def test_failure_of_an_account_reaches_all_its_users() -> None:
    account, dns = _account()
    users = [asyncio.create_task(account.run()) for _ in range(2)]
    await asyncio.sleep(0)
    dns.fails.set()
    for user in users:
        with pytest.raises(RuntimeError, match="a bug"):
            await user
