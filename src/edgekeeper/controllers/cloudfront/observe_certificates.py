"""Observe the certificates of one tenant: the one that CloudFront manages for it, and the one that its spec names.

ACM and CloudFront are called only for what the mirror of managed certificates does not contain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgekeeper.api.cloudfront import DistributionTenantSpec, DistributionTenantStatus
from edgekeeper.cloud.aws.acm import CertificateSummary
from edgekeeper.cloud.aws.distributions import Distribution
from edgekeeper.cloud.aws.managed_certificates import ManagedCertificates, as_managed
from edgekeeper.cloud.aws.tenants import ManagedCertificate, TenantSummary
from edgekeeper.controllers.cloudfront.certificates import FAILED, ISSUED, is_served
from edgekeeper.controllers.cloudfront.desired import (
    domains_of,
    is_managed,
    request_fingerprint,
    sent_request,
)
from edgekeeper.controllers.cloudfront.snapshot import Snapshot


@dataclass(frozen=True)
class CertificateObserver:
    """Adds what is known about certificates to a snapshot."""

    certificates: ManagedCertificates

    async def with_managed(self, snapshot: Snapshot) -> Snapshot:
        """Add the certificate that CloudFront manages for the tenant, and whether the spec names a managed one."""
        snapshot = replace(snapshot, certificate=await self._managed(snapshot))
        snapshot = replace(snapshot, managed_names=await self._managed_names(snapshot))
        attached = await self._attached(snapshot)
        return replace(
            snapshot,
            attached_is_managed=attached is not None,
            attached_has_failed=attached is not None and attached.status in FAILED,
        )

    async def with_own(self, snapshot: Snapshot) -> Snapshot:
        """Add what is known about the certificate that the spec names, or the distribution has."""
        is_anothers = await self._is_managed_for_another(snapshot)
        names = await self._names(snapshot, snapshot.distribution)
        return replace(snapshot, certificate_is_anothers=is_anothers, certificate_names=names)

    async def _managed(self, snapshot: Snapshot) -> ManagedCertificate | None:
        """The certificate that CloudFront manages for the tenant.

        CloudFront is asked once, for the ARN; from then on the listing of ACM provides the state. An ARN from the status is
        used only if the names of that certificate or the tenant confirm it, since others may write the status.
        """
        tenant, status = snapshot.tenant, snapshot.status
        if not is_managed(snapshot.spec) or tenant is None:
            return None
        listed = self.certificates.listed(status.certificate_arn)
        if listed is not None and _is_current(listed, snapshot.spec, status, tenant):
            return as_managed(listed)
        is_attached = status.certificate_arn == tenant.customizations.certificate_arn != ""
        is_settled = status.managed_certificate_status == ISSUED and status.e_tag == tenant.etag
        if is_attached and is_settled and tenant.is_active and _is_requested(snapshot.spec, status):
            return ManagedCertificate(status.certificate_arn, ISSUED, "")
        return await self.certificates.ask(tenant)

    async def _managed_names(self, snapshot: Snapshot) -> tuple[str, ...] | None:
        """The names of the managed certificate. ACM is called for them only while a domain is not active yet."""
        certificate = snapshot.certificate
        if certificate is None:
            return None
        names = self.certificates.known_names(certificate)
        if names is not None or not certificate.arn or is_served(snapshot):
            return names
        return await self.certificates.names(certificate.arn) or None

    async def _attached(self, snapshot: Snapshot) -> ManagedCertificate | None:
        """The certificate that the spec names beside a request, if CloudFront manages it."""
        own, certificate = snapshot.spec.own_certificate, snapshot.certificate
        if not own or not is_managed(snapshot.spec):
            return None
        if certificate is not None and own == certificate.arn:
            return certificate
        managed = await self.certificates.find(own)
        return None if managed is None else as_managed(managed)

    async def _is_managed_for_another(self, snapshot: Snapshot) -> bool:
        """Does the spec name a certificate that CloudFront manages for another tenant (none of its names are ours)?"""
        arn = snapshot.spec.own_certificate
        managed = None if arn in _managed_arns(snapshot) else await self.certificates.find(arn)
        return managed is not None and domains_of(snapshot.spec).isdisjoint(managed.names)

    async def _names(self, snapshot: Snapshot, distribution: Distribution | None) -> tuple[str, ...] | None:
        """The names of the spec's own certificate, or with `spec.dns` those of the distribution's; None if not known."""
        spec, own = snapshot.spec, snapshot.spec.own_certificate
        if is_managed(spec) and (own in _managed_arns(snapshot) or snapshot.attached_is_managed):
            return None
        inherited = distribution.certificate_arn if distribution and spec.dns else ""
        arn = own or ("" if is_managed(spec) else inherited)
        return await self.certificates.names(arn) if arn else None


def _managed_arns(snapshot: Snapshot) -> set[str]:
    """The ARNs of the certificate that CloudFront manages for the tenant, and of the one attached to it."""
    certificate, tenant = snapshot.certificate, snapshot.tenant
    return {certificate.arn if certificate else "", tenant.customizations.certificate_arn if tenant else ""}


def _is_current(
    listed: CertificateSummary,
    spec: DistributionTenantSpec,
    status: DistributionTenantStatus,
    tenant: TenantSummary,
) -> bool:
    """Is this still the certificate that CloudFront manages for the tenant, so that CloudFront need not be asked?

    A certificate that has failed, was requested with other settings, or is for other domains than the tenant's may have a
    successor.
    """
    served, wanted = tenant.served, domains_of(spec)
    if served.isdisjoint(listed.names) or as_managed(listed).status in FAILED:
        return False
    is_of_tenant = listed.issued or served.issuperset(listed.names)
    return _is_requested(spec, status) and is_of_tenant and listed.covers(served & wanted or served)


def _is_requested(spec: DistributionTenantSpec, status: DistributionTenantStatus) -> bool:
    """Is the spec's certificate request the one that was sent last? True if none is recorded."""
    return sent_request(status.certificate_request) in ("", request_fingerprint(spec))
