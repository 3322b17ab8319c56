"""What a controller can watch, and kinds that cannot be watched for a while."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from edgekeeper.core.calls import CallRecord
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Outcome, done
from edgekeeper.kube.errors import ApiError, ForbiddenError, NotFoundError
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, SECRET, Key, Kind
from edgekeeper.kube.store import NotSyncedError, SyncState
from edgekeeper.runtime.contract import ControllerOptions, Request, Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.manager import Manager
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.named_objects import NamedObjects
from edgekeeper.runtime.sources import Mapped, Scope
from edgekeeper.runtime.watch_metrics import watch_families
from kubesim.virtual import virtual_time
from tests.logs import capture_logs
from tests.unit.runtime.world import (
    KEY,
    PART,
    QUIET,
    WIDGET,
    Journal,
    Toy,
    World,
    definition,
    observe_generation,
    settle,
    until,
    widget,
    world,
)

OPS = "ops"
MINUTE = timedelta(minutes=1)


class Refusals:
    """A hook that answers in place of the server, for calls whose name ends with a kind's plural."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[], ApiError]] = {}
        self.asked: Counter[str] = Counter()
        """Calls so far, refused ones included."""

    async def before(self, call: CallRecord) -> None:
        self.asked[call.operation] += 1
        make = self.answers.get(call.operation.partition(" ")[2])
        if make is not None and call.operation.partition(" ")[0] in ("LIST", "WATCH"):
            raise make()

    async def after(self, call: CallRecord) -> None: ...


def forbidden() -> ApiError:
    return ForbiddenError(403, "Forbidden", "you may not list it")


def not_found() -> ApiError:
    return NotFoundError(404, "NotFound", "there is no such page")


@asynccontextmanager
async def managing(services: Services, *controllers: Controller) -> AsyncIterator[Manager]:
    manager = Manager(services, controllers, options=QUIET)
    task = asyncio.create_task(manager.run())
    try:
        yield manager
    finally:
        manager.stop()
        await task


def controller_of(services: Services, toy: Toy, *sources: Mapped, **options: object) -> Controller:
    settings = replace(ControllerOptions("widget", WIDGET), **options)  # type: ignore[arg-type]
    return Controller(settings, toy, services, sources)


async def config_map(place: World, namespace: str, name: str, **metadata: object) -> None:
    body = {"metadata": {"name": name, "namespace": namespace, **metadata}, "data": {"a": "b"}}
    await place.create(body, CONFIG_MAP)


def said(logs: list[JsonObject], *levels: str) -> list[tuple[str, str]]:
    return [
        (line["event"], line["resource"])
        for line in logs
        if "resource" in line and line["log_level"] in (levels or ("info", "warning", "error"))
    ]


# Where a controller looks


@virtual_time
async def test_source_is_watched_in_namespaces_of_its_own_choice() -> None:
    async with world() as place:
        await place.create_namespaces(OPS)
        await place.create(widget())
        toy, journal = Toy(), Journal()
        services = replace(place.services(journal), namespaces=("default",))
        source = Mapped(CONFIG_MAP, lambda _: [KEY], scope=Scope(namespaces=(OPS,)))
        async with managing(services, controller_of(services, toy, source)):
            await until(lambda: toy.passes == 1)
            await config_map(place, "default", "elsewhere")
            await settle()
            assert toy.passes == 1
            await config_map(place, OPS, "task")
            await until(lambda: toy.passes == 2)
        asked = {(call.operation, call.subject) for call in journal.calls}
        assert {subject for operation, subject in asked if operation.endswith(" configmaps")} == {OPS}
        assert {subject for operation, subject in asked if operation.endswith(" widgets")} == {"default"}


@virtual_time
async def test_controller_works_in_namespaces_of_its_own_choice() -> None:
    async with world() as place:
        await place.create_namespaces(OPS)
        there = Key(OPS, "task")
        await place.create(widget())
        await place.create(widget(there))
        toy = Toy(observe_generation)
        services = replace(place.services(), namespaces=("default",))
        async with managing(services, controller_of(services, toy, scope=Scope(namespaces=(OPS,)))):
            await until(lambda: toy.passes == 1)
            await settle()
        assert {request.key for request in toy.requests} == {there}
        assert (await place.get(there))["status"] == {"observedGeneration": 1}


@virtual_time
async def test_controller_works_on_objects_of_given_names_only() -> None:
    async with world() as place:
        for name in ("one", "two", "three"):
            await place.create(widget(Key("default", name)))
        toy = Toy()
        services = replace(place.services(), namespaces=("default",))
        async with managing(services, controller_of(services, toy, scope=Scope(names=("one", "two", "new")))):
            await until(lambda: toy.passes == 2)
            await place.create(widget(Key("default", "new")))
            await until(lambda: toy.passes == 3)
            await settle()
        assert sorted(request.key.name for request in toy.requests) == ["new", "one", "two"]


@virtual_time
async def test_source_of_metadata_sees_labels_and_no_contents() -> None:
    seen: list[JsonObject] = []

    def concerned(tree: JsonObject) -> list[Key]:
        seen.append(tree)
        return [KEY]

    async with world() as place:
        await place.create(widget())
        toy = Toy()
        services = place.services()
        source = Mapped(CONFIG_MAP, concerned, labels="team=x", scope=Scope(metadata_only=True))
        async with managing(services, controller_of(services, toy, source)):
            await until(lambda: toy.passes == 1)
            await config_map(place, "default", "child", labels={"team": "x"})
            await config_map(place, "default", "stranger")
            await until(lambda: toy.passes == 2)
            await settle()
        assert [(tree["kind"], tree["metadata"]["name"]) for tree in seen] == [("ConfigMap", "child")]
        assert "data" not in seen[0]


# Single objects that are referred to


async def secret(place: World, name: str, **data: str) -> None:
    body: JsonObject = {"metadata": {"name": name, "namespace": "default"}, "data": data}
    await place.create(body, SECRET)


@virtual_time
async def test_referenced_object_is_watched_by_name_while_it_is_referred_to() -> None:
    async with world() as place:
        services = place.services()
        secrets = NamedObjects(services.informers, SECRET)
        found: list[str | None] = []

        async def act(request: Request) -> Outcome:
            name = Key("default", request.object["spec"]["secret"])
            secrets.use(request.key, [name])
            tree = secrets.get(name)
            found.append(None if tree is None else tree["data"]["x"])
            return done()

        toy = Toy(act)
        controller = controller_of(services, toy)
        controller.use(secrets)
        await place.create(widget(secret="first"))
        async with managing(services, controller):
            await until(lambda: found == [None])
            await secret(place, "unrelated", x="bm8=")
            await secret(place, "first", x="MQ==")
            await until(lambda: found == [None, "MQ=="])
            await settle()
            assert found == [None, "MQ=="], "only the object that is referred to causes passes"
            await place.patch({"spec": {"secret": "second"}})
            await until(lambda: found[2:] == [None])
            watched = [each.selection.fields for each in services.informers if each.kind == SECRET]
            assert watched == ["metadata.name=second"]
            await place.delete()
            await until(lambda: len(secrets) == 0)
            assert [each for each in services.informers if each.kind == SECRET] == []
        with pytest.raises(ValueError, match="not in use"):
            secrets.get(Key("default", "second"))


@virtual_time
async def test_referenced_object_of_a_watched_namespace_needs_no_watch_of_its_own() -> None:
    async with world() as place:
        services = place.services()
        await services.informers.start()
        everything = services.informers.acquire(SECRET, namespace="default")
        await everything.wait_synced()
        secrets = NamedObjects(services.informers, SECRET)
        key, user = Key("default", "first"), Key("default", "user")
        woken: list[Key] = []
        secrets.on_change(woken.append)
        secrets.use(user, [key])
        assert list(services.informers) == [everything]
        assert secrets.get(key) is None
        await secret(place, "first", x="MQ==")
        await secret(place, "other", x="MQ==")
        await settle()
        assert woken == [user]
        services.informers.release(everything)
        assert secrets.raw(key) is not None, "who uses it keeps the watch"
        secrets.close()
        assert list(services.informers) == []
        await services.informers.stop()


@virtual_time
async def test_referenced_object_that_may_not_be_listed_is_unknown_and_not_absent() -> None:
    refusals = Refusals()
    refusals.answers["secrets"] = forbidden
    async with world() as place:
        services = place.services(refusals)
        await services.informers.start()
        secrets = NamedObjects(services.informers, SECRET)
        key, user = Key("default", "first"), Key("default", "user")
        woken: list[Key] = []
        secrets.on_change(woken.append)
        secrets.use(user, [key])
        await settle()
        with pytest.raises(NotSyncedError, match="secrets are forbidden to list"):
            secrets.get(key)
        refusals.answers.clear()
        await settle(MINUTE)
        assert secrets.get(key) is None
        assert woken == [user, user], "once because it is refused, once because it is known"
        secrets.close()
        await services.informers.stop()


# Kinds that cannot be watched


def part_controller(services: Services, toy: Toy) -> Controller:
    return Controller(ControllerOptions("part", PART), toy, services)


@virtual_time
async def test_missing_kind_keeps_nobody_else_waiting_and_begins_when_it_is_installed() -> None:
    async with world() as place:
        await place.create(widget())
        widgets, parts = Toy(), Toy()
        services = place.services()
        with capture_logs() as logs:
            async with managing(
                services, controller_of(services, widgets), part_controller(services, parts)
            ) as manager:
                await until(lambda: manager.is_ready and widgets.passes == 1)
                await settle(timedelta(minutes=30))
                assert (manager.is_ready, parts.passes) == (True, 0)
                await place.define(PART)
                await place.create(widget(), PART)
                await until(lambda: parts.passes == 1, limit=timedelta(seconds=3))
        assert said(logs, "warning") == [
            ("Kind is not served; it is watched as soon as its definition is installed", "parts.example.com")
        ]
        assert said(logs, "info") == [("Kind can be listed again", "parts.example.com")]
        assert list(services.informers) == []


@asynccontextmanager
async def without_parts(hook: Refusals) -> AsyncIterator[tuple[World, Toy]]:
    """A controller of parts that has waited for ten minutes, since nobody has defined them."""
    async with world() as place:
        parts, services = Toy(), place.services(hook)
        async with managing(services, part_controller(services, parts)) as manager:
            await until(lambda: manager.is_ready)
            await settle(timedelta(minutes=10))
            yield place, parts


async def introduce_parts(place: World) -> None:
    """Define the kind, and create an object of it."""
    await place.define(PART)
    await place.create(widget(), PART)


@virtual_time
async def test_missing_kind_without_a_definition_is_listed_every_ten_minutes() -> None:
    calls = Refusals()
    async with without_parts(calls) as (place, parts):
        before = calls.asked["LIST parts"]
        await settle(timedelta(hours=1))
        assert 6 <= calls.asked["LIST parts"] - before <= 7, "or a little more often"
        await introduce_parts(place)
        await until(lambda: parts.passes == 1, limit=timedelta(seconds=3))


@virtual_time
async def test_missing_kind_with_a_definition_is_asked_for_until_it_is_served() -> None:
    """A server may serve a kind seconds after its definition says so."""
    refusals = Refusals()
    async with without_parts(refusals) as (place, parts):
        refusals.answers["parts"] = not_found
        await introduce_parts(place)
        await settle(timedelta(minutes=30))
        assert parts.passes == 0
        refusals.answers.clear()
        await until(lambda: parts.passes == 1, limit=timedelta(seconds=50))


@virtual_time
async def test_kind_that_needs_no_definition_is_found_when_it_is_served() -> None:
    """As those of aggregated API servers."""
    refusals = Refusals()
    refusals.answers["deployments"] = not_found
    async with world() as place:
        services = place.services(refusals)
        deployments = services.informers.acquire(DEPLOYMENT)
        await services.informers.start()
        await settle(timedelta(minutes=30))
        assert deployments.store.state is SyncState.NOT_SERVED
        refusals.answers.clear()
        await until(lambda: deployments.store.synced, limit=timedelta(minutes=11))
        await services.informers.stop()


@virtual_time
async def test_missing_kind_is_found_without_the_right_to_see_definitions() -> None:
    refusals = Refusals()
    refusals.answers["customresourcedefinitions"] = forbidden
    with capture_logs() as logs:
        async with without_parts(refusals) as (place, parts):
            await introduce_parts(place)
            await until(lambda: parts.passes == 1, limit=timedelta(seconds=50))
    assert {resource for _, resource in said(logs)} == {"parts.example.com"}


@virtual_time
async def test_kind_that_may_not_be_listed_is_said_once_and_waited_for() -> None:
    refusals = Refusals()
    refusals.answers["parts"] = forbidden
    async with world(PART) as place:
        await place.create_namespaces("mine")
        await place.create(widget(), PART)
        parts = Toy()
        services = replace(place.services(refusals), namespaces=("default", "mine"))
        controllers = [part_controller(services, parts), part_controller(services, parts)]
        with capture_logs() as logs:
            async with managing(services, *controllers) as manager:
                await until(lambda: manager.is_ready)
                await settle(timedelta(minutes=30))
                assert parts.passes == 0
                refusals.answers.clear()
                await until(lambda: parts.passes >= 1)
        warnings = [line for line in logs if line["log_level"] == "warning" and "resource" in line]
        assert sorted(line["namespace"] for line in warnings) == ["default", "mine"], (
            "once for each namespace"
        )
        assert {line["event"] for line in warnings} == {
            "Kind may not be listed; it is watched as soon as that is allowed"
        }
        assert all("you may not list it" in line["error"] for line in warnings)


@virtual_time
async def test_namespace_that_may_not_be_listed_does_not_stop_the_others() -> None:
    class InMine(Refusals):
        async def before(self, call: CallRecord) -> None:
            if call.subject == "mine" and call.operation.endswith(" widgets"):
                raise forbidden()

    async with world() as place:
        await place.create_namespaces("mine")
        await place.create(widget())
        await place.create(widget(Key("mine", "one")))
        toy = Toy()
        services = replace(place.services(InMine()), namespaces=("default", "mine"))
        async with managing(services, controller_of(services, toy)) as manager:
            await until(lambda: manager.is_ready and toy.passes == 1)
            await settle(MINUTE)
        assert {request.key for request in toy.requests} == {KEY}


@virtual_time
async def test_missing_kind_of_a_source_is_unknown_to_those_who_read_it() -> None:
    async with world() as place:
        await place.create(widget())
        services = place.services()
        source = Mapped(PART, lambda _: [KEY])
        states: list[SyncState] = []

        async def look(request: Request) -> Outcome:
            store = next(each.store for each in controller.informers if each.kind == PART)
            states.append(store.state)
            with suppress(NotSyncedError):
                store.keys()
                states.append(SyncState.PENDING)
            return done()

        toy = Toy(look)
        controller = controller_of(services, toy, source)
        async with managing(services, controller):
            await until(lambda: toy.passes == 1)
            assert states == [SyncState.NOT_SERVED]
            await place.define(PART)
            await place.create(widget(), PART)
            await until(lambda: toy.passes == 2)
            assert states[1] is SyncState.SYNCED


@pytest.mark.parametrize("answer", [not_found, forbidden], ids=["not served", "forbidden"])
@virtual_time
async def test_kind_that_disappears_under_work_finalizes_and_deletes_nothing(
    answer: Callable[[], ApiError],
) -> None:
    """Unsynced never means absent: keys that are woken meanwhile get no pass, or one from what was known last."""
    refusals = Refusals()
    async with world() as place:
        services = place.services(refusals)
        toy = Toy(observe_generation)
        secrets = NamedObjects(services.informers, SECRET)
        await place.create(widget())
        controller = controller_of(services, toy, finalizer="example.com/cleanup")
        controller.use(secrets)
        async with managing(services, controller) as manager:
            await until(lambda: toy.passes == 1)
            secrets.use(KEY, [Key("default", "kept")])
            refusals.answers["widgets"] = answer
            await settle(timedelta(hours=1))
            passes = toy.passes
            controller.wake(KEY)
            controller.wake(Key("default", "never-seen"))
            await settle()
            assert len(controller.queue) == 0
            assert toy.passes == passes + (answer is forbidden), (
                "what was known stays readable where it is forbidden"
            )
            assert len(secrets) == 1, "nobody took the object for deleted"
            assert manager.is_ready
            refusals.answers.clear()
            await settle(MINUTE)
            passes = toy.passes
            await place.patch({"spec": {"a": 1}})
            await until(lambda: toy.passes == passes + 1)
        assert all(not request.deleting for request in toy.requests)
        assert (await place.get())["status"] == {"observedGeneration": 2}


@virtual_time
async def test_definition_that_is_deleted_and_installed_again_finds_its_controller_at_work() -> None:
    async with world(PART) as place:
        parts = Toy()
        services = place.services()
        async with managing(services, part_controller(services, parts)) as manager:
            await place.create(widget(), PART)
            await until(lambda: parts.passes == 1)
            for round_ in (2, 3):
                await place.user.delete(CUSTOM_RESOURCE_DEFINITION, Key("", PART.qualified_plural))
                await settle(timedelta(minutes=10))
                assert manager.is_ready
                await place.define(PART)
                await place.create(widget(), PART)
                await until(lambda expected=round_: parts.passes == expected)  # type: ignore[misc]


# Controllers and sources that come and go


@virtual_time
async def test_controllers_that_come_and_go_leave_no_task_watch_or_metric_behind() -> None:
    metrics = Metrics()
    async with world() as place:
        services = replace(place.services(), metrics=metrics)
        async with managing(services, controller_of(services, Toy())) as manager:
            await settle()
            tasks, text = len(asyncio.all_tasks()), await metrics.text()
            for number in range(5):
                kind = Kind("example.com", "v1", f"Kind{number}", f"kind{number}s")
                toy = Toy()
                controller = Controller(ControllerOptions(f"kind{number}", kind), toy, services)
                await manager.add_controller(controller)
                await settle(MINUTE)
                if number % 2:
                    await place.user.create(CUSTOM_RESOURCE_DEFINITION, definition(kind))
                    await settle()
                    await place.create(widget(), kind)
                    await until(lambda toy=toy: toy.passes == 1)  # type: ignore[misc]
                await manager.remove_controller(controller)
                await settle()
            assert len(asyncio.all_tasks()) == tasks
            assert len(list(services.informers)) == 1
            assert _labels(await metrics.text()) == _labels(text)


def _labels(text: bytes) -> set[str]:
    """The series of our own, without their values."""
    lines = [
        line.rpartition(" ")[0]
        for line in text.decode().splitlines()
        if "controller=" in line or "name=" in line
    ]
    return set(lines)


@virtual_time
async def test_source_that_is_added_while_running_wakes_and_removed_is_released() -> None:
    async with world() as place:
        await place.create(widget())
        toy = Toy()
        services = place.services()
        controller = controller_of(services, toy)
        source = Mapped(CONFIG_MAP, lambda _: [KEY], labels="team=x")
        async with managing(services, controller):
            await until(lambda: toy.passes == 1)
            controller.add_source(source)
            await settle()
            await config_map(place, "default", "a", labels={"team": "x"})
            await until(lambda: toy.passes == 2)
            controller.remove_source(source)
            with pytest.raises(ValueError, match="not watched"):
                controller.remove_source(source)
            await config_map(place, "default", "b", labels={"team": "x"})
            await settle()
            assert toy.passes == 2
            assert [each.kind for each in services.informers] == [WIDGET]


@virtual_time
async def test_watches_are_counted_by_what_is_known_of_their_kind() -> None:
    refusals = Refusals()
    refusals.answers["configmaps"] = forbidden
    metrics = Metrics()
    async with world() as place:
        services = place.services(refusals)
        metrics.add(partial(watch_families, services.informers))

        async def counted() -> set[str]:
            text = (await metrics.text()).decode()
            return {line for line in text.splitlines() if line.startswith("edgekeeper_watches{")}

        def line(resource: str, state: str) -> str:
            return f'edgekeeper_watches{{resource="{resource}",state="{state}"}} 1.0'

        controller = controller_of(
            services, Toy(), Mapped(CONFIG_MAP, lambda _: []), Mapped(PART, lambda _: [])
        )
        async with managing(services, controller):
            await settle(MINUTE)
            waiting = {line("configmaps", "forbidden"), line("parts.example.com", "not_served")}
            assert await counted() >= {line("widgets.example.com", "synced"), *waiting}
            refusals.answers = {"widgets": forbidden}
            await settle(timedelta(minutes=20))
            assert await counted() >= {line("widgets.example.com", "stale"), line("configmaps", "synced")}
        assert await counted() == set()
