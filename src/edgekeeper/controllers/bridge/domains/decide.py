"""Decide which steps bring a domain name to its desired state, in order. Pure.

    creation    certificate (and the records that validate it) → domain name → mapping → records
    change      the same order: the domain name gets its new certificate, the mapping its new API, the records their target
    deletion    records → mapping → domain name → certificate: no record leads to a domain name that is gone

A domain name that exists and is not ours is used as it is, if it is as the spec says and nobody else's mapping is in the
way; otherwise the object must be allowed to adopt it. It is never changed nor deleted without that.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Final

from edgekeeper.api.bridge import OwnedMapping
from edgekeeper.cloud.aws.acm import ISSUED, PENDING_VALIDATION
from edgekeeper.cloud.aws.apigateway import ApiMapping, GatewayDomain
from edgekeeper.cloud.aws.dns.planning import awaiting_propagation
from edgekeeper.cloud.aws.error_table import DNS_ERROR, DOMAIN_CONFLICT, INVALID_SPEC
from edgekeeper.controllers.bridge.domains import steps as do
from edgekeeper.controllers.bridge.domains.children import is_requested, lagging
from edgekeeper.controllers.bridge.domains.records import is_apex, record_plan
from edgekeeper.controllers.bridge.domains.removal import removal_steps
from edgekeeper.controllers.bridge.domains.snapshot import CERTIFICATE, DOMAIN, MAPPING, Snapshot
from edgekeeper.controllers.bridge.failures import CERTIFICATE_NOT_FOUND, CERTIFICATE_PAUSE
from edgekeeper.core.delta import ABSENT, Difference, describe
from edgekeeper.core.drift import Decision, detect_change
from edgekeeper.core.drift import decide as decide_drift
from edgekeeper.core.errors import Stall, Wait
from edgekeeper.core.ownership import Ownership, parse_tags
from edgekeeper.core.steps import UNCHANGED, Plan, Step
from edgekeeper.lifecycle.adoption import holder_message, inheritance_reason

INVALID_CERTIFICATE: Final = "InvalidCertificate"
CERTIFICATE_FAILED: Final = "CertificateFailed"
NOT_ALLOWED: Final = "NotAllowed"
_LEFT: Final = "the object of this name in a lost cluster has left it"
_ADOPT: Final = 'set spec.adoptExisting, or annotate the object with edgekeeper.io/adopt: "true"'


def decide(snapshot: Snapshot) -> Plan[Step]:
    """Return the remaining steps. Raise Stall if a person must act first, Wait if something is missing."""
    if snapshot.deleting:
        return Plan(tuple(removal_steps(snapshot)))
    _refuse(snapshot)
    _refuse_marked(snapshot)
    certificate = tuple(_certificate(snapshot))
    if certificate:
        return Plan(certificate, replace(UNCHANGED, push=True))
    changes = differences(snapshot)
    drift = _drift(snapshot, changes)
    return Plan(tuple(_steps(snapshot, drift, changes)), drift, changes)


def differences(snapshot: Snapshot) -> tuple[Difference, ...]:
    """Where AWS differs from the spec."""
    settings, wanted = snapshot.settings, snapshot.wanted_mapping
    if snapshot.domain is None or settings is None or wanted is None:
        return (Difference("domainName", ABSENT, snapshot.name),)
    found = list(do.setting_changes(settings, snapshot.domain.settings))
    present = snapshot.mapping
    if not _is_as_wanted(present, wanted):
        before = do.mapping_text(present) if present else ABSENT
        found.append(Difference(f"mapping[{wanted.key or '/'}]", before, do.mapping_text(wanted)))
    return (*found, *record_plan(snapshot).differences)


def _refuse(snapshot: Snapshot) -> None:
    for rival in snapshot.rivals:
        holds = "has it in AWS" if rival.holds else "is older"
        raise Stall(
            DOMAIN_CONFLICT,
            f"{rival.value} belongs to {rival.holder}, which {holds}: remove it there, or choose another domain",
        )
    if snapshot.refusals:
        raise Stall(NOT_ALLOWED, "; ".join(snapshot.refusals))
    if snapshot.problem is not None:
        raise snapshot.problem
    api_region = snapshot.api.region if snapshot.api else ""
    if api_region and snapshot.region != api_region:
        raise Stall(
            INVALID_SPEC,
            f"spec.apiRef: the API is in {api_region}, but the domain name in {snapshot.region}, "
            "and it cannot move: create another object",
        )


def _drift(snapshot: Snapshot, changes: tuple[Difference, ...]) -> Decision:
    """Decide whether a difference is drift and whether to correct it. A certificate that we replace is not drift."""
    applied = snapshot.domain is not None and (
        snapshot.domain.settings.certificate_arn == snapshot.status.certificate_arn
    )
    others = [change for change in changes if not (applied and change.path == "certificateArn")]
    observed = snapshot.status.observed_generation
    change = detect_change(snapshot.generation, observed, matches=not others)
    known = bool(snapshot.status.drift_detected)
    decision = decide_drift(change, snapshot.policy, known=known, may_correct=snapshot.may_correct)
    return replace(decision, push=True) if changes and not others else decision


# Certificate


def _certificate(snapshot: Snapshot) -> Iterator[Step]:
    """The steps until there is a certificate; none if there is one."""
    match snapshot.spec.certificate_strategy:
        case "create":
            yield from _requesting(snapshot)
        case "use-arn":
            yield from _checking(snapshot)
        case _ if snapshot.certificate is None:
            message = (
                f"no issued certificate of ACM in {snapshot.region} covers {snapshot.name}: import or request one, "
                "or set certificateStrategy: create"
            )
            raise Wait(CERTIFICATE_PAUSE, CERTIFICATE_NOT_FOUND, message)


def _requesting(snapshot: Snapshot) -> Iterator[Step]:
    certificate = snapshot.requested
    if certificate is None:
        if is_requested(snapshot, CERTIFICATE):
            yield from lagging(snapshot, CERTIFICATE, "ACK to request the certificate")
        else:
            yield do.RequestCertificate(snapshot.name, reason="there is none for the domain")
        return
    if certificate.status == PENDING_VALIDATION:
        if snapshot.spec.dns_config.enabled and certificate.validation_records:
            _confirm_zone(snapshot)
            reason = "ACM validates the domain by them"
            yield from record_plan(snapshot, validation_only=True).writing(reason)
        yield do.AwaitCertificate(certificate.arn, reason="ACM has not issued it yet")
    elif not snapshot.is_valid:
        why = f" ({certificate.failure_reason})" if certificate.failure_reason else ""
        raise Stall(
            CERTIFICATE_FAILED,
            f"certificate {certificate.arn} is {certificate.status}{why}: delete it in ACM, and another one is requested",
        )


def _checking(snapshot: Snapshot) -> Iterator[Step]:
    certificate, arn = snapshot.certificate, snapshot.spec.certificate_arn or ""
    region = arn.split(":")[3]
    if region != snapshot.region:
        _refuse_certificate(f"it is in {region}, but the API in {snapshot.region}")
    if certificate is None:
        _refuse_certificate(f"there is no certificate {arn} in ACM")
    elif not certificate.covers([snapshot.name]):
        _refuse_certificate(f"it covers {', '.join(certificate.names)}, but not {snapshot.name}")
    elif certificate.status == PENDING_VALIDATION:
        yield do.AwaitCertificate(arn, reason="ACM has not issued it yet")
    elif not snapshot.is_valid:
        status = "expired" if certificate.status == ISSUED else certificate.status
        _refuse_certificate(f"it is {status}")


def _refuse_certificate(why: str) -> None:
    raise Stall(INVALID_CERTIFICATE, f"spec.certificateArn: {why}: name an issued certificate for the domain")


# Domain name, mapping, records


def _steps(snapshot: Snapshot, drift: Decision, changes: tuple[Difference, ...]) -> Iterator[Step]:
    is_changed = describe(changes)
    cause = "it was changed outside the operator" if drift.drift_detected else "the spec says so"
    reason = f"{cause}: {is_changed}" if snapshot.domain is not None and is_changed else cause
    if snapshot.inherits:
        yield from _inheriting(snapshot)
    if snapshot.domain is None:
        if drift.push:
            yield from _creating(snapshot, reason)
        return
    taken = yield from _taking(snapshot, snapshot.domain)
    if drift.push:
        yield from _updating(snapshot, snapshot.domain, reason, is_ours=snapshot.is_managed or taken)
    if not snapshot.domain.available:
        status = snapshot.domain.status_message or snapshot.domain.status
        yield do.AwaitDomain(f"domain name {snapshot.name}", reason=f"API Gateway says {status}")
        return
    if drift.push:
        yield from _mapping(snapshot, reason)
    yield from _records(snapshot, reason, push=drift.push)
    yield from _surplus_certificate(snapshot)


def _inheriting(snapshot: Snapshot) -> Iterator[Step]:
    """Adopt the records, the mapping and the certificate that a lost cluster has left.

    The domain name follows: only its old tags prove that the rest is ours as well.
    """
    if snapshot.spec.dns_config.enabled:
        _confirm_zone(snapshot)
    yield from record_plan(snapshot).adopting(_LEFT)
    if snapshot.mapping is not None and snapshot.own_mapping is None and snapshot.children is None:
        yield do.RememberMapping(snapshot.mapping, reason=_LEFT)
    if snapshot.inherits_certificate and snapshot.requested is not None:
        yield do.TagCertificate(snapshot.requested.arn, snapshot.owner.tags(), reason=_LEFT)


def _creating(snapshot: Snapshot, reason: str) -> Iterator[Step]:
    if is_requested(snapshot, DOMAIN):
        yield from lagging(snapshot, DOMAIN, f"ACK to create domain name {snapshot.name}")
    elif snapshot.settings is not None:
        yield do.CreateDomain(snapshot.name, snapshot.settings, snapshot.owner.tags(), reason=reason)


def _taking(snapshot: Snapshot, domain: GatewayDomain) -> Generator[Step, None, bool]:
    """Take over a domain name that is not ours, if that is allowed; return whether that is so.

    Raise Stall if it cannot be used as it is.
    """
    if snapshot.is_managed:
        return False
    if snapshot.may_take:
        if is_requested(snapshot, DOMAIN):
            yield from lagging(snapshot, DOMAIN, f"ACK to adopt domain name {domain.name}")
        else:
            is_inherited = snapshot.whose is Ownership.INHERITED
            reason = (
                inheritance_reason(parse_tags(domain.tags)) if is_inherited else "the object may adopt it"
            )
            yield do.TagDomain(domain.name, snapshot.owner.tags(), reason=reason)
        return True
    _refuse_foreign(snapshot, domain)
    return False


def _refuse_marked(snapshot: Snapshot) -> None:
    """Raise Stall if the domain name has the mark of another, so that nothing is made for it: no certificate either."""
    whose, domain = snapshot.whose, snapshot.domain
    if domain is None or whose in (Ownership.UNMARKED, Ownership.MINE) or snapshot.may_take:
        return
    message = holder_message(whose, parse_tags(domain.tags), snapshot.owner)
    raise Stall(DOMAIN_CONFLICT, f"domain name {domain.name} exists and {message}")


def _refuse_foreign(snapshot: Snapshot, domain: GatewayDomain) -> None:
    """Raise Stall if a domain name without a mark is not as the spec says."""
    settings = snapshot.settings
    changed = do.setting_changes(settings, domain.settings) if settings else ()
    if changed:
        raise Stall(
            DOMAIN_CONFLICT,
            f"domain name {domain.name} exists and is not as the spec says ({describe(changed)}): to take it over, {_ADOPT}",
        )
    present, wanted = snapshot.mapping, snapshot.wanted_mapping
    is_foreign = present is not None and present != snapshot.own_mapping
    if is_foreign and wanted is not None and not _is_as_wanted(present, wanted):
        shown = do.mapping_text(present) if present else ""
        raise Stall(
            DOMAIN_CONFLICT,
            f"domain name {domain.name} exists and leads to {shown}, not to {do.mapping_text(wanted)}: "
            f"to take it over, {_ADOPT}",
        )


def _updating(snapshot: Snapshot, domain: GatewayDomain, reason: str, *, is_ours: bool) -> Iterator[Step]:
    settings = snapshot.settings
    if settings is None or not is_ours:
        return
    is_changed = bool(do.setting_changes(settings, domain.settings))
    update = do.UpdateDomain(domain.name, settings, domain.settings, reason=reason)
    if snapshot.children is None:
        if is_changed:
            yield update
        return
    child = snapshot.child(DOMAIN)
    if not is_requested(snapshot, DOMAIN) or (child and child.is_terminal and not child.is_adopting):
        yield update
    elif is_changed or (child is not None and not child.is_synced):
        yield from lagging(snapshot, DOMAIN, f"ACK to update domain name {domain.name}")


def _mapping(snapshot: Snapshot, reason: str) -> Iterator[Step]:
    wanted, present, own = snapshot.wanted_mapping, snapshot.mapping, snapshot.own_mapping
    if wanted is None:
        return
    if not _is_as_wanted(present, wanted):
        if is_requested(snapshot, MAPPING):
            yield from lagging(snapshot, MAPPING, "ACK to write the mapping")
            return
        changed = present or own
        planned = snapshot.status.mapping
        is_planned = planned is not None and OwnedMapping(wanted.api_id, wanted.stage, wanted.key) == planned
        if changed is None and not snapshot.is_managed and not is_planned and snapshot.children is None:
            yield do.RememberMapping(wanted, reason="the domain name is not ours, but the mapping will be")
        id_ = changed.id if changed else ""
        yield do.WriteMapping(replace(wanted, id=id_), changed, reason=reason)
    elif own is not None and present is not None and own.id != present.id:
        yield do.DeleteMapping(own, reason="the spec has another key")


def _is_as_wanted(present: ApiMapping | None, wanted: ApiMapping) -> bool:
    return present is not None and replace(present, id="") == wanted


def _records(snapshot: Snapshot, reason: str, *, push: bool) -> Iterator[Step]:
    plan = record_plan(snapshot)
    if snapshot.spec.dns_config.enabled:
        _confirm_zone(snapshot)
    yield from plan.forgetting()
    if snapshot.may_adopt and not snapshot.inherits:
        yield from plan.adopting("the object may adopt them")
    if push:
        # A CNAME goes before aliases of the same name come, since DNS allows no other record beside it.
        yield from plan.removing("no setting of the spec needs them")
        yield from plan.writing(reason)
    if not snapshot.records.work.pending:
        yield from awaiting_propagation(
            snapshot.records, "the change has not reached all Route 53 name servers yet"
        )


def _confirm_zone(snapshot: Snapshot) -> None:
    """Raise the error that keeps records from being written."""
    for problem in (snapshot.zone_problem, snapshot.records.zone_problem, snapshot.records.work.error):
        if problem is not None:
            raise problem
    if snapshot.spec.dns_config.record_type == "CNAME" and is_apex(snapshot):
        raise Stall(
            DNS_ERROR,
            f"spec.dnsConfig.recordType: {snapshot.name} is the apex of its zone, where DNS allows no CNAME: use ALIAS",
        )


def _surplus_certificate(snapshot: Snapshot) -> Iterator[Step]:
    """Delete the certificate that was requested for the object, once another one is in use."""
    requested = snapshot.requested
    if snapshot.spec.certificate_strategy == "create" or requested is None:
        return
    if snapshot.domain is None or snapshot.domain.settings.certificate_arn == requested.arn:
        return
    child, reason = snapshot.child(CERTIFICATE), "the spec asks for another certificate"
    if child is None:
        yield do.DeleteCertificate(requested.arn, reason=reason)
    elif child.is_going:
        yield do.AwaitDomain("ACK to delete the certificate", reason=reason)
    else:
        yield do.DropChild(CERTIFICATE, reason=reason)
