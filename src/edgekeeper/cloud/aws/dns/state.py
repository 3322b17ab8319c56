"""Everything that a decision about the records of one object depends on, observed in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from edgekeeper.api.shared import DnsChange, InventoryRecord
from edgekeeper.cloud.aws.dns.entries import Place, inventory_fields, record_of
from edgekeeper.cloud.aws.dns.records import Record, RecordKey
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record whose write or removal was refused, and is not retried yet."""

    entry: InventoryRecord
    removing: bool
    error: Stall


@dataclass(frozen=True, slots=True)
class DnsWork:
    """The results of records that were submitted to the writers of their zones."""

    pending: bool = False
    """Is the result of some record still missing?"""
    changes: tuple[DnsChange, ...] = ()
    """The change batches that wrote or removed them."""
    error: PassError | None = None
    """An error that is not about a single record, and may be temporary."""
    refused: tuple[Refusal, ...] = ()
    """Refusals that need a person; not retried as long as they are listed here."""
    removed: int = 0
    """How many records were removed that are still in the inventory of the status."""
    left: tuple[str, ...] = ()
    """Messages for records that were not removed because somebody has changed them."""


@dataclass(frozen=True, slots=True)
class ZoneView:
    """The records of a zone, as far as they concern one object."""

    apex: str
    """The zone's own name; empty if it is not known."""
    records: Mapping[RecordKey, Record] | None
    """None if the zone cannot be listed."""
    refusal: Stall | None = None
    """The error if the role for the zone cannot be assumed, so that nothing can be done in it."""
    zone_field: str = "spec.dns.hostedZoneId"
    role_field: str = "spec.dns.assumeRoleArn"

    def at(self, entry: InventoryRecord) -> Record | None:
        """The existing record in the place of an entry; None also if the zone cannot be listed."""
        return (self.records or {}).get(RecordKey(entry.name, entry.type))


@dataclass(frozen=True, slots=True)
class RecordState:
    """The records of one object: its inventory, the existing records of its zone, and pending changes."""

    inventory: tuple[InventoryRecord, ...] = ()
    """The inventory of the status, with the results of the zone writers applied."""
    withheld: frozenset[InventoryRecord] = frozenset()
    """Entries whose names the tenant of another object serves at present: kept, and neither removed nor replaced."""
    recorded: Mapping[Place, str] = field(default_factory=dict)
    """Places that the spec needs and that are in the inventory of another object, with the name of that object."""
    work: DnsWork = field(default_factory=DnsWork)
    changes: tuple[DnsChange, ...] = ()
    """Changes of our records that may not have reached all name servers."""
    zone: ZoneView | None = None
    """The zone that the spec names."""
    zone_problem: Stall | None = None
    """The error that keeps that zone from being read until a person acts."""

    @property
    def removable(self) -> tuple[InventoryRecord, ...]:
        """The entries of the inventory whose records may be removed or replaced."""
        return tuple(entry for entry in self.inventory if entry not in self.withheld)

    @property
    def in_sync(self) -> bool:
        """Have all changes of our records reached all name servers?"""
        return not self.changes

    @property
    def change_id(self) -> str:
        """The id of the last change that may not have reached all name servers; empty if it is not known."""
        return self.changes[-1].id if self.changes else ""

    @property
    def status_fields(self) -> JsonObject:
        """The inventory and the changes as fields of a status."""
        changes = msgspec.to_builtins(list(self.changes))
        return {**inventory_fields(self.inventory), "dnsChangeId": self.change_id, "dnsChanges": changes}

    def replaceable(self, served: Iterable[str]) -> tuple[InventoryRecord, ...]:
        """The entries whose records may be replaced, given the names that our own external resource serves."""
        names = frozenset(served)
        return tuple(
            entry
            for entry in self.removable
            if (entry.state == "Written" and (entry.name in names or self._is_as_written(entry)))
            or self._is_exactly(entry)
        )

    def _is_as_written(self, entry: InventoryRecord) -> bool:
        """Does the record of an entry still point to its target, or not exist?"""
        if self.zone is None or self.zone.records is None:
            return False
        record = self.zone.at(entry)
        return record is None or record.has_same_target(record_of(entry))

    def _is_exactly(self, entry: InventoryRecord) -> bool:
        """Does the zone have exactly the record of the entry?"""
        record = self.zone.at(entry) if self.zone else None
        return record is not None and record.has_same_content(record_of(entry))
