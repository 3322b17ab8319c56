"""The interface of a kind whose objects represent something outside the cluster.

`reconciler` runs the same pass for all kinds:

    begin      read the cluster and the outboxes, without a call
    observe    read the cloud: from mirrors and caches, or live
    decide     compute the steps that are left: pure
    perform    perform the first step: at most one change in the cloud
    report     return status and events: at most one write of the object

A kind is a subclass of `ExternalKind`; docs/writing-a-kind.md builds one step by step. It stores no progress: the next step
is derived from the observed state. A live observation starts from the same base and derives everything again, so that a
change is never based on conclusions from an older observation, or from a status that users may have written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.drift import Policy
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.core.outages import has_work
from edgekeeper.core.outcome import ApplyWrite, Event
from edgekeeper.core.steps import Plan, Sight, Step
from edgekeeper.runtime.contract import Request

Wake: TypeAlias = Callable[[], None]
"""Requeues the object."""

SYNCED, PAUSED = "Synced", "Paused"
"""Conditions that every kind has."""


class ExternalSnapshot(Protocol):
    """What the pass reads of the snapshot of a kind."""

    @property
    def deleting(self) -> bool: ...

    @property
    def policy(self) -> Policy:
        """The drift policy of the object."""

    @property
    def exists(self) -> bool:
        """Whether there is an external object, regardless of its owner."""

    @property
    def sight(self) -> Sight:
        """How recently and completely it was read."""


BaseT = TypeVar("BaseT")
SnapshotT = TypeVar("SnapshotT", bound=ExternalSnapshot)


@dataclass(frozen=True, slots=True)
class Pass(Generic[SnapshotT]):
    """A pass after its step was performed, or without a step."""

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
    """The result of a pass for the object's status and events."""

    status: JsonObject
    """The complete status, without the conditions."""
    events: Sequence[Event] = ()
    timestamps: tuple[str, ...] = ()
    """Timestamp fields of the status, which are updated only together with another change."""
    keeps_conditions: bool = False
    """Whether the conditions stay unchanged, whatever was marked."""
    is_correction: bool = False
    """Whether this pass corrects drift."""
    write: ApplyWrite | None = None
    """A write that replaces the status write."""


class ExternalKind(Protocol[BaseT, SnapshotT]):
    """The part of a pass that is specific to a kind."""

    name: ClassVar[str]
    """The kind, such as `DistributionTenant`."""
    noun: ClassVar[str]
    """What orphaning keeps, for messages: `the tenant and its records`."""
    mark: ClassVar[str]
    """The ownership mark, for messages: `its tags`."""
    declaration: ClassVar[Declaration]
    """The conditions. The informative ones include `Synced` and `Paused`."""
    status_type: ClassVar[type[msgspec.Struct] | None] = None
    """The type of the status. Fields that it does not have, of a later version, are kept; without a type none are."""
    conflicts: ClassVar[frozenset[str]] = frozenset()
    """Reasons of refusals that may be outdated, so that they are reported only after a live observation."""
    reported_waits: ClassVar[frozenset[str]] = frozenset()
    """Reasons of `Wait` that are reported in conditions and events; others are only counted."""

    def begin(self, request: Request, wake: Wake) -> BaseT:
        """Collect what is known without a call. `wake` is called when a pending result is available.

        Called once per pass, since it collects answers of outboxes. Raise Stall if the object is invalid.
        """

    async def observe(self, base: BaseT, *, live: bool) -> SnapshotT:
        """Read everything that the decision depends on; if `live`, the external object from the cloud."""

    def decide(self, snapshot: SnapshotT) -> Plan[Step]:
        """The steps that are left, also for a deletion. Raise Stall or Wait if something else must happen first."""

    async def perform(self, step: Step, snapshot: SnapshotT, wake: Wake) -> SnapshotT:
        """Perform a step, and return the updated snapshot."""

    async def release(self, snapshot: SnapshotT) -> None:
        """Remove the ownership mark from the external object of a live snapshot, if it has one, and nothing else."""

    def report(self, result: Pass[SnapshotT], conditions: Conditions) -> Report:
        """Mark the conditions, and return the rest of the status. Also called for deletions, until nothing is left."""

    def gone(self, snapshot: SnapshotT) -> Iterable[Event]:
        """Events for a completed deletion."""
        return ()

    def blame(self, error: PassError, obj: JsonObject, conditions: Conditions) -> None:
        """Mark the conditions for a Stall or a reported Wait. By default Ready is False, and Synced for a Stall."""
        for type_ in self.declaration.unpublished:
            conditions.mark(type_, False, error.reason, self.describe(error))
        if isinstance(error, Stall):
            conditions.mark(SYNCED, False, error.reason, error.message)

    def status_after_error(self, request: Request, error: PassError | None) -> JsonObject:
        """The status, without conditions, to write with an error. It must include collected answers."""
        return dig_object(request.object, "status")

    def derive(self, status: JsonObject, conditions: Sequence[JsonObject]) -> JsonObject:
        """The status with fields that follow from its conditions, such as a boolean `ready`. By default there are none."""
        return status

    def describe(self, error: PassError) -> str:
        """The message of an error for conditions and events."""
        return error.message

    def obstacle(self, step: Step | None, snapshot: SnapshotT) -> PassError | None:
        """The error that prevents observing the result of a step that waits; None if there is none."""
        return None

    def has_work(self, obj: JsonObject) -> bool:
        """Is there something to do for the object, by its status, so that an outage of its cloud keeps it waiting?"""
        return has_work(obj)

    def was_created(self, obj: JsonObject) -> bool:
        """Whether the status shows that there was an external object."""
        return dig(obj, "status", "observedGeneration") is not None

    def remains(self, obj: JsonObject) -> Sequence[str]:
        """What may remain after an abandoned deletion, by the object's status."""

    def forget(self, uid: str) -> None:
        """Drop in-memory state of an object that no longer exists."""
        return


class KindMetrics(Protocol):
    """Metrics of a kind."""

    def error(self, error_type: str) -> None:
        """Count an error of a pass, once until it changes."""

    def drift_detected(self) -> None:
        """Count a pass that detected drift."""
