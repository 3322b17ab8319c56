"""Submit record changes to the writers of zones and collect their results.

A pass submits its records and ends. The writer requeues the object when the batch is done, and the next pass collects the
results here. `cloud.outbox` stores them; this module applies them to the inventory of the object.
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
"""After this time a change whose id is not known counts as propagated."""


@dataclass(frozen=True, slots=True)
class _Submission:
    """What was submitted for one place (zone, name, type)."""

    entry: InventoryRecord
    removing: bool
    is_first: bool = False
    """Was the record certainly never written before? Then an existing equal record belongs to somebody else."""

    def apply(self, inventory: Inventory, results: Iterable[Written]) -> Inventory:
        """The inventory after success: no entry for this place, or exactly this one if the record is ours."""
        others = tuple(entry for entry in inventory if place_of(entry) != place_of(self.entry))
        is_anothers = self.is_first and not any(written.change for written in results)
        return others if self.removing or is_anothers else (*others, self.entry)


def _is_gone_with_its_zone(submission: _Submission, error: PassError) -> bool:
    return submission.removing and error.error_type == DNS_NO_ZONE.error_type


class DnsOutbox:
    """Submits the records of all objects, and collects the results for each."""

    def __init__(self, zones: Zones, clock: Clock) -> None:
        self._zones = zones
        self._clock = clock
        self._outbox: Outbox[Place, _Submission, Written] = Outbox(clock, _is_gone_with_its_zone)
        self._unwritten: dict[str, set[InventoryRecord]] = {}
        """By uid, the entries that this process planned and certainly did not write: not submitted yet, or refused."""

    def plan(self, uid: str, inventory: Inventory, records: Inventory) -> Inventory:
        """Return the inventory with records that are about to be written.

        Earlier results for their places are dropped, and so are entries for them that were planned and never written.
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
        """Submit records. `replaceable` are the inventory entries whose records may be replaced."""
        unwritten = self._unwritten.get(owner.uid, set())
        ours = {place_of(entry): record_of(entry) for entry in replaceable if entry not in unwritten}
        for record in records:
            wish = Present(record_of(record), ours.get(place_of(record)))
            is_first = record in unwritten and wish.written is None
            unwritten.discard(record)
            submission = _Submission(replace(record, state="Written"), removing=False, is_first=is_first)
            self._outbox.submit(owner, place_of(record), submission, [self._zone(record).submit(wish)], wake)

    def remove(self, owner: Owner, entries: Iterable[InventoryRecord], wake: Waker) -> None:
        """Submit the removal of records. A place may have two entries while its record changes: both are submitted.

        An entry that was planned and never written needs no removal: a record in its place belongs to somebody else.
        """
        unwritten = self._unwritten.get(owner.uid, set())
        places: dict[Place, list[InventoryRecord]] = {}
        for entry in entries:
            places.setdefault(place_of(entry), []).append(entry)
        for place, entries_there in places.items():
            written = [entry for entry in entries_there if entry not in unwritten]
            tickets = [self._zone(entry).submit(Absent(record_of(entry))) for entry in written]
            unwritten.difference_update(entries_there)
            submission = _Submission(entries_there[0], removing=True)
            self._outbox.submit(owner, place, submission, tickets, wake)

    def reconsider(self, key: RecordKey) -> None:
        """Allow an immediate retry of refused records at a place whose record has changed."""
        self._outbox.reconsider(lambda place: place[1:] == (key.name, key.type))

    def collect(self, owner: Owner, inventory: Inventory) -> tuple[Inventory, DnsWork]:
        """Apply all results to the inventory. Return it with what is still pending and what was refused."""
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
                self._outbox.settle(owner.uid, answer.place)  # the status has the result already
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
        """The inventory with all successful results applied, and the changes that they belong to.

        Unlike `collect` it changes nothing. It is for the status of a pass that failed for another reason.
        """
        changes: list[DnsChange] = []
        for answer in self._outbox.answers(uid):
            after = answer.change.apply(inventory, answer.results)
            if set(after) != set(inventory):
                changes += self._changes(answer)
            inventory = after
        return inventory, tuple(dict.fromkeys(changes))

    def forget(self, uid: str) -> None:
        """Drop everything about an object that is gone."""
        self._outbox.forget(uid)
        self._unwritten.pop(uid, None)

    def _zone(self, entry: InventoryRecord) -> Zone:
        return self._zones.get(entry.zone, Role(entry.role))

    def _changes(self, answer: Answer[Place, _Submission, Written]) -> Iterator[DnsChange]:
        """The changes that a result belongs to.

        A record that is already gone may have been removed by a call whose response was lost. The id of that change is not
        known, so it counts as propagated after a fixed time (`UNKNOWN_PROPAGATION`).
        """
        entry, results = answer.change.entry, answer.results
        ids = [written.change_id for written in results if written.change_id]
        if not ids and answer.change.removing and all(written.left is None for written in results):
            until = self._clock.now().replace(microsecond=0) + UNKNOWN_PROPAGATION
            yield DnsChange(entry.zone, role=entry.role, until=until)
        yield from (DnsChange(entry.zone, change_id, entry.role) for change_id in ids)


def _left(answer: Answer[Place, _Submission, Written]) -> Iterator[str]:
    """Messages for records that exist where ours should be removed, because somebody has changed them."""
    if answer.change.removing and not any(written.change for written in answer.results):
        for record in {written.left for written in answer.results if written.left is not None}:
            target = ", ".join(record.target)
            yield f"{record.type} {record.name}, which now points to {target} (TTL {record.ttl})"
