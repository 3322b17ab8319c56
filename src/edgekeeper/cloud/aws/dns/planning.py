"""Plan which records of one object have to be written or removed. Pure.

    wanted        the records that the kind asks for, as they would be written
    inventory     our records: an entry is added before the record is written, and dropped after the record is gone
    unmanaged     a record of somebody else that equals a wanted one: left alone, unless the object may adopt it
    recorded      a record in the inventory of another object: nothing is written in its place until that object removes it
    refused       a record that Route 53 refused recently: reported, and not retried yet

If a zone cannot be listed, records that Route 53 has accepted count as existing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from edgekeeper.api.shared import InventoryRecord
from edgekeeper.cloud.aws.dns.entries import bare_zone, content_of, names_of, place_of, record_of
from edgekeeper.cloud.aws.dns.records import Record, is_within
from edgekeeper.cloud.aws.dns.state import RecordState, Refusal
from edgekeeper.cloud.aws.dns.steps import (
    AdoptRecords,
    AwaitPropagation,
    AwaitRecords,
    ForgetRecords,
    RememberRecords,
    RemoveRecords,
    WriteRecords,
)
from edgekeeper.cloud.aws.error_table import DNS_CONFLICT, DNS_ERROR
from edgekeeper.core.delta import ABSENT, Difference
from edgekeeper.core.errors import Stall, reworded
from edgekeeper.core.steps import Step

_REMEDY: Final = (
    "allow the removal of the records, or keep everything in AWS with the annotation "
    "edgekeeper.io/deletion-policy: Orphan"
)
_UNANSWERED: Final = "the result of earlier changes is not known yet"


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """The wanted and the existing records of one object, and the steps that follow from them."""

    state: RecordState
    wanted: tuple[InventoryRecord, ...]

    def writing(self, reason: str) -> Iterator[Step]:
        """Add missing records to the inventory, then write them. Raise Stall if only refused records are left."""
        records, state = self.to_write, self.state
        if not records:
            return
        self._refuse_unreachable()
        self._refuse_outside(records)
        self._refuse_recorded(records)
        contents = {content_of(record) for record in records}
        refused = [
            refusal
            for refusal in state.work.refused
            if not refusal.removing and content_of(refusal.entry) in contents
        ]
        refused_contents = {content_of(refusal.entry) for refusal in refused}
        accepted = tuple(record for record in records if content_of(record) not in refused_contents)
        if state.work.pending:
            # Wait before new records are planned: pending changes may concern the same places.
            yield AwaitRecords(reason=_UNANSWERED)
            return
        # An entry that differs in its role only is enough: it is replaced when the record is written.
        in_inventory = {content_of(entry)[:-1] for entry in state.inventory}
        missing = tuple(record for record in accepted if content_of(record)[:-1] not in in_inventory)
        if missing:
            yield RememberRecords(missing, reason=reason)
        if not accepted:
            raise combined(refused)
        present = (state.zone.at(record) for record in accepted) if state.zone else ()
        yield WriteRecords(accepted, tuple(filter(None, present)), reason=reason)

    def removing(self, reason: str) -> Iterator[Step]:
        """Remove records that are not wanted. Raise Stall if only refused removals are left."""
        steps = tuple(removing(self.state, self.surplus, reason))
        if not steps and (refused := refused_removals(self.state, self.surplus)):
            raise combined(refused)
        yield from steps

    def adopting(self, reason: str) -> Iterator[Step]:
        """Adopt records that equal wanted ones and are in no inventory."""
        unmanaged = (record for record in self.wanted if self._is_unmanaged(record))
        records = tuple(msgspec.structs.replace(record, state="Written") for record in unmanaged)
        if records:
            yield AdoptRecords(records, reason=reason)

    def forgetting(self) -> Iterator[Step]:
        """Drop outdated inventory entries of places where the zone has the wanted record."""
        zone, state = self.state.zone, self.state
        if zone is None or zone.records is None or state.work.pending:
            return
        written = {content_of(entry) for entry in state.inventory if entry.state == "Written"}
        settled = {
            place_of(record): content_of(record)
            for record in self.wanted
            if content_of(record) in written and self._zone_has(record)
        }
        stale = tuple(
            entry
            for entry in state.inventory
            if place_of(entry) in settled and content_of(entry) != settled[place_of(entry)]
        )
        if stale:
            yield ForgetRecords(stale, reason="the zone has the wanted record")

    @property
    def to_write(self) -> tuple[InventoryRecord, ...]:
        """Wanted records that are not written yet, or that the zone has lost or has with other values."""
        written = {content_of(entry) for entry in self.state.inventory if entry.state == "Written"}
        return tuple(
            record
            for record in self.wanted
            if not (content_of(record) in written and self._zone_has(record))
            and not self._is_unmanaged(record)
        )

    @property
    def surplus(self) -> tuple[InventoryRecord, ...]:
        """Inventory entries, in state Written or Planned, that are not wanted."""
        places = {place_of(record) for record in self.wanted}
        return tuple(entry for entry in self.state.removable if place_of(entry) not in places)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Where the zone differs from the wanted records."""
        missing = (
            Difference(f"dns[{record.type} {record.name}]", self._target_at(record), record.target)
            for record in self.to_write
        )
        surplus = (
            Difference(f"dns[{entry.type} {entry.name}]", entry.target, ABSENT) for entry in self.surplus
        )
        return (*missing, *surplus)

    def _refuse_unreachable(self) -> None:
        zone = self.state.zone
        if zone is not None and zone.refusal is not None:
            refusal = Stall(zone.refusal.reason, f"{zone.role_field}: {zone.refusal.message}")
            refusal.error_type = zone.refusal.error_type
            raise refusal

    def _refuse_outside(self, records: Iterable[InventoryRecord]) -> None:
        zone = self.state.zone
        if zone is None or not zone.apex:
            return
        outside = dict.fromkeys(record.name for record in records if not is_within(record.name, zone.apex))
        if outside:
            names = ", ".join(outside)
            raise Stall(
                DNS_ERROR, f"{zone.zone_field}: {names} cannot be in that zone, which is for {zone.apex}"
            )

    def _refuse_recorded(self, records: Iterable[InventoryRecord]) -> None:
        """Raise Stall if a record is in the inventory of another object: a record is in one inventory only."""
        own = {place_of(entry) for entry in self.state.inventory}
        for record in records:
            holder = self.state.recorded.get(place_of(record))
            if holder is not None and place_of(record) not in own:
                raise Stall(
                    DNS_CONFLICT,
                    f"{record.type} {record.name} is a record of {holder}, which has to remove it first",
                )

    def _is_unmanaged(self, record: InventoryRecord) -> bool:
        """Does the zone have the wanted record, and no inventory has it? Then somebody else created it, and it stays."""
        state, place = self.state, place_of(record)
        is_listed = state.zone is not None and state.zone.records is not None
        is_ours = any(place_of(entry) == place for entry in state.inventory)
        return is_listed and not is_ours and place not in state.recorded and self._zone_has(record)

    def _zone_has(self, record: InventoryRecord) -> bool:
        """Does the zone have exactly this record? True for a zone that cannot be listed."""
        zone = self.state.zone
        if zone is None or zone.records is None:
            return True
        present = zone.at(record)
        return present is not None and present.has_same_content(record_of(record))

    def _target_at(self, record: InventoryRecord) -> object:
        present = self.state.zone.at(record) if self.state.zone else None
        return ABSENT if present is None else ", ".join(present.target)


def unmanaged_records(
    state: RecordState, zone: str, ttl: int, names: Collection[str], endpoints: str
) -> tuple[Record, ...]:
    """Existing records that equal what we would write for these names and are in no object's inventory.

    `zone` and `ttl` are those of our records, `endpoints` is the domain that contains all their targets.
    """
    records = state.zone.records if state.zone else None
    taken = {place_of(entry) for entry in state.inventory} | set(state.recorded)
    return tuple(
        record
        for key, record in sorted((records or {}).items())
        if key.name in names
        and (bare_zone(zone), key.name, key.type) not in taken
        and is_within(_destination(record), endpoints)
        and record.ttl in (None, ttl)
    )


def _destination(record: Record) -> str:
    return record.alias.name if record.alias else next(iter(record.target), "")


def removing(state: RecordState, entries: Sequence[InventoryRecord], reason: str) -> Iterator[Step]:
    """Remove the records of these entries, except those whose removal was refused."""
    refused = {place_of(refusal.entry) for refusal in refused_removals(state, entries)}
    accepted = tuple(entry for entry in entries if place_of(entry) not in refused)
    if entries and state.work.pending:
        yield AwaitRecords(reason=_UNANSWERED)
    elif accepted:
        yield RemoveRecords(accepted, reason=reason)


def awaiting_propagation(state: RecordState, reason: str) -> Iterator[Step]:
    """A wait step, unless all name servers have the changes of our records."""
    if not state.in_sync:
        yield AwaitPropagation(state.change_id, reason=reason)


def refused_removals(state: RecordState, entries: Iterable[InventoryRecord]) -> list[Refusal]:
    """The refusals of removals that concern these entries."""
    places = {place_of(entry) for entry in entries}
    return [
        refusal for refusal in state.work.refused if refusal.removing and place_of(refusal.entry) in places
    ]


def combined(refused: Sequence[Refusal]) -> Stall:
    """One error for all refusals: with the reason of the first, and every message once."""
    first = refused[0].error
    error = Stall(first.reason, "; ".join(dict.fromkeys(refusal.error.message for refusal in refused)))
    error.error_type = first.error_type
    return error


def blocked_deletion(error: Stall, refused: Sequence[Refusal], kept: str) -> Stall:
    """The error of a deletion that cannot finish: which records remain, the role used for them, and the remedy.

    `kept` says what else is kept as long as records may point to it; empty if nothing is. Without refusals, `error` is the
    cause.
    """
    what = "; ".join(_refusal_texts(refused)) or error.message
    return reworded(error, f"{what}; {kept}{': ' if kept else ''}{_REMEDY}")


def _refusal_texts(refused: Sequence[Refusal]) -> Iterator[str]:
    """One message for all records of the same zone and role that were refused for the same reason."""
    groups: dict[tuple[str, str, str], list[InventoryRecord]] = {}
    for refusal in refused:
        entry = refusal.entry
        groups.setdefault((entry.zone, entry.role, refusal.error.message), []).append(entry)
    for (zone, role, why), entries in groups.items():
        using = f" with the role {role}" if role else ""
        yield f"cannot remove {names_of(entries)} from zone {zone}{using}: {why}"
