"""Inventory entries: the records of an object as its status lists them.

Route 53 records cannot be tagged, so the inventory in the status is the only sign of ownership. It is not proof: a status
can be lost, copied, or written by others. Therefore

    an entry counts            if we could have written it: a CNAME or an alias that points to an endpoint of the kind
    a record is removed        if it equals the entry, and the tenant of no other object serves the name
    a record is replaced       if it equals the entry, or our own external resource serves the name. If the entry is in state
                               Planned, because no result says whether it was written, only if the record equals it exactly
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from edgekeeper.api.shared import InventoryRecord
from edgekeeper.cloud.aws.dns.records import (
    CLOUDFRONT_ALIAS_ZONE,
    AliasTarget,
    Record,
    is_within,
    normalise_name,
)
from edgekeeper.core.domain_names import is_domain
from edgekeeper.core.json import JsonObject

Place: TypeAlias = tuple[str, str, str]
"""Zone, name and type."""

TYPES: Final = ("CNAME", "A", "AAAA")
"""The record types that are written."""
_ALIAS_TYPES: Final = frozenset({"A", "AAAA"})


def place_of(entry: InventoryRecord) -> Place:
    """The zone, name and type of a record. A place has one record, but two inventory entries while the record changes."""
    return bare_zone(entry.zone), normalise_name(entry.name), entry.type


def places_for(zone: str, names: Iterable[str]) -> Iterator[Place]:
    """The place of every record that names in a zone may need."""
    for name in names:
        for type_ in TYPES:
            yield bare_zone(zone), normalise_name(name), type_


def bare_zone(zone: str) -> str:
    """`Z1` of `/hostedzone/Z1`, which means the same."""
    return zone.removeprefix("/hostedzone/")


def record_of(entry: InventoryRecord) -> Record:
    """The record of an entry. An entry without a TTL is an alias."""
    if entry.ttl is None:
        zone = entry.alias_zone or CLOUDFRONT_ALIAS_ZONE
        return Record(entry.name, entry.type, alias=AliasTarget(zone, entry.target))
    return Record(entry.name, entry.type, entry.ttl, (entry.target,))


def planned_entry(record: Record, zone: str, role: str) -> InventoryRecord:
    """The inventory entry, in state Planned, of a record that is about to be written."""
    target = record.alias.name if record.alias else normalise_name(record.values[0])
    alias_zone = record.alias.zone_id if record.alias else CLOUDFRONT_ALIAS_ZONE
    return InventoryRecord(
        bare_zone(zone),
        record.name,
        record.type,
        target,
        record.ttl,
        role,
        "Planned",
        alias_zone if alias_zone != CLOUDFRONT_ALIAS_ZONE else "",
    )


def content_of(entry: InventoryRecord) -> tuple[str | int | None, ...]:
    """All fields of an entry except its state; the role comes last."""
    return (*place_of(entry), entry.target, entry.ttl, entry.role)


def is_credible(entry: InventoryRecord, endpoints: str) -> bool:
    """Could we have written this record? `endpoints` is the domain that contains all targets of our records.

    This keeps a forged status from making us remove other records of the zone, such as its mail records.
    """
    has_type = entry.type == "CNAME" if entry.ttl is not None else entry.type in _ALIAS_TYPES
    is_normal = entry.name == normalise_name(entry.name)
    return has_type and is_normal and is_domain(entry.name) and is_within(entry.target, endpoints)


def credible_entries(entries: Iterable[InventoryRecord], endpoints: str) -> tuple[InventoryRecord, ...]:
    """The credible entries of an inventory, each once."""
    return tuple(entry for entry in dict.fromkeys(entries) if is_credible(entry, endpoints))


def inventory_fields(inventory: Sequence[InventoryRecord]) -> JsonObject:
    """The inventory as fields of a status.

    `dnsTarget` is set together with it: a target without an inventory means a status of an operator that we replace.
    """
    target = next((entry.target for entry in inventory), "")
    return {"inventory": msgspec.to_builtins(list(inventory)), "dnsTarget": target}


def names_of(records: Iterable[InventoryRecord | Record]) -> str:
    """Records as text: `CNAME shop.example.com, A example.com`."""
    return ", ".join(f"{record.type} {record.name}" for record in records)
