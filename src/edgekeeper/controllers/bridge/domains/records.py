"""The DNS records of an APIGatewayDomain: those that lead to its endpoint, and those that validate its certificate. Pure.

`cloud.aws.dns.planning` plans which of them have to be written or removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from edgekeeper.api.bridge import APIGatewayDomainSpec, APIGatewayDomainStatus
from edgekeeper.api.shared import InventoryRecord
from edgekeeper.cloud.aws.dns.entries import is_credible, place_of, planned_entry
from edgekeeper.cloud.aws.dns.planning import RecordPlan, unmanaged_records
from edgekeeper.cloud.aws.dns.records import Record, normalise_name, records_for
from edgekeeper.controllers.bridge.domains.snapshot import Snapshot

ENDPOINTS: Final = "amazonaws.com"
"""The domain that contains the endpoints of API Gateway."""
VALIDATIONS: Final = "acm-validations.aws"
"""The domain that contains the targets of validation records."""


def record_plan(snapshot: Snapshot, *, validation_only: bool = False) -> RecordPlan:
    """The wanted and the existing records."""
    wanted = [*_validation_records(snapshot)]
    if not validation_only:
        wanted += _domain_records(snapshot)
    return RecordPlan(snapshot.records, tuple(wanted))


def inventory_of(spec: APIGatewayDomainSpec, status: APIGatewayDomainStatus) -> tuple[InventoryRecord, ...]:
    """The inventory entries of a status that we could have written, each once.

    A status of ack-bridge has none, and no phase; its CNAME is the one that its other fields tell.
    """
    entries = list(status.inventory)
    target, zone = status.domain_name_endpoint, status.hosted_zone_id
    if not status.phase and not entries and target and zone and status.dns_record_name:
        name = normalise_name(status.dns_record_name)
        entries.append(InventoryRecord(zone, name, "CNAME", normalise_name(target), spec.dns_config.ttl))
    return tuple(
        entry
        for entry in dict.fromkeys(entries)
        if is_credible(entry, ENDPOINTS) or is_credible(entry, VALIDATIONS)
    )


def names_of(snapshot: Snapshot) -> list[str]:
    """The names of all records that the object may need."""
    certificate = snapshot.requested
    validation = certificate.validation_records if certificate else ()
    return [snapshot.name, *(record.name for record in validation)]


def unmanaged(snapshot: Snapshot) -> tuple[Record, ...]:
    """Existing records that equal what we would write and are in no object's inventory."""
    dns = snapshot.spec.dns_config
    if not dns.enabled or not snapshot.zone_id:
        return ()
    return unmanaged_records(
        snapshot.records, snapshot.zone_id, dns.ttl, [snapshot.name], normalise_name(ENDPOINTS)
    )


def is_apex(snapshot: Snapshot) -> bool:
    """Is the domain name that of its zone, where DNS allows no CNAME?"""
    zone = snapshot.records.zone
    return zone is not None and bool(zone.apex) and snapshot.name == zone.apex


def _domain_records(snapshot: Snapshot) -> Iterator[InventoryRecord]:
    """The records that lead to the endpoint."""
    dns, domain = snapshot.spec.dns_config, snapshot.domain
    if not dns.enabled or not snapshot.zone_id or domain is None or not domain.endpoint:
        return
    is_alias = dns.record_type == "ALIAS" or (dns.record_type is None and is_apex(snapshot))
    records = records_for(
        snapshot.name,
        zone=snapshot.name if is_alias else "",
        target=domain.endpoint,
        ttl=dns.ttl,
        alias_zone=domain.hosted_zone_id,
    )
    yield from _entries(snapshot, records)


def _validation_records(snapshot: Snapshot) -> Iterator[InventoryRecord]:
    """The records that ACM waits for, and looks at again when it renews the certificate.

    The certificates of an account share the record of a domain, so that one in the inventory of another object is enough.
    """
    spec, certificate = snapshot.spec, snapshot.requested
    if spec.certificate_strategy != "create" or not spec.dns_config.enabled or certificate is None:
        return
    own = {place_of(entry) for entry in snapshot.records.inventory}
    for entry in _entries(snapshot, certificate.validation_records):
        if place_of(entry) in own or place_of(entry) not in snapshot.records.recorded:
            yield entry


def _entries(snapshot: Snapshot, records: Iterable[Record]) -> Iterator[InventoryRecord]:
    return (
        (planned_entry(record, snapshot.zone_id, "") for record in records) if snapshot.zone_id else iter(())
    )
