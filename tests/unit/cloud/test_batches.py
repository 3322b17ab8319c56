"""Batches stay open while changes keep coming, and never for longer than they may."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from edgekeeper.cloud.batches import Batches, CoalescerOptions, Entry
from edgekeeper.cloud.ticket import Ticket
from kubesim.virtual import virtual_time

OPTIONS = CoalescerOptions(timedelta(seconds=1), 100, timedelta(seconds=30))


def _entry(number: int, since: float, weight: int = 1) -> Entry[int, str]:
    return Entry(number, number, weight, Ticket("a document"), (), since)


def _due(*moments: float, options: CoalescerOptions = OPTIONS) -> float | None:
    batches: Batches[int, str] = Batches(options)
    for number, moment in enumerate(moments):
        batches.push(_entry(number, moment))
    return batches.due()


@virtual_time
async def test_batch_of_a_lone_change_is_due_after_the_window() -> None:
    assert _due(5.0) == 6.0


@virtual_time
async def test_batch_stays_open_while_changes_keep_coming() -> None:
    assert _due(0.0, 0.9, 1.8) == pytest.approx(2.8)


@virtual_time
async def test_batch_is_due_when_its_first_change_has_waited_for_the_longest_time() -> None:
    assert _due(*(number * 0.9 for number in range(40))) == 30.0


@virtual_time
async def test_batch_without_a_longest_time_is_due_after_the_window_of_its_first_change() -> None:
    assert _due(0.0, 0.9, options=CoalescerOptions(timedelta(seconds=1))) == 1.0


@virtual_time
async def test_batch_that_weighs_enough_is_due_at_once() -> None:
    batches: Batches[int, str] = Batches(OPTIONS)
    batches.push(_entry(1, asyncio.get_running_loop().time(), weight=100))
    assert batches.due() == float("-inf")
