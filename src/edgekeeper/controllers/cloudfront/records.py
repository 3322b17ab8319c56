"""The DNS records of a tenant: each domain of the spec points to the endpoint of the tenant's connection group. Pure.

`cloud.aws.dns.planning` plans which of them have to be written or removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from edgekeeper.api.cloudfront import DistributionTenantSpec, DistributionTenantStatus, InventoryRecord
from edgekeeper.cloud.aws.dns.entries import credible_entries, planned_entry
from edgekeeper.cloud.aws.dns.planning import RecordPlan, unmanaged_records
from edgekeeper.cloud.aws.dns.records import Record, normalise_name, records_for
from edgekeeper.cloud.aws.tenants import TenantSummary
from edgekeeper.controllers.cloudfront.desired import domains_of
from edgekeeper.controllers.cloudfront.snapshot import Snapshot

ENDPOINTS: Final = "cloudfront.net"
"""The domain that contains the endpoints of all connection groups."""


def record_plan(snapshot: Snapshot) -> RecordPlan:
    """The wanted and the existing records.

    As long as a domain of the spec is disputed, only records for domains that the tenant already serves are wanted.
    """
    spec, records = snapshot.spec, snapshot.records
    if records.zone is None or not snapshot.endpoint:
        return RecordPlan(records, ())
    wanted = wanted_records(spec, apex=records.zone.apex, target=snapshot.endpoint)
    is_limited, served = snapshot.is_disputed, snapshot.served
    return RecordPlan(records, tuple(record for record in wanted if not is_limited or record.name in served))


def wanted_records(spec: DistributionTenantSpec, *, apex: str, target: str) -> tuple[InventoryRecord, ...]:
    """The records that point the spec's domains to a target. `apex` is the name of the zone, empty if unknown."""
    dns = spec.dns
    if dns is None:
        return ()
    return tuple(
        planned_entry(record, dns.hosted_zone_id, dns.assume_role_arn)
        for item in spec.domains
        for record in records_for(item.domain, zone=apex, target=target, ttl=dns.ttl)
    )


def unwanted(snapshot: Snapshot) -> tuple[InventoryRecord, ...]:
    """Inventory entries for domains that are not in the spec. Does not require the spec to be valid."""
    if snapshot.spec.dns is None:
        return snapshot.records.removable
    domains = domains_of(snapshot.spec)
    return tuple(entry for entry in snapshot.records.removable if entry.name not in domains)


def unserved(snapshot: Snapshot, own: TenantSummary | None) -> tuple[InventoryRecord, ...]:
    """Inventory entries for domains that our own tenant does not serve, or that are not in the spec."""
    served = snapshot.served if own else frozenset()
    surplus = unwanted(snapshot)
    return tuple(
        entry for entry in snapshot.records.removable if entry.name not in served or entry in surplus
    )


def unmanaged(snapshot: Snapshot) -> tuple[Record, ...]:
    """Existing records that equal what we would write for the spec's domains and are in no object's inventory."""
    dns, domains = snapshot.spec.dns, domains_of(snapshot.spec)
    if dns is None:
        return ()
    return unmanaged_records(snapshot.records, dns.hosted_zone_id, dns.ttl, domains, ENDPOINTS)


def inventory_of(
    spec: DistributionTenantSpec, status: DistributionTenantStatus
) -> tuple[InventoryRecord, ...]:
    """The credible inventory entries of a status, each once."""
    return credible_entries(_entries(spec, status), ENDPOINTS)


def _entries(spec: DistributionTenantSpec, status: DistributionTenantStatus) -> Iterable[InventoryRecord]:
    """The inventory of the status. A status of cloudfront-tenant-operator has none, and implies a CNAME for each domain.

    If the tenant exists, records of its domains were written. If it was never created they may have been, so the entries
    are Planned: such records are removed with the object, but not overwritten.
    """
    if status.inventory or not status.dns_target or spec.dns is None or status.tags_fingerprint:
        return status.inventory
    dns, target = spec.dns, normalise_name(status.dns_target)
    zone, role = dns.hosted_zone_id, dns.assume_role_arn
    domains = status.domain_results if status.id else spec.domains
    return [
        InventoryRecord(zone, domain, "CNAME", target, dns.ttl, role, "Written" if status.id else "Planned")
        for domain in sorted({normalise_name(item.domain) for item in domains})
    ]
