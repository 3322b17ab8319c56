"""Which hosted zone of the account a domain name belongs to: the public one with the longest name that contains it."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.dns.records import is_within
from edgekeeper.cloud.aws.error_table import DNS_NO_ZONE
from edgekeeper.cloud.aws.route53 import HostedZone, Route53
from edgekeeper.cloud.cache import LookupCache
from edgekeeper.cloud.error_table import error_for
from edgekeeper.core.clock import Clock

LIFETIME: Final = timedelta(minutes=1)
"""How long it takes at most until a new zone is found."""


class ZoneDirectory:
    """The hosted zones of the operator's own account, listed once for all objects that ask within a minute."""

    def __init__(self, access: AwsAccess, clock: Clock) -> None:
        self._route53 = Route53(access.caller())
        self._zones: LookupCache[str, tuple[HostedZone, ...]] = LookupCache(
            self._list, clock, lambda _: LIFETIME
        )

    async def zone_of(self, domain: str) -> str:
        """The id of the zone. Raise Stall if there is none, or several of the same name."""
        name = domain.removeprefix("*.")
        fitting = [
            zone for zone in await self._zones.get("") if not zone.private and is_within(name, zone.name)
        ]
        longest = max((len(zone.name) for zone in fitting), default=0)
        found = sorted(zone.id for zone in fitting if len(zone.name) == longest)
        if not found:
            raise error_for(
                DNS_NO_ZONE,
                f"no public hosted zone of this account contains {domain}: create one, or name one of another account",
            )
        if len(found) > 1:
            raise error_for(
                DNS_NO_ZONE, f"several hosted zones contain {domain}: choose one of {', '.join(found)}"
            )
        return found[0]

    async def _list(self, _: str) -> tuple[HostedZone, ...]:
        return tuple([zone async for page in self._route53.zones() for zone in page.values()])
