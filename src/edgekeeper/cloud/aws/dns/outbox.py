"""Records on their way: what was handed to the writers of zones, for whom, and what became of it.

A pass hands its records in and ends; the writer wakes the object when its batch is through, and the next pass collects
the answers here. `cloud.outbox` keeps them; this is what they mean for the inventory of an object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from edgekeeper.api.shared import DnsChange, InventoryRecord
from edgekeeper.cloud.aws.dns.changes import Absent, Present
from edgekeeper.cloud.aws.dns.entries import Place, place_of, record_of
from edgekeeper.cloud.aws.dns.records import RecordKey
from edgekeeper.cloud.aws.dns.state import DnsWork, Refusal
from edgekeeper.cloud.aws.dns.zone import Written, Zone
from edgekeeper.cloud.aws.dns.zones import Zones
from edgekeeper.cloud.aws.error_table import DNS_NO_ZONE
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.outbox import Answer, Outbox, Owner
from edgekeeper.cloud.ticket import Waker
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import PassError

Inventory = tuple[InventoryRecord, ...]

UNKNOWN_PROPAGATION: Final = timedelta(minutes=1)
"""How long a change takes to reach all name servers, at most."""


@dataclass(frozen=True, slots=True)
class _Errand:
    """What was handed in for one place."""

    entry: InventoryRecord
    removing: bool
    is_first: bool = False
    """Is it known that the record was never written before? Then what already stands there is not ours."""

    def apply(self, inventory: Inventory, results: Iterable[Written]) -> Inventory:
        """The inventory after it was done: nothing at this place, or exactly this record, if it is ours."""
        others = tuple(entry for entry in inventory if place_of(entry) != place_of(self.entry))
        is_anothers = self.is_first and not any(written.change for written in results)
        return others if self.removing or is_anothers else (*others, self.entry)


def _is_gone_with_its_zone(errand: _Errand, error: PassError) -> bool:
    return errand.removing and error.error_type == DNS_NO_ZONE.error_type


class DnsOutbox:
    """Hands records in, and collects the answers."""

    def __init__(self, zones: Zones, clock: Clock) -> None:
        self._zones = zones
        self._clock = clock
        self._outbox: Outbox[Place, _Errand, Written] = Outbox(clock, _is_gone_with_its_zone)
        self._unwritten: dict[str, set[InventoryRecord]] = {}
        """Planned by this process, and certainly not written: not handed in yet, or refused."""

    def plan(self, uid: str, inventory: Inventory, records: Inventory) -> Inventory:
        """The inventory with records that are about to be written.

        What was done at their places before says nothing about them, and what was planned there and never written is
        planned no more.
        """
        unwritten = self._unwritten.setdefault(uid, set())
        places = {place_of(record) for record in records}
        self._outbox.settle(uid, *places)
        given_up = {entry for entry in inventory if place_of(entry) in places and entry in unwritten}
        unwritten -= given_up
        unwritten.update(records)
        return (*(entry for entry in inventory if entry not in given_up), *records)

    def write(
        self,
        owner: Owner,
        records: Iterable[InventoryRecord],
        replaceable: Iterable[InventoryRecord],
        wake: Waker,
    ) -> None:
        """Hand in records. `replaceable` are the entries of the inventory whose records may be replaced."""
        unwritten = self._unwritten.get(owner.uid, set())
        ours = {place_of(entry): record_of(entry) for entry in replaceable if entry not in unwritten}
        for record in records:
            wish = Present(record_of(record), ours.get(place_of(record)))
            is_first = record in unwritten and wish.written is None
            unwritten.discard(record)
            errand = _Errand(replace(record, state="Written"), removing=False, is_first=is_first)
            self._outbox.submit(owner, place_of(record), errand, [self._zone(record).submit(wish)], wake)

    def remove(self, owner: Owner, entries: Iterable[InventoryRecord], wake: Waker) -> None:
        """Have records removed. A place may have two entries, while it changes: whatever stands there goes.

        What was planned and never written needs no removal: what stands there is somebody else's, and stays.
        """
        unwritten = self._unwritten.get(owner.uid, set())
        places: dict[Place, list[InventoryRecord]] = {}
        for entry in entries:
            places.setdefault(place_of(entry), []).append(entry)
        for place, found in places.items():
            written = [entry for entry in found if entry not in unwritten]
            tickets = [self._zone(entry).submit(Absent(record_of(entry))) for entry in written]
            unwritten.difference_update(found)
            self._outbox.submit(owner, place, _Errand(found[0], removing=True), tickets, wake)

    def reconsider(self, key: RecordKey) -> None:
        """Something has changed where a record was refused: it may be tried again at once."""
        self._outbox.reconsider(lambda place: place[1:] == (key.name, key.type))

    def collect(self, owner: Owner, inventory: Inventory) -> tuple[Inventory, DnsWork]:
        """The inventory with all answers in it, what is still on its way, and what was refused."""
        news = self._outbox.collect(owner)
        for refusal in news.newly_refused:
            if refusal.change.is_first:
                planned = replace(refusal.change.entry, state="Planned")
                self._unwritten.setdefault(owner.uid, set()).add(planned)
        changes: list[DnsChange] = []
        removed, left = 0, list[str]()
        for answer in news.answers:
            after = answer.change.apply(inventory, answer.results)
            if set(after) == set(inventory):
                self._outbox.settle(owner.uid, answer.place)  # the status has it
            else:
                changes += self._changes(answer)
                removed += answer.change.removing and any(written.change_id for written in answer.results)
                left += _left(answer)
            inventory = after
        refused = tuple(
            Refusal(refusal.change.entry, refusal.change.removing, refusal.error) for refusal in news.refusals
        )
        return inventory, DnsWork(
            news.pending, tuple(dict.fromkeys(changes)), news.failure, refused, removed, tuple(left)
        )

    def answered(self, uid: str, inventory: Inventory) -> tuple[Inventory, tuple[DnsChange, ...]]:
        """The inventory with all good answers in it, and the changes that they belong to.

        Unlike `collect` it only looks: for the status of a pass that has failed for another reason.
        """
        changes: list[DnsChange] = []
        for answer in self._outbox.answers(uid):
            after = answer.change.apply(inventory, answer.results)
            if set(after) != set(inventory):
                changes += self._changes(answer)
            inventory = after
        return inventory, tuple(dict.fromkeys(changes))

    def forget(self, uid: str) -> None:
        """The object is gone."""
        self._outbox.forget(uid)
        self._unwritten.pop(uid, None)

    def _zone(self, entry: InventoryRecord) -> Zone:
        return self._zones.get(entry.zone, Role(entry.role))

    def _changes(self, answer: Answer[Place, _Errand, Written]) -> Iterator[DnsChange]:
        """The changes that an answer belongs to.

        A record that was found to be gone may have been removed a moment ago, by a call whose answer was lost: then it
        is not known which change that was, and it counts as propagated after the time that Route 53 needs at most.
        """
        entry, results = answer.change.entry, answer.results
        ids = [written.change_id for written in results if written.change_id]
        if not ids and answer.change.removing and all(written.left is None for written in results):
            until = self._clock.now().replace(microsecond=0) + UNKNOWN_PROPAGATION
            yield DnsChange(entry.zone, role=entry.role, until=until)
        yield from (DnsChange(entry.zone, change_id, entry.role) for change_id in ids)


def _left(answer: Answer[Place, _Errand, Written]) -> Iterator[str]:
    """What stands where a record of ours should be gone, in words. One of two entries of a place is enough."""
    if answer.change.removing and not any(written.change for written in answer.results):
        for record in {written.left for written in answer.results if written.left is not None}:
            target = ", ".join(record.target)
            yield f"{record.type} {record.name}, which now leads to {target} (TTL {record.ttl})"
