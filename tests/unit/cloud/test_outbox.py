"""Changes handed in by one pass, and their results collected by a later one."""

from __future__ import annotations

import asyncio

import pytest

from edgekeeper.cloud.coalescer import PendingError
from edgekeeper.cloud.outbox import Outbox
from edgekeeper.core.errors import Stall
from kubesim.virtual import virtual_time
from tests.unit.cloud.document import Desk, Document, Record, names


class Controller:
    """Objects that want changes, and are woken."""

    def __init__(self, document: Document | None = None) -> None:
        self.desk = Desk(document)
        self.woken: asyncio.Queue[str] = asyncio.Queue()
        self.outbox: Outbox[str, Record, str] = Outbox(self.desk.coalescer, self.woken.put_nowait)


@virtual_time
async def test_outbox_first_pass_hands_in_and_a_later_one_gets_the_results() -> None:
    controller = Controller()
    async with controller.desk.open():
        with pytest.raises(PendingError):
            controller.outbox.perform("shop", names(3))
        assert await controller.woken.get() == "shop"
        assert controller.outbox.perform("shop", names(3)) == ["wrote name-0", "wrote name-1", "wrote name-2"]
    assert controller.desk.document.sizes == [3]


@virtual_time
async def test_outbox_passes_in_between_hand_in_nothing_more() -> None:
    controller = Controller()
    async with controller.desk.open():
        for _ in range(5):
            with pytest.raises(PendingError):
                controller.outbox.perform("shop", names(3))
            await asyncio.sleep(0.25)
    assert controller.desk.document.sizes == [3]


@virtual_time
async def test_outbox_error_is_raised_once_and_the_next_pass_tries_again() -> None:
    controller = Controller(Document(bad={"name-1"}))
    async with controller.desk.open():
        with pytest.raises(PendingError):
            controller.outbox.perform("shop", names(2))
        await asyncio.sleep(3)
        with pytest.raises(Stall, match="invalid: name-1"):
            controller.outbox.perform("shop", names(2))
        controller.desk.document.bad.clear()
        with pytest.raises(PendingError):
            controller.outbox.perform("shop", names(2))
        await asyncio.sleep(3)
        assert controller.outbox.perform("shop", names(2)) == ["wrote name-0", "wrote name-1"]


@virtual_time
async def test_outbox_other_wishes_are_handed_in_and_written_after_the_earlier_ones() -> None:
    controller = Controller()
    async with controller.desk.open():
        for value in ("1", "2"):
            with pytest.raises(PendingError):
                controller.outbox.perform("shop", [Record("a", value)])
        await asyncio.sleep(3)
        assert controller.outbox.perform("shop", [Record("a", "2")]) == ["wrote a"]
    assert controller.desk.document.records == {"a": "2"}


@virtual_time
async def test_outbox_owners_are_apart() -> None:
    controller = Controller(Document(bad={"a"}))
    async with controller.desk.open():
        for owner, name in (("shop", "a"), ("blog", "b")):
            with pytest.raises(PendingError):
                controller.outbox.perform(owner, [Record(name)])
        await asyncio.sleep(3)
        assert controller.outbox.perform("blog", [Record("b")]) == ["wrote b"]
        with pytest.raises(Stall):
            controller.outbox.perform("shop", [Record("a")])


@virtual_time
async def test_outbox_owner_that_is_gone_is_forgotten_and_its_change_written() -> None:
    controller = Controller()
    async with controller.desk.open():
        with pytest.raises(PendingError):
            controller.outbox.perform("shop", [Record("a")])
        controller.outbox.forget("shop")
        controller.outbox.forget("never there")
    assert controller.desk.document.records == {"a": ""}


@virtual_time
async def test_outbox_nothing_wanted_is_nothing_to_wait_for() -> None:
    assert Controller().outbox.perform("shop", []) == []
