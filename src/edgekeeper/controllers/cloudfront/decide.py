"""From how things are to the steps that are left, in order. Pure: no clock, no network, no memory.

The first thing that is not yet true is the next step; what comes after it is what `edgekeeper plan` shows. Nothing
remembers how far we were, so it does not matter where a crash, a lost answer or another's change has left things.

    creation      records → propagation → tenant                      DNS first: CloudFront checks it
                  tenant, disabled → records → enable                 where the account has no endpoint yet
    change        new records → records of removed domains → tenant → records to another endpoint
                  a certificate for new domains is requested with them, once CloudFront can see their records
    conflict      records that we wrote for another's domain go → tenant, disabled → records → enable
    refusal       records of domains that the spec has given up, or lost to another, go; nothing else is done
    deletion      records → disable → delete                          no name ever leads to a tenant that is gone

*Guarantees*
 - Nothing is asked of AWS for a spec that is wrong, or for a name or domain that an older object has.
 - A tenant that is not provably ours is neither changed nor deleted.
 - A record is in the inventory before it is written, and out of it only after it is gone. One that was there before us
   is never in it, and never removed.
 - Under `report` and `suspend` nothing is written that only drift asks for; everything else goes on.
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
"""How far the time that AWS tells of a creation may be from the time at which we noted that it begins."""

_NO_ENDPOINT: Final = "the account has no endpoint yet for them to lead to, which comes with the first tenant"
_SURPLUS: Final = "no domain of the spec needs them, and names must not lead nowhere"
_WITHDRAWN: Final = "a domain is another's, and names must not lead there"


def decide(snapshot: Snapshot) -> Plan[Step]:
    """The steps that are left. Raise Stall where a person must act first, Wait where AWS must."""
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
            entries = surplus  # the others would be written and withdrawn again and again
        else:
            # What is only planned stays so: it would be planned again at the next attempt.
            entries = tuple(entry for entry in idle if entry.state == "Written" or entry in surplus)
        steps = tuple(removing(snapshot.records, entries, _WITHDRAWN if is_lost else _SURPLUS))
        if not steps:
            raise
        return Plan(steps, UNCHANGED, refusal=refusal)


def _is_about_records(snapshot: Snapshot, refusal: Stall) -> bool:
    """Are records refused, by Route 53 or because another's stand in their places?"""
    is_refused = any(not one.removing for one in snapshot.records.work.refused)
    return is_refused or refusal.reason == DNS_CONFLICT


def _own(snapshot: Snapshot) -> TenantSummary | None:
    """The tenant, if it is ours."""
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
    """Whose change it is, and what follows. One who undoes every correction is not fought."""
    observed = snapshot.status.observed_generation if snapshot.was_created else None
    change = detect_change(snapshot.generation, observed, matches=matches)
    drift = decide_drift(change, snapshot.policy, known=bool(snapshot.status.drift_detected))
    is_fight = drift.drift_detected and not snapshot.may_correct
    return replace(drift, push=False, event="") if is_fight else drift


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
    """A connection group that the tenant is to be put into must be there, and enabled."""
    wanted, group = snapshot.spec.connection_group_id, snapshot.group
    if not wanted or not snapshot.group_known:
        return
    if group is None:
        raise error_for(NO_CONNECTION_GROUP, f"spec.connectionGroupId: there is no connection group {wanted}")
    is_new = snapshot.tenant is None or _moves_group(snapshot, snapshot.tenant)
    if is_new and not group.enabled:
        raise error_for(INVALID, f"spec.connectionGroupId: connection group {wanted} is disabled")


def _refuse_unknown_endpoint(snapshot: Snapshot) -> None:
    """Records that lead nowhere known are neither written nor, if they are there, taken for surplus."""
    if snapshot.spec.dns is None or snapshot.endpoint:
        return
    if group := snapshot.spec.connection_group_id:
        why = f"spec.connectionGroupId: there is no connection group {group} with an endpoint"
        raise error_for(NO_CONNECTION_GROUP, why)
    if snapshot.tenant is not None:
        why = f"the connection group of tenant {snapshot.tenant.id} is not known yet"
        raise Wait(timedelta(seconds=30), ENDPOINT_UNKNOWN, why)


def _refuse_uncovered(snapshot: Snapshot) -> None:
    """Before names are led to CloudFront, or a certificate is given to it, that must be good for them."""
    names = snapshot.certificate_names
    if names is None:
        return
    if not names and (own := snapshot.spec.own_certificate):
        raise error_for(
            INVALID, f"spec.customizations.certificate.arn: {own} is not there or was never issued"
        )
    if missing := uncovered((item.domain for item in snapshot.spec.domains), names):
        raise Stall(
            SAN_MISMATCH,
            f"the certificate does not cover {', '.join(missing)}: it is good for {', '.join(names)}; name another "
            "in spec.customizations.certificate.arn, or have one made with spec.managedCertificateRequest",
        )


# A tenant that is not there


def _plan_absent(snapshot: Snapshot) -> Plan[Step]:
    """Create it: for the first time, because the spec is new, or because somebody deleted it and that is drift."""
    drift = _drift(snapshot, matches=False)
    if not drift.push:
        return Plan((), drift)
    _refuse_uncovered(snapshot)
    return Plan(tuple(_creation(snapshot)), drift)


def _creation(snapshot: Snapshot) -> Iterator[Step]:
    spec = snapshot.spec
    settings = settings_of(spec_in_force(snapshot))
    certificate = certificate_request_of(spec)
    reason = "it was deleted outside the operator" if snapshot.was_created else "there is none yet"
    if snapshot.names_follow:
        # A certificate that CloudFront validates by DNS is requested once there is DNS.
        settings, certificate = replace(settings, enabled=False), _if_self_hosted(certificate)
        reason = "its records follow: " + ("a domain was another's" if snapshot.endpoint else _NO_ENDPOINT)
    elif spec.dns is not None:
        yield from _dns_before_creation(snapshot)
    if not snapshot.names_follow or snapshot.is_disputed:
        yield from record_plan(snapshot).removing(_WITHDRAWN if snapshot.is_disputed else _SURPLUS)
    if not snapshot.may_tag and not snapshot.is_announced:
        yield do.NoteCreation(reason="its tags cannot say whose it is, so the status has to")
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
    yield from plan.writing("the tenant's domains must lead to CloudFront before it is created")
    if not plan.to_write:
        yield from awaiting_propagation(
            snapshot.records, "CloudFront looks the domains up when it is created"
        )


# A tenant that is there, but not known as ours


_HOLDERS: Final = {
    Ownership.OTHERS: "is marked as another object's; remove its edgekeeper.io tags if that object is gone, or "
    "choose another name",
    Ownership.FORMER: "is marked as that of an earlier object of this name; to take it over, annotate this object "
    'with edgekeeper.io/adopt: "true"',
    Ownership.UNMARKED: "belongs to somebody else; to take over one that nobody manages, annotate this object with "
    'edgekeeper.io/adopt: "true"',
}


def _adoption(snapshot: Snapshot, tenant: TenantSummary) -> Step:
    whose = _whose(snapshot)
    if whose is Ownership.MINE:
        return do.AdoptTenant(tenant, snapshot.status.id, reason="it bears the mark of this object")
    if snapshot.losses:
        lost = "; ".join(snapshot.losses)
        raise Stall(DOMAIN_CONFLICT, f"tenant {tenant.name} ({tenant.id}) cannot be taken over: {lost}")
    if _is_begun(snapshot, tenant):
        return do.AdoptTenant(tenant, snapshot.status.id, reason="its creation was begun for this object")
    if _may_be_adopted(snapshot, tenant):
        return do.AdoptTenant(tenant, snapshot.status.id, reason="the object is annotated to take it over")
    raise Stall(NAME_CONFLICT, f"tenant {tenant.name} ({tenant.id}) exists and {_HOLDERS[whose]}")


def _may_be_adopted(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    is_free = _whose(snapshot) in (Ownership.UNMARKED, Ownership.FORMER)
    return snapshot.may_adopt and is_free and tenant.name == snapshot.tenant_name and not snapshot.losses


def _is_begun(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """Is it the tenant whose creation was noted, since it cannot be marked, before the answer was lost?"""
    began, created = snapshot.status.creation_started, tenant.created
    return (
        began is not None
        and created is not None
        and not snapshot.status.id
        and _whose(snapshot) is Ownership.UNMARKED
        and tenant.name == snapshot.tenant_name
        and began - CREATION_WINDOW <= created <= began + CREATION_WINDOW
    )


# A tenant that is there and ours


def _plan_present(snapshot: Snapshot, tenant: TenantSummary) -> Plan[Step]:
    found = (*_differences(snapshot, tenant), *record_plan(snapshot).differences)
    drift = _drift(snapshot, matches=not found and not is_request_due(snapshot))
    if drift.drift_detected and not found:
        # Nobody has changed anything: a certificate is requested, whatever the policy for drift is.
        drift = replace(UNCHANGED, push=True)
    return Plan(tuple(_maintenance(snapshot, tenant, drift)), drift, found)


def _differences(snapshot: Snapshot, tenant: TenantSummary) -> tuple[Difference, ...]:
    """Where the tenant is not what the spec says. That CloudFront is ahead of us with a certificate is none."""
    found = differences(spec_in_force(snapshot), tenant)
    is_ahead = is_attached_by_cloudfront(snapshot, tenant)
    return tuple(one for one in found if one.path != "certificate") if is_ahead else found


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
            snapshot.records, "the change of the zone is not known everywhere yet"
        )
    yield from certificate_waits(snapshot)


def _marking(snapshot: Snapshot) -> Iterator[Step]:
    """Whose it is must be on it, and that first; the spec's tags too. Tags of others stay."""
    details = snapshot.details
    if details is None or not snapshot.may_tag:
        return
    for wanted in (snapshot.owner.tags(), tags_of(snapshot.spec, snapshot.owner)):
        missing = {key: value for key, value in wanted.items() if details.tags.get(key) != value}
        if missing:
            yield do.MarkTenant(
                details.arn, missing, details.tags, reason="its tags do not say what they should"
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
        yield from record_plan(snapshot).writing(f"{cause}, and a domain does not lead here")
    yield from record_plan(snapshot).removing(_WITHDRAWN if snapshot.is_disputed else _SURPLUS)
    if _gives_up_domains(snapshot, tenant):
        why = "a domain must not lead here any more when it is given up"
        yield from awaiting_propagation(snapshot.records, why)
    yield from _updating(snapshot, tenant, cause, moves=moves)


def _updating(snapshot: Snapshot, tenant: TenantSummary, cause: str, *, moves: bool) -> Iterator[Step]:
    """Change the tenant and request the certificate that it needs, at once unless CloudFront cannot see its names yet."""
    found = _differences(snapshot, tenant)
    wish = certificate_request_of(snapshot.spec) if is_request_due(snapshot) else None
    names_follow = moves and snapshot.spec.dns is not None and not _if_self_hosted(wish)
    request = None if names_follow or snapshot.is_disputed else wish
    if request and not _if_self_hosted(request):
        why = "CloudFront looks the domains up when it requests their certificate"
        yield from awaiting_propagation(snapshot.records, why)
    if found or request:
        yield _update(snapshot, tenant, found, request, cause)
    if moves:
        yield from record_plan(snapshot).writing(
            "the connection group, and with it the endpoint, has changed"
        )
    if found and wish and not request:
        yield _update(snapshot, tenant, (), wish, cause)


def _update(
    snapshot: Snapshot,
    tenant: TenantSummary,
    found: tuple[Difference, ...],
    request: ManagedCertificateRequest | None,
    cause: str,
) -> Step:
    why = [f"{cause}: {describe(found)}"] if found else []
    why += ["a certificate is requested"] if request else []
    settings = settings_to_send(snapshot, tenant)
    return do.UpdateTenant(tenant, settings, found, request, reason="; ".join(why))


def _gives_up_domains(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """Does the tenant serve a domain that the spec does not have any more?"""
    wanted = domains_of(snapshot.spec)
    return any(normalise_name(one.domain) not in wanted for one in tenant.domains)


def _moves_group(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """Is the tenant about to get another endpoint? Its names follow it, they do not go ahead."""
    wanted = snapshot.spec.connection_group_id
    return bool(wanted) and wanted != tenant.connection_group_id


# Deletion


def _removal(snapshot: Snapshot) -> tuple[Step, ...]:
    """Everything that was made, back to front. Nothing of this depends on the spec.

    Where records cannot be removed the tenant is disabled all the same, but kept: as long as it has the names that lead
    to it nobody else can claim them. Raise the error that keeps them once nothing else is left to do.
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
    return "the tenant is kept, disabled, as long as names may lead to it" if tenant else ""


def _tenant_removal(snapshot: Snapshot, tenant: TenantSummary) -> Iterator[Step]:
    yield from _disabling(tenant)
    if not tenant.enabled and tenant.in_progress:
        yield do.AwaitDeployment(tenant, reason="a tenant can be deleted once it is disabled everywhere")
    yield from awaiting_propagation(snapshot.records, "names must not lead to a tenant that is gone")
    for domain, holder in sorted(snapshot.leading.items()):
        yield do.AwaitWithdrawal(domain, holder, reason="names must not lead to a tenant that is gone")
    yield do.DeleteTenant(tenant, reason="the object is being deleted")


def _disabling(tenant: TenantSummary) -> Iterator[Step]:
    if tenant.enabled:
        yield do.DisableTenant(tenant, reason="only a disabled tenant can be deleted")


def is_ours(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """By its mark; without one, by the id that was written down, if the name is right and nobody else has a claim.

    One with the mark of an earlier object of this name is ours once it was adopted.
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
    """What its mark says. Where tags were not read, they are those that we have seen before."""
    details = snapshot.details
    return is_mine(parse_tags(details.tags), snapshot.owner) if details else Ownership.UNMARKED
