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

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from msgspec import structs

from edgekeeper.cloud.aws.dns.planning import awaiting_propagation, removing
from edgekeeper.cloud.aws.error_table import DNS_CONFLICT, DOMAIN_CONFLICT, NAME_CONFLICT
from edgekeeper.cloud.aws.tenants import (
    VALIDATED_BY_CLOUDFRONT,
    ManagedCertificateRequest,
    TenantSummary,
)
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.certificates import (
    certificate_to_attach,
    certificate_waits,
    is_attached_by_cloudfront,
    is_request_due,
    settings_to_send,
    spec_in_force,
)
from edgekeeper.controllers.cloudfront.desired import (
    certificate_request_of,
    differences,
    domains_of,
    settings_of,
    tags_of,
)
from edgekeeper.controllers.cloudfront.ownership import adoption, is_inherited, is_ours, own_tenant
from edgekeeper.controllers.cloudfront.records import record_plan, unserved, unwanted
from edgekeeper.controllers.cloudfront.refusals import moves_group, refuse_spec, refuse_uncovered
from edgekeeper.controllers.cloudfront.removal import removal_steps
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.delta import Difference, describe
from edgekeeper.core.drift import Decision, detect_change
from edgekeeper.core.drift import decide as decide_drift
from edgekeeper.core.errors import Stall, Wait
from edgekeeper.core.ownership import parse_tags
from edgekeeper.core.steps import UNCHANGED, Plan, Step
from edgekeeper.lifecycle.adoption import inheritance_reason

_NO_ENDPOINT: Final = "the account has no connection group yet; CloudFront creates one with the first tenant"
_SURPLUS: Final = "no domain of the spec needs them"
_WITHDRAWN: Final = "a domain belongs to another tenant or object"


def decide(snapshot: Snapshot) -> Plan[Step]:
    """Return the remaining steps. Raise Stall if a person must act first, Wait if AWS is not ready yet."""
    if snapshot.deleting:
        return Plan(removal_steps(snapshot))
    try:
        return _plan(snapshot)
    except Stall as refusal:
        if snapshot.records.work.error is not None:
            raise
        is_lost = refusal.reason in (NAME_CONFLICT, DOMAIN_CONFLICT)
        surplus, idle = unwanted(snapshot), unserved(snapshot, own_tenant(snapshot))
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


def _plan(snapshot: Snapshot) -> Plan[Step]:
    refuse_spec(snapshot)
    if snapshot.tenant is None:
        return _plan_absent(snapshot)
    if snapshot.status.id != snapshot.tenant.id or not is_ours(snapshot, snapshot.tenant):
        return Plan((adoption(snapshot, snapshot.tenant), *_after_adoption(snapshot, snapshot.tenant)))
    return _plan_present(snapshot, snapshot.tenant)


def _after_adoption(snapshot: Snapshot, tenant: TenantSummary) -> Sequence[Step]:
    """The steps that follow the adoption of a tenant, for a preview; none if something is in their way by then."""
    adopted = replace(snapshot, status=structs.replace(snapshot.status, id=tenant.id))
    try:
        return _plan_present(adopted, tenant).steps
    except (Stall, Wait):
        return ()


def _drift(snapshot: Snapshot, *, matches: bool) -> Decision:
    """Decide whether a difference is drift and whether to correct it."""
    observed = snapshot.status.observed_generation if snapshot.was_created else None
    change = detect_change(snapshot.generation, observed, matches=matches)
    known = bool(snapshot.status.drift_detected)
    return decide_drift(change, snapshot.policy, known=known, may_correct=snapshot.may_correct)


# The tenant does not exist


def _plan_absent(snapshot: Snapshot) -> Plan[Step]:
    """Create the tenant: for the first time, or again after somebody deleted it, as the drift policy allows."""
    drift = _drift(snapshot, matches=False)
    if not drift.push:
        return Plan((), drift)
    refuse_uncovered(snapshot)
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
    if is_inherited(snapshot):
        # Only the old tags prove that the records are ours as well, so they are adopted before the tags are rewritten.
        yield from record_plan(snapshot).adopting(_reason_of_marking(snapshot))
    yield from _marking(snapshot)
    yield from record_plan(snapshot).forgetting()
    if snapshot.may_adopt and not is_inherited(snapshot):
        yield from record_plan(snapshot).adopting("the object has edgekeeper.io/adopt set")
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
            inherited = details.id if is_inherited(snapshot) else ""
            reason = _reason_of_marking(snapshot)
            yield do.MarkTenant(details.arn, missing, details.tags, inherited, reason=reason)
            return


def _reason_of_marking(snapshot: Snapshot) -> str:
    if snapshot.details is not None and is_inherited(snapshot):
        return inheritance_reason(parse_tags(snapshot.details.tags))
    return "its tags differ from those it should have"


def _attachment(snapshot: Snapshot) -> Iterator[Step]:
    if arn := certificate_to_attach(snapshot):
        yield do.AttachCertificate(arn, snapshot.spec.own_certificate, reason="CloudFront has issued it")


def _pushing(snapshot: Snapshot, tenant: TenantSummary, drift: Decision) -> Iterator[Step]:
    cause = "it was changed outside the operator" if drift.drift_detected else "the spec has changed"
    moves = moves_group(snapshot, tenant)
    refuse_uncovered(snapshot)
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
    return not tenant.served <= domains_of(snapshot.spec)
