"""Report: one status that says what is, what we wait for and what a person must fix, and events that tell it once.

`Ready` is concluded from one fact, whether the tenant is deployed as the spec says; Synced, CertificateReady and
DNSReady stand beside it and speak for themselves. What a pass has done is already in the snapshot that it hands in.

Records are refused only after the pass that handed them in. When they are tried again, what was told of them stands
until there is an answer: neither the conditions nor the events of an object show that somebody keeps trying.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from edgekeeper.api.cloudfront import DistributionTenantStatus, DomainResult, InventoryRecord
from edgekeeper.cloud.aws.dns.entries import names_of, place_of
from edgekeeper.cloud.aws.dns.steps import (
    AwaitPropagation,
    AwaitRecords,
    RememberRecords,
    RemoveRecords,
    WriteRecords,
)
from edgekeeper.cloud.aws.error_table import DNS_CONFLICT, DNS_ERROR, DOMAIN_CONFLICT
from edgekeeper.cloud.aws.tenants import ACTIVE, TenantSummary
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.certificates import (
    FAILED,
    ISSUED,
    is_suitable,
    recorded_request,
    uncovered_domains,
)
from edgekeeper.controllers.cloudfront.decide import is_ours
from edgekeeper.controllers.cloudfront.desired import (
    is_managed,
    sent_fingerprint,
    tags_fingerprint,
    tags_of,
)
from edgekeeper.controllers.cloudfront.records import record_plan, unmanaged
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.conditions import READY, Conditions, Declaration
from edgekeeper.core.delta import describe
from edgekeeper.core.drift import DRIFT_DETECTED, Change, drift_event, drift_message
from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.core.outcome import ApplyWrite, Event
from edgekeeper.core.steps import Step
from edgekeeper.lifecycle.kind import PAUSED, SYNCED, Pass, Report

CERTIFICATE, DNS = "CertificateReady", "DNSReady"
DEPLOYED: Final = "Deployed"
SELF_HOSTED: Final = "self-hosted"
RECORDS_LEFT: Final = "RecordsLeft"
DNS_REASONS: Final = frozenset({DNS_ERROR, DNS_CONFLICT})
"""Why records are refused."""
CERTIFICATE_MANAGER: Final = "edgekeeper-certificate"
"""The field manager that owns the certificate's ARN in the spec, and nothing else."""

DECLARATION = Declaration(
    required=(DEPLOYED,),
    unpublished=(DEPLOYED,),
    informative=(SYNCED, CERTIFICATE, DNS, PAUSED),
    ready_reason="Deployed",
    ready_message="the tenant is deployed as the spec says",
)

_RECORDS_UNDER_WAY = (RememberRecords, WriteRecords, AwaitRecords)
_ATTEMPTS = (WriteRecords, RemoveRecords, AwaitRecords)
_WITHDRAWING = (RemoveRecords, AwaitRecords, AwaitPropagation)


@dataclass(frozen=True)
class Reporter:
    """Makes the report of one pass."""

    result: Pass[Snapshot]
    conditions: Conditions

    @property
    def before(self) -> Snapshot:
        return self.result.before

    @property
    def after(self) -> Snapshot:
        return self.result.after

    @property
    def step(self) -> Step | None:
        return self.result.step

    @property
    def now(self) -> datetime:
        return self.result.now

    def report(self) -> Report:
        """The report of a pass that carries out the spec."""
        self._mark()
        return Report(
            msgspec.to_builtins(self._facts()),
            tuple(self._events()),
            timestamps=("lastDriftCheckTime",),
            keeps_conditions=self._is_tried_again,
            is_correction=self._is_correction,
            write=_attachment(self.step) if isinstance(self.step, do.AttachCertificate) else None,
        )

    def removal(self) -> Report:
        """The report of a step of a deletion. What was written down about the tenant stays until it is gone."""
        step, after = self.step, self.after
        assert step is not None  # noqa: S101 - with nothing left to do there is nothing to report
        reason = "Disabling" if isinstance(step, do.DisableTenant) else "Deleting"
        self.conditions.mark(DEPLOYED, False, reason, f"{step}: {step.reason}")
        status = {**dig_object(self.result.obj, "status"), **inventory_fields(after.records.inventory)}
        status["dnsChangeId"] = after.records.change_id
        status["dnsChanges"] = msgspec.to_builtins(list(after.records.changes))
        if after.tenant is not None and is_ours(after, after.tenant):
            status["id"], status["arn"] = after.tenant.id, after.tenant.arn
            status["eTag"] = after.tenant.etag
            status["distributionTenantStatus"] = after.tenant.status
        return Report(
            {name: value for name, value in status.items() if value not in ("", [], None)},
            tuple(self._step_events()),
            keeps_conditions=self._is_tried_again,
        )

    @property
    def _is_tried_again(self) -> bool:
        """Are records under way that the object says were refused, for the present spec?"""
        dns = self.conditions.before(DNS)
        is_refused = dns is not None and dns.reason in DNS_REASONS
        is_present = dns is not None and dns.observed_generation == self.after.generation
        return isinstance(self.step, _ATTEMPTS) and is_refused and is_present

    # The status

    def _facts(self) -> DistributionTenantStatus:
        after, status, tenant = self.after, self.after.status, self.after.tenant
        certificate = after.certificate
        # Deleted by others and left so: that there was one is what tells it from one that was never created.
        known = tenant or (None if self.result.plan.drift.push else status)
        return DistributionTenantStatus(
            observed_generation=self._observed_generation(),
            id=known.id if known else "",
            arn=known.arn if known else "",
            e_tag=self._e_tag(),
            distribution_tenant_status=tenant.status if tenant else "",
            created_time=tenant.created if tenant else None,
            last_modified_time=tenant.modified if tenant else None,
            domain_results=_domain_results(tenant),
            certificate_arn=certificate.arn if certificate else _kept(after, status.certificate_arn),
            managed_certificate_status=certificate.status
            if certificate
            else _kept(after, status.managed_certificate_status),
            drift_detected=self.result.plan.drift.drift_detected,
            dns_change_id=after.records.change_id,
            dns_changes=list(after.records.changes),
            dns_target=next((entry.target for entry in after.records.inventory), ""),
            inventory=list(after.records.inventory),
            certificate_request=self._certificate_request(),
            tags_fingerprint=self._tags_fingerprint(),
            creation_started=self._creation_started(),
            contested_generation=after.generation if self._is_withdrawing else None,
        )

    def _e_tag(self) -> str:
        """The ETag of the tenant once it is as the spec says: parameters, which no listing tells, are compared till then."""
        tenant, is_sent = self.after.tenant, isinstance(self.step, do.CreateTenant | do.UpdateTenant)
        if tenant is None:
            return ""
        return tenant.etag if is_sent or not self.result.plan.differences else self.after.status.e_tag

    @property
    def _is_withdrawing(self) -> bool:
        """Are records withdrawn because CloudFront says that a domain of the present spec is another's?"""
        return self.before.is_contested and isinstance(self.step, _WITHDRAWING)

    def _creation_started(self) -> datetime | None:
        """Noted ahead of a creation without a mark; the id takes its place."""
        if isinstance(self.step, do.NoteCreation):
            return self.now
        return self.after.status.creation_started if self.after.tenant is None else None

    def _observed_generation(self) -> int | None:
        """The generation once nothing is left to push: what is pushed half is not carried out."""
        is_unseen = isinstance(self.step, do.AdoptTenant)  # taken over, but not compared with the spec yet
        if is_unseen or (self.after.tenant is None and self.result.plan.drift.push):
            return self.after.status.observed_generation
        left = (
            self.result.plan.steps[1:]
            if isinstance(self.step, do.UpdateTenant | do.CreateTenant)
            else self.result.plan.steps
        )
        if (
            any(step.pushes or isinstance(step, do.AttachCertificate) for step in left)
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
        if isinstance(self.step, do.CreateTenant) and not has_them:
            return ""
        if not self.after.may_tag or not has_them or isinstance(self.step, do.AdoptTenant):
            return self.after.status.tags_fingerprint
        return tags_fingerprint(self.after.spec, self.after.owner)

    # Conditions

    def _mark(self) -> None:
        conditions, conflict = self.conditions, self.conditions.before(READY)
        if self._is_withdrawing and conflict is not None and conflict.reason == DOMAIN_CONFLICT:
            # Whose the domain is stays the news.
            conditions.mark(DEPLOYED, False, conflict.reason, conflict.message)
            if self.step is not None:
                conditions.mark(DNS, False, DNS_ERROR, f"{self.step}: {self.step.reason}")
            return
        conditions.mark(DEPLOYED, *self._deployed())
        if self.after.tenant is not None or self.result.plan.drift.drift_detected:
            self._mark_synced()
            self._mark_certificate()
        self._mark_dns()

    def _deployed(self) -> tuple[bool, str, str]:
        tenant, step = self.after.tenant, self.step
        if tenant is None:
            if step is not None:
                return False, "Creating", self._progress(READY, "Creating", step)
            return False, "ExternalDeletion", "the tenant was deleted outside the operator"
        if isinstance(step, do.CreateTenant) and not self.before.records.inventory:
            return False, "Creating", f"tenant {tenant.id} is being deployed"
        # An object with records has said Creating while they were written.
        if tenant.in_progress or isinstance(step, do.CreateTenant | do.UpdateTenant):
            return False, "Deploying", f"tenant {tenant.id} is being deployed"
        left = (step for step in self.result.plan.steps if step.pushes or isinstance(step, do.AdoptTenant))
        if (next_push := next(left, None)) is not None:
            return False, "Deploying", f"{next_push}: {next_push.reason}"
        return True, "Deployed", DECLARATION.ready_message

    def _mark_synced(self) -> None:
        drift, synced, tenant = self.result.plan.drift, self.conditions.get(SYNCED), self.after.tenant
        if drift.unsynced:
            message = drift_message(self.result.plan.differences)
            self.conditions.mark(SYNCED, False, DRIFT_DETECTED, message)
        elif drift.change is Change.DRIFT:
            return  # suspended: left as it is
        elif self.step is not None and self.step.pushes and drift.push:
            self.conditions.mark(SYNCED, True, "UpdatePending", "the change is being carried out")
        elif tenant and tenant.in_progress and synced and synced.reason == "UpdatePending":
            self.conditions.mark(SYNCED, True, "UpdatePending", synced.message)
        else:
            self.conditions.mark(SYNCED, True, "InSync", "the tenant is as the spec says")

    def _mark_certificate(self) -> None:
        tenant, certificate = self.after.tenant, self.after.certificate
        if not is_managed(self.after.spec):
            self.conditions.mark(CERTIFICATE, True, "NotConfigured", "no managed certificate is requested")
            return
        status = certificate.status if certificate else self.after.status.managed_certificate_status
        if certificate is not None and not is_suitable(self.after):
            self.conditions.mark(CERTIFICATE, False, "PendingValidation", _successor_message(self.after))
        elif status == ISSUED and tenant and all(domain.is_active for domain in tenant.domains):
            self.conditions.mark(
                CERTIFICATE, True, "Validated", "the certificate is issued and all domains are active"
            )
        elif status == ISSUED:
            self.conditions.mark(
                CERTIFICATE, False, "Attaching", "the certificate is issued and being attached"
            )
        elif status in FAILED:
            message = f"CloudFront says that the certificate is {status}: a new request is needed"
            self.conditions.mark(CERTIFICATE, False, "CertificateFailed", message)
        else:
            self.conditions.mark(CERTIFICATE, False, "PendingValidation", self._validation_message())

    def _validation_message(self) -> str:
        certificate, wish = self.after.certificate, self.after.spec.managed_certificate_request
        if wish is None or wish.validation_token_host != SELF_HOSTED:
            return "waiting for validation: each domain needs a CNAME record that leads to CloudFront"
        if certificate is not None and certificate.tokens:
            tokens = "; ".join(
                f"{token.domain}: redirect {token.redirect_from} -> {token.redirect_to}"
                for token in certificate.tokens
            )
            return f"waiting for the validation tokens to be served: {tokens}"
        known = self.conditions.get(CERTIFICATE)
        if known is not None and known.reason == "PendingValidation":
            return known.message  # listings know no tokens, but they have not changed
        return "waiting for the validation tokens, which CloudFront has not told yet"

    def _mark_dns(self) -> None:
        if self.after.spec.dns is None and not self.after.records.inventory:
            self.conditions.mark(DNS, True, "DNSNotConfigured", "spec.dns is not set")
        elif isinstance(self.step, _RECORDS_UNDER_WAY) and not self.result.plan.drift.drift_detected:
            self.conditions.mark(
                DNS, False, "DNSRecordCreating", self._progress(DNS, "DNSRecordCreating", self.step)
            )
        elif broken := record_plan(self.after).differences:
            self.conditions.mark(
                DNS, False, "DNSRecordCreating", f"records are not as they should be: {describe(broken)}"
            )
        elif not self.after.records.in_sync:
            change = f"change {self.after.records.change_id}" if self.after.records.change_id else "a change"
            message = f"{change} is not known everywhere yet"
            self.conditions.mark(DNS, False, "DNSPropagating", message)
        else:
            self.conditions.mark(DNS, True, "DNSReady", _dns_ready_message(self.after))

    def _progress(self, type_: str, reason: str, step: Step) -> str:
        """What is being done. The steps on the way to a written record say the same, so that one write shows them all."""
        before = self.conditions.before(type_)
        if isinstance(step, AwaitRecords) and before is not None and before.reason == reason:
            return before.message
        if isinstance(step, RememberRecords | WriteRecords):
            return f"writing {names_of(step.records)}: {step.reason}"
        return f"{step}: {step.reason}"

    # Events

    def _events(self) -> Iterator[Event]:
        """What happened in this pass; each fact once."""
        plan = self.result.plan
        if self.before.was_created and self.before.tenant is None:
            if not self.before.status.drift_detected:
                yield Event("Warning", "ExternalDeletion", "the tenant was deleted outside the operator")
        elif (event := drift_event(plan.drift, plan.differences)) is not None and (
            plan.drift.event == DRIFT_DETECTED or self._is_correction
        ):
            yield event
        yield from self._step_events()

    def _step_events(self) -> Iterator[Event]:
        yield from removal_events(self.after)
        step, tenant = self.step, self.after.tenant
        if isinstance(step, do.CreateTenant) and tenant is not None:
            yield Event("Normal", "Created", f"created tenant {tenant.id}")
        is_repeated = isinstance(step, RememberRecords | WriteRecords) and not self._is_dns_news
        if step is not None and not is_repeated and (event := step.event()) is not None:
            yield event

    @property
    def _is_correction(self) -> bool:
        """Is drift corrected in this pass? Records that are tried again were corrected, as far as one can tell."""
        is_change = isinstance(self.step, do.CreateTenant | do.UpdateTenant)
        is_first = isinstance(self.step, WriteRecords) and self._is_dns_news
        return self.result.plan.drift.drift_detected and (is_change or is_first)

    @property
    def _is_dns_news(self) -> bool:
        """Does DNSReady say something else than before? It does not where the same records are tried again."""
        is_changed = self.conditions.get(DNS) != self.conditions.before(DNS)
        return is_changed and not self._is_tried_again


def _attachment(step: do.AttachCertificate) -> ApplyWrite:
    fields = {"spec": {"customizations": {"certificate": {"arn": step.arn}}}}
    return ApplyWrite(fields, CERTIFICATE_MANAGER)


def inventory_fields(inventory: Sequence[InventoryRecord]) -> JsonObject:
    """The inventory in a status. A target without it would be taken for a status from before there was an inventory."""
    target = next((entry.target for entry in inventory), "")
    return {"inventory": msgspec.to_builtins(list(inventory)), "dnsTarget": target}


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


def removal_events(snapshot: Snapshot) -> Iterator[Event]:
    """Records are told to be gone when they are, and to be left where somebody has changed them."""
    work = snapshot.records.work
    if work.removed:
        number = f"{work.removed} record{'s' if work.removed > 1 else ''}"
        yield Event("Normal", "DNSCleaned", f"removed {number}")
    if work.left:
        left = "; ".join(work.left)
        yield Event("Warning", RECORDS_LEFT, f"not removed, since somebody has changed it meanwhile: {left}")


def gone_events(snapshot: Snapshot) -> Iterator[Event]:
    """What is told when nothing of a deleted object is left; and what stays because it is not the object's."""
    yield from removal_events(snapshot)
    if records := unmanaged(snapshot):
        names = names_of(records)
        yield Event("Warning", RECORDS_LEFT, f"left as it is, since this object does not manage it: {names}")
    if snapshot.records.withheld:
        withheld = sorted(snapshot.records.withheld, key=place_of)
        names = names_of(withheld)
        yield Event(
            "Warning", RECORDS_LEFT, f"left as it is, since another object's tenant serves it: {names}"
        )
    tenant, known_id = snapshot.tenant, snapshot.status.id
    if tenant is not None and tenant.id == known_id:
        message = (
            f"tenant {tenant.name} ({known_id}) is left as it is: nothing proves that it is this object's"
        )
        yield Event("Warning", "Orphaned", message)
    elif known_id:
        yield Event("Normal", "Deleted", f"tenant {known_id} is gone")


def _dns_ready_message(snapshot: Snapshot) -> str:
    message = "all records are as the spec says"
    if records := unmanaged(snapshot):
        return (
            f"{message}; not managed, since somebody else has written it: {names_of(records)}: to have it kept and "
            'removed with this object, annotate the object with edgekeeper.io/adopt: "true"'
        )
    return message
