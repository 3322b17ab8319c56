"""What a kind provides whose objects stand for something outside the cluster.

A pass is the same for all of them (`reconciler`):

    begin      what the cluster and our own outboxes know, without a call
    observe    what the cloud has: from mirrors and caches, or read live
    decide     the steps that are left: pure
    perform    the first of them: at most one change in the cloud
    report     the status and the events: at most one write of the object

A kind is a subclass of `ExternalKind`; docs/writing-a-kind.md builds one step by step. It keeps no memory of how far an object is: the first thing that is not yet true is the
next step. A live observation starts from the same base and derives everything anew, so that nothing that an older view
has concluded from a status, which others may write, is carried over into the view on which a change is based.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Generic, Protocol, TypeAlias, TypeVar

from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.drift import Policy
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.core.outcome import ApplyWrite, Event
from edgekeeper.core.steps import Plan, Sight, Step
from edgekeeper.runtime.contract import Request

Wake: TypeAlias = Callable[[], None]
"""Asks for another pass of the object."""

SYNCED, PAUSED = "Synced", "Paused"
"""Conditions that every kind has."""


class ExternalSnapshot(Protocol):
    """What the pass has to know of a kind's snapshot."""

    @property
    def deleting(self) -> bool: ...

    @property
    def policy(self) -> Policy:
        """What is done about drift."""

    @property
    def exists(self) -> bool:
        """Is there an external object, whoever it belongs to?"""

    @property
    def sight(self) -> Sight:
        """How well it was seen."""


BaseT = TypeVar("BaseT")
SnapshotT = TypeVar("SnapshotT", bound=ExternalSnapshot)


@dataclass(frozen=True, slots=True)
class Pass(Generic[SnapshotT]):
    """A pass that has performed its step, or had none to perform."""

    obj: JsonObject
    before: SnapshotT
    after: SnapshotT
    plan: Plan[Step]
    now: datetime

    @property
    def step(self) -> Step | None:
        return self.plan.next


@dataclass(frozen=True, slots=True)
class Report:
    """What a pass says about its object."""

    status: JsonObject
    """The whole status but for its conditions, which are marked."""
    events: Sequence[Event] = ()
    timestamps: tuple[str, ...] = ()
    """Fields of the status that say when the object was looked at: written only together with another change."""
    keeps_conditions: bool = False
    """Do the conditions stay as they are, whatever was marked?"""
    is_correction: bool = False
    """Is drift being corrected in this pass?"""
    write: ApplyWrite | None = None
    """What is written in place of the status."""


class ExternalKind(Protocol[BaseT, SnapshotT]):
    """The part of a pass that is about one kind."""

    name: ClassVar[str]
    """As in manifests: `DistributionTenant`."""
    noun: ClassVar[str]
    """What stays when an object is orphaned, for people: `the tenant and its records`."""
    mark: ClassVar[str]
    """What says whose it is, for people: `its tags`."""
    declaration: ClassVar[Declaration]
    """The conditions. `Synced` and `Paused` are among the informative ones."""
    conflicts: ClassVar[frozenset[str]] = frozenset()
    """Reasons of refusals that may be over by now, so that they are reported only after a live observation."""
    reported_waits: ClassVar[frozenset[str]] = frozenset()
    """Reasons of `Wait` that conditions and events tell; others pass by themselves, and are only counted."""

    def begin(self, request: Request, wake: Wake) -> BaseT:
        """What is known without a call. `wake` is called when something that is on its way has arrived.

        Called once in a pass: answers of outboxes are collected here. Raise Stall where the object makes no sense.
        """

    async def observe(self, base: BaseT, *, live: bool) -> SnapshotT:
        """Everything that a decision depends on; if `live`, with the external object as it is at this moment."""

    def decide(self, snapshot: SnapshotT) -> Plan[Step]:
        """The steps that are left, those of a deletion included. Raise Stall or Wait where somebody must act first."""

    async def perform(self, step: Step, snapshot: SnapshotT, wake: Wake) -> SnapshotT:
        """Perform one step, and return the snapshot as it is now."""

    async def release(self, snapshot: SnapshotT) -> None:
        """Remove our ownership mark from a live snapshot's external object, if it bears one, and leave the rest."""

    def report(self, result: Pass[SnapshotT], conditions: Conditions) -> Report:
        """Mark what is the case, and return the rest of the status. For deletions too, until nothing is left."""

    def gone(self, snapshot: SnapshotT) -> Iterable[Event]:
        """What is told when nothing of a deleted object is left."""
        return ()

    def blame(self, error: PassError, obj: JsonObject, conditions: Conditions) -> None:
        """Mark what an error means: of a Stall, or of a Wait that is told. By default Ready and Synced are False."""
        for type_ in self.declaration.unpublished:
            conditions.mark(type_, False, error.reason, self.describe(error))
        if isinstance(error, Stall):
            conditions.mark(SYNCED, False, error.reason, error.message)

    def status_after_error(self, request: Request, error: PassError | None) -> JsonObject:
        """The status, but for its conditions, that is written with an error; answers that have come must be in it."""
        return dig_object(request.object, "status")

    def describe(self, error: PassError) -> str:
        """An error in words, for conditions and events."""
        return error.message

    def obstacle(self, step: Step | None, snapshot: SnapshotT) -> PassError | None:
        """Why it cannot be found out at present whether what a step waits for has happened; None where it can."""
        return None

    def was_created(self, obj: JsonObject) -> bool:
        """Did the object ever have an external object, by its status?"""
        return dig(obj, "status", "observedGeneration") is not None

    def remains(self, obj: JsonObject) -> Sequence[str]:
        """What may be left of a deletion that is given up, by the object's status."""

    def forget(self, uid: str) -> None:
        """The object is gone: drop what is remembered of it."""
        return


class KindMetrics(Protocol):
    """What is counted about a kind."""

    def error(self, error_type: str) -> None:
        """A pass met an error: once per fact."""

    def drift_detected(self) -> None:
        """A pass found drift."""
