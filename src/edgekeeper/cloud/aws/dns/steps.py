"""What can be done for the records of an object, in the order in which it is usually done.

RememberRecords     the records that will be written go into the inventory, so that they cannot be forgotten
AdoptRecords        records of somebody else that say the same become ours, where the object may adopt
WriteRecords        they are handed to the writer of the zone
AwaitRecords        the writer has not answered yet
AwaitPropagation    not all name servers have the change yet
ForgetRecords       entries that were planned, where the zone has another record of ours
RemoveRecords       records that nothing needs any more
"""

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
class RememberRecords(Step):
    effect: ClassVar = Effect.RECORD
    needs: ClassVar = Sight.READ
    at_once: ClassVar = True
    answered: ClassVar = False
    pushes: ClassVar = True
    records: tuple[InventoryRecord, ...]

    def __str__(self) -> str:
        return f"remember {names_of(self.records)}"

    def event(self) -> Event:
        return _writing_event(self.records)


@dataclass(frozen=True, slots=True)
class AdoptRecords(Step):
    effect: ClassVar = Effect.RECORD
    needs: ClassVar = Sight.READ
    at_once: ClassVar = True
    answered: ClassVar = False
    records: tuple[InventoryRecord, ...]

    def __str__(self) -> str:
        return f"take over {names_of(self.records)}"

    def event(self) -> Event:
        return Event("Normal", "RecordsAdopted", f"took over {names_of(self.records)}: {self.reason}")


@dataclass(frozen=True, slots=True)
class WriteRecords(Step):
    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.READ
    answered: ClassVar = False
    pushes: ClassVar = True
    records: tuple[InventoryRecord, ...]
    present: tuple[Record, ...] = ()
    """What stands at their places, as far as the zone may be listed."""

    def __str__(self) -> str:
        return f"write {names_of(self.records)}"

    def changes(self) -> tuple[Difference, ...]:
        return compare(_tree(map(record_of, self.records)), _tree(self.present))

    def event(self) -> Event:
        return _writing_event(self.records)


@dataclass(frozen=True, slots=True)
class ForgetRecords(Step):
    effect: ClassVar = Effect.RECORD
    needs: ClassVar = Sight.READ
    at_once: ClassVar = True
    answered: ClassVar = False
    records: tuple[InventoryRecord, ...]

    def __str__(self) -> str:
        return f"forget what was planned for {names_of(self.records)}"


@dataclass(frozen=True, slots=True)
class RemoveRecords(Step):
    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.READ
    answered: ClassVar = False
    pushes: ClassVar = True
    records: tuple[InventoryRecord, ...]

    def __str__(self) -> str:
        return f"remove {names_of(self.records)}"

    def changes(self) -> tuple[Difference, ...]:
        return compare(_tree(()), _tree(map(record_of, self.records)))


@dataclass(frozen=True, slots=True)
class AwaitRecords(Step):
    effect: ClassVar = Effect.WAIT
    answered: ClassVar = False
    pushes: ClassVar = True

    def __str__(self) -> str:
        return "wait for the zone to be written"


@dataclass(frozen=True, slots=True)
class AwaitPropagation(Step):
    effect: ClassVar = Effect.WAIT
    change_id: str

    def __str__(self) -> str:
        return f"wait for {f'change {self.change_id}' if self.change_id else 'the change'} to be known everywhere"


def _writing_event(records: tuple[InventoryRecord, ...]) -> Event:
    number = f"{len(records)} record{'s' if len(records) > 1 else ''}"
    return Event("Normal", "DNSRecordCreating", f"writing {number} leading to {records[0].target}")


def _tree(records: Iterable[Record]) -> JsonObject:
    return {"dns": {f"{record.type} {record.name}": _fields(record) for record in records}}


def _fields(record: Record) -> JsonObject:
    target = record.alias.name if record.alias else ", ".join(record.target)
    return {"target": target, "ttl": record.ttl}
