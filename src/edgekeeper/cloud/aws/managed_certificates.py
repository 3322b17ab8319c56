"""Certificates that tenants of CloudFront use: those that CloudFront manages, mirrored, and the names of any other.

A page of a listing of ACM has up to 500 certificates, so the managed ones are mirrored. Others are described one
by one and cached. If IAM denies listing or describing, that is logged once, and the result is "not known".
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.cloud.aws.acm import NEVER_ISSUED, Acm, Certificate, CertificateSummary
from edgekeeper.cloud.aws.cloudfront import CloudFront
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.tenants import ManagedCertificate, TenantSummary
from edgekeeper.cloud.cache import LookupCache
from edgekeeper.cloud.mirror import Mirror
from edgekeeper.core.errors import Stall

REGION: Final = "us-east-1"
"""The region of all certificates for CloudFront, whatever region the operator uses."""
MANAGED: Final = "CLOUDFRONT"
"""ACM's `ManagedBy` of certificates that were requested with a tenant."""


@dataclass(frozen=True, slots=True)
class _Description:
    """The result of describing a certificate."""

    certificate: Certificate | None
    is_known: bool = True
    """False if IAM denies describing it."""


class ManagedCertificates:
    """The certificates of an account for CloudFront."""

    def __init__(self, shared: AwsAccount, cloudfront: CloudFront) -> None:
        self.mirror: Mirror[str, CertificateSummary] = Mirror(
            "managed certificates",
            self._list,
            shared.clock,
            shared.metrics,
            options=shared.options,
            in_progress=lambda certificate: certificate.pending,
            version=lambda certificate: certificate.status,
        )
        self._acm = Acm(shared.access.caller(region=REGION))
        self._cloudfront = cloudfront
        self._rights = shared.rights
        self._descriptions: LookupCache[str, _Description] = LookupCache(self._describe, shared.clock)

    async def run(self) -> None:
        """Keep the mirror fresh until cancelled."""
        await self.mirror.run()

    def listed(self, arn: str) -> CertificateSummary | None:
        """A managed certificate from the mirror; None if it has none, or is not synced."""
        return self.mirror.get(arn) if arn and self.mirror.synced else None

    async def ask(self, tenant: TenantSummary) -> ManagedCertificate | None:
        """Read the managed certificate of a tenant from CloudFront. From then on the mirror follows its state."""
        certificate = await self._cloudfront.find_managed_certificate(tenant.id)
        if certificate is not None and certificate.arn:
            self._expect(certificate)
        return certificate

    def known_names(self, certificate: ManagedCertificate) -> tuple[str, ...] | None:
        """The names of a managed certificate; None if they are not known without a call."""
        listed = self.listed(certificate.arn)
        if listed is not None:
            return listed.names
        return tuple(normalise_name(token.domain) for token in certificate.tokens) or None

    async def find(self, arn: str) -> CertificateSummary | None:
        """A certificate, if CloudFront manages it; None if it does not, or if IAM denies reading it.

        ACM is called for a single certificate only if the mirror is not synced.
        """
        if not arn or self.mirror.synced:
            return self.listed(arn)
        described = (await self._descriptions.get(arn)).certificate
        is_managed = described is not None and described.managed_by == MANAGED
        return described.summary if described is not None and is_managed else None

    async def names(self, arn: str) -> tuple[str, ...] | None:
        """The names of a certificate: empty if it does not exist or was never issued, None if IAM denies reading it."""
        described = await self._descriptions.get(arn)
        if not described.is_known:
            return None
        certificate = described.certificate
        return () if certificate is None or certificate.status in NEVER_ISSUED else certificate.names

    def _expect(self, certificate: ManagedCertificate) -> None:
        """Add a certificate that CloudFront has just returned to the mirror. Its validation tokens name its domains."""
        names = self.known_names(certificate)
        if names is None:
            self.mirror.hasten()
            return
        status = certificate.status.upper().replace("-", "_")
        expected = CertificateSummary(certificate.arn, "", names, False, status, MANAGED, None)
        self.mirror.put(certificate.arn, expected)

    async def _list(self) -> AsyncIterator[dict[str, CertificateSummary]]:
        try:
            async for page in self._acm.certificates(managed_by=MANAGED):
                yield page
        except Stall as refusal:
            if refusal.error_type == "access_denied":
                self._rights.note("listing certificates", refusal)
            raise

    async def _describe(self, arn: str) -> _Description:
        try:
            return _Description(await self._acm.find(arn))
        except Stall as refusal:
            self._rights.note("describing certificates", refusal)
            return _Description(None, is_known=False)


def as_managed(listed: CertificateSummary) -> ManagedCertificate:
    """A certificate of ACM as CloudFront reports it: ACM's `PENDING_VALIDATION` is CloudFront's `pending-validation`."""
    return ManagedCertificate(listed.arn, listed.status.lower().replace("_", "-"), "")
