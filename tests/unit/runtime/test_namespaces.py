"""A process that looks at some namespaces only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from edgekeeper.kube.kinds import NAMESPACE, Key
from edgekeeper.runtime.contract import ControllerOptions
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.manager import Manager
from edgekeeper.runtime.sources import Mapped
from edgekeeper.runtime.watches import watched_namespaces
from kubesim.virtual import virtual_time
from tests.unit.runtime.world import (
    QUIET,
    WIDGET,
    Journal,
    Toy,
    World,
    observe_generation,
    settle,
    until,
    widget,
    world,
)

MINE, OTHER, THEIRS = Key("mine", "one"), Key("other", "one"), Key("theirs", "one")


@asynccontextmanager
async def limited(place: World, toy: Toy, journal: Journal, *namespaces: str) -> AsyncIterator[Controller]:
    """An operator that looks at these namespaces, and at namespaces themselves."""
    services = replace(place.services(journal), namespaces=namespaces)
    sources = [Mapped(NAMESPACE, lambda tree: [Key(tree["metadata"]["name"], "one")])]
    controller = Controller(ControllerOptions("widget", WIDGET), toy, services, sources)
    manager = Manager(services, [controller], options=QUIET)
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        try:
            yield controller
        finally:
            manager.stop()


async def populated(place: World) -> None:
    await place.create_namespaces("mine", "other", "theirs")
    for key in (MINE, OTHER, THEIRS):
        await place.create(widget(key))


@virtual_time
async def test_limited_process_works_in_its_namespaces_and_nowhere_else() -> None:
    async with world() as place:
        await populated(place)
        toy, journal = Toy(observe_generation), Journal()
        async with limited(place, toy, journal, "mine", "other"):
            await until(lambda: {request.key for request in toy.requests} == {MINE, OTHER})
            await place.patch({"spec": {"a": 1}}, MINE)
            await place.patch({"spec": {"a": 1}}, THEIRS)
            await settle()
        assert (await place.get(MINE))["status"] == {"observedGeneration": 2}
        assert (await place.get(OTHER))["status"] == {"observedGeneration": 1}
        assert "status" not in await place.get(THEIRS)


@virtual_time
async def test_limited_process_asks_for_nothing_outside_its_namespaces() -> None:
    async with world() as place:
        await populated(place)
        journal = Journal()
        async with limited(place, Toy(), journal, "mine"):
            await settle()
        asked = {call.subject for call in journal.calls if call.operation.endswith(" widgets")}
        assert asked == {"mine"}


@virtual_time
async def test_key_of_another_namespace_is_nobodys_work() -> None:
    """Sources that are not limited, such as namespaces themselves, may still name objects elsewhere."""
    async with world() as place:
        await populated(place)
        toy = Toy()
        async with limited(place, toy, Journal(), "mine") as controller:
            controller.wake(THEIRS)
            await settle()
            assert len(controller.queue) == 0
        assert {request.key for request in toy.requests} == {MINE}


def test_limits_do_not_concern_kinds_outside_namespaces() -> None:
    assert watched_namespaces(NAMESPACE, ("mine",)) == ("",)
    assert watched_namespaces(WIDGET, ("mine", "other")) == ("mine", "other")
    assert watched_namespaces(WIDGET, ()) == ("",)
