"""A batch that fails: the bad change is found, and the others hardly notice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekeeper.cloud.ticket import Ticket
from edgekeeper.core.errors import Conflict, PassError, Retry, Stall, Wait
from kubesim.virtual import run_virtual, virtual_time
from tests.unit.cloud.document import LATENCY, Desk, Document, Record, names


def now() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_bad_change_gets_its_error_alone_and_all_others_are_written() -> None:
    desk = Desk(Document(bad={"name-7"}))
    async with desk.open():
        tickets = [desk.submit(record) for record in names(20)]
    with pytest.raises(Stall, match=r"^invalid: name-7$"):
        tickets[7].result()
    assert [ticket.result() for ticket in tickets if ticket is not tickets[7]]
    assert set(desk.document.records) == {one.name for one in names(20)} - {"name-7"}


@virtual_time
async def test_bad_change_among_five_hundred_delays_nobody_by_more_than_a_few_seconds() -> None:
    desk = Desk(Document(bad={"name-313"}))
    done: list[float] = []
    async with desk.open():
        for one in names(500):
            desk.submit(one, wake=lambda: done.append(now()))
        await asyncio.sleep(60)
    delays = [moment - LATENCY for moment in done]
    assert len(delays) == 500
    assert delays[249] < 1, "half of them are written by the next write or the one after it"
    assert delays[-1] < 6
    assert len(desk.document.writes) <= 19


@virtual_time
async def test_bad_change_that_the_error_names_costs_two_more_writes() -> None:
    def find_faulty(error: Exception, records: Sequence[Record]) -> list[int]:
        return [position for position, one in enumerate(records) if str(error).endswith(one.name)]

    desk = Desk(Document(bad={"name-313"}), find_faulty=find_faulty)
    async with desk.open():
        tickets = [desk.submit(record) for record in names(500)]
        await asyncio.sleep(0.1)
    assert desk.document.sizes == [500, 499, 1]
    assert sum(ticket.done for ticket in tickets) == 500


@pytest.mark.parametrize(
    "faulty",
    [
        pytest.param([], id="nobody"),
        pytest.param([0, 1, 2, 3, 4, 5, 6, 7], id="everybody"),
        pytest.param([-1, 99], id="somebody who is not there"),
        pytest.param([0], id="the wrong one"),
    ],
)
def test_bad_change_is_found_also_where_the_accusation_is_of_no_use(faulty: list[int]) -> None:
    async def scenario() -> None:
        desk = Desk(Document(bad={"name-5"}), find_faulty=lambda *_: faulty)
        async with desk.open():
            for record in names(8):
                desk.submit(record)
        assert set(desk.document.records) == {one.name for one in names(8)} - {"name-5"}

    run_virtual(scenario)


@virtual_time
async def test_bad_change_is_found_also_where_the_accusation_fails() -> None:
    def find_faulty(*_: object) -> list[int]:
        raise ValueError("cannot read the error")

    desk = Desk(Document(bad={"name-5"}), find_faulty=find_faulty)
    async with desk.open():
        for record in names(8):
            desk.submit(record)
    assert len(desk.document.records) == 7


@virtual_time
async def test_newcomers_take_turns_with_the_parts_of_a_bad_batch() -> None:
    desk = Desk(Document(bad={"name-100"}))
    async with desk.open():
        for record in names(500):
            desk.submit(record)
        await asyncio.sleep(LATENCY / 2)
        began = now()
        await desk.submit(Record("newcomer")).wait()
        assert now() - began <= 1 + 3 * LATENCY
        assert desk.coalescer.pending, "the bad change is still being looked for"


@virtual_time
async def test_newcomer_of_a_key_that_is_in_a_bad_batch_is_written_after_it() -> None:
    desk = Desk(Document(bad={"name-1"}))
    async with desk.open():
        for record in names(50):
            desk.submit(record)
        await asyncio.sleep(1.1)
        desk.submit(Record("name-2", "newer"))
    values = [one.value for _, batch in desk.document.writes for one in batch if one.name == "name-2"]
    assert values[-1] == "newer"
    assert "newer" not in values[:-1]
    assert desk.document.records["name-2"] == "newer"


@virtual_time
async def test_change_whose_write_is_left_out_gets_its_error_from_the_result() -> None:
    async def write(records: Sequence[Record]) -> list[str | PassError]:
        return [Stall("Taken", "owned by other") if one.name == "name-1" else "ok" for one in records]

    desk = Desk(write=write)
    async with desk.open():
        tickets = [desk.submit(record) for record in names(3)]
    assert [tickets[0].result(), tickets[2].result()] == ["ok", "ok"]
    with pytest.raises(Stall, match="owned by other"):
        tickets[1].result()


@pytest.mark.parametrize(
    "error",
    [Retry("no answer"), Wait(timedelta(seconds=60), "Throttled", "Rate exceeded"), Conflict()],
    ids=lambda error: type(error).__name__,
)
def test_error_that_is_nobodys_fault_goes_to_all_and_nothing_is_repeated(error: PassError) -> None:
    async def scenario() -> None:
        desk = Desk(Document(error=error))
        async with desk.open():
            tickets = [desk.submit(record) for record in names(100)]
        for ticket in tickets:
            with pytest.raises(type(error)) as caught:
                ticket.result()
            assert vars(caught.value) == vars(error)
        assert desk.document.sizes == [100]

    run_virtual(scenario)


@virtual_time
async def test_change_that_crashes_the_writer_is_isolated_like_any_bad_one() -> None:
    document = Document()

    async def write(records: Sequence[Record]) -> list[str]:
        if any(not one.name.isascii() for one in records):
            raise UnicodeEncodeError("idna", "ö", 0, 1, "a bug")
        return await document.write(records)

    desk = Desk(document, write=write)
    async with desk.open():
        tickets = [desk.submit(record) for record in [*names(30), Record("ö")]]
    with pytest.raises(UnicodeEncodeError):
        tickets[-1].result()
    assert len(document.records) == 30


@virtual_time
async def test_writer_goes_on_after_a_batch_that_failed() -> None:
    desk = Desk(Document(error=Retry("no answer")))
    async with desk.open():
        with pytest.raises(Retry):
            await desk.submit(Record("a")).wait()
        desk.document.error = None
        assert await desk.submit(Record("a")).wait() == "wrote a"


@virtual_time
async def test_writer_that_is_cancelled_while_it_divides_fails_all_that_is_left() -> None:
    desk = Desk(Document(bad={"name-9"}))
    running = asyncio.create_task(desk.coalescer.run())
    tickets = [desk.submit(record) for record in names(500)]
    await asyncio.sleep(LATENCY * 3.5)
    running.cancel()
    await asyncio.wait({running})
    assert all(ticket.done for ticket in tickets)
    written = sum(1 for ticket in tickets if not _failed(ticket))
    assert written == len(desk.document.records) > 0


def _failed(ticket: Ticket[str]) -> bool:
    try:
        ticket.result()
    except PassError:
        return True
    return False


@settings(max_examples=40)
@given(
    bad=st.sets(st.integers(0, 59)),
    gaps=st.lists(st.floats(0, 1.5), min_size=60, max_size=60),
    heaviest=st.integers(1, 30),
)
def test_every_change_gets_its_own_result_whatever_is_bad(
    bad: set[int], gaps: list[float], heaviest: int
) -> None:
    async def scenario() -> None:
        desk = Desk(Document(bad={f"name-{n}" for n in bad}), heaviest=heaviest)
        async with desk.open():
            tickets = []
            for record, gap in zip(names(60), gaps, strict=True):
                tickets.append(desk.submit(record))
                await asyncio.sleep(gap)
        assert {n for n, ticket in enumerate(tickets) if _failed(ticket)} == bad
        assert len(desk.document.records) == 60 - len(bad)
        assert desk.document.most_in_flight == 1

    run_virtual(scenario)
