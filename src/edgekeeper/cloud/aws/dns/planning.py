"""The records that are left to write or to remove for one object. Pure.

    wanted        what the kind asks for, as it would be written
    ours          what the inventory has: an entry is added before the record is written, and goes after the record is gone
    unmanaged     written by somebody else, exactly as wanted: theirs and left alone, unless the object may adopt it
    recorded      in the inventory of another object: nothing is written at its place before that object lets go of it
    refused       what Route 53 did not accept a moment ago: reported, and not tried again yet

Where a zone may not be listed, what Route 53 has accepted counts as being there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from edgekeeper.api.shared import InventoryRecord
from edgekeeper.cloud.aws.dns.entries import content_of, names_of, place_of, record_of
from edgekeeper.cloud.aws.dns.records import is_within
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
from edgekeeper.core.errors import Stall
from edgekeeper.core.steps import Step

_REMEDY: Final = (
    "let the records be removed, or leave everything as it is with the annotation "
    "edgekeeper.io/deletion-policy: Orphan"
)
_UNANSWERED: Final = "the zone's writer has not answered yet"


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """The records of one object: those that it wants, and those that there are."""

    state: RecordState
    wanted: tuple[InventoryRecord, ...]

    def writing(self, reason: str) -> Iterator[Step]:
        """Note down what is about to be written, and write it. Raise Stall where only what was refused is left."""
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
            # Before anything new is planned: what is on its way may stand where the new records are to be.
            yield AwaitRecords(reason=_UNANSWERED)
            return
        # An entry with another role says already that the record may be there, and is replaced once it is written.
        remembered = {content_of(entry)[:-1] for entry in state.inventory}
        forgotten = tuple(record for record in accepted if content_of(record)[:-1] not in remembered)
        if forgotten:
            yield RememberRecords(forgotten, reason=reason)
        if not accepted:
            raise combined(refused)
        present = (state.zone.at(record) for record in accepted) if state.zone else ()
        yield WriteRecords(accepted, tuple(filter(None, present)), reason=reason)

    def removing(self, reason: str) -> Iterator[Step]:
        """Remove what is not wanted. Raise Stall where only what was refused is left."""
        steps = tuple(removing(self.state, self.surplus, reason))
        if not steps and (refused := refused_removals(self.state, self.surplus)):
            raise combined(refused)
        yield from steps

    def adopting(self) -> Iterator[Step]:
        """Take over records that somebody else has written exactly as wanted."""
        unmanaged = (record for record in self.wanted if self._is_unmanaged(record))
        records = tuple(msgspec.structs.replace(record, state="Written") for record in unmanaged)
        if records:
            yield AdoptRecords(records, reason="the object is annotated to take them over")

    def forgetting(self) -> Iterator[Step]:
        """Forget other entries at the places of records that the zone has exactly as wanted."""
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
            yield ForgetRecords(stale, reason="the zone has the record as it should be")

    @property
    def to_write(self) -> tuple[InventoryRecord, ...]:
        """Wanted records that were not written yet, as they should be, or that the zone does not have so."""
        written = {content_of(entry) for entry in self.state.inventory if entry.state == "Written"}
        return tuple(
            record
            for record in self.wanted
            if not (content_of(record) in written and self._zone_has(record))
            and not self._is_unmanaged(record)
        )

    @property
    def surplus(self) -> tuple[InventoryRecord, ...]:
        """What was written, or may have been, and is not wanted."""
        places = {place_of(record) for record in self.wanted}
        return tuple(entry for entry in self.state.removable if place_of(entry) not in places)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Where the zone is not as wanted."""
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
                DNS_ERROR, f"{zone.zone_field}: {names} cannot be in that zone, which is of {zone.apex}"
            )

    def _refuse_recorded(self, records: Iterable[InventoryRecord]) -> None:
        """A record is in one inventory only."""
        own = {place_of(entry) for entry in self.state.inventory}
        for record in records:
            holder = self.state.recorded.get(place_of(record))
            if holder is not None and place_of(record) not in own:
                raise Stall(
                    DNS_CONFLICT,
                    f"{record.type} {record.name} is a record of {holder}, which has to remove it",
                )

    def _is_unmanaged(self, record: InventoryRecord) -> bool:
        """Has somebody else written the record, exactly so? Then there is nothing to do, and it stays theirs."""
        state, place = self.state, place_of(record)
        is_listed = state.zone is not None and state.zone.records is not None
        is_remembered = any(place_of(entry) == place for entry in state.inventory)
        return is_listed and not is_remembered and place not in state.recorded and self._zone_has(record)

    def _zone_has(self, record: InventoryRecord) -> bool:
        """Does the zone have the record? Where it may not be listed, what was accepted counts."""
        zone = self.state.zone
        if zone is None or zone.records is None:
            return True
        present = zone.at(record)
        return present is not None and present.says_what(record_of(record))

    def _target_at(self, record: InventoryRecord) -> object:
        present = self.state.zone.at(record) if self.state.zone else None
        return ABSENT if present is None else ", ".join(present.target)


def removing(state: RecordState, entries: Sequence[InventoryRecord], reason: str) -> Iterator[Step]:
    """Remove these, but for those that were refused."""
    refused = {place_of(refusal.entry) for refusal in refused_removals(state, entries)}
    accepted = tuple(entry for entry in entries if place_of(entry) not in refused)
    if entries and state.work.pending:
        yield AwaitRecords(reason=_UNANSWERED)
    elif accepted:
        yield RemoveRecords(accepted, reason=reason)


def awaiting_propagation(state: RecordState, reason: str) -> Iterator[Step]:
    """Wait until all name servers have the changes of our records."""
    if not state.in_sync:
        yield AwaitPropagation(state.change_id, reason=reason)


def refused_removals(state: RecordState, entries: Iterable[InventoryRecord]) -> list[Refusal]:
    """Which of these Route 53 did not let us remove."""
    places = {place_of(entry) for entry in entries}
    return [
        refusal for refusal in state.work.refused if refusal.removing and place_of(refusal.entry) in places
    ]


def combined(refused: Sequence[Refusal]) -> Stall:
    """All refusals as one, in their order: the reason of the first, and every message once."""
    first = refused[0].error
    error = Stall(first.reason, "; ".join(dict.fromkeys(refusal.error.message for refusal in refused)))
    error.error_type = first.error_type
    return error


def blocked_deletion(error: Stall, refused: Sequence[Refusal], kept: str) -> Stall:
    """Why a deletion does not end: which records stay, with which role they were to be removed, and what stays with them.

    `kept` says what is kept as long as names may lead to it; empty where nothing is. Without refusals it is the error
    alone that keeps the records.
    """
    what = "; ".join(_refused_in_words(refused)) or error.message
    blocked = Stall(error.reason, f"{what}; {kept}{': ' if kept else ''}{_REMEDY}", error.after)
    blocked.error_type = error.error_type
    return blocked


def _refused_in_words(refused: Sequence[Refusal]) -> Iterator[str]:
    """What cannot be removed, and why: once for all records of a zone and a role that are refused for the same reason."""
    groups: dict[tuple[str, str, str], list[InventoryRecord]] = {}
    for refusal in refused:
        entry = refusal.entry
        groups.setdefault((entry.zone, entry.role, refusal.error.message), []).append(entry)
    for (zone, role, why), entries in groups.items():
        using = f" with the role {role}" if role else ""
        yield f"cannot remove {names_of(entries)} from zone {zone}{using}: {why}"
