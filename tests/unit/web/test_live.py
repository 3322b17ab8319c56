"""Updates for open browsers: complete, bounded, and resumed after an interruption."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import msgspec
import pytest

from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.tracing import NO_TRACES
from edgekeeper.kube.kinds import Key
from edgekeeper.web.directory import SpecChange
from edgekeeper.web.journal import Journal
from edgekeeper.web.live import MOST_CLIENTS, MOST_ENTRIES, MOST_ROWS, REMEMBERED, Full, Hub
from edgekeeper.web.rows import ObjectRow
from kubesim.virtual import virtual_time
from tests.unit.web.fleet import READY, TENANT, row, tenant

Event = tuple[str, str, dict[str, object]]
"""Id, type and data."""


def read(chunk: bytes) -> Event:
    fields = dict(line.split(": ", 1) for line in chunk.decode().splitlines() if line)
    return fields["id"], fields["event"], msgspec.json.decode(fields["data"])


class World:
    """A hub over some rows."""

    def __init__(self) -> None:
        self.rows: dict[str, ObjectRow] = {}
        self.hub = Hub(self.rows.get, "p1")

    def change(self, *names: str) -> None:
        made = [row(tenant(name, READY)) for name in names]
        self.rows |= {one.id: one for one in made}
        self.hub.rows_changed([one.id for one in made])


async def next_event(stream: AsyncIterator[bytes]) -> Event:
    return read(await anext(stream))


def names(event: Event) -> list[str]:
    rows = event[2]["rows"]
    assert isinstance(rows, list)
    return [one["name"] for one in rows]


@virtual_time
async def test_client_is_told_each_changed_row_once_and_as_it_is_now() -> None:
    world = World()
    async with aclosing(world.hub.stream()) as stream:
        assert (await next_event(stream))[1] == "hello"
        world.change("shop", "docs")
        world.change("shop")
        event = await next_event(stream)
        assert event[1] == "rows"
        assert names(event) == ["shop", "docs"]


@virtual_time
async def test_client_is_told_what_is_gone() -> None:
    world = World()
    world.change("shop")
    (id_,) = world.rows
    async with aclosing(world.hub.stream()) as stream:
        await next_event(stream)
        world.rows.clear()
        world.hub.rows_changed([id_])
        assert (await next_event(stream))[2] == {"rows": [], "gone": [id_]}


@virtual_time
async def test_client_that_is_too_slow_is_told_to_load_again() -> None:
    world = World()
    async with aclosing(world.hub.stream()) as stream:
        await next_event(stream)
        world.change(*(f"t{number}" for number in range(MOST_ROWS + 1)))
        assert (await next_event(stream))[1] == "reset"
        world.change("shop")
        assert names(await next_event(stream)) == ["shop"]


@virtual_time
async def test_client_that_returns_is_told_what_it_has_missed() -> None:
    world = World()
    world.change("old")
    async with aclosing(world.hub.stream()) as stream:
        await next_event(stream)
        world.change("seen")
        last = (await next_event(stream))[0]
    world.change("missed")
    async with aclosing(world.hub.stream(last)) as stream:
        await next_event(stream)
        assert names(await next_event(stream)) == ["missed"]


@pytest.mark.parametrize("last", ["p0-1", "p1-99", "p1-x", "p1-²", "p1-" + "9" * 5000, "nonsense"])
def test_client_with_an_unknown_past_is_told_to_load_again(last: str) -> None:
    @virtual_time
    async def run() -> None:
        world = World()
        async with aclosing(world.hub.stream(last)) as stream:
            await next_event(stream)
            assert (await next_event(stream))[1] == "reset"

    run()


@virtual_time
async def test_client_that_was_away_for_too_long_is_told_to_load_again() -> None:
    world = World()
    for _ in range(REMEMBERED + 1):
        world.hub.rows_changed(["x"])
    async with aclosing(world.hub.stream("p1-0")) as stream:
        await next_event(stream)
        assert (await next_event(stream))[1] == "reset"


@virtual_time
async def test_silence_is_broken_by_beats() -> None:
    async with aclosing(World().hub.stream()) as stream:
        await next_event(stream)
        assert await anext(stream) == b": beat\n\n"


@virtual_time
async def test_changes_are_told_as_they_happen() -> None:
    world = World()
    journal = Journal(NO_TRACES, VirtualClock())
    journal.on_entry = world.hub.entry_added
    async with aclosing(world.hub.stream()) as stream:
        await next_event(stream)
        journal.spec_changed(SpecChange(TENANT, Key("edge", "shop"), "created"))
        _, type_, data = await next_event(stream)
        assert (type_, data["what"]) == ("change", "created")


@virtual_time
async def test_client_that_misses_changes_is_told_to_load_again() -> None:
    world = World()
    journal = Journal(NO_TRACES, VirtualClock())
    journal.on_entry = world.hub.entry_added
    async with aclosing(world.hub.stream()) as stream:
        await next_event(stream)
        for number in range(MOST_ENTRIES + 1):
            journal.spec_changed(SpecChange(TENANT, Key("edge", f"t{number}"), "created"))
        assert (await next_event(stream))[1] == "reset"


@virtual_time
async def test_there_are_only_so_many_clients() -> None:
    world = World()
    streams = [world.hub.stream() for _ in range(MOST_CLIENTS)]
    for stream in streams:
        await next_event(stream)
    with pytest.raises(Full):
        await anext(world.hub.stream())
    await streams.pop().aclose()
    await next_event(late := world.hub.stream())
    assert world.hub.clients == MOST_CLIENTS
    for stream in (*streams, late):
        await stream.aclose()
    assert world.hub.clients == 0


@virtual_time
async def test_streams_end_when_the_hub_is_closed() -> None:
    world = World()
    stream = world.hub.stream()
    await next_event(stream)
    ending = asyncio.ensure_future(anext(stream, None))
    await asyncio.sleep(0)
    world.hub.close()
    assert await ending is None
    with pytest.raises(Full):
        await anext(world.hub.stream())
