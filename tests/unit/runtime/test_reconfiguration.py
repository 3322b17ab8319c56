"""What may change while a process runs: namespaces, the resync interval, log levels."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from edgekeeper.core.log import get_logger
from edgekeeper.core.outcome import Outcome, done
from edgekeeper.kube.kinds import CONFIG_MAP, Key
from edgekeeper.runtime.contract import ControllerOptions, Request
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.logs import configure
from edgekeeper.runtime.manager import Manager
from edgekeeper.runtime.sources import Mapped, Scope
from kubesim.virtual import virtual_time
from tests.logs import log_as_it_was
from tests.unit.runtime.test_watching import controller_of, managing
from tests.unit.runtime.world import (
    KEY,
    QUIET,
    WIDGET,
    Journal,
    Toy,
    World,
    settle,
    until,
    widget,
    world,
)

MINE, OTHER = Key("mine", "one"), Key("other", "one")
FINALIZER = "example.com/cleanup"


async def populated(place: World) -> None:
    await place.create_namespaces("mine", "other")
    for key in (MINE, OTHER):
        await place.create(widget(key))


def visited(toy: Toy) -> list[Key]:
    return [request.key for request in toy.requests]


@virtual_time
async def test_namespace_that_is_left_out_takes_its_objects_along_without_a_word() -> None:
    async with world() as place:
        await populated(place)
        toy, journal = Toy(), Journal()
        services = replace(place.services(journal), namespaces=("mine", "other"))
        controller = controller_of(services, toy, finalizer=FINALIZER, resync=timedelta(hours=1))
        async with managing(services, controller) as manager:
            await until(lambda: sorted(visited(toy)) == [MINE, OTHER])
            await settle()
            calls = len(journal.calls)
            manager.set_namespaces(["mine"])
            await settle(timedelta(hours=5))
            assert manager.is_ready
            assert visited(toy).count(OTHER) == 1
            assert {call.operation for call in journal.calls[calls:] if call.mutating} == set()
            assert (await place.get(OTHER))["metadata"]["finalizers"] == [FINALIZER]
            controller.wake(OTHER)
            await settle()
            assert visited(toy).count(OTHER) == 1, "it is nobody's work"
            manager.set_namespaces(["mine", "other"])
            await until(lambda: visited(toy).count(OTHER) == 2)
        assert all(not request.deleting for request in toy.requests)


@virtual_time
async def test_namespaces_change_between_all_and_some() -> None:
    async with world() as place:
        await populated(place)
        toy = Toy()
        services = place.services()
        async with managing(services, controller_of(services, toy)) as manager:
            await until(lambda: sorted(visited(toy)) == [MINE, OTHER])
            manager.set_namespaces(["other", "other"])
            await settle()
            assert [each.selection.namespace for each in services.informers] == ["other"]
            await place.patch({"spec": {"a": 1}}, MINE)
            await place.patch({"spec": {"a": 1}}, OTHER)
            await settle()
            assert visited(toy).count(MINE) == 1
            assert visited(toy)[-1] == OTHER
            manager.set_namespaces([])
            await until(lambda: visited(toy).count(MINE) == 2)
            assert [each.selection.namespace for each in services.informers] == [""]


@virtual_time
async def test_namespace_that_stays_is_not_listed_again() -> None:
    async with world() as place:
        await populated(place)
        toy, journal = Toy(), Journal()
        services = replace(place.services(journal), namespaces=("mine",))
        async with managing(services, controller_of(services, toy)) as manager:
            await until(lambda: visited(toy) == [MINE])
            manager.set_namespaces(["mine", "other"])
            await until(lambda: visited(toy) == [MINE, OTHER])
            await settle()
        lists = [call.subject for call in journal.calls if call.operation == "LIST widgets"]
        assert lists == ["mine", "other"]


@virtual_time
async def test_namespaces_of_a_sources_own_choice_stay() -> None:
    async with world() as place:
        await populated(place)
        services = replace(place.services(), namespaces=("mine",))
        source = Mapped(CONFIG_MAP, lambda _: [], scope=Scope(namespaces=("default",)))
        controller = controller_of(services, Toy(), source)
        async with managing(services, controller) as manager:
            await settle()
            manager.set_namespaces(["other"])
            await settle()
            watched = {(each.kind, each.selection.namespace) for each in controller.informers}
            assert watched == {(WIDGET, "other"), (CONFIG_MAP, "default")}


@virtual_time
async def test_controller_that_comes_later_looks_where_the_others_do() -> None:
    async with world() as place:
        await populated(place)
        services = place.services()
        async with managing(services) as manager:
            await settle()
            manager.set_namespaces(["other"])
            toy = Toy()
            await manager.add_controller(controller_of(services, toy))
            await until(lambda: visited(toy) == [OTHER])
            await settle()
            assert visited(toy) == [OTHER]


@virtual_time
async def test_namespaces_may_change_while_the_controller_waits_for_its_stores() -> None:
    async with world() as place:
        await populated(place)
        services = replace(place.services(), namespaces=("mine",))
        toy = Toy()
        manager = Manager(services, [controller_of(services, toy)], options=QUIET)
        task = asyncio.create_task(manager.run())
        await asyncio.sleep(0)
        manager.set_namespaces(["other"])
        await until(lambda: visited(toy) == [OTHER])
        manager.stop()
        await task


class Following(Controller):
    """A controller that looks into its stores itself."""

    seen: tuple[str, ...] = ()

    def informers_changed(self) -> None:
        self.seen = tuple(each.selection.namespace for each in self.informers)


@virtual_time
async def test_controller_is_told_when_its_informers_are_others() -> None:
    async with world() as place:
        await populated(place)
        services = replace(place.services(), namespaces=("mine",))
        controller = Following(ControllerOptions("widget", WIDGET), Toy(), services)
        async with managing(services, controller) as manager:
            await settle()
            assert controller.seen == ("mine",)
            manager.set_namespaces(["other", "mine"])
            assert sorted(controller.seen) == ["mine", "other"]
        assert not controller.seen


@virtual_time
async def test_shorter_resync_reaches_objects_that_wait_for_the_longer_one() -> None:
    async with world() as place:
        await place.create(widget())
        toy = Toy()
        services = place.services()
        controller = controller_of(services, toy, resync=timedelta(hours=10))
        async with managing(services, controller) as manager:
            await until(lambda: toy.passes == 1)
            manager.set_resync(timedelta(minutes=5))
            await settle(timedelta(minutes=61))
            assert 10 <= toy.passes <= 16
            manager.set_resync(timedelta(hours=10))
            await settle(timedelta(minutes=10))
            passes = toy.passes
            await settle(timedelta(hours=4))
            assert toy.passes == passes
            with pytest.raises(ValueError, match="must be positive"):
                manager.set_resync(timedelta(0))


# Logs


@contextmanager
def logging_to(stream: io.StringIO, level: str) -> Iterator[None]:
    with log_as_it_was():
        configure(format="json", level=level, stream=stream, environ={})
        yield


class Levelled(Toy):
    """Knows the level of a pass from somewhere else."""

    level: str | None = None

    def log_level(self, request: Request) -> str | None:
        if self.level == "broken":
            raise RuntimeError("a bug")
        return self.level


@virtual_time
async def test_log_level_of_a_pass_may_come_from_elsewhere() -> None:
    log = get_logger("edgekeeper.test")

    async def act(request: Request) -> Outcome:
        log.debug("Detail", number=toy.passes)
        return done()

    stream = io.StringIO()
    async with world() as place:
        await place.create(widget(logLevel="debug"))
        toy = Levelled(act)
        services = place.services()
        controller = controller_of(services, toy, log_level=("spec", "logLevel"))
        with logging_to(stream, "info"):
            async with managing(services, controller):
                for number, level in enumerate((None, "info", "debug", "nonsense", "broken"), 1):
                    toy.level = level
                    controller.wake(KEY)
                    await until(lambda number=number: toy.passes >= number)  # type: ignore[misc]
                    await settle()
    told = [number for number in range(1, 6) if f'"number":{number}' in stream.getvalue().replace(" ", "")]
    assert told == [1, 3, 5], "the object's own level counts where the reconciler has none to offer"
    assert "Cannot determine the log level" in stream.getvalue()


@virtual_time
async def test_log_level_of_the_process_changes_while_it_runs() -> None:
    log = get_logger("edgekeeper.test")
    stream = io.StringIO()
    async with world() as place:
        services = place.services()
        with logging_to(stream, "warning"):
            async with managing(services) as manager:
                log.info("First")
                manager.set_log_level("debug")
                log.debug("Second")
                logging.getLogger("library").debug("Chatter of a library")
                logging.getLogger("library").info("News of a library")
                manager.set_log_level("ERROR")
                log.warning("Third")
                with pytest.raises(ValueError, match="unknown log level"):
                    manager.set_log_level("loud")
                log.error("Fourth")
    told = [
        word
        for word in ("First", "Second", "Third", "Fourth", "Chatter", "News")
        if word in stream.getvalue()
    ]
    assert told == ["Second", "Fourth", "News"]
