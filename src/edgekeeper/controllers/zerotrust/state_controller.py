"""The controllers of garbage collection: one for states, one for tasks of routes that never had a state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from edgekeeper.controllers.zerotrust.collector import CONFIRM, Collector
from edgekeeper.controllers.zerotrust.route_cluster import Cluster
from edgekeeper.controllers.zerotrust.route_index import BY_ROUTE, task_route_key
from edgekeeper.controllers.zerotrust.route_report import MESSAGE, REASON, shown
from edgekeeper.controllers.zerotrust.state import route_of
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.core.outcome import Event, MetadataWrite, Outcome, done
from edgekeeper.kube.kinds import HTTP_ROUTE, Key, Kind
from edgekeeper.kube.store import Change
from edgekeeper.lifecycle.controller import Upkeep, UpkeptController
from edgekeeper.runtime.contract import ControllerOptions, Request, Services
from edgekeeper.runtime.sources import ANYWHERE, Scope, Source

STATE_CONTROLLER: Final = "cloudflarestate"
TASK_COLLECTOR: Final = "cloudflaretaskcollector"


@dataclass(frozen=True)
class RouteDeletions:
    """Routes as a source: only their deletion matters."""

    keys: Callable[[Key], Iterable[Key]]
    kind: Kind = HTTP_ROUTE
    labels: str = ""
    scope: Scope = ANYWHERE

    def concerned(self, change: Change) -> Iterable[Key]:
        return () if change.new is not None else self.keys(change.key)


@dataclass(frozen=True)
class StateReconciler:
    """Withdraws what the state of a route lists that is gone."""

    collector: Collector

    async def reconcile(self, request: Request) -> Outcome:
        found = route_of(request.object)
        if found is None:
            return done()
        confirmed = dig(request.object, "metadata", "annotations", CONFIRM)
        return await self.collector.collect(Key(*found), confirmed)

    async def finalize(self, request: Request) -> Outcome:
        """States have no finalizer."""
        return done()

    def explain(self, request: Request, error: PassError) -> Outcome:
        return told_on(request, error)

    def pause(self, request: Request) -> Outcome:
        return done()


@dataclass(frozen=True)
class TaskReconciler:
    """Withdraws what a task lists whose route is gone and never had a state."""

    collector: Collector

    async def reconcile(self, request: Request) -> Outcome:
        route = task_route_key(request.object)
        if route is None or self.collector.cluster.states.by_index(BY_ROUTE, str(route)):
            return done()
        return await self.collector.collect(route, dig(request.object, "metadata", "annotations", CONFIRM))

    async def finalize(self, request: Request) -> Outcome:
        """The finalizer of tasks, if any, is the worker's."""
        return done()

    def explain(self, request: Request, error: PassError) -> Outcome:
        return told_on(request, error)

    def pause(self, request: Request) -> Outcome:
        return done()


def told_on(request: Request, error: PassError) -> Outcome:
    """Say on the object itself why nothing is withdrawn; the event once per fact."""
    if not isinstance(error, Stall):
        return done()
    message = shown(error.message)
    present = dig_object(request.object, "metadata", "annotations")
    write = MetadataWrite(annotations={REASON: error.reason, MESSAGE: message})
    if (present.get(REASON), present.get(MESSAGE)) == (error.reason, message):
        return done()
    return done().writing(write).with_events(Event("Warning", error.reason, message))


class CollectingController(UpkeptController):
    """A controller of garbage collection."""

    def __init__(
        self,
        options: ControllerOptions,
        reconciler: StateReconciler | TaskReconciler,
        services: Services,
        sources: Iterable[Source],
        upkeep: Upkeep,
    ) -> None:
        self._collector = reconciler.collector
        super().__init__(options, reconciler, services, tuple(sources), upkeep)

    def informers_changed(self) -> None:
        self._collector.cluster.follow(self.informers)


def states_of_task(cluster: Cluster, task: JsonObject) -> Iterable[Key]:
    """The state that a withdrawal is about."""
    route = task_route_key(task)
    if route is None or dig(task, "spec", "action") != "delete":
        return ()
    return cluster.states.known_by_index(BY_ROUTE, str(route))


def tasks_of_state(cluster: Cluster, config_map: JsonObject) -> Iterable[Key]:
    """The tasks of a state's route: who is left when the state is gone."""
    found = route_of(config_map)
    return () if found is None else cluster.tasks.known_by_index(BY_ROUTE, str(Key(*found)))
