"""Everything that a decision about the records of one object depends on, seen at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from edgekeeper.api.shared import DnsChange, InventoryRecord
from edgekeeper.cloud.aws.dns.entries import Place, record_of
from edgekeeper.cloud.aws.dns.records import Record, RecordKey
from edgekeeper.core.errors import PassError, Stall


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that may not be written or removed, for now."""

    entry: InventoryRecord
    removing: bool
    error: Stall


@dataclass(frozen=True, slots=True)
class DnsWork:
    """Records that were handed to the writers of their zones."""

    pending: bool = False
    """Not all of them have an answer."""
    changes: tuple[DnsChange, ...] = ()
    """The batches that wrote them."""
    error: PassError | None = None
    """What one of them met that will pass by itself."""
    refused: tuple[Refusal, ...] = ()
    """What a person has to see to; not tried again while it is listed here."""
    removed: int = 0
    """How many are gone that the status still has."""
    left: tuple[str, ...] = ()
    """Records that were to be removed, but somebody has changed them since they were written."""


@dataclass(frozen=True, slots=True)
class ZoneView:
    """The records of a zone, as far as they concern one object."""

    apex: str
    """The zone's own name; empty where it is not known."""
    records: Mapping[RecordKey, Record] | None
    """None where the zone may not be listed."""
    refusal: Stall | None = None
    """Why nothing at all can be done in the zone: AWS does not let us assume the role for it."""
    zone_field: str = "spec.dns.hostedZoneId"
    role_field: str = "spec.dns.assumeRoleArn"

    def at(self, entry: InventoryRecord) -> Record | None:
        """What stands at the place of an entry, as far as the zone may be listed."""
        return (self.records or {}).get(RecordKey(entry.name, entry.type))


@dataclass(frozen=True, slots=True)
class RecordState:
    """The records of one object: what was written for it, what stands in its zone, and what is on its way."""

    inventory: tuple[InventoryRecord, ...] = ()
    """The status's, brought up to date with what writers have answered."""
    withheld: frozenset[InventoryRecord] = frozenset()
    """Entries whose names another's external object serves at present: kept, and neither removed nor replaced."""
    recorded: Mapping[Place, str] = field(default_factory=dict)
    """Places that the spec asks for and the inventory of another object has, and of which."""
    work: DnsWork = field(default_factory=DnsWork)
    changes: tuple[DnsChange, ...] = ()
    """Changes of our records that may not have reached all name servers."""
    zone: ZoneView | None = None
    """The zone that the spec names."""
    zone_problem: Stall | None = None
    """Why that zone cannot be read: a person must act."""

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
        """The last change that may not have reached all name servers; empty where its id is not known."""
        return self.changes[-1].id if self.changes else ""

    def replaceable(self, served: Iterable[str]) -> tuple[InventoryRecord, ...]:
        """The entries at whose places another record may be written, if our own external object serves these names."""
        names = frozenset(served)
        return tuple(
            entry
            for entry in self.removable
            if (entry.state == "Written" and (entry.name in names or self._is_as_written(entry)))
            or self._is_exactly(entry)
        )

    def _is_as_written(self, entry: InventoryRecord) -> bool:
        """Is the record of an entry still there, or gone?"""
        if self.zone is None or self.zone.records is None:
            return False
        record = self.zone.at(entry)
        return record is None or record.leads_where(record_of(entry))

    def _is_exactly(self, entry: InventoryRecord) -> bool:
        """Does the zone have exactly what the entry says?"""
        record = self.zone.at(entry) if self.zone else None
        return record is not None and record.says_what(record_of(entry))
