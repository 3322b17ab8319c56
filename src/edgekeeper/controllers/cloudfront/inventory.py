"""The inventory of an object: which records may exist because of it, and how far that is believed.

Route 53 records bear no mark, so what we wrote is remembered in the status. That is a memory, and no proof: a status can
be lost, copied, and written by whoever may. Therefore

    an entry counts                 if we could have written it: a CNAME or an alias that leads to CloudFront
    what stands there is removed    if it is what the entry says, and serves nobody else
    what stands there is replaced   if it is what the entry says, or if our own tenant serves the name; where the entry is
                                    only planned, because nobody has told whether it was written, only if it says exactly that

Whom a name serves is known from CloudFront, and where no tenant has it, from the claims of the cluster's objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from edgekeeper.api.cloudfront import DistributionTenantSpec, DistributionTenantStatus, InventoryRecord
from edgekeeper.cloud.aws.records import RecordKey, is_within, normalise_name
from edgekeeper.controllers.cloudfront.desired import ENDPOINTS, record_of
from edgekeeper.controllers.cloudfront.domain_names import is_domain
from edgekeeper.controllers.cloudfront.snapshot import Snapshot

_ALIASES: Final = frozenset({"A", "AAAA"})


def inventory_of(
    spec: DistributionTenantSpec, status: DistributionTenantStatus
) -> tuple[InventoryRecord, ...]:
    """The entries that count, each once."""
    return tuple(filter(is_credible, dict.fromkeys(_remembered(spec, status))))


def is_credible(entry: InventoryRecord) -> bool:
    """Could we have written it? Nobody makes us remove the mail records of a zone by adding them to a status."""
    is_ours = entry.type == "CNAME" if entry.ttl is not None else entry.type in _ALIASES
    is_spelled_so = entry.name == normalise_name(entry.name) and is_domain(entry.name)
    return is_ours and is_spelled_so and is_within(entry.target, ENDPOINTS)


def replaceable(snapshot: Snapshot) -> tuple[InventoryRecord, ...]:
    """The entries at whose places another record may be written."""
    served = {normalise_name(one.domain) for one in snapshot.tenant.domains} if snapshot.tenant else set()
    return tuple(
        entry
        for entry in snapshot.removable
        if (entry.state == "Written" and (entry.name in served or _stands(snapshot, entry)))
        or _was_written(snapshot, entry)
    )


def _was_written(snapshot: Snapshot, entry: InventoryRecord) -> bool:
    """Does the zone have exactly what an entry says that was planned?"""
    known = snapshot.zone.records if snapshot.zone else None
    found = known.get(RecordKey(entry.name, entry.type)) if known else None
    return found is not None and found.says_what(record_of(entry))


def _stands(snapshot: Snapshot, entry: InventoryRecord) -> bool:
    """Is what we are said to have written still there, or gone?"""
    known = snapshot.zone.records if snapshot.zone else None
    if known is None:
        return False
    found = known.get(RecordKey(entry.name, entry.type))
    return found is None or found.leads_where(record_of(entry))


def _remembered(spec: DistributionTenantSpec, status: DistributionTenantStatus) -> Iterable[InventoryRecord]:
    """What the status says. One from before there was an inventory implies it: a CNAME for each domain.

    For the domains that the tenant had then the records were written. For those of a tenant that was never created
    they may have been: such records are removed with the object, but not overwritten.
    """
    if status.inventory or not status.dns_target or spec.dns is None or status.tags_fingerprint:
        return status.inventory
    dns, target = spec.dns, normalise_name(status.dns_target)
    zone, role = dns.hosted_zone_id, dns.assume_role_arn
    named = status.domain_results if status.id else spec.domains
    return [
        InventoryRecord(zone, domain, "CNAME", target, dns.ttl, role, "Written" if status.id else "Planned")
        for domain in sorted({normalise_name(one.domain) for one in named})
    ]
