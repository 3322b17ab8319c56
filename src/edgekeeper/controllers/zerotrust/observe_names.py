"""Observe the rules of tunnels and the records of zones, from their mirrors."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from edgekeeper.cloud.cloudflare.models import DnsRecord
from edgekeeper.cloud.cloudflare.record_plan import plan_change
from edgekeeper.cloud.cloudflare.tunnel_writer import Rules
from edgekeeper.cloud.mirror import Mirror
from edgekeeper.controllers.zerotrust.inventory import known_records
from edgekeeper.controllers.zerotrust.resolve import listed
from edgekeeper.controllers.zerotrust.snapshot import (
    Snapshot,
)
from edgekeeper.controllers.zerotrust.wanted_records import record_change, wanted_records
from edgekeeper.core.errors import Stall


@dataclass(frozen=True)
class NameObserver:
    """Observes tunnel rules and DNS records."""

    async def with_rules(self, snapshot: Snapshot, *, live: bool) -> Snapshot:
        subject, account = snapshot.subject, snapshot.account
        places = {
            (item.parent or subject.spec.tunnel_id, item.name) for item in snapshot.items("TunnelHostname")
        }
        recorded = set(places)
        if subject.wants_tunnel:
            places |= {(subject.spec.tunnel_id, hostname) for hostname in subject.hostnames}
        if not places:
            return snapshot
        mirrors = {tunnel: account.tunnel(tunnel).mirror for tunnel, _ in sorted(places)}
        await listed(*mirrors.values())
        rules = _rules(mirrors, places)
        if live and any(rules[place] and place not in recorded for place in places):
            await asyncio.gather(*(mirror.refresh() for mirror in mirrors.values()))
            rules = _rules(mirrors, places)
        return replace(snapshot, rules=rules)

    async def with_records(self, snapshot: Snapshot, *, live: bool) -> Snapshot:
        places = {(item.parent, item.name) for item in snapshot.items("DnsRecord") if item.parent}
        places |= {(zone, hostname) for hostname, zone in snapshot.zones.items()}
        if not places:
            return snapshot
        writers = {zone: snapshot.account.zone(zone) for zone, _ in sorted(places)}
        await listed(*(writer.mirror for writer in writers.values()))
        for writer in writers.values():
            if not writer.mirror.synced and isinstance(writer.mirror.problem, Stall):
                raise writer.mirror.problem
        records = {(zone, name): writers[zone].records_of(name) for zone, name in places}
        if live and self._is_in_the_way(snapshot, records):
            await asyncio.gather(*(writer.mirror.refresh() for writer in writers.values()))
            records = {(zone, name): writers[zone].records_of(name) for zone, name in places}
        return replace(snapshot, records=records)

    def _is_in_the_way(
        self, snapshot: Snapshot, records: Mapping[tuple[str, str], tuple[DnsRecord, ...]]
    ) -> bool:
        """Do records of others seem to be where ours shall be?"""
        wanted = wanted_records(snapshot.subject.spec)
        for hostname, zone in snapshot.zones.items():
            change = record_change(snapshot, hostname, wanted, known_records(snapshot, zone, hostname))
            try:
                plan_change(change, records[zone, hostname])
            except Stall:
                return True
        return False


def _rules(
    mirrors: Mapping[str, Mirror[str, Rules]], places: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], Rules]:
    for mirror in mirrors.values():
        if not mirror.synced and isinstance(mirror.problem, Stall):
            raise mirror.problem
    return {(tunnel, hostname): mirrors[tunnel].get(hostname) or () for tunnel, hostname in places}
