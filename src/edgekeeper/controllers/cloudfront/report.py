"""The status, conditions and events that a pass reports.

`Ready` depends on one fact only: whether the tenant is deployed as the spec says. Synced, CertificateReady and DNSReady are
informative and do not change it. The snapshot given to the report already contains the effect of the step of the pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from edgekeeper.api.cloudfront import DistributionTenantStatus, DomainResult
from edgekeeper.cloud.aws.dns.reporting import DNS_READY, RecordReport, deletion_events, removal_events
from edgekeeper.cloud.aws.dns.steps import AwaitPropagation, AwaitRecords, RemoveRecords
from edgekeeper.cloud.aws.error_table import DNS_ERROR, DOMAIN_CONFLICT
from edgekeeper.cloud.aws.tenants import TenantSummary
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.certificates import recorded_request
from edgekeeper.controllers.cloudfront.desired import (
    is_managed,
    sent_fingerprint,
    tags_fingerprint,
    tags_of,
)
from edgekeeper.controllers.cloudfront.ownership import is_inherited, own_tenant
from edgekeeper.controllers.cloudfront.records import record_plan, unmanaged
from edgekeeper.controllers.cloudfront.report_certificates import CERTIFICATE, mark_certificate
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.conditions import READY, Conditions, Declaration
from edgekeeper.core.json import dig_object
from edgekeeper.core.outcome import ApplyWrite, Event
from edgekeeper.core.steps import Step
from edgekeeper.lifecycle.kind import PAUSED, SYNCED, Pass, Report
from edgekeeper.lifecycle.synced import drift_events, mark_synced

DEPLOYED: Final = "Deployed"
CERTIFICATE_MANAGER: Final = "edgekeeper-certificate"
"""The field manager that owns the certificate's ARN in the spec, and nothing else."""

DECLARATION = Declaration(
    required=(DEPLOYED,),
    unpublished=(DEPLOYED,),
    informative=(SYNCED, CERTIFICATE, DNS_READY, PAUSED),
    ready_reason="Deployed",
    ready_message="the tenant is deployed as the spec says",
)

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
    def records(self) -> RecordReport:
        return RecordReport(self.after.records, self.result.plan, self.conditions, self.after.generation)

    def report(self) -> Report:
        """The report of a pass over an object that is not being deleted."""
        self._mark()
        return Report(
            msgspec.to_builtins(self._facts()),
            tuple(self._events()),
            timestamps=("lastDriftCheckTime",),
            keeps_conditions=self.records.is_retry,
            is_correction=self._is_correction,
            write=_attachment(self.step) if isinstance(self.step, do.AttachCertificate) else None,
        )

    def removal(self) -> Report:
        """The report of one step of a deletion. The status keeps what it says about the tenant until the tenant is gone."""
        step, after = self.step, self.after
        assert step is not None  # noqa: S101 - with nothing left to do there is nothing to report
        reason = "Disabling" if isinstance(step, do.DisableTenant) else "Deleting"
        self.conditions.mark(DEPLOYED, False, reason, f"{step}: {step.reason}")
        status = {**dig_object(self.result.obj, "status"), **after.records.status_fields}
        if (tenant := own_tenant(after)) is not None:
            status |= {"id": tenant.id, "arn": tenant.arn, "eTag": tenant.etag}
            status["distributionTenantStatus"] = tenant.status
        return Report(
            {name: value for name, value in status.items() if value not in ("", [], None)},
            tuple(self._step_events()),
            keeps_conditions=self.records.is_retry,
        )

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
        contain the parameters to compare. A tenant that was only adopted has not been compared yet.
        """
        tenant, is_sent = self.after.tenant, isinstance(self.step, do.CreateTenant | do.UpdateTenant)
        if tenant is None:
            return ""
        differs = bool(self.result.plan.differences) or isinstance(self.step, do.AdoptTenant)
        return tenant.etag if is_sent or not differs else self.after.status.e_tag

    @property
    def _is_withdrawing(self) -> bool:
        """Are records being removed because CloudFront reports that a domain of the spec belongs to another tenant?"""
        return self.before.is_contested and isinstance(self.step, _WITHDRAWING)

    def _creation_started(self) -> datetime | None:
        """When the creation of an untagged tenant started; empty once the tenant is known."""
        if isinstance(self.step, do.NoteCreation):
            return self.result.now
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
                conditions.mark(DNS_READY, False, DNS_ERROR, f"{self.step}: {self.step.reason}")
            return
        conditions.mark(DEPLOYED, *self._deployed())
        if self.after.tenant is not None or self.result.plan.drift.drift_detected:
            in_progress = self.after.tenant is not None and self.after.tenant.in_progress
            mark_synced(
                conditions, self.result.plan, "the tenant is as the spec says", in_progress=in_progress
            )
            mark_certificate(conditions, self.after)
        is_configured = self.after.spec.dns is not None
        self.records.mark(record_plan(self.after), unmanaged(self.after), is_configured=is_configured)

    def _deployed(self) -> tuple[bool, str, str]:
        tenant, step = self.after.tenant, self.step
        if tenant is None:
            if step is not None:
                return False, "Creating", self.records.progress(READY, "Creating", step)
            return False, "ExternalDeletion", "the tenant was deleted outside the operator"
        if isinstance(step, do.CreateTenant) and not self.before.records.inventory:
            return False, "Creating", f"tenant {tenant.id} is being deployed"
        # An object with records has reported Creating while they were written.
        if tenant.in_progress or isinstance(step, do.CreateTenant | do.UpdateTenant):
            return False, "Deploying", f"tenant {tenant.id} is being deployed"
        left = (step for step in self.result.plan.steps if step.pushes or _adopts(step))
        if (next_push := next(left, None)) is not None:
            return False, "Deploying", f"{next_push}: {next_push.reason}"
        return True, "Deployed", DECLARATION.ready_message

    # Events

    def _events(self) -> Iterator[Event]:
        """The events of this pass. A fact that was reported before is not repeated."""
        if self.before.was_created and self.before.tenant is None:
            if not self.before.status.drift_detected:
                yield Event("Warning", "ExternalDeletion", "the tenant was deleted outside the operator")
        else:
            yield from drift_events(self.result.plan, is_correction=self._is_correction)
        yield from self._step_events()

    def _step_events(self) -> Iterator[Event]:
        yield from removal_events(self.after.records)
        step, tenant = self.step, self.after.tenant
        if isinstance(step, do.CreateTenant) and tenant is not None:
            yield Event("Normal", "Created", f"created tenant {tenant.id}")
        if step is not None and not self.records.is_repeated and (event := step.event()) is not None:
            yield event

    @property
    def _is_correction(self) -> bool:
        """Does this pass correct drift?"""
        is_change = isinstance(self.step, do.CreateTenant | do.UpdateTenant)
        return (is_change and self.result.plan.drift.drift_detected) or self.records.is_correction


def _adopts(step: Step) -> bool:
    """Does a step adopt a tenant, so that it is not ours before?"""
    return isinstance(step, do.AdoptTenant) or (isinstance(step, do.MarkTenant) and bool(step.inherited_id))


def _attachment(step: do.AttachCertificate) -> ApplyWrite:
    fields = {"spec": {"customizations": {"certificate": {"arn": step.arn}}}}
    return ApplyWrite(fields, CERTIFICATE_MANAGER)


def _domain_results(tenant: TenantSummary | None) -> list[DomainResult]:
    if tenant is None:
        return []
    return [
        DomainResult(item.domain, "active" if item.is_active else "inactive" if item.status else None)
        for item in tenant.domains
    ]


def _kept(snapshot: Snapshot, value: str) -> str:
    """A value about the certificate from the status, kept as long as the spec requests one and the tenant exists."""
    return value if is_managed(snapshot.spec) and snapshot.tenant is not None else ""


def gone_events(snapshot: Snapshot) -> Iterator[Event]:
    """The events of a finished deletion, including those for records and tenants that the object does not own."""
    yield from deletion_events(snapshot.records, unmanaged(snapshot), "the tenant of another object")
    tenant, tenant_id = snapshot.tenant, snapshot.status.id
    if tenant is not None and (tenant.id == tenant_id or is_inherited(snapshot)):
        message = f"tenant {tenant.name} ({tenant.id}) is not deleted: this object does not provably own it"
        yield Event("Warning", "Orphaned", message)
    elif tenant_id:
        yield Event("Normal", "Deleted", f"tenant {tenant_id} is gone")
