"""The controllers of instances: one for each kind whose graph is in force, started and stopped as graphs come and go.

    controllers = InstanceControllers(services, graphs, options)
    await controllers.run()                          until it is cancelled

When a definition changes, all its instances are queued behind what users do; as many passes run at a time as the options
say. A kind that may not be watched stops only the instances that have children of it. Where the process is limited to some
namespaces, children may be in no others; which ones these are may change while it runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import msgspec

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.children import Children
from edgekeeper.controllers.composition.instance_plan import Limits
from edgekeeper.controllers.composition.instance_reconciler import InstanceReconciler
from edgekeeper.controllers.composition.instance_world import World
from edgekeeper.controllers.composition.registry import GraphRegistry, ServedGraph
from edgekeeper.controllers.composition.used_objects import used_kinds
from edgekeeper.controllers.composition.watched import Watched
from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import Change
from edgekeeper.runtime.contract import ControllerOptions, Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.queue import Priority


@dataclass(frozen=True, slots=True)
class InstanceOptions:
    """Settings of the controllers of instances."""

    max_concurrent: int = 16
    """Passes of one kind that run at the same time."""
    resync: timedelta = timedelta(hours=10)
    grace: timedelta = timedelta(seconds=10)
    """How long running passes may continue when a controller is stopped."""
    limits: Limits = field(default_factory=Limits)


DEFAULT_OPTIONS = InstanceOptions()


class InstanceController(Controller):
    """The controller of one instance kind."""

    def __init__(
        self, options: ControllerOptions, reconciler: InstanceReconciler, services: Services
    ) -> None:
        super().__init__(options, reconciler, services)
        self._instances = reconciler

    def forgotten(self, key: Key) -> None:
        self._instances.forget(key)

    def wake_all(self) -> None:
        """Queue all instances that are known, behind what users do. Others are queued when they are listed."""
        stores = [informer.store for informer in self.informers if informer.kind == self.options.kind]
        for key in [key for store in stores if store.synced for key in store.keys()]:  # noqa: SIM118 - a store is no dict
            self.wake(key, priority=Priority.RESYNC)


@dataclass(slots=True)
class _Running:
    controller: InstanceController
    task: asyncio.Task[None]


class InstanceControllers:
    """Runs a controller for each kind whose graph is in force."""

    def __init__(
        self, services: Services, graphs: GraphRegistry, options: InstanceOptions = DEFAULT_OPTIONS
    ) -> None:
        self._services = services
        self._graphs = graphs
        self._options = options
        self._discovery = Discovery(services.client, services.clock)
        self._grace = options.grace
        places = services.namespaces
        children = Children(services.client, services.informers, services.clock, places)
        others = Watched(services.client, services.informers, places)
        limits = options.limits.within(places)
        self._world = World(children, others, self._discovery, services.random, limits)
        children.on_change, children.on_state = self._child_changed, self._state_changed
        others.on_change, others.on_state = self._other_changed, self._state_changed
        self._running: dict[Kind, _Running] = {}
        self._changed: dict[str, None] = {}
        """Definitions whose graphs have changed, in that order."""
        self._wake = asyncio.Event()
        self._kinds: dict[str, Kind] = {}

    @property
    def world(self) -> World:
        return self._world

    def set_namespaces(self, namespaces: tuple[str, ...]) -> None:
        """Watch these namespaces from now on; empty for all. Instances and children in others are left as they are."""
        self._services = replace(self._services, namespaces=namespaces)
        self._world.limits = self._options.limits.within(namespaces)
        self._world.children.set_namespaces(namespaces)
        self._world.others.set_namespaces(namespaces)
        for running in self._running.values():
            running.controller.set_namespaces(namespaces)
            running.controller.wake_all()

    def end_at_once(self) -> None:
        """Let no running pass continue when `run` is cancelled."""
        self._grace = timedelta(0)

    # Running

    async def run(self) -> None:
        """Follow the registry until cancelled."""
        unsubscribe = self._graphs.subscribe(self._note)
        unfollow = self._discovery.follow(self._services.informers)
        for served in self._graphs:
            self._note(served.definition)
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                for one in self._running.values():
                    if one.task.done():
                        one.task.result()  # raises what ended the controller, and so ends the process
                while self._changed:
                    await self._adjust(self._pop())
        finally:
            unsubscribe()
            unfollow()
            await self._stop(list(self._running))
            self._world.children.watches.close()
            self._world.others.watches.close()

    def _note(self, definition: str) -> None:
        self._changed[definition] = None
        self._wake.set()

    def _pop(self) -> str:
        definition = next(iter(self._changed))
        del self._changed[definition]
        return definition

    async def _adjust(self, definition: str) -> None:
        """Start, stop or wake the controller of a definition."""
        served = self._graphs.find(definition)
        before = self._kinds.get(definition)
        if before is not None and (served is None or served.kind != before):
            del self._kinds[definition]
            await self._stop([before])
        if served is None:
            return
        self._kinds[definition] = served.kind
        if served.kind in self._running:
            self._running[served.kind].controller.wake_all()
        else:
            self._start(served)

    def _start(self, served: ServedGraph) -> None:
        definition = served.definition
        reconciler = InstanceReconciler(
            served.kind,
            lambda: self._graphs.find(definition),
            self._world,
            self._services.clock,
        )
        options = ControllerOptions(
            name=f"instance-{served.kind.qualified_plural}",
            kind=served.kind,
            finalizer=labels.FINALIZER,
            max_concurrent=self._options.max_concurrent,
            resync=self._options.resync,
        )
        controller = InstanceController(options, reconciler, self._services)
        controller.attach()
        task = asyncio.create_task(controller.run(), name=options.name)
        task.add_done_callback(lambda _: self._wake.set())
        self._running[served.kind] = _Running(controller, task)

    async def _stop(self, kinds: Iterable[Kind]) -> None:
        stopped = [self._running.pop(kind) for kind in kinds if kind in self._running]
        for one in stopped:
            one.controller.shut_down()
            if not one.controller.is_working:
                one.task.cancel()
        tasks = [one.task for one in stopped]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._grace.total_seconds())
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for one in stopped:
            one.controller.detach()
            self._world.forget_kind(one.controller.options.kind)
            self._services.metrics.forget_controller(one.controller.options.name)

    # What wakes instances

    def _child_changed(self, kind: Kind, change: Change) -> None:
        if change.initial:
            return  # all instances have a pass at the start
        for obj in _sides(change):
            owner = self._world.owner(labels.label_of(obj, labels.INSTANCE_ID))
            if owner is not None:
                self._wake_instance(owner)
        self._wake_interested(kind, change)

    def _other_changed(self, kind: Kind, change: Change) -> None:
        if not change.initial:
            self._wake_interested(kind, change)

    def _wake_interested(self, kind: Kind, change: Change) -> None:
        marks: list[Mapping[str, Any]] = [dig_object(obj, "metadata", "labels") for obj in _sides(change)]
        for instance in self._world.interested(kind, change.key, marks):
            self._wake_instance(instance)

    def _wake_instance(self, instance: tuple[Kind, Key]) -> None:
        running = self._running.get(instance[0])
        if running is not None:
            running.controller.wake(instance[1])

    def _state_changed(self, kind: Kind) -> None:
        """A kind can be listed now, or no longer: its instances have something else to say."""
        for definition, instance_kind in self._kinds.items():
            served = self._graphs.find(definition)
            if served is None or served.graph is None or instance_kind not in self._running:
                continue
            if kind in used_kinds(served.graph, external=False) | used_kinds(served.graph, external=True):
                self._running[instance_kind].controller.wake_all()


def _sides(change: Change) -> list[JsonObject]:
    return [msgspec.json.decode(raw) for raw in (change.old, change.new) if raw is not None]
