"""Which records of Route 53 lead somewhere already: read once, for one who only looks, such as `edgekeeper import`.

Zones that objects write to have mirrors and writers of their own (`zones`); nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.dns.records import Record, RecordKey, is_within, normalise_name
from edgekeeper.cloud.aws.route53 import HostedZone, Route53
from edgekeeper.cloud.cache import LookupCache
from edgekeeper.core.clock import Clock

LIFETIME: Final = timedelta(hours=1)
_LEADING: Final = ("CNAME", "A", "AAAA")


@dataclass(frozen=True)
class ZoneContent:
    """A hosted zone and its records."""

    id: str
    apex: str
    records: Mapping[RecordKey, Record] = field(default_factory=dict)

    def leading(self, domain: str) -> tuple[Record, ...]:
        """The records that say where a name leads to, those with routing policies included."""
        name = normalise_name(domain)
        return tuple(
            record
            for key, record in sorted(self.records.items())
            if key.name == name and key.type in _LEADING
        )

    def has(self, wanted: Iterable[Record]) -> bool:
        """Does the zone have exactly these records, and no others at their names?"""
        expected = {record.key: record for record in wanted}
        present = [record for name in {key.name for key in expected} for record in self.leading(name)]
        return len(present) == len(expected) and all(
            record.key in expected and record.has_same_content(expected[record.key]) for record in present
        )


def destination(record: Record) -> str:
    """Where a record leads to: a name, or an address."""
    return record.alias.name if record.alias else next(iter(record.target), "")


class Survey:
    """The public hosted zones of the operator's own account. Zones are listed once, and read when they are asked for."""

    def __init__(self, access: AwsAccess, clock: Clock) -> None:
        self._route53 = Route53(access.caller())
        self._zones: LookupCache[str, tuple[HostedZone, ...]] = LookupCache(
            self._list, clock, lambda _: LIFETIME
        )
        self._contents: LookupCache[str, dict[RecordKey, Record]] = LookupCache(
            self._read, clock, lambda _: LIFETIME
        )

    async def zone_of(self, domain: str) -> ZoneContent | None:
        """The zone with the longest name that contains a domain; None if there is none, or several of that name."""
        name = normalise_name(domain).removeprefix("*.")
        fitting = [
            zone for zone in await self._zones.get("") if not zone.private and is_within(name, zone.name)
        ]
        longest = max((len(zone.name) for zone in fitting), default=0)
        found = [zone for zone in fitting if len(zone.name) == longest]
        if len(found) != 1:
            return None
        return ZoneContent(found[0].id, found[0].name, await self._contents.get(found[0].id))

    async def _list(self, _: str) -> tuple[HostedZone, ...]:
        return tuple([zone async for page in self._route53.zones() for zone in page.values()])

    async def _read(self, zone_id: str) -> dict[RecordKey, Record]:
        return {key: record async for page in self._route53.records(zone_id) for key, record in page.items()}
