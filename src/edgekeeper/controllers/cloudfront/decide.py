"""Decide which steps bring a tenant to its desired state, in order. Pure: reads no clock, calls nothing, keeps no state.

A pass performs the first step; `edgekeeper plan` shows all of them. The steps follow from the snapshot alone and from no
recorded phase, so reconciling continues correctly after a crash, a lost response or a change by somebody else.

    creation      write records → wait for propagation → create tenant        CloudFront checks DNS at creation
                  create tenant disabled → write records → enable             if the account has no endpoint yet
    change        new records → remove records of removed domains → update tenant → records for a new endpoint
                  a certificate for new domains is requested in the same update, after their records have propagated
    conflict      remove our records of the domain → create tenant disabled → write records → enable
    refusal       only remove records of domains that left the spec or belong to somebody else
    deletion      remove records → disable tenant → delete tenant             no record points to a deleted tenant

*Guarantees*
 - No AWS change is planned for an invalid spec, or for a name or domain that belongs to another object.
 - A tenant that this object does not provably own is neither changed nor deleted.
 - A record is added to the inventory before it is written, and leaves the inventory only after it is gone. A record that
   existed before is not added unless it is adopted, and is never removed.
 - Under the drift policies `report` and `suspend`, drift alone causes no change. Changes of the spec are still applied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.coverage import uncovered
from edgekeeper.cloud.aws.dns.planning import (
    awaiting_propagation,
    blocked_deletion,
    combined,
    refused_removals,
    removing,
)
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.error_table import (
    DNS_CONFLICT,
    DOMAIN_CONFLICT,
    INVALID,
    NAME_CONFLICT,
    NO_CONNECTION_GROUP,
)
from edgekeeper.cloud.aws.tenants import (
    VALIDATED_BY_CLOUDFRONT,
    ManagedCertificateRequest,
    TenantSummary,
)
from edgekeeper.cloud.error_table import error_for
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.certificates import (
    certificate_to_attach,
    certificate_waits,
    is_attached_by_cloudfront,
    is_request_due,
    settings_to_send,
    spec_in_force,
)
from edgekeeper.controllers.cloudfront.claims import TENANT_NAME
from edgekeeper.controllers.cloudfront.desired import (
    certificate_request_of,
    differences,
    domains_of,
    settings_of,
    tags_of,
)
from edgekeeper.controllers.cloudfront.records import record_plan, unserved, unwanted
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.controllers.cloudfront.validation import (
    distribution_problems,
    spec_problems,
    tag_count_problems,
)
from edgekeeper.core.delta import Difference, describe
from edgekeeper.core.drift import Decision, detect_change
from edgekeeper.core.drift import decide as decide_drift
from edgekeeper.core.errors import Stall, Wait
from edgekeeper.core.ownership import Ownership, is_mine, parse_tags
from edgekeeper.core.steps import UNCHANGED, Plan, Step

VALIDATION_FAILED: Final = "ValidationFailed"
SAN_MISMATCH: Final = "CertificateSANMismatch"
ENDPOINT_UNKNOWN: Final = "EndpointUnknown"
CREATION_WINDOW: Final = timedelta(minutes=1)
"""Largest difference between `status.creationStarted` and the creation time in AWS of a tenant that counts as ours."""

_NO_ENDPOINT: Final = "the account has no connection group yet; CloudFront creates one with the first tenant"
_SURPLUS: Final = "no domain of the spec needs them"
_WITHDRAWN: Final = "a domain belongs to another tenant or object"
_DANGLING: Final = "no record may point to a deleted tenant"


def decide(snapshot: Snapshot) -> Plan[Step]:
    """Return the remaining steps. Raise Stall if a person must act first, Wait if AWS is not ready yet."""
    if snapshot.deleting:
        return Plan(_removal(snapshot))
    try:
        return _plan(snapshot)
    except Stall as refusal:
        if snapshot.records.work.error is not None:
            raise
        is_lost = refusal.reason in (NAME_CONFLICT, DOMAIN_CONFLICT)
        surplus, idle = unwanted(snapshot), unserved(snapshot, _own(snapshot))
        if is_lost:
            entries = idle
        elif _is_about_records(snapshot, refusal):
            entries = surplus  # removing the others too would alternate with writing them again
        else:
            # Entries in state Planned are kept: the next attempt would only add them again.
            entries = tuple(entry for entry in idle if entry.state == "Written" or entry in surplus)
        steps = tuple(removing(snapshot.records, entries, _WITHDRAWN if is_lost else _SURPLUS))
        if not steps:
            raise
        return Plan(steps, UNCHANGED, refusal=refusal)


def _is_about_records(snapshot: Snapshot, refusal: Stall) -> bool:
    """Did Route 53 refuse to write records, or do records of somebody else exist in their places?"""
    is_refused = any(not refused.removing for refused in snapshot.records.work.refused)
    return is_refused or refusal.reason == DNS_CONFLICT


def _own(snapshot: Snapshot) -> TenantSummary | None:
    """The tenant, if this object owns it."""
    return snapshot.tenant if snapshot.tenant and is_ours(snapshot, snapshot.tenant) else None


def _plan(snapshot: Snapshot) -> Plan[Step]:
    _refuse_rivals(snapshot)
    _refuse_invalid(snapshot)
    if snapshot.records.work.error is not None:
        raise snapshot.records.work.error
    if snapshot.records.zone_problem is not None:
        raise snapshot.records.zone_problem
    _refuse_group(snapshot)
    _refuse_unknown_endpoint(snapshot)
    if snapshot.tenant is None:
        return _plan_absent(snapshot)
    if snapshot.status.id != snapshot.tenant.id or not is_ours(snapshot, snapshot.tenant):
        return Plan((_adoption(snapshot, snapshot.tenant),))
    return _plan_present(snapshot, snapshot.tenant)


def _drift(snapshot: Snapshot, *, matches: bool) -> Decision:
    """Decide whether a difference is drift and whether to correct it.

    Corrections pause while somebody undoes every one of them (`may_correct`).
    """
    observed = snapshot.status.observed_generation if snapshot.was_created else None
    change = detect_change(snapshot.generation, observed, matches=matches)
    drift = decide_drift(change, snapshot.policy, known=bool(snapshot.status.drift_detected))
    is_held_back = drift.drift_detected and not snapshot.may_correct
    return replace(drift, push=False, event="") if is_held_back else drift


# Refusals


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
        present = snapshot.details.tags if snapshot.details and _own(snapshot) else {}
        problems += tag_count_problems(spec, snapshot.owner, present)
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
    is_new = snapshot.tenant is None or _moves_group(snapshot, snapshot.tenant)
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


def _refuse_uncovered(snapshot: Snapshot) -> None:
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


# The tenant does not exist


def _plan_absent(snapshot: Snapshot) -> Plan[Step]:
    """Create the tenant: for the first time, or again after somebody deleted it, as the drift policy allows."""
    drift = _drift(snapshot, matches=False)
    if not drift.push:
        return Plan((), drift)
    _refuse_uncovered(snapshot)
    return Plan(tuple(_creation(snapshot)), drift)


def _creation(snapshot: Snapshot) -> Iterator[Step]:
    spec = snapshot.spec
    settings = settings_of(spec_in_force(snapshot))
    certificate = certificate_request_of(spec)
    reason = "it was deleted outside the operator" if snapshot.was_created else "it does not exist yet"
    if snapshot.names_follow:
        # CloudFront validates by DNS, so the certificate is requested later, when there are records.
        settings, certificate = replace(settings, enabled=False), _if_self_hosted(certificate)
        cause = "a domain was served by another tenant" if snapshot.endpoint else _NO_ENDPOINT
        reason = f"its records are written afterwards: {cause}"
    elif spec.dns is not None:
        yield from _dns_before_creation(snapshot)
    if not snapshot.names_follow or snapshot.is_disputed:
        yield from record_plan(snapshot).removing(_WITHDRAWN if snapshot.is_disputed else _SURPLUS)
    if not snapshot.may_tag and not snapshot.is_announced:
        yield do.NoteCreation(reason="the tenant cannot be tagged, so the status has to identify it")
    yield do.CreateTenant(
        snapshot.tenant_name,
        settings,
        tags_of(spec, snapshot.owner),
        certificate,
        reason=reason,
    )


def _if_self_hosted(request: ManagedCertificateRequest | None) -> ManagedCertificateRequest | None:
    return request if request and request.validation_token_host != VALIDATED_BY_CLOUDFRONT else None


def _dns_before_creation(snapshot: Snapshot) -> Iterator[Step]:
    plan = record_plan(snapshot)
    yield from plan.forgetting()
    yield from plan.writing("the tenant's domains must point to CloudFront before it is created")
    if not plan.to_write:
        yield from awaiting_propagation(
            snapshot.records, "CloudFront checks the DNS of the domains when the tenant is created"
        )


# The tenant exists, and is not recorded as ours


_HOLDERS: Final = {
    Ownership.OTHERS: "its tags name another object as owner; remove its edgekeeper.io tags if that object is gone, "
    "or choose another name",
    Ownership.FORMER: "its tags name an earlier object of this name as owner; to adopt it, annotate this object "
    'with edgekeeper.io/adopt: "true"',
    Ownership.UNMARKED: "was not created by this object; to adopt it, if nobody else manages it, annotate this object "
    'with edgekeeper.io/adopt: "true"',
}


def _adoption(snapshot: Snapshot, tenant: TenantSummary) -> Step:
    whose = _whose(snapshot)
    if whose is Ownership.MINE:
        return do.AdoptTenant(tenant, snapshot.status.id, reason="its tags name this object as owner")
    if snapshot.losses:
        lost = "; ".join(snapshot.losses)
        raise Stall(DOMAIN_CONFLICT, f"tenant {tenant.name} ({tenant.id}) cannot be adopted: {lost}")
    if _is_begun(snapshot, tenant):
        return do.AdoptTenant(tenant, snapshot.status.id, reason="this object started its creation")
    if _may_be_adopted(snapshot, tenant):
        return do.AdoptTenant(tenant, snapshot.status.id, reason="the object has edgekeeper.io/adopt set")
    raise Stall(NAME_CONFLICT, f"tenant {tenant.name} ({tenant.id}) exists and {_HOLDERS[whose]}")


def _may_be_adopted(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    is_free = _whose(snapshot) in (Ownership.UNMARKED, Ownership.FORMER)
    return snapshot.may_adopt and is_free and tenant.name == snapshot.tenant_name and not snapshot.losses


def _is_begun(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """Is it an untagged tenant that this object created, and the response was lost? Judged by the creation time."""
    began, created = snapshot.status.creation_started, tenant.created
    return (
        began is not None
        and created is not None
        and not snapshot.status.id
        and _whose(snapshot) is Ownership.UNMARKED
        and tenant.name == snapshot.tenant_name
        and began - CREATION_WINDOW <= created <= began + CREATION_WINDOW
    )


# The tenant exists and is ours


def _plan_present(snapshot: Snapshot, tenant: TenantSummary) -> Plan[Step]:
    changed = (*_differences(snapshot, tenant), *record_plan(snapshot).differences)
    drift = _drift(snapshot, matches=not changed and not is_request_due(snapshot))
    if drift.drift_detected and not changed:
        # Only a certificate request is due. That is not drift, so the drift policy does not apply.
        drift = replace(UNCHANGED, push=True)
    return Plan(tuple(_maintenance(snapshot, tenant, drift)), drift, changed)


def _differences(snapshot: Snapshot, tenant: TenantSummary) -> tuple[Difference, ...]:
    """Where the tenant differs from the spec. A managed certificate that CloudFront has attached itself does not count."""
    changed = differences(spec_in_force(snapshot), tenant)
    is_ahead = is_attached_by_cloudfront(snapshot, tenant)
    return tuple(change for change in changed if change.path != "certificate") if is_ahead else changed


def _maintenance(snapshot: Snapshot, tenant: TenantSummary, drift: Decision) -> Iterator[Step]:
    yield from _marking(snapshot)
    yield from record_plan(snapshot).forgetting()
    if snapshot.may_adopt:
        yield from record_plan(snapshot).adopting()
    yield from _attachment(snapshot)
    if drift.push:
        yield from _pushing(snapshot, tenant, drift)
    if tenant.in_progress:
        yield do.AwaitDeployment(tenant, reason="CloudFront is deploying it")
    if not snapshot.records.work.pending:
        yield from awaiting_propagation(
            snapshot.records, "the change has not reached all Route 53 name servers yet"
        )
    yield from certificate_waits(snapshot)


def _marking(snapshot: Snapshot) -> Iterator[Step]:
    """Set missing tags: the ownership tags first, then the spec's. Tags set by others are kept."""
    details = snapshot.details
    if details is None or not snapshot.may_tag:
        return
    for wanted in (snapshot.owner.tags(), tags_of(snapshot.spec, snapshot.owner)):
        missing = {key: value for key, value in wanted.items() if details.tags.get(key) != value}
        if missing:
            yield do.MarkTenant(
                details.arn, missing, details.tags, reason="its tags differ from those it should have"
            )
            return


def _attachment(snapshot: Snapshot) -> Iterator[Step]:
    if arn := certificate_to_attach(snapshot):
        yield do.AttachCertificate(arn, snapshot.spec.own_certificate, reason="CloudFront has issued it")


def _pushing(snapshot: Snapshot, tenant: TenantSummary, drift: Decision) -> Iterator[Step]:
    cause = "it was changed outside the operator" if drift.drift_detected else "the spec has changed"
    moves = _moves_group(snapshot, tenant)
    _refuse_uncovered(snapshot)
    if not moves:
        yield from record_plan(snapshot).writing(f"{cause}, and a domain does not point to the tenant")
    yield from record_plan(snapshot).removing(_WITHDRAWN if snapshot.is_disputed else _SURPLUS)
    if _gives_up_domains(snapshot, tenant):
        why = "a domain must not point to the tenant any more when the tenant stops serving it"
        yield from awaiting_propagation(snapshot.records, why)
    yield from _updating(snapshot, tenant, cause, moves=moves)


def _updating(snapshot: Snapshot, tenant: TenantSummary, cause: str, *, moves: bool) -> Iterator[Step]:
    """Update the tenant and request the certificate that it needs.

    Both go into one update, except where CloudFront validates by DNS and the records can be written only afterwards.
    """
    changed = _differences(snapshot, tenant)
    wish = certificate_request_of(snapshot.spec) if is_request_due(snapshot) else None
    names_follow = moves and snapshot.spec.dns is not None and not _if_self_hosted(wish)
    request = None if names_follow or snapshot.is_disputed else wish
    if request and not _if_self_hosted(request):
        why = "CloudFront checks the DNS of the domains when their certificate is requested"
        yield from awaiting_propagation(snapshot.records, why)
    if changed or request:
        yield _update(snapshot, tenant, changed, request, cause)
    if moves:
        yield from record_plan(snapshot).writing(
            "the connection group, and with it the endpoint, has changed"
        )
    if changed and wish and not request:
        yield _update(snapshot, tenant, (), wish, cause)


def _update(
    snapshot: Snapshot,
    tenant: TenantSummary,
    changed: tuple[Difference, ...],
    request: ManagedCertificateRequest | None,
    cause: str,
) -> Step:
    why = [f"{cause}: {describe(changed)}"] if changed else []
    why += ["a certificate is requested"] if request else []
    settings = settings_to_send(snapshot, tenant)
    return do.UpdateTenant(tenant, settings, changed, request, reason="; ".join(why))


def _gives_up_domains(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """Does the tenant serve a domain that is not in the spec any more?"""
    wanted = domains_of(snapshot.spec)
    return any(normalise_name(item.domain) not in wanted for item in tenant.domains)


def _moves_group(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """Does the tenant move to another connection group? Then its records are changed after it, not before."""
    wanted = snapshot.spec.connection_group_id
    return bool(wanted) and wanted != tenant.connection_group_id


# Deletion


def _removal(snapshot: Snapshot) -> tuple[Step, ...]:
    """Remove records, then the tenant. This depends on the inventory and the tenant, not on the spec.

    If records cannot be removed the tenant is disabled but not deleted: as long as it has the domains that point to it,
    no other tenant can claim them. The error is raised once nothing else is left to do.
    """
    tenant = _own(snapshot)
    disabling = tuple(_disabling(tenant)) if tenant else ()
    if (error := snapshot.records.work.error) is not None and (tenant or snapshot.records.inventory):
        if not disabling:
            raise blocked_deletion(error, (), _kept(tenant)) if isinstance(error, Stall) else error
        return disabling
    entries = snapshot.records.removable
    removals = tuple(removing(snapshot.records, entries, "the object is being deleted"))
    if refused := refused_removals(snapshot.records, entries):
        if not removals and not disabling:
            raise blocked_deletion(combined(refused), refused, _kept(tenant))
        return (*removals, *disabling)
    return (*removals, *(_tenant_removal(snapshot, tenant) if tenant else ()))


def _kept(tenant: TenantSummary | None) -> str:
    return "the tenant is kept, disabled, as long as records may point to it" if tenant else ""


def _tenant_removal(snapshot: Snapshot, tenant: TenantSummary) -> Iterator[Step]:
    yield from _disabling(tenant)
    if not tenant.enabled and tenant.in_progress:
        yield do.AwaitDeployment(
            tenant, reason="a tenant can be deleted once it is disabled at all edge locations"
        )
    yield from awaiting_propagation(snapshot.records, _DANGLING)
    for domain, holder in sorted(snapshot.leading.items()):
        yield do.AwaitWithdrawal(domain, holder, reason=_DANGLING)
    yield do.DeleteTenant(tenant, reason="the object is being deleted")


def _disabling(tenant: TenantSummary) -> Iterator[Step]:
    if tenant.enabled:
        yield do.DisableTenant(tenant, reason="only a disabled tenant can be deleted")


def is_ours(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """Does this object own the tenant?

    Its ownership tags decide. An untagged tenant is ours if the status has its id, its name is ours, and no other object
    claims the name or one of its domains. A tenant tagged by an earlier object of this name is ours once it is adopted.
    """
    whose = _whose(snapshot)
    is_known = tenant.id == snapshot.status.id and tenant.name == snapshot.tenant_name
    is_claimed = snapshot.losses or any(rival.scope == TENANT_NAME for rival in snapshot.rivals)
    if whose is Ownership.UNMARKED and not is_claimed:
        return is_known or _is_begun(snapshot, tenant)
    if whose is Ownership.FORMER:
        return is_known and _may_be_adopted(snapshot, tenant)
    return whose is Ownership.MINE


def _whose(snapshot: Snapshot) -> Ownership:
    """Ownership by the tags. Tags that were not read in this pass count as unmarked: the status decides then."""
    details = snapshot.details
    return is_mine(parse_tags(details.tags), snapshot.owner) if details else Ownership.UNMARKED
