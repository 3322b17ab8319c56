"""What a pass would do, for every object, without doing it: the same observation, the same decision, and no more.

Objects are handed in rather than watched, so they may be ones that nobody has applied yet. All of the cluster's have to
be among them: who may have a name is decided between them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic

import msgspec

from edgekeeper.cloud.mirror import NotSyncedError
from edgekeeper.core.annotations import DeletionPolicy, Wishes
from edgekeeper.core.delta import Difference
from edgekeeper.core.drift import Change, Policy
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.core.steps import Effect, Plan, Step
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import Store
from edgekeeper.lifecycle.kind import BaseT, ExternalKind, SnapshotT
from edgekeeper.runtime.contract import Request

CONCURRENCY: Final = 16
"""Objects that are looked at together, as in the operator."""


class Verdict(StrEnum):
    """What an object comes to."""

    CHANGES = "Changes"
    """There is something to do."""
    WAITING = "Waiting"
    """All is done that we can do, and somebody else is at work."""
    SETTLED = "Settled"
    """It is as declared."""
    DRIFTED = "Drifted"
    """It is not as declared, and the policy says to leave it so."""
    PAUSED = "Paused"
    ORPHANED = "Orphaned"
    """It is being deleted, and what it stands for stays."""
    REFUSED = "Refused"
    """A person must act first."""
    FAILED = "Failed"
    """It could not be found out."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be done for one object, and why."""

    kind: str
    key: Key
    verdict: Verdict
    policy: Policy | None = None
    change: Change | None = None
    """Who changed what; None where the object is being deleted, or nobody has found out."""
    deleting: bool = False
    steps: Sequence[Step] = ()
    differences: tuple[Difference, ...] = ()
    """Where cloud and spec differ, whether or not anything is done about it."""
    error: PassError | None = None

    @classmethod
    def refused(cls, kind: str, key: Key, error: PassError) -> Preview:
        return cls(kind, key, Verdict.REFUSED if isinstance(error, Stall) else Verdict.FAILED, error=error)


@dataclass(frozen=True)
class Previewer(Generic[BaseT, SnapshotT]):
    """Previews objects of one kind."""

    kind: ExternalKind[BaseT, SnapshotT]
    objects: Store
    listed: Callable[[Request], Awaitable[None]]
    """Waits until what an object depends on was listed, once an observation has asked for it."""

    async def preview(self, keys: Sequence[Key]) -> list[Preview]:
        """What would be done for these objects."""
        turns = asyncio.Semaphore(CONCURRENCY)
        return list(await asyncio.gather(*(self._in_turn(key, turns) for key in keys)))

    async def _in_turn(self, key: Key, turns: asyncio.Semaphore) -> Preview:
        async with turns:
            obj = self.objects.get(key)
            assert obj is not None  # noqa: S101 - callers choose from the objects that they handed in
            name, wishes = self.kind.name, Wishes.of(obj)
            request = Request(key, msgspec.json.encode(obj), obj, reconcile_id="")
            try:
                wishes.confirm()
                if wishes.paused:
                    return Preview(name, key, Verdict.PAUSED)
                if request.deleting and wishes.deletion_policy is DeletionPolicy.ORPHAN:
                    return Preview(name, key, Verdict.ORPHANED)
                snapshot = await self._observe(request)
                plan = self.kind.decide(snapshot)
            except PassError as error:
                return Preview.refused(name, key, error)
            except msgspec.ValidationError as error:
                return Preview.refused(name, key, Stall("ValidationFailed", str(error)))
            return _preview(name, key, snapshot, plan)

    async def _observe(self, request: Request) -> SnapshotT:
        try:
            return await self._observe_once(request)
        except NotSyncedError:
            # Only now, because nothing is listed for a spec that is refused.
            await self.listed(request)
            return await self._observe_once(request)

    async def _observe_once(self, request: Request) -> SnapshotT:
        return await self.kind.observe(self.kind.begin(request, _no_pass), live=False)


def store_of(kind: Kind, objects: Iterable[JsonObject]) -> Store:
    """A synced store with these objects."""
    store = Store(kind)
    for obj in objects:
        metadata = obj["metadata"]
        key = Key(metadata.get("namespace", ""), metadata["name"])
        store.put(key, msgspec.json.encode(obj))
    store.mark_synced()
    return store


def _preview(name: str, key: Key, snapshot: SnapshotT, plan: Plan[Step]) -> Preview:
    return Preview(
        name,
        key,
        _verdict(plan),
        snapshot.policy,
        None if snapshot.deleting else plan.drift.change,
        snapshot.deleting,
        plan.steps,
        differences=plan.differences,
        error=plan.refusal,
    )


def _verdict(plan: Plan[Step]) -> Verdict:
    if plan.refusal is not None:
        return Verdict.REFUSED
    if any(step.effect is not Effect.WAIT for step in plan.steps):
        return Verdict.CHANGES
    if plan.drift.drift_detected:
        return Verdict.DRIFTED
    return Verdict.WAITING if plan.steps else Verdict.SETTLED


def _no_pass() -> None:
    """There is no pass to ask for."""
