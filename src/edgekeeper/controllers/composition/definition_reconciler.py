"""Reconciles ResourceGraphDefinitions: observe, decide (`definition_decide`), one effect, one write of the status.

A revision is issued only after the revisions were listed from the server: the store may not have the last one yet, and a
definition must not get two revisions that say the same.

Deletion never strands instances. It waits while there are any, and meanwhile they are served. Then the generated
CustomResourceDefinition goes, if the installation allows that, and the graph is withdrawn. An instance that is created in
between is found by a last look, and served again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from edgekeeper.controllers.composition.definition_crd import crd_state, is_generated_for
from edgekeeper.controllers.composition.definition_decide import (
    FAILED,
    KIND_READY,
    REVISIONS_RESOLVED,
    Adopt,
    Decision,
    Discard,
    Install,
    Issue,
    Step,
    Verdict,
    decide,
)
from edgekeeper.controllers.composition.definition_observe import Observer, Sighting
from edgekeeper.controllers.composition.definition_options import CompositionOptions
from edgekeeper.controllers.composition.definition_report import (
    DELETION_BLOCKED,
    INSTANCES_EXIST,
    blocked_status,
    failed_status,
    news,
    status_of,
)
from edgekeeper.controllers.composition.registry import GraphRegistry, ServedGraph
from edgekeeper.controllers.composition.revision_objects import KIND as REVISION
from edgekeeper.controllers.composition.revision_objects import Revision, new_revision
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Conflict, PassError, Stall
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.log import get_logger
from edgekeeper.core.outcome import Event, Outcome, StatusWrite, done, requeue
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import AlreadyExistsError, ApiError, NotFoundError, StaleError
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Key, Kind
from edgekeeper.runtime.contract import Request

log = get_logger(__name__)

PROGRESS: Final = timedelta(seconds=1)
"""When to go on after a step, if no watch says sooner that it had effect."""
PUBLISHING: Final = timedelta(seconds=2)
"""When to look again for a schema that is about to be published."""
RECHECK: Final = timedelta(seconds=30)
"""When to look again for what no watch reports: rights, and what the server refused."""
UNACCEPTED: Final = timedelta(minutes=5)
"""When to look again at a definition that is not accepted, if no CustomResourceDefinition changes."""
WAITING_FOR_INSTANCES: Final = timedelta(seconds=5)
_MOST_COUNTED: Final = 500


@dataclass(frozen=True)
class DefinitionReconciler:
    """See the module."""

    client: KubeClient
    clock: Clock
    observer: Observer
    graphs: GraphRegistry
    options: CompositionOptions

    async def reconcile(self, request: Request) -> Outcome:
        sighting, decision = await self._decide(request)
        await self._put_in_force(sighting, decision)
        if decision.step is not None:
            decision = await self._attempt(decision, sighting, request.object)
        now = self.clock.now()
        status = status_of(request.object, decision, sighting.accepted, now)
        outcome = self._pause(sighting, decision).writing(StatusWrite(status))
        return outcome.with_events(*news(request.object, decision.verdicts, now))

    async def _decide(self, request: Request) -> tuple[Sighting, Decision]:
        sighting = await self.observer.observe(request)
        decision = decide(sighting.observed, self.options.max_revisions)
        if isinstance(decision.step, Issue):
            sighting = await self.observer.observe(request, live=True)
            decision = decide(sighting.observed, self.options.max_revisions)
        return sighting, decision

    async def _put_in_force(self, sighting: Sighting, decision: Decision) -> None:
        """Serve instances with the newest revision.

        Where it cannot be served, what is in force stays. If that is nothing, because the process has just started, it is
        the newest revision that can be. If there is none, instances are left as they are, but can be deleted.
        """
        observed, kind = sighting.observed, sighting.kind
        name, latest = observed.owner.name, observed.newest
        if kind is None or latest is None or not _is_served(observed.crd, name):
            return
        if decision.in_force:
            self.graphs.publish(
                ServedGraph(name, observed.owner.uid, latest.number, kind, observed.graph, observed.error)
            )
        elif not self._has_graph(name) and (why := decision.obstacle):
            number, graph = await self.observer.servable(sighting) or (latest.number, None)
            error = "" if graph is not None else why
            self.graphs.publish(ServedGraph(name, observed.owner.uid, number, kind, graph, error))

    def _has_graph(self, name: str) -> bool:
        served = self.graphs.find(name)
        return served is not None and served.graph is not None

    async def _attempt(self, decision: Decision, sighting: Sighting, obj: JsonObject) -> Decision:
        """Perform the step. What the server refuses is reported in the condition that the step is about."""
        step = decision.step
        assert step is not None  # noqa: S101 - the caller has checked it
        try:
            await self._perform(step, sighting, obj)
        except (StaleError, AlreadyExistsError) as error:
            raise Conflict(str(error)) from error
        except ApiError as error:
            type_, message = _blame(step, error)
            return decision.with_verdict(type_, Verdict("False", FAILED, message))
        return decision.issued(step.number) if isinstance(step, Issue) else decision

    async def _perform(self, step: Step, sighting: Sighting, obj: JsonObject) -> None:
        owner = sighting.observed.owner
        match step:
            case Adopt(revision):
                patch = revision.adoption(owner.name, owner.uid)
                await self.client.merge_patch(REVISION, Key("", revision.name), patch)
            case Issue(number):
                await self.client.create(REVISION, new_revision(obj, number, sighting.observed.spec_hash))
            case Install():
                await self._install(step)
            case Discard(revision):
                await self._discard(revision)
        log.info("Definition changed the cluster", step=str(step))

    async def _install(self, step: Install) -> None:
        if step.plan.create is not None:
            result = await self.client.create(CUSTOM_RESOURCE_DEFINITION, step.plan.create)
        else:
            assert step.plan.patch is not None  # noqa: S101 - a plan to install has one of them
            key = Key("", step.wanted["metadata"]["name"])
            result = await self.client.merge_patch(CUSTOM_RESOURCE_DEFINITION, key, step.plan.patch)
        self.observer.note_applied(step.wanted, result)

    async def _discard(self, revision: Revision) -> None:
        try:
            await self.client.delete(REVISION, Key("", revision.name), uid=revision.uid)
        except NotFoundError:
            return

    def _pause(self, sighting: Sighting, decision: Decision) -> Outcome:
        if any(one.reason == FAILED for one in decision.verdicts.values()) or sighting.observed.missing:
            return requeue(RECHECK)
        if decision.step is not None:
            return requeue(PROGRESS)
        if self.observer.compiler.schemas.is_publishing(sighting.groups) and sighting.observed.problems:
            return requeue(PUBLISHING)
        return requeue(UNACCEPTED) if sighting.accepted is None or sighting.observed.error else done()

    # Deletion

    async def finalize(self, request: Request) -> Outcome:
        name = request.key.name
        sighting = await self.observer.observe(request)
        crd, kind = sighting.observed.crd, sighting.kind
        if kind is None or crd is None or not is_generated_for(crd, name):
            return self._withdrawn(name)
        count, example = await self._instances(kind)
        if count:
            await self._put_in_force(sighting, decide(sighting.observed, self.options.max_revisions))
            return self._blocked(request, _remaining(kind, count, example))
        if self.options.allow_crd_deletion:
            await self._remove(crd)
            return requeue(PROGRESS)
        if self.graphs.find(name) is not None:
            self.graphs.withdraw(name)
            return requeue(PROGRESS)  # an instance may have come before the graph was withdrawn
        return self._withdrawn(name)

    def _withdrawn(self, name: str) -> Outcome:
        self.graphs.withdraw(name)
        self.observer.index.forget(name)
        return done()

    async def _instances(self, kind: Kind) -> tuple[int, str]:
        """How many instances there are, at least, and the name of one."""
        try:
            async for page in self.client.pages(kind, metadata_only=True, page_size=_MOST_COUNTED):
                if page.items:
                    first = msgspec.json.decode(page.items[0])
                    key = Key(dig(first, "metadata", "namespace") or "", dig(first, "metadata", "name"))
                    return len(page.items) + (0 if page.last else 1), str(key)
                break
        except NotFoundError:
            pass  # the kind is not served
        return 0, ""

    async def _remove(self, crd: JsonObject) -> None:
        if dig(crd, "metadata", "deletionTimestamp") is not None:
            return
        try:
            key = Key("", crd["metadata"]["name"])
            await self.client.delete(CUSTOM_RESOURCE_DEFINITION, key, uid=crd["metadata"]["uid"])
        except NotFoundError:
            return

    def _blocked(self, request: Request, message: str) -> Outcome:
        obj = request.object
        known = any(dig(one, "type") == DELETION_BLOCKED for one in dig_list(obj, "status", "conditions"))
        outcome = requeue(WAITING_FOR_INSTANCES).writing(
            StatusWrite(blocked_status(obj, message, self.clock.now()))
        )
        return outcome if known else outcome.with_events(Event("Warning", INSTANCES_EXIST, message))

    # What the runtime asks for besides

    def explain(self, request: Request, error: PassError) -> Outcome:
        """Say why a definition is not looked at, if its user has to act."""
        if not isinstance(error, Stall):
            return done()
        verdict = Verdict("False", error.reason, error.message)
        status = failed_status(request.object, verdict, self.clock.now())
        return done().writing(StatusWrite(status)).with_events(Event("Warning", error.reason, error.message))

    def pause(self, request: Request) -> Outcome:
        """A paused definition is left alone; what is in force stays so."""
        return done()


_WORDS: Final[Mapping[type[Step], str]] = {
    Adopt: "adopting graph revision",
    Issue: "creating graph revision",
    Discard: "deleting graph revision",
}


def _is_served(crd: JsonObject | None, definition: str) -> bool:
    """Whether the kind is served, and is that of the definition."""
    return crd is not None and is_generated_for(crd, definition) and crd_state(crd).established


def _blame(step: Step, error: ApiError) -> tuple[str, str]:
    """The condition that a step is about, and what it says if the step fails."""
    if isinstance(step, Install):
        verb = "create" if step.plan.create is not None else "patch"
        return KIND_READY, f"failed to {verb} CRD: {error}"
    return REVISIONS_RESOLVED, f"{_WORDS[type(step)]}: {error}"


def _remaining(kind: Kind, count: int, example: str) -> str:
    number = f"more than {_MOST_COUNTED}" if count > _MOST_COUNTED else str(count)
    noun, verb = ("instance", "exists") if count == 1 else ("instances", "exist")
    such = f"{example}" if count == 1 else f"such as {example}"
    return f"{number} {noun} of {kind.kind} still {verb}, {such}: the definition goes when they are deleted"
