"""Previews of passes: observe and decide as a pass does, without performing anything.

The objects are passed in instead of watched, so they can be objects that are not applied yet. They must include all
objects of the cluster, because claims are decided among all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

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
from edgekeeper.lifecycle.controller import Runnable
from edgekeeper.lifecycle.kind import BaseT, ExternalKind, SnapshotT
from edgekeeper.runtime.contract import Request

T = TypeVar("T")

CONCURRENCY: Final = 16
"""How many objects are previewed at a time, as in the operator."""


class Verdict(StrEnum):
    """The result of a preview."""

    CHANGES = "Changes"
    """Steps that change something are pending."""
    WAITING = "Waiting"
    """Only steps that wait are pending."""
    SETTLED = "Settled"
    """The object is as declared."""
    DRIFTED = "Drifted"
    """The object differs from its spec, and its drift policy does not correct that."""
    PAUSED = "Paused"
    ORPHANED = "Orphaned"
    """The object is being deleted, and its external object is kept."""
    REFUSED = "Refused"
    """The user must act first."""
    FAILED = "Failed"
    """The preview failed."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a pass would do for an object, and why."""

    kind: str
    key: Key
    verdict: Verdict
    policy: Policy | None = None
    change: Change | None = None
    """What was changed; None if the object is being deleted, or that is unknown."""
    deleting: bool = False
    steps: Sequence[Step] = ()
    differences: tuple[Difference, ...] = ()
    """The differences between cloud and spec, whether or not they are corrected."""
    error: PassError | None = None
    kept: tuple[str, ...] = ()
    """What an object leaves in the cloud that is orphaned, in words."""

    @classmethod
    def refused(cls, kind: str, key: Key, error: PassError) -> Preview:
        return cls(kind, key, Verdict.REFUSED if isinstance(error, Stall) else Verdict.FAILED, error=error)


_SHOWN_CHANGES: Final = frozenset({Change.SPEC_CHANGE, Change.DRIFT})
"""The kinds of change that are shown as the cause of a plan."""


def cause_of(preview: Preview) -> str:
    """Why a preview has its verdict, in a few words; empty if the verdict says it all."""
    if preview.error is not None:
        return preview.error.reason
    if preview.verdict is Verdict.DRIFTED:
        return f"the policy is {preview.policy}"
    if preview.verdict is Verdict.ORPHANED:
        return ", ".join(preview.kept) or "nothing"
    is_shown = preview.verdict is Verdict.CHANGES and preview.change in _SHOWN_CHANGES
    return str(preview.change) if is_shown else ""


@dataclass(frozen=True)
class Previewer(Generic[BaseT, SnapshotT]):
    """Previews objects of one kind."""

    kind: ExternalKind[BaseT, SnapshotT]
    objects: Store
    listed: Callable[[Request], Awaitable[None]]
    """Waits for the listings that an observation of the object has started."""

    async def preview_beside(
        self, account: Runnable, confirm: Callable[[], Awaitable[None]], keys: Sequence[Key]
    ) -> list[Preview]:
        """The same while an account runs, once `confirm` has found that it can be read; it raises PassError otherwise."""
        running = asyncio.create_task(account.run(), name="account")
        try:
            await confirm()
            return await self.preview(keys)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def preview(self, keys: Sequence[Key]) -> list[Preview]:
        """Preview the objects with these keys."""
        turns = asyncio.Semaphore(CONCURRENCY)
        return list(await asyncio.gather(*(self._in_turn(key, turns) for key in keys)))

    async def _in_turn(self, key: Key, turns: asyncio.Semaphore) -> Preview:
        async with turns:
            obj = self.objects.get(key)
            assert obj is not None  # noqa: S101 - callers pass keys of `objects`
            name, wishes = self.kind.name, Wishes.of(obj)
            request = Request(key, msgspec.json.encode(obj), obj, reconcile_id="")
            try:
                wishes.confirm()
                if wishes.paused:
                    return Preview(name, key, Verdict.PAUSED)
                if request.deleting and wishes.deletion_policy is DeletionPolicy.ORPHAN:
                    return Preview(name, key, Verdict.ORPHANED, kept=tuple(self.kind.remains(obj)))
                snapshot, plan = await self._decide(request)
            except PassError as error:
                return Preview.refused(name, key, error)
            except msgspec.ValidationError as error:
                return Preview.refused(name, key, Stall("ValidationFailed", str(error)))
            return _preview(name, key, snapshot, plan)

    async def _decide(self, request: Request) -> tuple[SnapshotT, Plan[Step]]:
        """Observe and decide, and once more after the listings if either needs them: an observation may go on without."""
        try:
            return await self._decide_once(request)
        except NotSyncedError:
            # Only after the first attempt, because nothing is listed for a spec that is refused.
            await self.listed(request)
            return await self._decide_once(request)

    async def _decide_once(self, request: Request) -> tuple[SnapshotT, Plan[Step]]:
        snapshot = await self.kind.observe(self.kind.begin(request, _no_pass), live=False)
        return snapshot, self.kind.decide(snapshot)


SLICE: Final = 100
"""How many objects are read or stored before other tasks have their turn."""


async def in_turns(items: Iterable[T]) -> AsyncIterator[T]:
    """The items, while other tasks run as well: a fleet does not hold up the event loop."""
    for number, item in enumerate(items, 1):
        yield item
        if number % SLICE == 0:
            await asyncio.sleep(0)


async def store_of(kind: Kind, objects: Iterable[JsonObject]) -> Store:
    """A synced store with these objects."""
    store = Store(kind)
    async for obj in in_turns(objects):
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
    """Previews have no queue."""
