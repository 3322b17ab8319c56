"""Calls: every one has its number, and every hook is asked before and told after, in order."""

from __future__ import annotations

import pytest

from edgekeeper.core.calls import CallRecord, Calls


class Diary:
    """A hook that writes down what it hears."""

    def __init__(self, entries: list[str], name: str = "") -> None:
        self._entries = entries
        self._name = name

    async def before(self, call: CallRecord) -> None:
        self._entries.append(f"{self._name}before {call.number}")

    async def after(self, call: CallRecord) -> None:
        self._entries.append(f"{self._name}after {call.number}")


class Fault(Diary):
    async def before(self, call: CallRecord) -> None:
        raise ConnectionError(f"call {call.number} never left")


def record(calls: Calls) -> CallRecord:
    return calls.record("kubernetes", "PATCH widgets/status", "shop/web", mutating=True)


def test_calls_are_numbered_from_one() -> None:
    calls = Calls()
    assert [record(calls).number for _ in range(3)] == [1, 2, 3]


def test_record_says_what_is_called() -> None:
    assert record(Calls()) == CallRecord(1, "kubernetes", "PATCH widgets/status", "shop/web", mutating=True)


def test_two_processes_count_apart() -> None:
    first, second = Calls(), Calls()
    record(first)
    assert record(second).number == 1


async def test_hooks_hear_of_every_call_in_their_order() -> None:
    entries: list[str] = []
    calls = Calls(Diary(entries, "a "), Diary(entries, "b "))
    call = record(calls)
    await calls.before(call)
    await calls.after(call)
    assert entries == ["a before 1", "b before 1", "a after 1", "b after 1"]


async def test_hook_that_raises_stops_the_call() -> None:
    entries: list[str] = []
    calls = Calls(Fault(entries), Diary(entries))
    with pytest.raises(ConnectionError, match="call 1 never left"):
        await calls.before(record(calls))
    assert entries == []


async def test_hooks_can_come_and_go() -> None:
    entries: list[str] = []
    calls = Calls()
    calls.hooks.append(Diary(entries))
    await calls.before(record(calls))
    calls.hooks.clear()
    await calls.after(record(calls))
    assert entries == ["before 1"]
