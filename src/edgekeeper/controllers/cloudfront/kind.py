"""DistributionTenant as an external kind: connects observe, decide, perform and report to the loop of `lifecycle.kind`.

error                                         conditions
Stall with a DNS reason                       Ready and DNSReady False, with the reason
other Stall                                   Ready and Synced False, with the reason
  no connection group, with spec.dns          DNSReady False as well: records have no target
Wait for domain validation or for a quota     Ready False, with the reason
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from edgekeeper.api.cloudfront import DistributionTenantStatus, read_tenant
from edgekeeper.cloud.aws.dns.reporting import DNS_READY, DNS_REASONS
from edgekeeper.cloud.aws.error_table import (
    DNS_ERROR,
    DOMAIN_CONFLICT,
    DOMAIN_VALIDATION_PENDING,
    NAME_CONFLICT,
    NO_CONNECTION_GROUP,
    QUOTA_EXCEEDED,
)
from edgekeeper.controllers.cloudfront.decide import decide
from edgekeeper.controllers.cloudfront.observe import Base, Observer
from edgekeeper.controllers.cloudfront.perform import Performer
from edgekeeper.controllers.cloudfront.records import inventory_of
from edgekeeper.controllers.cloudfront.report import DECLARATION, DEPLOYED, Reporter, gone_events
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.errors import PassError, Stall, Wait
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.core.outcome import Event
from edgekeeper.core.steps import Plan, Step
from edgekeeper.lifecycle.kind import SYNCED, ExternalKind, Pass, Report, Wake
from edgekeeper.runtime.contract import Request


@dataclass(frozen=True)
class TenantKind(ExternalKind[Base, Snapshot]):
    """The operations of the reconcile loop for DistributionTenants."""

    name: ClassVar = "DistributionTenant"
    noun: ClassVar = "the tenant and its records"
    mark: ClassVar = "its tags"
    status_type: ClassVar = DistributionTenantStatus
    declaration: ClassVar[Declaration] = DECLARATION
    conflicts: ClassVar = frozenset({NAME_CONFLICT, DOMAIN_CONFLICT})
    reported_waits: ClassVar = frozenset({DOMAIN_VALIDATION_PENDING, QUOTA_EXCEEDED})

    observer: Observer
    performer: Performer

    def begin(self, request: Request, wake: Wake) -> Base:
        return self.observer.begin(request, wake)

    async def observe(self, base: Base, *, live: bool) -> Snapshot:
        return await self.observer.observe(base, live=live)

    def decide(self, snapshot: Snapshot) -> Plan[Step]:
        return decide(snapshot)

    async def perform(self, step: Step, snapshot: Snapshot, wake: Wake) -> Snapshot:
        return await self.performer.perform(step, snapshot, wake)

    async def release(self, snapshot: Snapshot) -> None:
        await self.performer.unmark(snapshot)

    def obstacle(self, step: Step | None, snapshot: Snapshot) -> PassError | None:
        return self.observer.obstacle(step, snapshot)

    def report(self, result: Pass[Snapshot], conditions: Conditions) -> Report:
        reporter = Reporter(result, conditions)
        return reporter.removal() if result.before.deleting else reporter.report()

    def gone(self, snapshot: Snapshot) -> Iterable[Event]:
        return gone_events(snapshot)

    def blame(self, error: PassError, obj: JsonObject, conditions: Conditions) -> None:
        conditions.mark(DEPLOYED, False, error.reason, self.describe(error))
        if error.reason in DNS_REASONS:
            conditions.mark(DNS_READY, False, error.reason, error.message)
        elif isinstance(error, Stall):
            conditions.mark(SYNCED, False, error.reason, error.message)
        if error.error_type == NO_CONNECTION_GROUP.error_type and dig(obj, "spec", "dns"):
            conditions.mark(DNS_READY, False, DNS_ERROR, error.message)

    def describe(self, error: PassError) -> str:
        if isinstance(error, Wait) and error.reason == DOMAIN_VALIDATION_PENDING:
            return f"{error.message}; DNS may still be propagating"
        return error.message

    def status_after_error(self, request: Request, error: PassError | None) -> JsonObject:
        status = {**dig_object(request.object, "status"), **self._answered(request)}
        if error is not None and error.reason == NAME_CONFLICT:
            status.pop("creationStarted", None)  # the existing tenant is not the one that was to be created
        if error is not None and error.reason == DOMAIN_CONFLICT and error.error_type:
            status["contestedGeneration"] = request.generation
        return status

    def was_created(self, obj: JsonObject) -> bool:
        return bool(dig(obj, "status", "id"))

    def remains(self, obj: JsonObject) -> Sequence[str]:
        tenant_id = dig(obj, "status", "id")
        records = (
            f"{dig(entry, 'type')} {dig(entry, 'name')}" for entry in dig_list(obj, "status", "inventory")
        )
        return [*([f"tenant {tenant_id}"] if tenant_id else []), *records]

    def forget(self, uid: str) -> None:
        self.observer.account.dns.forget(uid)

    def _answered(self, request: Request) -> JsonObject:
        """The results of submitted records as status fields, so that an error in the pass does not lose them."""
        try:
            obj = read_tenant(request.object)
        except msgspec.ValidationError:
            return {}
        uid = str(dig(request.object, "metadata", "uid") or "")
        inventory = inventory_of(obj.spec, obj.status)
        return self.observer.account.dns.answered_fields(uid, inventory, obj.status.dns_changes)
