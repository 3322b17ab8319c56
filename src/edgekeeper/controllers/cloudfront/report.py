"""Report: one status that says what is, what we wait for and what a person must fix, and events that tell it once.

`Ready` is concluded from one fact, whether the tenant is deployed as the spec says; Synced, CertificateReady and
DNSReady stand beside it and speak for themselves. What a pass has done is already in the snapshot that it hands in.

Records are refused only after the pass that handed them in. When they are tried again, what was told of them stands
until there is an answer: neither the conditions nor the events of an object show that somebody keeps trying.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from edgekeeper.api.cloudfront import DistributionTenantStatus, DomainResult
from edgekeeper.cloud.aws.error_table import DNS_CONFLICT, DNS_ERROR
from edgekeeper.cloud.aws.tenants import ACTIVE, TenantSummary
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.certificates import (
    FAILED,
    ISSUED,
    is_suitable,
    recorded_request,
    uncovered_domains,
)
from edgekeeper.controllers.cloudfront.decide import Plan
from edgekeeper.controllers.cloudfront.desired import (
    is_managed,
    place_of,
    sent_fingerprint,
    tags_fingerprint,
    tags_of,
)
from edgekeeper.controllers.cloudfront.records import dns_differences, unmanaged
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.controllers.cloudfront.steps import Step
from edgekeeper.core.clock import timestamp
from edgekeeper.core.conditions import READY, Conditions, Declaration
from edgekeeper.core.delta import describe
from edgekeeper.core.drift import DRIFT_DETECTED, Change, drift_event, drift_message
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.core.outages import CLOUD_UNAVAILABLE
from edgekeeper.core.outcome import Event, StatusWrite

SYNCED, CERTIFICATE, DNS, PAUSED = "Synced", "CertificateReady", "DNSReady", "Paused"
DEPLOYED: Final = "Deployed"
SELF_HOSTED: Final = "self-hosted"
RECORDS_LEFT: Final = "RecordsLeft"
DNS_REASONS: Final = frozenset({DNS_ERROR, DNS_CONFLICT})
"""Why records are refused."""

DECLARATION = Declaration(
    required=(DEPLOYED,),
    unpublished=(DEPLOYED,),
    informative=(SYNCED, CERTIFICATE, DNS, PAUSED),
    ready_reason="Deployed",
    ready_message="the tenant is deployed as the spec says",
)

_BEFORE_CREATION = (
    do.RememberRecords,
    do.WriteRecords,
    do.AwaitRecords,
    do.AwaitPropagation,
    do.NoteCreation,
    do.CreateTenant,
)
_RECORDS_UNDER_WAY = (do.RememberRecords, do.WriteRecords, do.AwaitRecords)
_ATTEMPTS = (do.WriteRecords, do.RemoveRecords, do.AwaitRecords)
_PUSHING = (do.RememberRecords, do.WriteRecords, do.RemoveRecords, do.UpdateTenant, do.AwaitRecords)
_NOT_AS_DECLARED = (do.AdoptTenant, *_PUSHING)


@dataclass(frozen=True)
class Reporter:
    """Writes the status of one object after one pass."""

    obj: JsonObject
    before: Snapshot
    after: Snapshot
    plan: Plan
    now: datetime
    outage: str = ""
    """What is to be said of an outage that keeps the object waiting; empty where there is none."""

    @property
    def step(self) -> Step | None:
        return self.plan.next

    # The status

    def status(self) -> StatusWrite:
        present = dig_object(self.obj, "status")
        status: JsonObject = msgspec.to_builtins(self._facts())
        status["conditions"] = self._conditions()
        if checked := present.get("lastDriftCheckTime"):
            status["lastDriftCheckTime"] = checked
        if status != present:
            # When we looked last is worth a write only beside something that has changed.
            status["lastDriftCheckTime"] = timestamp(self.now)
        return StatusWrite(status)

    def _facts(self) -> DistributionTenantStatus:
        after, status, tenant = self.after, self.after.status, self.after.tenant
        certificate = after.certificate
        # Deleted by others and left so: that there was one is what tells it from one that was never created.
        known = tenant or (None if self.plan.drift.push else status)
        return DistributionTenantStatus(
            observed_generation=self._observed_generation(),
            id=known.id if known else "",
            arn=known.arn if known else "",
            e_tag=tenant.etag if tenant else "",
            distribution_tenant_status=tenant.status if tenant else "",
            created_time=tenant.created if tenant else None,
            last_modified_time=tenant.modified if tenant else None,
            domain_results=_domain_results(tenant),
            certificate_arn=certificate.arn if certificate else _kept(after, status.certificate_arn),
            managed_certificate_status=certificate.status
            if certificate
            else _kept(after, status.managed_certificate_status),
            drift_detected=self.plan.drift.drift_detected,
            dns_change_id=after.change_id,
            dns_changes=list(after.dns_changes),
            dns_target=next((one.target for one in after.inventory), ""),
            inventory=list(after.inventory),
            certificate_request=self._certificate_request(),
            tags_fingerprint=self._tags_fingerprint(),
            creation_started=self._creation_started(),
        )

    def _creation_started(self) -> datetime | None:
        """Noted ahead of a creation without a mark; the id takes its place."""
        if isinstance(self.step, do.NoteCreation):
            return self.now
        return self.after.status.creation_started if self.after.tenant is None else None

    def _observed_generation(self) -> int | None:
        """The generation once nothing is left to push: what is pushed half is not carried out."""
        is_unseen = isinstance(self.step, do.AdoptTenant)  # taken over, but not compared with the spec yet
        if is_unseen or (self.after.tenant is None and self.plan.drift.push):
            return self.after.status.observed_generation
        left = (
            self.plan.steps[1:]
            if isinstance(self.step, do.UpdateTenant | do.CreateTenant)
            else self.plan.steps
        )
        if (
            any(isinstance(step, (*_PUSHING, do.AttachCertificate)) for step in left)
            or self._is_half_created()
        ):
            return self.after.status.observed_generation
        return self.after.generation

    def _is_half_created(self) -> bool:
        """Created disabled, and before its records."""
        return isinstance(self.step, do.CreateTenant) and self.before.names_follow

    def _certificate_request(self) -> str:
        """What CloudFront was sent last: a new tenant nothing yet, if it was created without a request."""
        if isinstance(self.step, do.CreateTenant | do.UpdateTenant) and self.step.certificate is not None:
            return sent_fingerprint(self.after.spec)
        return "" if isinstance(self.step, do.CreateTenant) else recorded_request(self.after)

    def _tags_fingerprint(self) -> str:
        """Noted where the tenant was seen with the tags that it should have."""
        tenant, wanted = self.after.details, tags_of(self.after.spec, self.after.owner)
        has_them = tenant is not None and wanted.items() <= tenant.tags.items()
        if not self.after.may_tag or not has_them or isinstance(self.step, do.AdoptTenant):
            return self.after.status.tags_fingerprint
        return tags_fingerprint(self.after.spec, self.after.owner)

    # Conditions

    def _conditions(self) -> list[Any]:
        if is_tried_again(self.obj, self.step):
            return [one for one in dig_list(self.obj, "status", "conditions") if not _is_pause(one)]
        conditions = resumed(self.obj, self.now)
        conflict = conditions.before(READY)
        if (
            conflict
            and self.before.is_contested
            and isinstance(self.step, do.RemoveRecords | do.AwaitRecords | do.AwaitPropagation)
        ):
            # Whose the domain is stays the news. Nothing else tells the next pass not to write the records again.
            conditions.mark(DEPLOYED, False, conflict.reason, conflict.message)
            conditions.mark(DNS, False, DNS_ERROR, f"{self.step}: {self.step.reason}")
            return conditions.to_list()
        conditions.mark(DEPLOYED, *self._deployed())
        if self.after.tenant is not None or self.plan.drift.drift_detected:
            self._mark_synced(conditions)
            self._mark_certificate(conditions)
        self._mark_dns(conditions)
        if self.outage:
            tell_outage(conditions, self.obj, self.outage)
        return conditions.to_list()

    def _deployed(self) -> tuple[bool, str, str]:
        tenant, step = self.after.tenant, self.step
        if tenant is None:
            if isinstance(step, _BEFORE_CREATION):
                return False, "Creating", self._progress(READY, "Creating", step)
            return False, "ExternalDeletion", "the tenant was deleted outside the operator"
        if isinstance(step, do.CreateTenant) and not self.before.inventory:
            return False, "Creating", f"tenant {tenant.id} is being deployed"
        # An object with records has said Creating while they were written.
        if tenant.in_progress or isinstance(step, do.CreateTenant | do.UpdateTenant):
            return False, "Deploying", f"tenant {tenant.id} is being deployed"
        left = (one for one in self.plan.steps if isinstance(one, _NOT_AS_DECLARED))
        if (waiting := next(left, None)) is not None:
            return False, "Deploying", f"{waiting}: {waiting.reason}"
        return True, "Deployed", DECLARATION.ready_message

    def _mark_synced(self, conditions: Conditions) -> None:
        drift, known = self.plan.drift, conditions.get(SYNCED)
        if drift.unsynced:
            conditions.mark(SYNCED, False, DRIFT_DETECTED, drift_message(self.plan.differences))
        elif drift.change is Change.DRIFT:
            return  # suspended: left as it is
        elif isinstance(self.step, _PUSHING) and drift.push:
            conditions.mark(SYNCED, True, "UpdatePending", "the change is being carried out")
        elif (
            self.after.tenant and self.after.tenant.in_progress and known and known.reason == "UpdatePending"
        ):
            conditions.mark(SYNCED, True, "UpdatePending", known.message)
        else:
            conditions.mark(SYNCED, True, "InSync", "the tenant is as the spec says")

    def _mark_certificate(self, conditions: Conditions) -> None:
        tenant, certificate = self.after.tenant, self.after.certificate
        if not is_managed(self.after.spec):
            conditions.mark(CERTIFICATE, True, "NotConfigured", "no managed certificate is requested")
            return
        status = certificate.status if certificate else self.after.status.managed_certificate_status
        if certificate is not None and not is_suitable(self.after):
            conditions.mark(CERTIFICATE, False, "PendingValidation", _successor_message(self.after))
        elif status == ISSUED and tenant and all(domain.is_active for domain in tenant.domains):
            conditions.mark(
                CERTIFICATE, True, "Validated", "the certificate is issued and all domains are active"
            )
        elif status == ISSUED:
            conditions.mark(CERTIFICATE, False, "Attaching", "the certificate is issued and being attached")
        elif status in FAILED:
            message = f"CloudFront says that the certificate is {status}: a new request is needed"
            conditions.mark(CERTIFICATE, False, "CertificateFailed", message)
        else:
            conditions.mark(CERTIFICATE, False, "PendingValidation", self._validation_message(conditions))

    def _validation_message(self, conditions: Conditions) -> str:
        certificate, wish = self.after.certificate, self.after.spec.managed_certificate_request
        if wish is None or wish.validation_token_host != SELF_HOSTED:
            return "waiting for validation: each domain needs a CNAME record that leads to CloudFront"
        if certificate is not None and certificate.tokens:
            tokens = "; ".join(
                f"{token.domain}: redirect {token.redirect_from} -> {token.redirect_to}"
                for token in certificate.tokens
            )
            return f"waiting for the validation tokens to be served: {tokens}"
        known = conditions.get(CERTIFICATE)
        if known is not None and known.reason == "PendingValidation":
            return known.message  # listings know no tokens, but they have not changed
        return "waiting for the validation tokens, which CloudFront has not told yet"

    def _mark_dns(self, conditions: Conditions) -> None:
        if self.after.spec.dns is None and not self.after.inventory:
            conditions.mark(DNS, True, "DNSNotConfigured", "spec.dns is not set")
        elif isinstance(self.step, _RECORDS_UNDER_WAY) and not self.plan.drift.drift_detected:
            conditions.mark(
                DNS, False, "DNSRecordCreating", self._progress(DNS, "DNSRecordCreating", self.step)
            )
        elif broken := dns_differences(self.after):
            conditions.mark(
                DNS, False, "DNSRecordCreating", f"records are not as they should be: {describe(broken)}"
            )
        elif not self.after.dns_in_sync:
            change = f"change {self.after.change_id}" if self.after.change_id else "a change"
            message = f"{change} is not known everywhere yet"
            conditions.mark(DNS, False, "DNSPropagating", message)
        else:
            conditions.mark(DNS, True, "DNSReady", _dns_ready_message(self.after))

    def _progress(self, type_: str, reason: str, step: Step) -> str:
        """What is being done. The steps on the way to a written record say the same, so that one write shows them all."""
        known = _fact(dig_list(self.obj, "status", "conditions"), type_)
        if isinstance(step, do.AwaitRecords) and known.get("reason") == reason:
            return str(known.get("message"))
        if isinstance(step, do.RememberRecords | do.WriteRecords):
            return f"writing {do.named(step.records)}: {step.reason}"
        return f"{step}: {step.reason}"

    # Events

    def events(self) -> Iterator[Event]:
        """What happened in this pass; each fact once."""
        if self.before.was_created and self.before.tenant is None and self.before.status.id:
            if not self.before.status.drift_detected:
                yield Event("Warning", "ExternalDeletion", "the tenant was deleted outside the operator")
        elif (event := drift_event(self.plan.drift, self.plan.differences)) is not None and (
            self.plan.drift.event == DRIFT_DETECTED or self.is_correction
        ):
            yield event
        yield from self._told_step()

    @property
    def is_correction(self) -> bool:
        """Is drift corrected in this pass? Records that are tried again were corrected, as far as one can tell."""
        is_change = isinstance(self.step, do.CreateTenant | do.UpdateTenant)
        is_first = isinstance(self.step, do.WriteRecords) and self._is_dns_news()
        return self.plan.drift.drift_detected and (is_change or is_first)

    def _is_dns_news(self) -> bool:
        """Does DNSReady say something else than before? It does not where the same records are tried again."""
        return _fact(self._conditions(), DNS) != _fact(dig_list(self.obj, "status", "conditions"), DNS)

    def _told_step(self) -> Iterator[Event]:
        yield from told_removal(self.after)
        match self.step:
            case do.CreateTenant() if self.after.tenant:
                yield Event("Normal", "Created", f"created tenant {self.after.tenant.id}")
            case do.AdoptRecords(records):
                yield Event("Normal", "RecordsAdopted", f"took over {do.named(records)}: {self.step.reason}")
            case do.AdoptTenant(tenant):
                yield Event("Normal", "Adopted", f"took over tenant {tenant.id}: {self.step.reason}")
            case do.UpdateTenant():
                yield Event("Normal", "Updated", f"updated tenant {self.step.tenant.id}: {self.step.reason}")
            case do.RememberRecords(records) | do.WriteRecords(records) if self._is_dns_news():
                told = f"writing {len(records)} record{'s' if len(records) > 1 else ''} leading to {records[0].target}"
                yield Event("Normal", "DNSRecordCreating", told)
            case do.AttachCertificate(arn):
                yield Event("Normal", "CertificateAttaching", f"attaching certificate {arn}")


def _domain_results(tenant: TenantSummary | None) -> list[DomainResult]:
    if tenant is None:
        return []
    return [
        DomainResult(one.domain, "active" if one.status == ACTIVE else "inactive" if one.status else None)
        for one in tenant.domains
    ]


def _kept(snapshot: Snapshot, value: str) -> str:
    """What was known of a certificate, for as long as one is requested."""
    return value if is_managed(snapshot.spec) and snapshot.tenant is not None else ""


def _successor_message(snapshot: Snapshot) -> str:
    """Why the certificate that there is will not do."""
    missing = ", ".join(uncovered_domains(snapshot))
    why = f"does not cover {missing}" if missing else "is also for domains that were removed"
    return f"the certificate {why}: another one is requested"


def is_tried_again(obj: JsonObject, step: Step | None) -> bool:
    """Are records under way that the object says were refused, for the present spec?"""
    known = _fact(dig_list(obj, "status", "conditions"), DNS)
    is_refused = known.get("reason") in DNS_REASONS
    is_present = known.get("observedGeneration") == dig(obj, "metadata", "generation")
    return isinstance(step, _ATTEMPTS) and is_refused and is_present


def told_removal(snapshot: Snapshot) -> Iterator[Event]:
    """Records are told to be gone when they are, and to be left where somebody has changed them."""
    if number := snapshot.dns_work.removed:
        yield Event("Normal", "DNSCleaned", f"removed {number} record{'s' if number > 1 else ''}")
    if left := snapshot.dns_work.left:
        told = "; ".join(left)
        yield Event("Warning", RECORDS_LEFT, f"not removed, since somebody has changed it meanwhile: {told}")


def told_unmanaged(snapshot: Snapshot) -> Iterator[Event]:
    """What stays of a deleted object's DNS, because it was there before."""
    if found := unmanaged(snapshot):
        told = do.named(found)
        yield Event("Warning", RECORDS_LEFT, f"left as it is, since this object does not manage it: {told}")
    if snapshot.withheld:
        withheld = sorted(snapshot.withheld, key=place_of)
        told = do.named(withheld)
        yield Event(
            "Warning", RECORDS_LEFT, f"left as it is, since another object's tenant serves it: {told}"
        )


def _dns_ready_message(snapshot: Snapshot) -> str:
    message = "all records are as the spec says"
    if found := unmanaged(snapshot):
        return (
            f"{message}; not managed, since somebody else has written it: {do.named(found)}: to have it kept and "
            'removed with this object, annotate the object with edgekeeper.io/adopt: "true"'
        )
    return message


def resumed(obj: JsonObject, now: datetime) -> Conditions:
    """The conditions of an object that is not paused, and not kept waiting by an outage."""
    conditions = Conditions.of(DECLARATION, obj, now)
    conditions.forget(PAUSED)
    known = conditions.get(SYNCED)
    if known is not None and known.reason == CLOUD_UNAVAILABLE:
        conditions.forget(SYNCED)
    return conditions


def tell_outage(conditions: Conditions, obj: JsonObject, message: str) -> None:
    """Say that the cloud cannot be used. What is known of the present spec stays in Ready, if there ever was a tenant."""
    conditions.mark(SYNCED, False, CLOUD_UNAVAILABLE, message)
    ready = conditions.before(READY)
    is_present = ready is not None and ready.observed_generation == dig(obj, "metadata", "generation")
    if ready is None or not is_present or ready.reason == CLOUD_UNAVAILABLE or not dig(obj, "status", "id"):
        conditions.mark(DEPLOYED, "Unknown", CLOUD_UNAVAILABLE, message)
    elif conditions.get(DEPLOYED) is None:
        conditions.mark(DEPLOYED, ready.status, ready.reason, ready.message)


def _is_pause(condition: Any) -> bool:
    return isinstance(condition, dict) and condition.get("type") == PAUSED


def _fact(conditions: list[Any], type_: str) -> JsonObject:
    found = (one for one in conditions if isinstance(one, dict) and one.get("type") == type_)
    return next(found, {})
