"""The certificates of ACM by region, for kinds that find or request them: listed and described once for all objects.

ACM allows one listing per second, so that a listing is kept for a minute. A certificate that is waiting for its validation
is described again after some seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.acm import Acm, Certificate, CertificateSummary, best_certificate
from edgekeeper.cloud.cache import LookupCache
from edgekeeper.core.clock import Clock
from edgekeeper.core.ownership import Owner, Ownership, is_mine, parse_tags

LISTING_LIFETIME: Final = timedelta(minutes=1)
ISSUED_LIFETIME: Final = timedelta(minutes=4)
PENDING_LIFETIME: Final = timedelta(seconds=5)


class RegionalCertificates:
    """The certificates of one account."""

    def __init__(self, access: AwsAccess, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._listed: LookupCache[str, tuple[CertificateSummary, ...]] = LookupCache(
            self._list, clock, lambda _: LISTING_LIFETIME
        )
        self._described: LookupCache[tuple[str, str], Certificate | None] = LookupCache(
            self._describe, clock, _lifetime
        )

    async def find(self, region: str, arn: str, *, live: bool = False) -> Certificate | None:
        """A certificate; None if it does not exist. If `live`, it is read now."""
        if live:
            self._described.forget((region, arn))
        return await self._described.get((region, arn))

    async def discover(self, region: str, domain: str) -> CertificateSummary | None:
        """The issued certificate that covers the domain and lasts longest; None if there is none."""
        valid = (one for one in await self._listed.get(region) if self.is_valid(one))
        return best_certificate(valid, [domain])

    async def requested(self, region: str, domain: str, owner: Owner) -> str:
        """The certificate for the domain that an owner has requested or inherits, by its tags; empty if there is none.

        Found by a listing, for a request whose response was lost, or whose status was.
        """
        for one in await self._listed.get(region):
            is_fitting = one.names == (domain,) and one.status not in ("FAILED", "VALIDATION_TIMED_OUT")
            owned = (Ownership.MINE, Ownership.INHERITED)
            if is_fitting and await self.whose(region, one.arn, owner) in owned:
                return one.arn
        return ""

    async def whose(self, region: str, arn: str, owner: Owner) -> Ownership:
        """Who owns a certificate, by its tags."""
        return is_mine(parse_tags(await self._acm(region).tags(arn) or {}), owner)

    async def tag(self, region: str, arn: str, tags: Mapping[str, str]) -> None:
        """Set tags of a certificate. Its other tags stay."""
        await self._acm(region).tag(arn, tags)

    async def request(self, region: str, domain: str, owner: Owner, tags: Mapping[str, str]) -> str:
        """Request a certificate that is validated by DNS. Asking again within an hour gives the same one."""
        arn = await self._acm(region).request([domain], owner=owner.uid, tags=tags)
        self._listed.forget(region)
        self._described.forget((region, arn))
        return arn

    async def delete(self, region: str, arn: str) -> None:
        """Delete a certificate that is not in use. One that is gone already is fine."""
        await self._acm(region).delete(arn)
        self._listed.forget(region)
        self._described.forget((region, arn))

    def is_valid(self, certificate: CertificateSummary) -> bool:
        """Is it issued, and has it not expired?"""
        has_expired = certificate.expires is not None and certificate.expires <= self._clock.now()
        return certificate.issued and not has_expired

    def _acm(self, region: str) -> Acm:
        return Acm(self._access.caller(region=region))

    async def _list(self, region: str) -> tuple[CertificateSummary, ...]:
        pages = self._acm(region).certificates()
        return tuple([one async for page in pages for one in page.values()])

    async def _describe(self, key: tuple[str, str]) -> Certificate | None:
        region, arn = key
        return await self._acm(region).find(arn)


def _lifetime(certificate: Certificate | None) -> timedelta:
    return ISSUED_LIFETIME if certificate is not None and certificate.issued else PENDING_LIFETIME
