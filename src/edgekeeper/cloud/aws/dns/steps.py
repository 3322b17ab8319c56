"""The steps for the DNS records of an object, as values, in the order in which they are usually performed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from edgekeeper.api.shared import InventoryRecord
from edgekeeper.cloud.aws.dns.entries import names_of, record_of
from edgekeeper.cloud.aws.dns.records import Record
from edgekeeper.core.delta import Difference, compare
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Event
from edgekeeper.core.steps import Effect, Sight, Step


@dataclass(frozen=True, slots=True)
class _InventoryStep(Step):
    """A step that changes the inventory in the status only."""

    effect: ClassVar = Effect.RECORD
    needs: ClassVar = Sight.READ
    at_once: ClassVar = True
    answered: ClassVar = False
    records: tuple[InventoryRecord, ...]


@dataclass(frozen=True, slots=True)
class _ZoneStep(Step):
    """A step that is submitted to the writer of the zone. The result is collected by a later pass."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.READ
    answered: ClassVar = False
    pushes: ClassVar = True
    records: tuple[InventoryRecord, ...]


@dataclass(frozen=True, slots=True)
class RememberRecords(_InventoryStep):
    """Add records to the inventory before they are written, so that a crash cannot leave untracked records."""

    pushes: ClassVar = True

    def __str__(self) -> str:
        return f"add {names_of(self.records)} to the inventory"

    def event(self) -> Event:
        return _writing_event(self.records)


@dataclass(frozen=True, slots=True)
class AdoptRecords(_InventoryStep):
    """Add existing records of others to the inventory: they equal the wanted ones, and the object may adopt."""

    def __str__(self) -> str:
        return f"adopt {names_of(self.records)}"

    def event(self) -> Event:
        return Event("Normal", "RecordsAdopted", f"adopted {names_of(self.records)}: {self.reason}")


@dataclass(frozen=True, slots=True)
class WriteRecords(_ZoneStep):
    """Submit records to the writer of the zone. The result is collected by a later pass."""

    present: tuple[Record, ...] = ()
    """The records that exist in their places, if the zone can be listed."""

    def __str__(self) -> str:
        return f"write {names_of(self.records)}"

    def changes(self) -> tuple[Difference, ...]:
        return compare(_tree(map(record_of, self.records)), _tree(self.present))

    def event(self) -> Event:
        return _writing_event(self.records)


@dataclass(frozen=True, slots=True)
class ForgetRecords(_InventoryStep):
    """Drop outdated inventory entries of places where the zone has the wanted record. Changes no record."""

    def __str__(self) -> str:
        return f"drop outdated inventory entries for {names_of(self.records)}"


@dataclass(frozen=True, slots=True)
class RemoveRecords(_ZoneStep):
    """Submit the removal of records that are not needed any more to the writer of the zone."""

    def __str__(self) -> str:
        return f"remove {names_of(self.records)}"

    def changes(self) -> tuple[Difference, ...]:
        return compare(_tree(()), _tree(map(record_of, self.records)))


@dataclass(frozen=True, slots=True)
class AwaitRecords(Step):
    """Wait for the writer of the zone to report the result of submitted records."""

    effect: ClassVar = Effect.WAIT
    answered: ClassVar = False
    pushes: ClassVar = True

    def __str__(self) -> str:
        return "wait for Route 53 to accept the records"


@dataclass(frozen=True, slots=True)
class AwaitPropagation(Step):
    """Wait until all name servers of Route 53 have a change (INSYNC)."""

    effect: ClassVar = Effect.WAIT
    change_id: str

    def __str__(self) -> str:
        return f"wait for {f'change {self.change_id}' if self.change_id else 'the change'} to propagate"


def _writing_event(records: tuple[InventoryRecord, ...]) -> Event:
    number = f"{len(records)} record{'s' if len(records) > 1 else ''}"
    return Event("Normal", "DNSRecordCreating", f"writing {number} pointing to {records[0].target}")


def _tree(records: Iterable[Record]) -> JsonObject:
    return {"dns": {f"{record.type} {record.name}": _fields(record) for record in records}}


def _fields(record: Record) -> JsonObject:
    target = record.alias.name if record.alias else ", ".join(record.target)
    return {"target": target, "ttl": record.ttl}
