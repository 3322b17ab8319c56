"""Errors that are kept and raised again keep nothing else: no frame that they passed, and nothing that was in one."""

from __future__ import annotations

import asyncio
import gc
import traceback
import weakref
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from edgekeeper.cloud.aws.dns.changes import Present
from edgekeeper.cloud.aws.dns.propagation import Propagation
from edgekeeper.cloud.aws.dns.records import Record
from edgekeeper.cloud.aws.dns.zone import Zone
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.aws.route53 import ChangeReceipt, Route53
from edgekeeper.cloud.aws.sessions import AssumedSession
from edgekeeper.cloud.aws.sts import RoleCredentials
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import Mirror
from edgekeeper.cloud.ticket import Ticket
from edgekeeper.core.errors import PassError, Stall
from kubesim.virtual import LoopClock, virtual_time
from tests.logs import capture_logs
from tests.unit.cloud.aws.world import ENDPOINT, World, in_virtual_time
from tests.unit.cloud.document import Desk, Document
from tests.unit.cloud.document import Record as Line


class Cargo:
    """Something that a frame holds."""


cargo: list[weakref.ref[Cargo]] = []


@pytest.fixture(autouse=True)
def _no_cargo() -> None:
    cargo.clear()


def refuse() -> None:
    """Fail, with a load in the frame."""
    load = Cargo()
    cargo.append(weakref.ref(load))
    raise Stall("AccessDenied", "not yours") from ValueError("cause")


def alive() -> int:
    """How many frames, of all that held something, are kept by somebody."""
    gc.collect()
    return sum(one() is not None for one in cargo)


def depths(raiser: Callable[[], object], times: int = 5) -> list[int]:
    """How deep the traceback is, time after time, where the frame that asks holds something as well."""
    return [_depth(raiser) for _ in range(times)]


def _depth(raiser: Callable[[], object]) -> int:
    load = Cargo()
    cargo.append(weakref.ref(load))
    try:
        raiser()
    except Exception as error:  # noqa: BLE001 - the test says of which kind
        return len(traceback.extract_tb(error.__traceback__))
    raise AssertionError("nothing was raised")


def _raise(error: PassError | None) -> None:
    assert error is not None
    raise error


@virtual_time
async def test_mirror_keeps_its_problem_and_nothing_else() -> None:
    async def pages() -> AsyncIterator[dict[str, str]]:
        refuse()
        yield {}

    mirror: Mirror[str, str] = Mirror("things", pages, LoopClock(), CloudMetrics(CollectorRegistry()))
    with suppress(Stall):
        await mirror.refresh()
    assert alive() == 0
    assert len(set(depths(lambda: _raise(mirror.problem)))) == 1
    assert alive() == 0
    problem = mirror.problem
    assert problem is not None
    assert (problem.reason, problem.message) == ("AccessDenied", "not yours")


@virtual_time
async def test_ticket_keeps_its_error_and_nothing_else() -> None:
    ticket: Ticket[str] = Ticket("zone")
    try:
        refuse()
    except Stall as error:
        ticket.fail(error)
    assert alive() == 0
    assert len(set(depths(ticket.result))) == 1
    assert alive() == 0
    with pytest.raises(Stall, match="not yours"):
        ticket.result()


@virtual_time
async def test_mistake_of_a_writer_is_logged_with_its_traceback_and_kept_without() -> None:
    async def write(_: Sequence[Line]) -> list[str]:
        load = Cargo()
        cargo.append(weakref.ref(load))
        raise RuntimeError("a bug")

    with capture_logs() as lines:
        desk = Desk(Document(), write=write)
        async with desk.open():
            ticket = desk.submit(Line("a"))
    (line,) = (one for one in lines if one["log_level"] == "error")
    assert line["stack"].endswith("RuntimeError: a bug")
    lines.clear()
    del line
    assert alive() == 0
    assert len(set(depths(ticket.result))) == 1
    with pytest.raises(RuntimeError, match="a bug"):
        ticket.result()


@virtual_time
async def test_change_that_we_may_not_ask_about_keeps_nothing_of_the_attempt() -> None:
    async def ask(_: str) -> ChangeReceipt:
        refuse()
        raise AssertionError

    propagation = Propagation(ask, timedelta(seconds=1))
    running = asyncio.create_task(propagation.run())
    propagation.follow("C1")
    await asyncio.sleep(2)
    assert len(cargo) == 1
    assert alive() == 0
    with pytest.raises(Stall, match="not yours"):
        propagation.in_sync("C1")
    running.cancel()


@virtual_time
async def test_role_that_is_refused_keeps_nothing_of_those_who_ask() -> None:
    async def assume(_: Role) -> AssumedSession:
        refuse()
        raise AssertionError

    credentials = RoleCredentials(Role("arn:aws:iam::222222222222:role/dns"), assume, LoopClock())

    async def ask() -> int:
        load = Cargo()
        cargo.append(weakref.ref(load))
        try:
            await credentials.get_frozen_credentials()
        except Stall as error:
            return len(traceback.extract_tb(error.__traceback__))
        raise AssertionError("nothing was raised")

    await ask()
    assert len({await ask() for _ in range(5)}) == 1
    assert alive() == 0


@in_virtual_time
async def test_zone_that_is_refused_keeps_nothing_of_its_batches(world: World) -> None:
    class Refusing(Route53):
        async def change(self, *_: object) -> ChangeReceipt:
            refuse()
            raise AssertionError

    remote = world.cloud.route53.add_zone("example.com")
    zone = Zone(remote.id, Refusing(world.access.caller()), world.clock, world.metrics)
    running = asyncio.create_task(zone.run())
    await zone.mirror.wait_synced()

    async def ask(number: int) -> None:
        load = Cargo()
        cargo.append(weakref.ref(load))
        record = Record(f"n{number}.example.com", "CNAME", 300, (ENDPOINT,))
        with pytest.raises(Stall, match="not yours"):
            await zone.submit(Present(record)).wait()

    for number in range(3):
        await ask(number)
    assert len(cargo) == 3 + 1, "the second and the third were not sent"
    assert alive() == 0
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
