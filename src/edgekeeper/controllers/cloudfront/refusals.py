"""What makes a spec impossible to apply, as errors. Pure. Nothing in AWS is changed while one of them is raised."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.coverage import uncovered
from edgekeeper.cloud.aws.error_table import DOMAIN_CONFLICT, INVALID, NAME_CONFLICT, NO_CONNECTION_GROUP
from edgekeeper.cloud.aws.tags import tag_count_problems
from edgekeeper.cloud.aws.tenants import TenantSummary
from edgekeeper.cloud.error_table import error_for
from edgekeeper.controllers.cloudfront.claims import TENANT_NAME
from edgekeeper.controllers.cloudfront.ownership import own_tenant
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.controllers.cloudfront.validation import distribution_problems, spec_problems
from edgekeeper.core.errors import Stall, Wait

VALIDATION_FAILED: Final = "ValidationFailed"
SAN_MISMATCH: Final = "CertificateSANMismatch"
ENDPOINT_UNKNOWN: Final = "EndpointUnknown"


def refuse_spec(snapshot: Snapshot) -> None:
    """Raise if the spec cannot be applied, whether or not there is a tenant; Wait if AWS is not ready yet."""
    _refuse_rivals(snapshot)
    _refuse_invalid(snapshot)
    if snapshot.records.work.error is not None:
        raise snapshot.records.work.error
    if snapshot.records.zone_problem is not None:
        raise snapshot.records.zone_problem
    _refuse_group(snapshot)
    _refuse_unknown_endpoint(snapshot)


def _refuse_rivals(snapshot: Snapshot) -> None:
    for rival in snapshot.rivals:
        if rival.scope == TENANT_NAME:
            why = "whose tenant has it" if rival.holds else "which is older"
            raise Stall(NAME_CONFLICT, f"the tenant name {rival.value} belongs to {rival.holder}, {why}")
        if rival.holds:
            holder = f"the tenant of {rival.holder}" if rival.is_same_kind else rival.holder
            raise Stall(DOMAIN_CONFLICT, f"the domain {rival.value} is served by {holder}")
        raise Stall(DOMAIN_CONFLICT, f"the domain {rival.value} is claimed by {rival.holder}, which is older")


def _refuse_invalid(snapshot: Snapshot) -> None:
    spec = snapshot.spec
    problems = [*spec_problems(snapshot.tenant_name, spec), *snapshot.refusals]
    if snapshot.may_tag:
        present = snapshot.details.tags if snapshot.details and own_tenant(snapshot) else {}
        problems += tag_count_problems(spec.tags, snapshot.owner, present)
    if snapshot.distribution is not None:
        problems += distribution_problems(spec, snapshot.distribution)
    elif snapshot.distribution_known:
        problems.append(f"spec.distributionId: there is no distribution {spec.distribution_id}")
    if snapshot.certificate_is_anothers:
        problems.append("spec.customizations.certificate.arn: CloudFront manages it for another tenant")
    if problems:
        raise Stall(VALIDATION_FAILED, "; ".join(problems))


def _refuse_group(snapshot: Snapshot) -> None:
    """Raise if the connection group of the spec does not exist, or is disabled and the tenant is not in it yet."""
    wanted, group = snapshot.spec.connection_group_id, snapshot.group
    if not wanted or not snapshot.group_known:
        return
    if group is None:
        raise error_for(NO_CONNECTION_GROUP, f"spec.connectionGroupId: there is no connection group {wanted}")
    is_new = snapshot.tenant is None or moves_group(snapshot, snapshot.tenant)
    if is_new and not group.enabled:
        raise error_for(INVALID, f"spec.connectionGroupId: connection group {wanted} is disabled")


def _refuse_unknown_endpoint(snapshot: Snapshot) -> None:
    """Raise if records are wanted and their target is unknown: they can neither be written nor judged as surplus."""
    if snapshot.spec.dns is None or snapshot.endpoint:
        return
    if group := snapshot.spec.connection_group_id:
        why = f"spec.connectionGroupId: there is no connection group {group} with an endpoint"
        raise error_for(NO_CONNECTION_GROUP, why)
    if snapshot.tenant is not None:
        why = f"the connection group of tenant {snapshot.tenant.id} has not been listed yet"
        raise Wait(timedelta(seconds=30), ENDPOINT_UNKNOWN, why)


def refuse_uncovered(snapshot: Snapshot) -> None:
    """Raise if the certificate does not cover all domains. Checked before records or the tenant are changed."""
    names = snapshot.certificate_names
    if names is None:
        return
    if not names and (own := snapshot.spec.own_certificate):
        raise error_for(
            INVALID, f"spec.customizations.certificate.arn: {own} does not exist or was never issued"
        )
    if missing := uncovered((item.domain for item in snapshot.spec.domains), names):
        raise Stall(
            SAN_MISMATCH,
            f"the certificate does not cover {', '.join(missing)}: it covers {', '.join(names)}; set another one "
            "in spec.customizations.certificate.arn, or request one with spec.managedCertificateRequest",
        )


def moves_group(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """Does the tenant move to another connection group? Then its records are changed after it, not before."""
    wanted = snapshot.spec.connection_group_id
    return bool(wanted) and wanted != tenant.connection_group_id
