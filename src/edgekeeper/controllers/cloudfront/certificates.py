"""The certificate that CloudFront manages for a tenant: when one is requested, and which goes into the spec.

Pure, as `decide` is, of which this is the part about certificates. A request names no domains: the certificate is for
those that the tenant has when it is sent, so that it goes along with the update that changes them.

    what is new               certificate that CloudFront manages      is one requested?
    the request itself        any                                      yes
    a domain                  does not cover it                        yes
    a domain                  covers it, by a wildcard say             no
    a domain is gone          issued                                   no: it is good for those that are left
    a domain is gone          pending or failed                        yes: nobody can prove that domain any more
    nothing                   failed                                   no: a person has to see to it

The status has a fingerprint of what was sent last. The same is not sent twice, whatever CloudFront makes of it.
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
    """Is there a request that CloudFront was not sent, or a domain for which it has no certificate?"""
    wanted, sent = request_fingerprint(snapshot.spec), snapshot.status.certificate_request
    if not wanted or sent == sent_fingerprint(snapshot.spec):
        return False
    if snapshot.certificate is None or not is_suitable(snapshot):
        return True
    is_sent = sent_request(sent) in ("", wanted)
    return not is_sent and not _has_successor(snapshot)


def is_suitable(snapshot: Snapshot) -> bool:
    """Is the managed certificate for the domains of the spec, or will it be? One that has failed may be, too."""
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
    active = {normalise_name(one.domain) for one in tenant.domains if one.is_active}
    return domains_of(snapshot.spec) <= active


def recorded_request(snapshot: Snapshot) -> str:
    """What the status should say of the last request, in a pass that sends none.

    Where its answer was lost, or somebody else has sent it, the certificate tells for which domains it was.
    """
    known, wanted = snapshot.status.certificate_request, request_fingerprint(snapshot.spec)
    if not wanted or snapshot.certificate is None or is_request_due(snapshot):
        return known
    if snapshot.managed_names is not None and _names(snapshot) == domains_of(snapshot.spec):
        return sent_fingerprint(snapshot.spec)
    return known if sent_request(known) == wanted else wanted


def certificate_to_attach(snapshot: Snapshot) -> str:
    """The ARN that the spec should have: of the certificate that CloudFront has issued for it; else empty."""
    certificate, spec = snapshot.certificate, snapshot.spec
    if not is_managed(spec) or certificate is None or certificate.status != ISSUED:
        return ""
    is_useful = snapshot.managed_names is None or not _names(snapshot).isdisjoint(domains_of(spec))
    is_new = spec.own_certificate != certificate.arn
    return certificate.arn if is_new and is_useful and _is_ours_to_say(snapshot) else ""


def is_attached_by_cloudfront(snapshot: Snapshot, tenant: TenantSummary) -> bool:
    """Has CloudFront given the managed certificate to the tenant before it was in the spec? It will be there soon."""
    managed = snapshot.certificate.arn if snapshot.certificate else ""
    return tenant.customizations.certificate_arn == managed != "" and _is_ours_to_say(snapshot)


def _is_ours_to_say(snapshot: Snapshot) -> bool:
    """Does the spec name no certificate, or one of those that CloudFront manages? A user's own is never replaced."""
    return (
        snapshot.spec.own_certificate in ("", snapshot.status.certificate_arn) or snapshot.attached_is_managed
    )


def spec_in_force(snapshot: Snapshot) -> DistributionTenantSpec:
    """The spec, but for a managed certificate that has failed: until there is another one it asks for none."""
    spec = snapshot.spec
    if spec.customizations is None or not _names_failed(snapshot):
        return spec
    return structs.replace(spec, customizations=structs.replace(spec.customizations, certificate=None))


def settings_to_send(snapshot: Snapshot, tenant: TenantSummary) -> TenantSettings:
    """All that an update sends. CloudFront takes none with a certificate that has failed."""
    settings = merged_settings(spec_in_force(snapshot), tenant)
    custom = settings.customizations
    if _names_failed(snapshot) and custom.certificate_arn == snapshot.spec.own_certificate:
        return replace(settings, customizations=replace(custom, certificate_arn=""))
    return settings


def certificate_waits(snapshot: Snapshot) -> Iterator[Step]:
    """What is left to CloudFront, and to those who prove the domains."""
    if not is_managed(snapshot.spec):
        return
    status = (
        snapshot.certificate.status if snapshot.certificate else snapshot.status.managed_certificate_status
    )
    if status == PENDING:
        yield do.AwaitCertificate(reason="the domains are not validated yet")
    elif status == ISSUED and snapshot.tenant and not all(one.is_active for one in snapshot.tenant.domains):
        yield do.AwaitCertificate(reason="CloudFront has not activated all domains yet")


def _names_failed(snapshot: Snapshot) -> bool:
    """Does the spec name a managed certificate that has failed?"""
    return is_managed(snapshot.spec) and snapshot.attached_has_failed


def _has_successor(snapshot: Snapshot) -> bool:
    """Does CloudFront manage another certificate than the status knows? Then that was requested meanwhile."""
    known = snapshot.status.certificate_arn
    return bool(known) and snapshot.certificate is not None and snapshot.certificate.arn not in ("", known)


def _names(snapshot: Snapshot) -> frozenset[str]:
    """The names of the managed certificate. Where nobody tells, it is taken to be for what the tenant has."""
    if snapshot.certificate is None:
        return frozenset()
    if snapshot.managed_names is not None:
        return frozenset(snapshot.managed_names)
    tenant = snapshot.tenant
    return frozenset(normalise_name(one.domain) for one in tenant.domains) if tenant else frozenset()
