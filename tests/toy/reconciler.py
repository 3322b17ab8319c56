"""The toy reconciler, written the way every kind is: gather, decide, do one thing, report.

    desired     what the spec asks for                                   pure
    observe     what is there, of all that is asked for or was made      reads only
    decide      the next step, and what may exist because of us          pure
    perform     that one step
    report      one status: inventory and conditions

Expected flow of a creation
    1. The runtime has stored the finalizer.
    2. The names of all items go into the inventory: from here on nothing that we make can be forgotten.
    3. One item is created in each pass. Its name follows from the object and its mark says whose it is, so a creation
       whose answer was lost is found again instead of being repeated.
    4. While items are being built we look again every few seconds, afterwards every few minutes.

An object that is being deleted is one that wants nothing: everything in its inventory goes, and it with the last of it.

Guarantees
    - Nothing is changed or deleted that does not bear the mark of this very object, whatever the inventory says.
    - Nothing is done on the word of a store that may be behind: the object is read live before each step.
    - A step that is repeated does no harm.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from edgekeeper.core.clock import Clock
from edgekeeper.core.conditions import Conditions
from edgekeeper.core.delta import Difference, compare
from edgekeeper.core.drift import Policy, detect_change, drift_event
from edgekeeper.core.drift import decide as decide_drift
from edgekeeper.core.errors import Conflict, PassError, Retry, Stall
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.names import bounded_name
from edgekeeper.core.outcome import Event, Outcome, StatusWrite, done, requeue
from edgekeeper.core.ownership import Owner, Ownership, is_mine, parse_tags
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.runtime.contract import Request
from tests.toy.client import WorkshopClient
from tests.toy.gizmo import BUILT, DECLARATION, GIZMO, STALLED, Gizmo, Part
from tests.toy.workshop import ROLE, Item, State

CLUSTER = "toy-cluster"
NEXT_STEP = timedelta(0)
WHILE_BUILDING = timedelta(seconds=5)
WHEN_DONE = timedelta(minutes=10)
"""How often what is as it should be is compared with what is."""


@dataclass(frozen=True, slots=True)
class Create:
    """Make the item of a part."""

    name: str
    part: Part

    def __str__(self) -> str:
        return f"creating {self.name}"


@dataclass(frozen=True, slots=True)
class Update:
    """Make an item as its part says."""

    name: str
    part: Part
    version: int

    def __str__(self) -> str:
        return f"changing {self.name}"


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove an item that no part asks for."""

    name: str
    version: int

    def __str__(self) -> str:
        return f"deleting {self.name}"


Step: TypeAlias = Create | Update | Delete


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pass comes to."""

    inventory: tuple[str, ...]
    """What may exist because of us, before the step and after it."""
    step: Step | None = None
    waiting: str = ""
    """Why it is not finished, in words; empty where it is."""
    again: timedelta = NEXT_STEP
    """When to look again. What is finished is looked at now and then."""
    differences: tuple[Difference, ...] = ()

    @property
    def finished(self) -> bool:
        return self.step is None and not self.waiting


def desired(gizmo: Gizmo, owner: Owner) -> dict[str, Part]:
    """Parts by the names of their items. The names never change, or we would not find again what we made."""
    return {bounded_name(owner.namespace, owner.name, part.name): part for part in gizmo.spec.parts}


def decide(
    wanted: Mapping[str, Part], inventory: Collection[str], seen: Mapping[str, Item], owner: Owner
) -> Plan:
    """The next step towards what is wanted. Raise Stall where somebody else is in the way."""
    mine = {name: item for name, item in seen.items() if _whose(item, owner) is Ownership.MINE}
    if taken := [name for name in wanted if name in seen and name not in mine]:
        raise Stall("OwnedByOther", f"item {taken[0]} exists and belongs to somebody else")
    known = tuple(sorted({*wanted, *(name for name in inventory if name in mine)}))
    differences = compare(_colours(wanted), _colours(mine))
    if not set(wanted) <= set(inventory):
        return Plan(known, None, "recording what will be made", NEXT_STEP, differences)
    if step := next_step(wanted, known, mine):
        return Plan(known, step, str(step), NEXT_STEP, differences)
    if busy := [name for name in known if mine[name].state is not State.ACTIVE]:
        return Plan(known, None, f"waiting for {', '.join(busy)}", WHILE_BUILDING, differences)
    return Plan(known)


def next_step(wanted: Mapping[str, Part], known: Iterable[str], mine: Mapping[str, Item]) -> Step | None:
    """First what is missing, then what is wrong, then what is too much: the new is there before the old goes."""
    going = {name for name, item in mine.items() if item.state is State.DELETING}
    for name, part in wanted.items():
        if name not in mine:
            return Create(name, part)
    for name, part in wanted.items():
        if mine[name].colour != part.colour and name not in going:
            return Update(name, part, mine[name].version)
    for name in known:
        if name not in wanted and name not in going:
            return Delete(name, mine[name].version)
    return None


@dataclass(frozen=True, slots=True)
class GizmoReconciler:
    """Builds Gizmos."""

    workshop: WorkshopClient
    cluster: KubeClient
    clock: Clock
    poll: timedelta = WHEN_DONE

    async def reconcile(self, request: Request) -> Outcome:
        gizmo, owner = request.decode(Gizmo), Owner.of(request.object, CLUSTER)
        wanted = desired(gizmo, owner)
        plan = decide(wanted, gizmo.status.inventory, await self._observe(gizmo, wanted), owner)
        await self._perform(plan.step, request, owner)
        outcome = requeue(self.poll if plan.finished else plan.again)
        return outcome.writing(self._status(request, plan)).with_events(*_drift(request, gizmo, plan))

    async def finalize(self, request: Request) -> Outcome:
        gizmo, owner = request.decode(Gizmo), Owner.of(request.object, CLUSTER)
        plan = decide({}, gizmo.status.inventory, await self._observe(gizmo, {}), owner)
        if not plan.inventory:
            return done()
        await self._perform(plan.step, request, owner)
        return requeue(plan.again).writing(self._status(request, plan))

    def explain(self, request: Request, error: PassError) -> Outcome:
        match error:
            case Stall():
                told = done().writing(self._stalled(request, error))
                return (
                    told
                    if self._is_told(request, error)
                    else told.with_events(Event("Warning", error.reason, error.message))
                )
            case Retry():
                return done().with_events(Event("Warning", error.reason, error.message))
            case _:
                return done()

    async def _observe(self, gizmo: Gizmo, wanted: Mapping[str, Part]) -> dict[str, Item]:
        names = sorted({*wanted, *gizmo.status.inventory})
        items = [await self.workshop.describe(name) for name in names]
        return {item.name: item for item in items if item is not None}

    async def _perform(self, step: Step | None, request: Request, owner: Owner) -> None:
        if step is not None:
            await self._confirm_current(request)
        match step:
            case Create(name, part):
                await self.workshop.create(name, part.colour, {**owner.tags(), ROLE: part.name})
            case Update(name, part, version):
                await self.workshop.update(name, part.colour, version)
            case Delete(name, version):
                await self.workshop.delete(name, version)

    async def _confirm_current(self, request: Request) -> None:
        """Raise Conflict unless the object is, at this moment, the one that the decision was about."""
        try:
            live = await self.cluster.get(GIZMO, request.key)
        except NotFoundError as error:
            raise Conflict from error
        for mark in ("uid", "resourceVersion"):
            if dig(live, "metadata", mark) != dig(request.object, "metadata", mark):
                raise Conflict

    def _status(self, request: Request, plan: Plan) -> StatusWrite:
        conditions = Conditions.of(DECLARATION, request.object, self.clock.now())
        conditions.mark(STALLED, False, "Progressing")
        if plan.finished:
            conditions.mark(BUILT, True, "Built", "all parts are built")
        else:
            conditions.mark(BUILT, False, "Deleting" if request.deleting else "Building", plan.waiting)
        observed = request.generation if plan.finished else _observed_generation(request.object)
        return StatusWrite(
            {
                "inventory": list(plan.inventory),
                "observedGeneration": observed,
                "conditions": conditions.to_list(),
            }
        )

    def _is_told(self, request: Request, error: Stall) -> bool:
        """Does the object say it already? An event is told once per fact."""
        conditions = Conditions.of(DECLARATION, request.object, self.clock.now())
        conditions.mark(STALLED, True, error.reason, error.message)
        return conditions.before(STALLED) == conditions.get(STALLED)

    def _stalled(self, request: Request, error: Stall) -> StatusWrite:
        conditions = Conditions.of(DECLARATION, request.object, self.clock.now())
        conditions.mark(STALLED, True, error.reason, error.message)
        return StatusWrite({**(request.object.get("status") or {}), "conditions": conditions.to_list()})


def _drift(request: Request, gizmo: Gizmo, plan: Plan) -> tuple[Event, ...]:
    """Whom we had to correct, where nobody had asked for a change."""
    if plan.step is None:
        return ()
    known = gizmo.status.observed_generation
    change = detect_change(request.generation, known, matches=not plan.differences)
    event = drift_event(decide_drift(change, Policy.ENFORCE), plan.differences)
    return () if event is None else (event,)


def _whose(item: Item, owner: Owner) -> Ownership:
    return is_mine(parse_tags(item.tags), owner)


def _colours(things: Mapping[str, Part] | Mapping[str, Item]) -> JsonObject:
    return {name: {"colour": thing.colour} for name, thing in things.items()}


def _observed_generation(obj: JsonObject) -> int | None:
    observed = dig(obj, "status", "observedGeneration")
    return observed if isinstance(observed, int) else None
