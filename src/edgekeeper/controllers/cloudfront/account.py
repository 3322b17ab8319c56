"""CloudFront and ACM for all tenants of an AWS account: shared mirrors and caches.

    tenants         mirror of all tenants                  GetDistributionTenant only for what listings do not contain
    groups          mirror of connection groups            with their endpoints
    certificates    mirror of managed certificates         one page of a listing has up to a thousand
    dns             Route 53 zones (`cloud.aws.dns`)
    distributions, names of certificates                   caches with an expiry

If IAM denies listing tenants, connection groups or certificates, they are read one by one as far as IAM allows, and this is
logged once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.cloud.aws.acm import NEVER_ISSUED, Acm, Certificate, CertificateSummary
from edgekeeper.cloud.aws.cloudfront import CloudFront
from edgekeeper.cloud.aws.distributions import ConnectionGroup
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.mirrors import (
    ConnectionGroups,
    Distributions,
    Tenants,
    connection_groups,
    default_group,
)
from edgekeeper.cloud.aws.tenants import ManagedCertificate, TenantSummary
from edgekeeper.cloud.cache import LookupCache
from edgekeeper.cloud.mirror import Mirror
from edgekeeper.core.errors import Stall

REGION: Final = "us-east-1"
"""The region of all certificates for CloudFront, whatever region the operator uses."""
_CLOUDFRONT: Final = "CLOUDFRONT"
"""ACM's `ManagedBy` of certificates that were requested with a tenant."""


class CloudFrontAccount:
    """The mirrors and caches of CloudFront and ACM that all tenants of an account share."""

    def __init__(self, shared: AwsAccount) -> None:
        access, clock, metrics, options = shared.access, shared.clock, shared.metrics, shared.options
        self.shared = shared
        self.clock = clock
        self.rights = shared.rights
        self.dns = shared.dns
        self.cloudfront = CloudFront(access.caller())
        self.acm = Acm(access.caller(region=REGION))
        self.tenants = Tenants(self.cloudfront, clock, metrics, options=options)
        self.groups = connection_groups(self.cloudfront, clock, metrics)
        self.certificates: Mirror[str, CertificateSummary] = Mirror(
            "managed certificates",
            self._managed_certificates,
            clock,
            metrics,
            options=options,
            in_progress=lambda certificate: certificate.pending,
            version=lambda certificate: certificate.status,
        )
        self.distributions = Distributions(self.cloudfront, clock)
        self._descriptions: LookupCache[str, _Description] = LookupCache(self._describe, clock)
        self._unlisted_groups = ConnectionGroups(self.cloudfront, clock)

    async def run(self) -> None:
        """Run all mirrors until cancelled."""
        async with asyncio.TaskGroup() as group:
            for work in (self.tenants, self.groups, self.certificates, self.shared):
                group.create_task(work.run())

    async def warm_up(self, limit: timedelta) -> None:
        """Wait for the first listing of tenants and connection groups, successful or not, at most for `limit`."""
        mirrors = (self.tenants.mirror, self.groups)
        waiting = [asyncio.create_task(mirror.wait_listed()) for mirror in mirrors]
        try:
            await asyncio.wait(waiting, timeout=limit.total_seconds())
        finally:
            for task in waiting:
                task.cancel()

    async def connection_group(self, group_id: str) -> ConnectionGroup | None:
        """A connection group, or the account's default for an empty id: from the mirror, else read by its id.

        If IAM denies listing, groups are read by id and the default cannot be determined: the refusal is raised for it.
        Raise NotSyncedError before the first listing.
        """
        problem = None if self.groups.synced else self.groups.problem
        if isinstance(problem, Stall):
            if not group_id:
                raise problem
            return await self._unlisted_groups.get(group_id)
        if not group_id:
            return default_group(self.groups)
        return self.groups.get(group_id) or await self._unlisted_groups.get(group_id)

    def listed_certificate(self, arn: str) -> CertificateSummary | None:
        """A managed certificate from the mirror; None if it has none, or is not synced."""
        return self.certificates.get(arn) if arn and self.certificates.synced else None

    async def ask_certificate(self, tenant: TenantSummary) -> ManagedCertificate | None:
        """Read the managed certificate of a tenant from CloudFront. From then on the mirror follows its state."""
        certificate = await self.cloudfront.find_managed_certificate(tenant.id)
        if certificate is not None and certificate.arn:
            self._expect(certificate)
        return certificate

    def known_names(self, certificate: ManagedCertificate) -> tuple[str, ...] | None:
        """The names of a managed certificate; None if they are not known without a call."""
        listed = self.listed_certificate(certificate.arn)
        if listed is not None:
            return listed.names
        return tuple(normalise_name(token.domain) for token in certificate.tokens) or None

    async def managed_certificate(self, arn: str) -> CertificateSummary | None:
        """A certificate, if CloudFront manages it; None if it does not, or if IAM denies reading it.

        ACM is called for a single certificate only if the mirror is not synced.
        """
        if not arn or self.certificates.synced:
            return self.listed_certificate(arn)
        described = (await self._descriptions.get(arn)).certificate
        is_managed = described is not None and described.managed_by == _CLOUDFRONT
        return described.summary if described is not None and is_managed else None

    async def certificate_names(self, arn: str) -> tuple[str, ...] | None:
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
            self.certificates.hasten()
            return
        status = certificate.status.upper().replace("-", "_")
        expected = CertificateSummary(certificate.arn, "", names, False, status, _CLOUDFRONT, None)
        self.certificates.put(certificate.arn, expected)

    async def _managed_certificates(self) -> AsyncIterator[dict[str, CertificateSummary]]:
        try:
            async for page in self.acm.certificates(managed_by=_CLOUDFRONT):
                yield page
        except Stall as refusal:
            if refusal.error_type == "access_denied":
                self.rights.note("listing certificates", refusal)
            raise

    async def _describe(self, arn: str) -> _Description:
        try:
            return _Description(await self.acm.find(arn))
        except Stall as refusal:
            self.rights.note("describing certificates", refusal)
            return _Description(None, is_known=False)


@dataclass(frozen=True, slots=True)
class _Description:
    """The result of describing a certificate."""

    certificate: Certificate | None
    is_known: bool = True
    """False if IAM denies describing it."""
