"""The status, conditions and events that a pass reports.

`Ready` depends on one fact only: whether the tenant is deployed as the spec says. Synced, CertificateReady and DNSReady are
informative and do not change it. The snapshot given to the report already contains the effect of the step of the pass.

Records are written asynchronously, so a refusal is known only in a later pass. While refused records are retried, the
conditions and events keep the refusal until there is a new result: retries are not visible on the object.
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
"""The reasons with which records are refused."""
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
    """Builds the report of one pass."""

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
        """The report of a pass over an object that is not being deleted."""
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
        """The report of one step of a deletion. The status keeps what it says about the tenant until the tenant is gone."""
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
        """Are records being retried whose refusal the conditions already report for this generation?"""
        dns = self.conditions.before(DNS)
        is_refused = dns is not None and dns.reason in DNS_REASONS
        is_present = dns is not None and dns.observed_generation == self.after.generation
        return isinstance(self.step, _ATTEMPTS) and is_refused and is_present

    # The status

    def _facts(self) -> DistributionTenantStatus:
        after, status, tenant = self.after, self.after.status, self.after.tenant
        certificate = after.certificate
        # If the tenant was deleted outside the operator and is not recreated, its id stays in the status: it shows that
        # the tenant existed.
        identity = tenant or (None if self.result.plan.drift.push else status)
        return DistributionTenantStatus(
            observed_generation=self._observed_generation(),
            id=identity.id if identity else "",
            arn=identity.arn if identity else "",
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
        """The ETag of the tenant, once it matches the spec.

        Until then the old one is kept. A differing ETag makes the next pass read the tenant, because listings do not
        contain the parameters to compare.
        """
        tenant, is_sent = self.after.tenant, isinstance(self.step, do.CreateTenant | do.UpdateTenant)
        if tenant is None:
            return ""
        return tenant.etag if is_sent or not self.result.plan.differences else self.after.status.e_tag

    @property
    def _is_withdrawing(self) -> bool:
        """Are records being removed because CloudFront reports that a domain of the spec belongs to another tenant?"""
        return self.before.is_contested and isinstance(self.step, _WITHDRAWING)

    def _creation_started(self) -> datetime | None:
        """When the creation of an untagged tenant started; empty once the tenant is known."""
        if isinstance(self.step, do.NoteCreation):
            return self.now
        return self.after.status.creation_started if self.after.tenant is None else None

    def _observed_generation(self) -> int | None:
        """The current generation once all its changes were sent to AWS; until then the one before."""
        is_unseen = isinstance(self.step, do.AdoptTenant)  # adopted, but not compared with the spec yet
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
        """Was the tenant created disabled, with its records still to be written?"""
        return isinstance(self.step, do.CreateTenant) and self.before.names_follow

    def _certificate_request(self) -> str:
        """The fingerprint of the last certificate request that was sent for the tenant; empty if there was none."""
        if isinstance(self.step, do.CreateTenant | do.UpdateTenant) and self.step.certificate is not None:
            return sent_fingerprint(self.after.spec)
        return "" if isinstance(self.step, do.CreateTenant) else recorded_request(self.after)

    def _tags_fingerprint(self) -> str:
        """The fingerprint of the desired tags, updated once the tenant was read with all of them."""
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
            # Keep the message that says to whom the domain belongs.
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
        # An object with records has reported Creating while they were written.
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
            return  # policy suspend: the condition is not changed
        elif self.step is not None and self.step.pushes and drift.push:
            self.conditions.mark(SYNCED, True, "UpdatePending", "the change is being applied")
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
            message = f"CloudFront reports the certificate as {status}: a new request is needed"
            self.conditions.mark(CERTIFICATE, False, "CertificateFailed", message)
        else:
            self.conditions.mark(CERTIFICATE, False, "PendingValidation", self._validation_message())

    def _validation_message(self) -> str:
        certificate, wish = self.after.certificate, self.after.spec.managed_certificate_request
        if wish is None or wish.validation_token_host != SELF_HOSTED:
            return "waiting for validation: each domain needs a CNAME record that points to CloudFront"
        if certificate is not None and certificate.tokens:
            tokens = "; ".join(
                f"{token.domain}: redirect {token.redirect_from} -> {token.redirect_to}"
                for token in certificate.tokens
            )
            return f"waiting for the validation tokens to be served: {tokens}"
        condition = self.conditions.get(CERTIFICATE)
        if condition is not None and condition.reason == "PendingValidation":
            return condition.message  # listings do not contain the tokens, but they have not changed
        return "waiting for CloudFront to provide the validation tokens"

    def _mark_dns(self) -> None:
        if self.after.spec.dns is None and not self.after.records.inventory:
            self.conditions.mark(DNS, True, "DNSNotConfigured", "spec.dns is not set")
        elif isinstance(self.step, _RECORDS_UNDER_WAY) and not self.result.plan.drift.drift_detected:
            self.conditions.mark(
                DNS, False, "DNSRecordCreating", self._progress(DNS, "DNSRecordCreating", self.step)
            )
        elif broken := record_plan(self.after).differences:
            self.conditions.mark(
                DNS, False, "DNSRecordCreating", f"records differ from the spec: {describe(broken)}"
            )
        elif not self.after.records.in_sync:
            change = f"change {self.after.records.change_id}" if self.after.records.change_id else "a change"
            message = f"{change} has not reached all Route 53 name servers yet"
            self.conditions.mark(DNS, False, "DNSPropagating", message)
        else:
            self.conditions.mark(DNS, True, "DNSReady", _dns_ready_message(self.after))

    def _progress(self, type_: str, reason: str, step: Step) -> str:
        """The message for the current step. All steps that write records share one, so that the status is written once."""
        before = self.conditions.before(type_)
        if isinstance(step, AwaitRecords) and before is not None and before.reason == reason:
            return before.message
        if isinstance(step, RememberRecords | WriteRecords):
            return f"writing {names_of(step.records)}: {step.reason}"
        return f"{step}: {step.reason}"

    # Events

    def _events(self) -> Iterator[Event]:
        """The events of this pass. A fact that was reported before is not repeated."""
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
        """Does this pass correct drift? A retry of refused records does not count again."""
        is_change = isinstance(self.step, do.CreateTenant | do.UpdateTenant)
        is_first = isinstance(self.step, WriteRecords) and self._is_dns_news
        return self.result.plan.drift.drift_detected and (is_change or is_first)

    @property
    def _is_dns_news(self) -> bool:
        """Does DNSReady change in this pass? A retry of refused records does not change it."""
        is_changed = self.conditions.get(DNS) != self.conditions.before(DNS)
        return is_changed and not self._is_tried_again


def _attachment(step: do.AttachCertificate) -> ApplyWrite:
    fields = {"spec": {"customizations": {"certificate": {"arn": step.arn}}}}
    return ApplyWrite(fields, CERTIFICATE_MANAGER)


def inventory_fields(inventory: Sequence[InventoryRecord]) -> JsonObject:
    """The inventory as fields of the status.

    `dnsTarget` is set together with it: a target without an inventory means a status of cloudfront-tenant-operator.
    """
    target = next((entry.target for entry in inventory), "")
    return {"inventory": msgspec.to_builtins(list(inventory)), "dnsTarget": target}


def _domain_results(tenant: TenantSummary | None) -> list[DomainResult]:
    if tenant is None:
        return []
    return [
        DomainResult(item.domain, "active" if item.status == ACTIVE else "inactive" if item.status else None)
        for item in tenant.domains
    ]


def _kept(snapshot: Snapshot, value: str) -> str:
    """A value about the certificate from the status, kept as long as the spec requests one and the tenant exists."""
    return value if is_managed(snapshot.spec) and snapshot.tenant is not None else ""


def _successor_message(snapshot: Snapshot) -> str:
    """Why another certificate is requested."""
    missing = ", ".join(uncovered_domains(snapshot))
    why = f"does not cover {missing}" if missing else "is also for domains that were removed"
    return f"the certificate {why}: another one is requested"


def removal_events(snapshot: Snapshot) -> Iterator[Event]:
    """Events for records that were removed, and for those that were kept because somebody has changed them."""
    work = snapshot.records.work
    if work.removed:
        number = f"{work.removed} record{'s' if work.removed > 1 else ''}"
        yield Event("Normal", "DNSCleaned", f"removed {number}")
    if work.left:
        left = "; ".join(work.left)
        yield Event(
            "Warning", RECORDS_LEFT, f"not removed, because it was changed outside the operator: {left}"
        )


def gone_events(snapshot: Snapshot) -> Iterator[Event]:
    """The events of a finished deletion, including those for records and tenants that the object does not own."""
    yield from removal_events(snapshot)
    if records := unmanaged(snapshot):
        names = names_of(records)
        yield Event("Warning", RECORDS_LEFT, f"not removed, because this object does not manage it: {names}")
    if snapshot.records.withheld:
        withheld = sorted(snapshot.records.withheld, key=place_of)
        names = names_of(withheld)
        yield Event(
            "Warning", RECORDS_LEFT, f"not removed, because the tenant of another object serves it: {names}"
        )
    tenant, tenant_id = snapshot.tenant, snapshot.status.id
    if tenant is not None and tenant.id == tenant_id:
        message = f"tenant {tenant.name} ({tenant_id}) is not deleted: this object does not provably own it"
        yield Event("Warning", "Orphaned", message)
    elif tenant_id:
        yield Event("Normal", "Deleted", f"tenant {tenant_id} is gone")


def _dns_ready_message(snapshot: Snapshot) -> str:
    message = "all records are as the spec says"
    if records := unmanaged(snapshot):
        return (
            f"{message}; not managed, because it was created outside the operator: {names_of(records)}; to adopt it, "
            'so that it is removed with this object, annotate the object with edgekeeper.io/adopt: "true"'
        )
    return message
