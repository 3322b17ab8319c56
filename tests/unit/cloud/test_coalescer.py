"""The single writer: none lost, one at a time, as few writes as possible."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from edgekeeper.cloud.call_context import CallContext, acting_for
from edgekeeper.cloud.coalescer import Coalescer, CoalescerOptions, PendingError
from edgekeeper.core.errors import Retry, Wait
from kubesim.virtual import virtual_time
from tests.unit.cloud.document import LATENCY, Desk, Document, Record, names
from tests.unit.cloud.provider import SHOP


def now() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_coalescer_writes_what_comes_within_a_window_together() -> None:
    desk = Desk()
    async with desk.open():
        tickets = []
        for record in names(9):
            tickets.append(desk.submit(record))
            await asyncio.sleep(0.1)
        assert [await ticket.wait() for ticket in tickets] == [f"wrote name-{n}" for n in range(9)]
    assert desk.document.sizes == [9]
    assert desk.document.writes[0][0] == pytest.approx(1.0)


@virtual_time
async def test_coalescer_loses_none_of_sixty_changes_of_thirty_two_concurrent_callers() -> None:
    desk = Desk()
    random = Random(32)
    work = names(60)

    async def call() -> None:
        while work:
            await asyncio.sleep(random.random() * 3)
            if work:
                await desk.submit(work.pop()).wait()

    async with desk.open():
        await asyncio.gather(*(call() for _ in range(32)))
    assert desk.document.records == {record.name: record.value for record in names(60)}
    assert len(desk.document.writes) < 15


@virtual_time
async def test_coalescer_thousand_names_at_once_are_two_writes() -> None:
    desk = Desk()
    async with desk.open():
        tickets = [desk.submit(record) for record in names(1_000)]
        await asyncio.gather(*(ticket.wait() for ticket in tickets))
        assert now() <= 3 * LATENCY, "a full batch does not wait for the window"
    assert desk.document.sizes == [500, 500]


@virtual_time
async def test_coalescer_has_one_write_in_flight() -> None:
    desk = Desk(heaviest=10)
    async with desk.open():
        for record in names(100):
            desk.submit(record)
            await asyncio.sleep(0.02)
    assert desk.document.most_in_flight == 1
    assert len(desk.document.records) == 100


@virtual_time
async def test_coalescer_gathers_while_it_writes() -> None:
    desk = Desk()
    async with desk.open():
        desk.submit(Record("first"))
        await asyncio.sleep(1.1)
        for record in names(50):
            desk.submit(record)
            await asyncio.sleep(0.001)
    assert desk.document.sizes == [1, 50]


@pytest.mark.parametrize(
    ("weights", "batches"),
    [
        pytest.param([4, 4, 4, 4], [2, 2], id="as many as fit"),
        pytest.param([10, 10, 1], [1, 1, 1], id="one fills a batch"),
        pytest.param([25, 1, 1], [1, 2], id="one that is too heavy goes alone"),
        pytest.param([6, 6, 4], [2, 1], id="what is light enough fills the gap"),
    ],
)
def test_coalescer_batches_are_bounded_by_weight(weights: list[int], batches: list[int]) -> None:
    @virtual_time
    async def scenario() -> None:
        desk = Desk(heaviest=10)
        async with desk.open():
            for number, weight in enumerate(weights):
                desk.submit(Record(f"name-{number}", weight=weight))
        assert desk.document.sizes == batches

    scenario()


@virtual_time
async def test_coalescer_submitting_never_waits_and_results_are_pending_at_first() -> None:
    desk = Desk()
    ticket = desk.submit(Record("a"))
    assert not ticket.done
    with pytest.raises(PendingError, match="zone Z1: the change waits to be written with others") as caught:
        ticket.result()
    assert isinstance(caught.value, Wait)
    assert desk.coalescer.pending == 1
    async with desk.open():
        await ticket.wait()
    assert (ticket.done, ticket.result(), desk.coalescer.pending) == (True, "wrote a", 0)


# Waking


@virtual_time
async def test_coalescer_wakes_each_owner_once_when_there_is_a_result() -> None:
    desk = Desk(Document(bad={"name-3"}))
    woken: Counter[str] = Counter()
    async with desk.open():
        tickets = {
            record.name: desk.submit(record, wake=partial(woken.update, [record.name])) for record in names(8)
        }
        await asyncio.sleep(0.9)
        assert not woken
    assert woken == dict.fromkeys(tickets, 1)


@virtual_time
async def test_coalescer_result_is_there_when_its_owner_is_woken() -> None:
    desk = Desk()
    seen: list[str] = []
    async with desk.open():
        ticket = desk.submit(Record("a"))
        ticket.on_done(lambda: seen.append(ticket.result()))
        await ticket.wait()
        ticket.on_done(lambda: seen.append("at once"))
    assert seen == ["wrote a", "at once"]


@virtual_time
async def test_coalescer_owner_that_cannot_be_woken_does_not_disturb_the_others() -> None:
    def broken() -> None:
        raise RuntimeError("a bug")

    desk = Desk()
    async with desk.open():
        desk.submit(Record("a"), wake=broken)
        other = desk.submit(Record("b"))
    assert other.result() == "wrote b"


# One key


@virtual_time
async def test_coalescer_changes_of_one_key_are_written_in_order_and_never_together() -> None:
    desk = Desk()
    async with desk.open():
        tickets = [desk.submit(Record("a", value)) for value in "123"]
        desk.submit(Record("b", "1"))
    assert [[(one.name, one.value) for one in batch] for _, batch in desk.document.writes] == [
        [("a", "1"), ("b", "1")],
        [("a", "2")],
        [("a", "3")],
    ]
    assert desk.document.records["a"] == "3"
    assert all(ticket.done for ticket in tickets)


@virtual_time
async def test_coalescer_equal_changes_under_way_share_a_ticket() -> None:
    desk = Desk()
    woken: list[int] = []
    async with desk.open():
        first = desk.submit(Record("a", "1"), wake=lambda: woken.append(1))
        assert desk.submit(Record("a", "1"), wake=lambda: woken.append(2)) is first
        await asyncio.sleep(1.1)
        assert desk.document.in_flight == 1
        assert desk.submit(Record("a", "1")) is first
    assert desk.document.sizes == [1]
    assert woken == [1, 2]


@virtual_time
async def test_coalescer_change_there_and_back_is_three_changes() -> None:
    desk = Desk()
    async with desk.open():
        for value in ("1", "2", "1"):
            desk.submit(Record("a", value))
    assert [batch[0].value for _, batch in desk.document.writes] == ["1", "2", "1"]


@virtual_time
async def test_coalescer_change_that_was_written_before_is_written_again() -> None:
    desk = Desk()
    async with desk.open():
        await desk.submit(Record("a", "1")).wait()
        await desk.submit(Record("a", "1")).wait()
    assert desk.document.sizes == [1, 1]


# What need not be written


@virtual_time
async def test_coalescer_drops_what_is_the_case_already() -> None:
    document = Document({f"name-{n}": str(n) for n in range(5)})
    desk = Desk(
        document, find_result=lambda one: "kept" if document.records.get(one.name) == one.value else None
    )
    async with desk.open():
        tickets = [desk.submit(record) for record in names(7)]
    assert [ticket.result() for ticket in tickets] == ["kept"] * 5 + ["wrote name-5", "wrote name-6"]
    assert document.sizes == [2]


@virtual_time
async def test_coalescer_writes_nothing_where_all_is_the_case_already() -> None:
    desk = Desk(find_result=lambda _: "kept")
    async with desk.open():
        tickets = [desk.submit(record) for record in names(7)]
    assert {ticket.result() for ticket in tickets} == {"kept"}
    assert desk.document.writes == []


@virtual_time
async def test_coalescer_comparison_that_fails_concerns_only_its_own_change() -> None:
    def compare(record: Record) -> str | None:
        if record.name == "name-1":
            raise ValueError("cannot compare")
        return None

    desk = Desk(find_result=compare)
    async with desk.open():
        tickets = [desk.submit(record) for record in names(3)]
    with pytest.raises(ValueError, match="cannot compare"):
        tickets[1].result()
    assert sorted(desk.document.records) == ["name-0", "name-2"]


# In whose name


@virtual_time
async def test_coalescer_writes_in_the_name_of_all_whose_changes_these_are() -> None:
    blog = replace(SHOP, name="blog")
    desk = Desk()
    async with desk.open():
        for actor, names_ in ((SHOP, "ab"), (blog, "c")):
            with acting_for(actor):
                for name in names_:
                    desk.submit(Record(name))
        desk.submit(Record("nobody's"))
    assert desk.document.contexts == [CallContext((SHOP, blog))]


# The end


@virtual_time
async def test_coalescer_that_has_stopped_refuses_and_wakes() -> None:
    desk = Desk()
    async with desk.open():
        await asyncio.sleep(0)
    woken: list[bool] = []
    ticket = desk.submit(Record("late"), wake=lambda: woken.append(True))
    with pytest.raises(Retry, match="zone Z1: the writer has stopped"):
        ticket.result()
    assert woken == [True]


@virtual_time
async def test_coalescer_that_is_cancelled_fails_its_tickets_and_loses_none() -> None:
    desk = Desk(heaviest=10)
    woken: list[str] = []
    running = asyncio.create_task(desk.coalescer.run())
    tickets = [desk.submit(one, wake=partial(woken.append, one.name)) for one in names(25)]
    await asyncio.sleep(LATENCY * 1.5)
    assert desk.document.in_flight == 1
    running.cancel()
    await asyncio.wait({running})
    assert [ticket.done for ticket in tickets] == [True] * 25
    assert len(woken) == 25
    for ticket, words in (
        (tickets[10], "while the change was being written"),
        (tickets[24], "before the change"),
    ):
        with pytest.raises(Retry, match=words) as caught:
            ticket.result()
        assert caught.value.reason == "WriterStopped"


@virtual_time
async def test_coalescer_that_was_cancelled_can_be_run_again() -> None:
    desk = Desk()
    running = asyncio.create_task(desk.coalescer.run())
    lost = desk.submit(Record("a", "1"))
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait({running})
    with pytest.raises(Retry, match="before the change was written"):
        lost.result()
    async with desk.open():
        await asyncio.sleep(0)
        again = desk.submit(Record("a", "2"))
    assert again.result() == "wrote a"
    assert desk.document.records == {"a": "2"}


@virtual_time
async def test_coalescer_with_a_bug_fails_its_tickets_and_loses_none() -> None:
    async def too_few(_: Sequence[Record]) -> list[str]:
        return ["one result"]

    desk = Desk(write=too_few)
    async with desk.open():
        tickets = [desk.submit(record) for record in names(3)]
    for ticket in tickets:
        with pytest.raises(RuntimeError, match="1 results of 3 changes"):
            ticket.result()


@virtual_time
async def test_coalescer_changes_weigh_one_each_unless_told_otherwise() -> None:
    document = Document()
    coalescer: Coalescer[Record, str] = Coalescer(
        "zone Z1", document.write, key=lambda record: record.name, options=CoalescerOptions(heaviest=3)
    )
    tickets = [coalescer.submit(record) for record in names(7)]
    running = asyncio.create_task(coalescer.run())
    for ticket in tickets:
        await ticket.wait()
    running.cancel()
    assert document.sizes == [3, 3, 1]
