"""Records as an inventory keeps them.

Route 53 records bear no mark, so the status of an object lists what was written for it. That is a memory and no proof: a
status can be lost, copied, and written by whoever may. Therefore

    an entry counts            if we could have written it: a CNAME or an alias that leads to an endpoint of the kind
    a record is removed        if it is what the entry says, and serves nobody else
    a record is replaced       if it is what the entry says, or if our own external object serves the name; where the entry
                               is only planned, because no answer says whether it was written, only if it says exactly that
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from edgekeeper.api.shared import InventoryRecord
from edgekeeper.cloud.aws.dns.records import (
    CLOUDFRONT_ALIAS_ZONE,
    AliasTarget,
    Record,
    is_within,
    normalise_name,
)
from edgekeeper.core.aws_identifiers import DOMAIN_NAME, LONGEST_DOMAIN, is_form

Place: TypeAlias = tuple[str, str, str]
"""Zone, name and type."""

TYPES: Final = ("CNAME", "A", "AAAA")
"""The record types that are written."""
_ALIAS_TYPES: Final = frozenset({"A", "AAAA"})


def place_of(entry: InventoryRecord) -> Place:
    """Where a record stands. There can be one at each place; an inventory may have two of it while it changes."""
    return bare_zone(entry.zone), normalise_name(entry.name), entry.type


def bare_zone(zone: str) -> str:
    """`Z1` of `/hostedzone/Z1`, which means the same."""
    return zone.removeprefix("/hostedzone/")


def record_of(entry: InventoryRecord) -> Record:
    """A record as it is written: an entry without a time to live is an alias."""
    if entry.ttl is None:
        return Record(entry.name, entry.type, alias=AliasTarget(CLOUDFRONT_ALIAS_ZONE, entry.target))
    return Record(entry.name, entry.type, entry.ttl, (entry.target,))


def planned_entry(record: Record, zone: str, role: str) -> InventoryRecord:
    """A record as the inventory keeps it before it is written."""
    target = record.alias.name if record.alias else record.values[0]
    return InventoryRecord(bare_zone(zone), record.name, record.type, target, record.ttl, role, "Planned")


def content_of(entry: InventoryRecord) -> tuple[str | int | None, ...]:
    """All of an entry but its state; the role comes last."""
    return (*place_of(entry), entry.target, entry.ttl, entry.role)


def is_credible(entry: InventoryRecord, endpoints: str) -> bool:
    """Could we have written it? `endpoints` is the domain below which everything lies that such records lead to.

    Nobody makes us remove the mail records of a zone by adding them to a status.
    """
    has_type = entry.type == "CNAME" if entry.ttl is not None else entry.type in _ALIAS_TYPES
    is_domain = len(entry.name) <= LONGEST_DOMAIN and is_form(DOMAIN_NAME, entry.name)
    is_normal = entry.name == normalise_name(entry.name)
    return has_type and is_normal and is_domain and is_within(entry.target, endpoints)


def names_of(records: Iterable[InventoryRecord | Record]) -> str:
    """Records as people read them: `CNAME shop.example.com, A example.com`."""
    return ", ".join(f"{record.type} {record.name}" for record in records)
