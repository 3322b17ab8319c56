"""When a managed certificate is requested from CloudFront, and which certificate is written into the spec. Pure.

A request names no domains: CloudFront issues the certificate for the domains that the tenant has when the request is sent.
Therefore the request is sent in the same update that changes the domains.

    change of the spec        managed certificate                      new request?
    the request itself        any                                      yes
    domain added              does not cover it                        yes
    domain added              covers it, for example by a wildcard     no
    domain removed            issued                                   no: it covers the remaining domains
    domain removed            pending or failed                        yes: the removed domain cannot be validated any more
    none                      failed                                   no: a person must act

The status has a fingerprint of the last request, with its domains. The same request is not sent twice, whatever its result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from msgspec import structs

from edgekeeper.api.cloudfront import DistributionTenantSpec
from edgekeeper.cloud.aws.coverage import uncovered
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.tenants import TenantSettings, TenantSummary
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.desired import (
    domains_of,
    is_managed,
    merged_settings,
    request_fingerprint,
    sent_fingerprint,
    sent_request,
)
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.steps import Step

ISSUED: Final = "issued"
PENDING: Final = "pending-validation"
FAILED: Final = frozenset({"failed", "validation-timed-out", "revoked", "expired"})


def is_request_due(snapshot: Snapshot) -> bool:
    """Must a certificate be requested: because the request changed, or because a domain is not covered?"""
    wanted, sent = request_fingerprint(snapshot.spec), snapshot.status.certificate_request
    if not wanted or sent == sent_fingerprint(snapshot.spec):
        return False
    if snapshot.certificate is None or not is_suitable(snapshot):
        return True
    is_sent = sent_request(sent) in ("", wanted)
    return not is_sent and not _has_successor(snapshot)


def is_suitable(snapshot: Snapshot) -> bool:
    """Is the managed certificate for the domains of the spec? Its state does not matter: it may be pending or failed."""
    if is_served(snapshot):
        return True
    is_issued = snapshot.certificate is not None and snapshot.certificate.status == ISSUED
    has_surplus = not _names(snapshot) <= domains_of(snapshot.spec)
    return not uncovered_domains(snapshot) and (is_issued or not has_surplus)


def uncovered_domains(snapshot: Snapshot) -> tuple[str, ...]:
    """Domains of the spec that the managed certificate does not cover."""
    return uncovered(sorted(domains_of(snapshot.spec)), _names(snapshot))


def is_served(snapshot: Snapshot) -> bool:
    """Is the managed certificate issued, and every domain of the spec active?"""
    certificate, tenant = snapshot.certificate, snapshot.tenant
    if certificate is None or tenant is None or certificate.status != ISSUED:
        return False
    active = {normalise_name(item.domain) for item in tenant.domains if item.is_active}
    return domains_of(snapshot.spec) <= active


def recorded_request(snapshot: Snapshot) -> str:
    """The fingerprint of the last request for the status, in a pass that sends none.

    If the response to a request was lost, or somebody else sent it, the names of the certificate show its domains.
    """
    recorded, wanted = snapshot.status.certificate_request, request_fingerprint(snapshot.spec)
    if not wanted or snapshot.certificate is None or is_request_due(snapshot):
        return recorded
    if snapshot.managed_names is not None and _names(snapshot) == domains_of(snapshot.spec):
        return sent_fingerprint(snapshot.spec)
    return recorded if sent_request(recorded) == wanted else wanted


def certificate_to_attach(snapshot: Snapshot) -> str:
    """The ARN of an issued managed certificate that has to be written into the spec; empty if there is none."""
    certificate, spec = snapshot.certificate, snapshot.spec
    if not is_managed(spec) or certificate is None or certificate.status != ISSUED:
        return ""
    is_useful = snapshot.managed_names is None or not _names(snapshot).isdisjoint(domains_of(spec))
    is_new = spec.own_certificate != certificate.arn
    return certificate.arn if is_new and is_useful and _is_ours_to_say(snapshot) else ""


def is_attached_by_cloudfront(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """Has CloudFront attached the managed certificate to the tenant itself, before its ARN is in the spec?"""
    managed = snapshot.certificate.arn if snapshot.certificate else ""
    return tenant.customizations.certificate_arn == managed != "" and _is_ours_to_say(snapshot)


def _is_ours_to_say(snapshot: Snapshot) -> bool:
    """May we set the certificate in the spec? Not if it names a user's own one: only a managed one is replaced."""
    return (
        snapshot.spec.own_certificate in ("", snapshot.status.certificate_arn) or snapshot.attached_is_managed
    )


def spec_in_force(snapshot: Snapshot) -> DistributionTenantSpec:
    """The spec without its certificate, if that is a managed one that has failed; otherwise the spec itself."""
    spec = snapshot.spec
    if spec.customizations is None or not _names_failed(snapshot):
        return spec
    return structs.replace(spec, customizations=structs.replace(spec.customizations, certificate=None))


def settings_to_send(snapshot: Snapshot, tenant: TenantSummary) -> TenantSettings:
    """All settings of an update. A failed certificate is left out, since CloudFront refuses updates that name one."""
    settings = merged_settings(spec_in_force(snapshot), tenant)
    custom = settings.customizations
    if _names_failed(snapshot) and custom.certificate_arn == snapshot.spec.own_certificate:
        return replace(settings, customizations=replace(custom, certificate_arn=""))
    return settings


def certificate_waits(snapshot: Snapshot) -> Iterator[Step]:
    """A wait step, if the certificate is not validated, or issued and not active for all domains yet."""
    if not is_managed(snapshot.spec):
        return
    status = (
        snapshot.certificate.status if snapshot.certificate else snapshot.status.managed_certificate_status
    )
    if status == PENDING:
        yield do.AwaitCertificate(reason="the domains are not validated yet")
    elif status == ISSUED and snapshot.tenant and not snapshot.tenant.is_active:
        yield do.AwaitCertificate(reason="CloudFront has not activated all domains yet")


def _names_failed(snapshot: Snapshot) -> bool:
    """Does the spec name a managed certificate that has failed?"""
    return is_managed(snapshot.spec) and snapshot.attached_has_failed


def _has_successor(snapshot: Snapshot) -> bool:
    """Does CloudFront manage another certificate than the one in the status, so that a request must have been sent?"""
    recorded, certificate = snapshot.status.certificate_arn, snapshot.certificate
    return bool(recorded) and certificate is not None and certificate.arn not in ("", recorded)


def _names(snapshot: Snapshot) -> frozenset[str]:
    """The names of the managed certificate; if they are not known, the domains of the tenant."""
    if snapshot.certificate is None:
        return frozenset()
    if snapshot.managed_names is not None:
        return frozenset(snapshot.managed_names)
    return snapshot.served
