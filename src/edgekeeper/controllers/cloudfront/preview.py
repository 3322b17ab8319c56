"""What a pass would do, for every object, without doing it: the same observation, the same decision, and no more.

    previewer = Previewer(account, options, objects)
    for preview in await previewer.preview(keys): ...

Objects are handed in rather than watched, so they may be ones that nobody has applied yet. All of the cluster's have to
be among them: who claims a name or a domain first is decided between them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec

from edgekeeper.api.cloudfront import read_tenant
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.mirror import NotSyncedError
from edgekeeper.controllers.cloudfront.account import Account
from edgekeeper.controllers.cloudfront.claims import Claims
from edgekeeper.controllers.cloudfront.decide import Plan, decide
from edgekeeper.controllers.cloudfront.effects import effects_of
from edgekeeper.controllers.cloudfront.observe import Observer
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.controllers.cloudfront.steps import Step, is_waiting
from edgekeeper.controllers.cloudfront.wiring import KIND, TenantOptions
from edgekeeper.core.annotations import DeletionPolicy, Wishes
from edgekeeper.core.delta import Difference
from edgekeeper.core.drift import Change, Policy
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.store import Store
from edgekeeper.runtime.contract import Request

AT_ONCE: Final = 16
"""Objects that are looked at together, as in the operator."""
FIRST_LISTING: Final = timedelta(minutes=2)


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
class PlannedStep:
    """A step, and what it would change."""

    step: Step
    effects: tuple[Difference, ...]

    @property
    def action(self) -> str:
        return type(self.step).__name__

    @property
    def is_waiting(self) -> bool:
        return is_waiting(self.step)


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be done for one object, and why."""

    key: Key
    verdict: Verdict
    policy: Policy | None = None
    change: Change | None = None
    """Who changed what; None where the object is being deleted, or nobody has found out."""
    deleting: bool = False
    steps: tuple[PlannedStep, ...] = ()
    differences: tuple[Difference, ...] = ()
    """Where cloud and spec differ, whether or not anything is done about it."""
    error: PassError | None = None

    @classmethod
    def refused(cls, key: Key, error: PassError) -> Preview:
        return cls(key, Verdict.REFUSED if isinstance(error, Stall) else Verdict.FAILED, error=error)


class Previewer:
    """See the module."""

    def __init__(self, account: Account, options: TenantOptions, objects: Iterable[JsonObject]) -> None:
        self._account = account
        self._store = Store(KIND)
        claims = Claims([self._store], options.tenant_name_template, options.cluster, options.guards)
        for obj in objects:
            self._store.put(_key(obj), msgspec.json.encode(obj))
        self._store.mark_synced()
        self._observer = Observer(account, claims, options.guards, options.cluster, options.drift_policy)

    async def preview(self, keys: Sequence[Key]) -> list[Preview]:
        """What would be done for these objects. Raise PassError where the account cannot be looked at."""
        keeping = asyncio.create_task(self._account.run(), name="AWS account")
        try:
            await self._confirm_listed()
            turns = asyncio.Semaphore(AT_ONCE)
            return list(await asyncio.gather(*(self._in_turn(key, turns) for key in keys)))
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _confirm_listed(self) -> None:
        """Wait for the first listings. Where we may not list, objects are read one by one; other failures count."""
        account = self._account
        await account.warm_up(FIRST_LISTING)
        problem = account.tenants.mirror.problem
        if problem is not None and not account.tenants.is_blind:
            raise problem

    async def _in_turn(self, key: Key, turns: asyncio.Semaphore) -> Preview:
        async with turns:
            obj = self._store.get(key)
            assert obj is not None  # noqa: S101 - callers choose from the objects that they handed in
            wishes = Wishes.of(obj)
            request = Request(key, msgspec.json.encode(obj), obj, reconcile_id="")
            try:
                wishes.confirm()
                if wishes.paused:
                    return Preview(key, Verdict.PAUSED)
                if request.deleting and wishes.deletion_policy is DeletionPolicy.ORPHAN:
                    return Preview(key, Verdict.ORPHANED)
                snapshot = await self._observe(request)
                plan = decide(snapshot)
            except PassError as error:
                return Preview.refused(key, error)
            except msgspec.ValidationError as error:
                return Preview.refused(key, Stall("ValidationFailed", str(error)))
            return _preview(key, snapshot, plan)

    async def _observe(self, request: Request) -> Snapshot:
        try:
            return await self._look(request)
        except NotSyncedError:
            # Only now, because the observer touches no zone for a spec that is refused.
            await self._zone_listed(request)
            return await self._look(request)

    async def _look(self, request: Request) -> Snapshot:
        return await self._observer.look(self._observer.begin(request, _nobody_waits))

    async def _zone_listed(self, request: Request) -> None:
        dns = read_tenant(request.object).spec.dns
        if dns is not None:
            zone = self._account.zones.get(dns.hosted_zone_id, Role(dns.assume_role_arn))
            await zone.mirror.wait_listed()


def _preview(key: Key, snapshot: Snapshot, plan: Plan) -> Preview:
    steps = tuple(PlannedStep(step, effects_of(step, snapshot)) for step in plan.steps)
    return Preview(
        key,
        _verdict(steps, plan),
        snapshot.policy,
        None if snapshot.deleting else plan.drift.change,
        snapshot.deleting,
        steps,
        differences=plan.differences,
        error=plan.refusal,
    )


def _verdict(steps: Sequence[PlannedStep], plan: Plan) -> Verdict:
    if plan.refusal is not None:
        return Verdict.REFUSED
    if any(not step.is_waiting for step in steps):
        return Verdict.CHANGES
    if plan.drift.drift_detected:
        return Verdict.DRIFTED
    return Verdict.WAITING if steps else Verdict.SETTLED


def _nobody_waits() -> None:
    """A pass would be woken. There is none."""


def _key(obj: JsonObject) -> Key:
    metadata = obj["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])
