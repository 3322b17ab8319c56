"""What all tenants of an account share: mirrors, writers, and answers that are good for a while.

    tenants         every tenant, from listings            GetDistributionTenant only where a listing cannot tell
    groups          connection groups and their endpoints
    certificates    those that CloudFront manages          one listing for a thousand of them
    zones, desk     DNS records and their writers
    distributions, names of certificates                   read once in a while, for all who ask

Where we may not list tenants or certificates each object is read by itself, as far as rights go, and a line in the log
says so once.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final, Generic, TypeVar

from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.acm import NEVER_ISSUED, Acm, CertificateSummary
from edgekeeper.cloud.aws.cloudfront import CloudFront
from edgekeeper.cloud.aws.mirrors import GRACE, Distributions, Tenants, connection_groups
from edgekeeper.cloud.aws.records import normalise_name
from edgekeeper.cloud.aws.tenants import ManagedCertificate, TenantSummary
from edgekeeper.cloud.aws.zones import Zones
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import DEFAULT_OPTIONS, Mirror, MirrorOptions
from edgekeeper.controllers.cloudfront.corrections import Corrections
from edgekeeper.controllers.cloudfront.desk import DnsDesk
from edgekeeper.controllers.cloudfront.failures import Failures
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Stall
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

T = TypeVar("T")

REGION: Final = "us-east-1"
"""Where CloudFront takes its certificates from, wherever we run."""
REMEMBERED: Final = timedelta(minutes=5)
DENIAL_REMEMBERED: Final = timedelta(minutes=30)
"""How long it takes at most until a right that was granted later is used."""
ZONE_COMMENT: Final = "Managed by cloudfront-tenant-operator"


class Remembered(Generic[T]):
    """Answers that are good for a while, and asked for once, however many want them."""

    def __init__(self, ask: Callable[[str], Awaitable[T]], clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._answers: dict[str, tuple[float, T]] = {}

    async def get(self, key: str) -> T:
        """The answer, or the error that came instead, which is asked about again the next time."""
        async with self._asking[key]:
            known = self._answers.get(key)
            if known is not None and self._clock.monotonic() < known[0]:
                return known[1]
            answer = await self._ask(key)
            self._answers[key] = (self._clock.monotonic() + REMEMBERED.total_seconds(), answer)
            return answer


class Rights:
    """What AWS does not let us do, as far as we have found out lately. After a while it is tried again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._denied: dict[str, float] = {}
        self._told: set[str] = set()

    @property
    def denied(self) -> frozenset[str]:
        now = self._clock.monotonic()
        return frozenset(what for what, until in self._denied.items() if now < until)

    def note(self, what: str, refusal: Stall) -> None:
        """AWS has just refused it. That is logged once."""
        if what not in self._told:
            log.warning("AWS does not allow it, so we do without", what=what, error=refusal.message)
            self._told.add(what)
        self._denied[what] = self._clock.monotonic() + DENIAL_REMEMBERED.total_seconds()


class Account:
    """One AWS account, as all tenants see it."""

    def __init__(
        self,
        access: AwsAccess,
        clock: Clock,
        metrics: CloudMetrics,
        *,
        options: MirrorOptions = DEFAULT_OPTIONS,
    ) -> None:
        """`options.fast` is how often we look while something is in progress, `options.slow` how often at all."""
        self.rights = Rights(clock)
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
        # Records are written and done: nothing is lost where a listing is not believed for as long as it may lag.
        patient = replace(options, settling=GRACE)
        self.zones = Zones(access, clock, metrics, comment=ZONE_COMMENT, options=patient)
        self.desk = DnsDesk(self.zones, clock)
        self.corrections = Corrections(clock)
        self.failing_deletions = Failures(clock)
        self.distributions = Distributions(self.cloudfront, clock)
        self.certificate_names = Remembered(self._names, clock)

    async def run(self) -> None:
        """Keep everything fresh until cancelled."""
        async with asyncio.TaskGroup() as group:
            for work in (self.tenants, self.groups, self.certificates, self.zones):
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

    def listed_certificate(self, arn: str) -> CertificateSummary | None:
        """A managed certificate, where the listing is known to have it."""
        return self.certificates.get(arn) if arn and self.certificates.synced else None

    async def ask_certificate(self, tenant: TenantSummary) -> ManagedCertificate | None:
        """What CloudFront made of a tenant's request. The next listing is to have it, and to tell the rest."""
        found = await self.cloudfront.find_managed_certificate(tenant.id)
        if found is not None and found.arn:
            names = tuple(normalise_name(one.domain) for one in tenant.domains)
            status = found.status.upper().replace("-", "_")
            expected = CertificateSummary(found.arn, "", names, False, status, "CLOUDFRONT", None)
            self.certificates.put(found.arn, expected)
        return found

    async def _managed_certificates(self) -> AsyncIterator[dict[str, CertificateSummary]]:
        try:
            async for page in self.acm.certificates(managed_by="CLOUDFRONT"):
                yield page
        except Stall as refusal:
            if refusal.error_type == "access_denied":
                self.rights.note("listing certificates", refusal)
            raise

    async def _names(self, arn: str) -> tuple[str, ...] | None:
        """The names of a certificate: none where it is not there or was never issued, None where we may not know."""
        try:
            certificate = await self.acm.find(arn)
        except Stall as refusal:
            self.rights.note("describing certificates", refusal)
            return None
        was_issued = certificate is not None and certificate.status not in NEVER_ISSUED
        return certificate.names if certificate is not None and was_issued else ()
