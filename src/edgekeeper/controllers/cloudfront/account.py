"""What all tenants of an account share: mirrors, writers, and answers that are good for a while.

    tenants         every tenant, from listings            GetDistributionTenant only where a listing cannot tell
    groups          connection groups and their endpoints
    certificates    those that CloudFront manages          one listing for a thousand of them
    dns             zones, their records and their writers
    distributions, names of certificates                   read once in a while, for all who ask

Where we may not list tenants, connection groups or certificates each of them is read by itself, as far as rights go, and
a line in the log says so once.
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
from edgekeeper.cloud.mirror import Mirror
from edgekeeper.cloud.remembered import Remembered
from edgekeeper.core.errors import Stall

REGION: Final = "us-east-1"
"""Where CloudFront takes its certificates from, wherever we run."""
_CLOUDFRONT: Final = "CLOUDFRONT"
"""Who manages certificates that were requested with a tenant, in the words of ACM."""


class CloudFrontAccount:
    """CloudFront as all tenants of an account see it."""

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
            in_progress=lambda one: one.pending,
            version=lambda one: one.status,
        )
        self.distributions = Distributions(self.cloudfront, clock)
        self._descriptions: Remembered[str, _Description] = Remembered(self._describe, clock)
        self._unlisted_groups = ConnectionGroups(self.cloudfront, clock)

    async def run(self) -> None:
        """Keep everything fresh until cancelled."""
        async with asyncio.TaskGroup() as group:
            for work in (self.tenants, self.groups, self.certificates, self.shared):
                group.create_task(work.run())

    async def warm_up(self, limit: timedelta) -> None:
        """Wait until tenants and connection groups are listed, or cannot be, but no longer than `limit`."""
        mirrors = (self.tenants.mirror, self.groups)
        waiting = [asyncio.create_task(mirror.wait_listed()) for mirror in mirrors]
        try:
            await asyncio.wait(waiting, timeout=limit.total_seconds())
        finally:
            for task in waiting:
                task.cancel()

    async def connection_group(self, group_id: str) -> ConnectionGroup | None:
        """A connection group, or the account's default for an empty id: from the listing, if it is there.

        Where groups may not be listed they are read one by one, but nobody can tell then which is the default. Raise
        what denies it, or NotSyncedError where they are not listed yet.
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
        """A managed certificate, where the listing is known to have it."""
        return self.certificates.get(arn) if arn and self.certificates.synced else None

    async def ask_certificate(self, tenant: TenantSummary) -> ManagedCertificate | None:
        """What CloudFront made of a tenant's request. The next listing is to have it, and to tell the rest."""
        found = await self.cloudfront.find_managed_certificate(tenant.id)
        if found is not None and found.arn:
            self._expect(found)
        return found

    def known_names(self, certificate: ManagedCertificate) -> tuple[str, ...] | None:
        """The names of a managed certificate, as far as they are known without a call."""
        listed = self.listed_certificate(certificate.arn)
        if listed is not None:
            return listed.names
        return tuple(normalise_name(token.domain) for token in certificate.tokens) or None

    async def managed_certificate(self, arn: str) -> CertificateSummary | None:
        """A certificate that CloudFront manages; None where it does not, or where we may not know.

        A certificate is described by itself only where they are not listed.
        """
        if not arn or self.certificates.synced:
            return self.listed_certificate(arn)
        described = (await self._descriptions.get(arn)).certificate
        is_managed = described is not None and described.managed_by == _CLOUDFRONT
        return described.summary if described is not None and is_managed else None

    async def certificate_names(self, arn: str) -> tuple[str, ...] | None:
        """The names of a certificate: none where it is not there or was never issued, None where we may not know."""
        described = await self._descriptions.get(arn)
        if not described.is_known:
            return None
        certificate = described.certificate
        return () if certificate is None or certificate.status in NEVER_ISSUED else certificate.names

    def _expect(self, certificate: ManagedCertificate) -> None:
        """Have the listing show a certificate that CloudFront has just told of. Its tokens name its domains."""
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
    """What ACM says of a certificate."""

    certificate: Certificate | None
    is_known: bool = True
    """False where it may not be described."""
