"""Answers that the outbox keeps for an object, and what it does not keep with them."""

from __future__ import annotations

import gc
import weakref
from typing import cast

import pytest

from edgekeeper.api.shared import InventoryRecord
from edgekeeper.cloud.aws.dns.changes import Wish
from edgekeeper.cloud.aws.dns.outbox import DnsOutbox
from edgekeeper.cloud.aws.dns.state import DnsWork
from edgekeeper.cloud.aws.dns.zone import Written
from edgekeeper.cloud.aws.dns.zones import Zones
from edgekeeper.cloud.outbox import Owner
from edgekeeper.cloud.ticket import Ticket
from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.errors import Stall
from kubesim.virtual import virtual_time

UID, GENERATION = "uid-1", 3
ENTRY = InventoryRecord("Z1", "shop.example.com", "CNAME", "d1.cloudfront.net", 300)


class _Writer:
    """All zones in one, which answers when it is told to."""

    def __init__(self) -> None:
        self.tickets: list[Ticket[Written]] = []

    def get(self, *_: object) -> _Writer:
        return self

    def submit(self, _: Wish, **__: object) -> Ticket[Written]:
        self.tickets.append(Ticket("zone Z1"))
        return self.tickets[-1]


def _outbox() -> tuple[DnsOutbox, _Writer]:
    writer = _Writer()
    outbox = DnsOutbox(cast("Zones", writer), VirtualClock())
    outbox.write(Owner(UID, GENERATION), [ENTRY], (), lambda: None)
    return outbox, writer


def _collect(outbox: DnsOutbox) -> DnsWork:
    return outbox.collect(Owner(UID, GENERATION), ())[1]


@virtual_time
async def test_mistake_of_a_writer_ends_one_pass_and_not_all_that_follow() -> None:
    outbox, writer = _outbox()
    writer.tickets[0].fail(RuntimeError("a bug"))
    with pytest.raises(RuntimeError, match="a bug"):
        _collect(outbox)
    assert _collect(outbox) == DnsWork()


@virtual_time
async def test_refusal_that_is_kept_for_an_object_keeps_no_pass() -> None:
    class Cargo:
        pass

    def a_pass() -> weakref.ref[Cargo]:
        load = Cargo()
        assert [one.error.reason for one in _collect(outbox).refused] == ["DNSError"]
        return weakref.ref(load)

    outbox, writer = _outbox()
    writer.tickets[0].fail(Stall("DNSError", "not yours"))
    kept = [a_pass() for _ in range(2)]
    gc.collect()
    assert [one() for one in kept] == [None, None]
