"""APIGatewayDomain as an external kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import msgspec

from edgekeeper.api.bridge import APIGatewayDomainStatus, read_domain
from edgekeeper.cloud.aws.dns.reporting import DNS_READY, DNS_REASONS
from edgekeeper.cloud.aws.dns.steps import AwaitPropagation
from edgekeeper.cloud.aws.error_table import DOMAIN_CONFLICT
from edgekeeper.controllers.bridge.cluster import REFERENCE_NOT_FOUND
from edgekeeper.controllers.bridge.domains import report as told
from edgekeeper.controllers.bridge.domains.decide import decide
from edgekeeper.controllers.bridge.domains.observe import Base, Observer
from edgekeeper.controllers.bridge.domains.perform import Performer
from edgekeeper.controllers.bridge.domains.records import inventory_of
from edgekeeper.controllers.bridge.domains.snapshot import Snapshot
from edgekeeper.controllers.bridge.failures import BUDGET_EXHAUSTED, RECOVERABLE, last_error, mark_degraded
from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.core.outcome import Event
from edgekeeper.core.steps import Plan, Step
from edgekeeper.lifecycle.kind import SYNCED, ExternalKind, Pass, Report, Wake
from edgekeeper.runtime.contract import Request
from edgekeeper.runtime.references import NOT_GRANTED

_MAPPING_REASONS: Final = frozenset({REFERENCE_NOT_FOUND, NOT_GRANTED})


@dataclass(frozen=True)
class DomainKind(ExternalKind[Base, Snapshot]):
    """The operations of the reconcile loop for APIGatewayDomains."""

    name: ClassVar = "APIGatewayDomain"
    noun: ClassVar = "the domain name, its mapping, its certificate and its records"
    mark: ClassVar = "its tags"
    status_type: ClassVar = APIGatewayDomainStatus
    declaration: ClassVar[Declaration] = told.DECLARATION
    conflicts: ClassVar = frozenset({DOMAIN_CONFLICT})
    reported_waits: ClassVar = RECOVERABLE

    observer: Observer
    performer: Performer

    def begin(self, request: Request, wake: Wake) -> Base:
        return self.observer.begin(request, wake)

    async def observe(self, base: Base, *, live: bool) -> Snapshot:
        return await self.observer.observe(base)

    def decide(self, snapshot: Snapshot) -> Plan[Step]:
        return decide(snapshot)

    async def perform(self, step: Step, snapshot: Snapshot, wake: Wake) -> Snapshot:
        return await self.performer.perform(step, snapshot, wake)

    async def release(self, snapshot: Snapshot) -> None:
        await self.performer.release(snapshot)

    def obstacle(self, step: Step | None, snapshot: Snapshot) -> PassError | None:
        return self.observer.obstacle(snapshot) if isinstance(step, AwaitPropagation) else None

    def report(self, result: Pass[Snapshot], conditions: Conditions) -> Report:
        reporter = told.Reporter(result, conditions)
        return reporter.removal() if result.before.deleting else reporter.report()

    def gone(self, snapshot: Snapshot) -> Iterable[Event]:
        return told.gone_events(snapshot)

    def blame(self, error: PassError, obj: JsonObject, conditions: Conditions) -> None:
        conditions.mark(_condition_of(error), False, error.reason, self.describe(error))
        mark_degraded(conditions, error)
        if isinstance(error, Stall):
            conditions.mark(SYNCED, False, error.reason, error.message)

    def describe(self, error: PassError) -> str:
        if error.reason == BUDGET_EXHAUSTED:
            return f"{error.message}; API Gateway takes one change of a domain name in 30 seconds"
        return error.message

    def derive(self, status: JsonObject, conditions: Sequence[JsonObject]) -> JsonObject:
        return told.derive(status, conditions)

    def status_after_error(self, request: Request, error: PassError | None) -> JsonObject:
        status = {**dig_object(request.object, "status"), **self._answered(request)}
        return status if error is None else {**status, "lastError": last_error(error, request.object)}

    def was_created(self, obj: JsonObject) -> bool:
        return bool(dig(obj, "status", "domainNameEndpoint"))

    def remains(self, obj: JsonObject) -> Sequence[str]:
        entries = dig_list(obj, "status", "inventory")
        records = [f"{dig(entry, 'type')} {dig(entry, 'name')}" for entry in entries]
        domain = [f"domain name {dig(obj, 'spec', 'domain')}"] if dig(obj, "status", "managed") else []
        certificate = dig(obj, "status", "requestedCertificateArn")
        return [*domain, *records, *([f"certificate {certificate}"] if certificate else [])]

    def forget(self, uid: str) -> None:
        self.observer.account.dns.forget(uid)

    def _answered(self, request: Request) -> JsonObject:
        """The results of submitted records as status fields, so that an error in the pass does not lose them."""
        try:
            spec, status = read_domain(request.object)
        except msgspec.ValidationError:
            return {}
        uid = str(dig(request.object, "metadata", "uid") or "")
        dns = self.observer.account.dns
        return dns.answered_fields(uid, inventory_of(spec, status), status.dns_changes)


def _condition_of(error: PassError) -> str:
    """The condition that an error is about."""
    if error.reason in DNS_REASONS or error.error_type.startswith("dns_"):
        return DNS_READY
    if error.reason in _MAPPING_REASONS or "Mapping" in error.message.partition(" failed")[0]:
        return told.MAPPING_READY
    if "Certificate" in error.reason or "Certificate" in error.message.partition(" failed")[0]:
        return told.CERTIFICATE_READY
    return told.DOMAIN_READY
