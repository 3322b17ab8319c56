"""CloudflareTask as an external kind: connects observe, decide, perform and report to the loop of `lifecycle.kind`.

    Pending ─► InProgress ─► Completed        every step is a pass; the status after each says how far the task is
                   ▲  └────► Failed           a person must act, or Cloudflare cannot be used; tried again for ever
                   └───────────┘

A task belongs to the worker that its status names. Only one worker is active at a time (each role has a Lease), so one that
finds another's claim takes it over. A new generation is carried out from wherever the last one was: what is wanted is
compared with what is there, and not with what was done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec

from edgekeeper.api.zerotrust_task import CloudflareTask, TaskStatus
from edgekeeper.cloud.cloudflare.accounts import Cloudflare
from edgekeeper.cloud.outbox import Owner
from edgekeeper.controllers.zerotrust.credentials import TokenUsers
from edgekeeper.controllers.zerotrust.decide import decide
from edgekeeper.controllers.zerotrust.observe import Base, Observer
from edgekeeper.controllers.zerotrust.perform import Performer
from edgekeeper.controllers.zerotrust.refusals import (
    APPLICATION_CONFLICT,
    APPLICATION_NOT_FOUND,
    HOSTNAME_CONFLICT,
    OWNED_BY_OTHER,
    RECORD_CONFLICT,
)
from edgekeeper.controllers.zerotrust.repetitions import Repetitions
from edgekeeper.controllers.zerotrust.report import CARRIED_OUT, DECLARATION, failed, report
from edgekeeper.controllers.zerotrust.snapshot import Snapshot, Subject
from edgekeeper.controllers.zerotrust.tokens import TOKEN_CONFLICT
from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.notes import notes
from edgekeeper.core.outages import has_work, reported_outage
from edgekeeper.core.redaction import redact_text
from edgekeeper.core.steps import Plan, Step
from edgekeeper.kube.kinds import HTTP_ROUTE, Key
from edgekeeper.lifecycle.kind import SYNCED, ExternalKind, Pass, Report, Wake
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.runtime.contract import Request


@dataclass(frozen=True)
class TaskKind(ExternalKind[Base, Snapshot]):
    """The operations of the reconcile loop for tasks."""

    name: ClassVar = "CloudflareTask"
    noun: ClassVar = "what the task has published"
    mark: ClassVar = "our marks"
    status_type: ClassVar = TaskStatus
    declaration: ClassVar[Declaration] = DECLARATION
    conflicts: ClassVar = frozenset(
        {
            APPLICATION_CONFLICT,
            APPLICATION_NOT_FOUND,
            HOSTNAME_CONFLICT,
            OWNED_BY_OTHER,
            RECORD_CONFLICT,
            TOKEN_CONFLICT,
        }
    )
    reported_waits: ClassVar = frozenset({"Error", "InternalError", "TunnelConfigContended", "Forbidden"})

    cloudflare: Cloudflare
    credentials: TokenUsers
    observer: Observer
    performer: Performer
    memory: Memory
    repetitions: Repetitions = field(default_factory=Repetitions)

    def begin(self, request: Request, wake: Wake) -> Base:
        subject = _subject(request)
        route = subject.spec.httproute_ref
        notes().on_behalf_of(HTTP_ROUTE.kind, route.namespace, route.name)
        if subject.is_complete:
            self.forget(subject.uid)
        credential = self.credentials.credential(request.key, subject.spec.credential_secret_ref)
        account = self.cloudflare.account(credential, subject.spec.account_id)
        outbox = self.performer.outbox
        writes = outbox.collect(Owner(subject.uid, subject.generation))
        if writes.failure is not None:
            self.repetitions.forget(subject.uid)  # nothing was written, so nothing was without effect
        # The mirrors of tunnels and zones show what was written, so the answers themselves are not needed.
        outbox.settle(subject.uid, *(answer.place for answer in writes.answers))
        return Base(subject, account, writes)

    async def observe(self, base: Base, *, live: bool) -> Snapshot:
        return await self.observer.observe(base, live=live)

    def decide(self, snapshot: Snapshot) -> Plan[Step]:
        return decide(snapshot)

    async def perform(self, step: Step, snapshot: Snapshot, wake: Wake) -> Snapshot:
        self.repetitions.check(snapshot.subject, step)
        after = await self.performer.perform(step, snapshot, wake)
        self.repetitions.note(snapshot.subject, step)
        return after

    async def release(self, snapshot: Snapshot) -> None:
        """Tasks have no finalizer: an action, not their deletion, withdraws or releases what they published."""
        raise Stall("NotSupported", "tasks are not finalized")

    def report(self, result: Pass[Snapshot], conditions: Conditions) -> Report:
        return report(result, conditions)

    def blame(self, error: PassError, obj: JsonObject, conditions: Conditions) -> None:
        conditions.mark(CARRIED_OUT, False, error.reason, self.describe(error))
        conditions.mark(SYNCED, False, error.reason, self.describe(error))

    def status_after_error(self, request: Request, error: PassError | None) -> JsonObject:
        try:
            subject = _subject(request)
        except msgspec.ValidationError:
            status: JsonObject = dict(dig(request.object, "status") or {})
            return {**status, "phase": "Failed", "message": redact_text(error.message if error else "")}
        if error is None:
            message = self.memory.outages.message(subject.uid, reported_outage(request.object, SYNCED))
        else:
            message = f"{error.reason}: {self.describe(error)}"
        return failed(subject, redact_text(message), self.observer.worker, self.observer.clock.now())

    def has_work(self, obj: JsonObject) -> bool:
        """A task has something to do until it is completed, unless a person must act first."""
        status, metadata = dig(obj, "status"), dig(obj, "metadata")
        is_observed = dig(status, "observedGeneration") == dig(metadata, "generation")
        if is_observed and dig(status, "phase") == "Completed":
            return False
        unobserved = {"conditions": dig_list(obj, "status", "conditions")}
        return has_work({"metadata": metadata, "status": unobserved})

    def was_created(self, obj: JsonObject) -> bool:
        return False

    def remains(self, obj: JsonObject) -> Sequence[str]:
        items = dig_list(obj, "status", "inventory")
        return [f"{dig(item, 'kind')} {dig(item, 'name') or dig(item, 'id')}" for item in items]

    def forget(self, uid: str) -> None:
        self.performer.outbox.forget(uid)
        self.repetitions.forget(uid)


def _subject(request: Request) -> Subject:
    task = request.decode(CloudflareTask)
    uid = str(dig(request.object, "metadata", "uid") or "")
    return Subject(Key(*request.key), uid, request.generation, task.spec, task.status)
