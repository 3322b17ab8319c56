"""Records that were handed to the writers of zones, per object, and what the answers mean for its inventory.

`cloud.outbox` keeps the answers and refusals. What is added here is how an answer changes the inventory, which Route 53
changes it belongs to, and which records were planned and are certainly not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from edgekeeper.api.cloudfront import DnsChange, InventoryRecord
from edgekeeper.cloud.aws.changes import Absent, Present
from edgekeeper.cloud.aws.dns.entries import Place, place_of, record_of
from edgekeeper.cloud.aws.dns.state import DnsWork, Refusal
from edgekeeper.cloud.aws.error_table import DNS_NO_ZONE
from edgekeeper.cloud.aws.records import RecordKey
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.aws.zone import Written, Zone
from edgekeeper.cloud.aws.zones import Zones
from edgekeeper.cloud.outbox import Answer, Outbox, Owner
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import PassError

Wake = Callable[[], None]

UNKNOWN_PROPAGATION: Final = timedelta(minutes=1)
"""How long a change takes to reach all name servers, at most."""


@dataclass(frozen=True, slots=True)
class _Submitted:
    """A record that is being written or removed."""

    entry: InventoryRecord
    removing: bool
    is_first: bool = False
    """Whether the record was certainly never written before: what is already there is not ours."""


class DnsOutbox:
    """Submits records, and collects the answers."""

    def __init__(self, zones: Zones, clock: Clock) -> None:
        self._zones = zones
        self._clock = clock
        self._outbox: Outbox[Place, _Submitted, Written] = Outbox(clock, _is_gone_with_its_zone)
        self._unwritten: dict[str, set[InventoryRecord]] = {}
        """Planned by this process, and certainly not written: not submitted yet, or refused."""

    def zone(self, entry: InventoryRecord) -> Zone:
        return self._zones.get(entry.zone, Role(entry.role))

    def write(
        self,
        owner: tuple[str, int],
        records: Iterable[InventoryRecord],
        inventory: Iterable[InventoryRecord],
        wake: Wake,
    ) -> None:
        """Submit records for an owner, given by uid and generation.

        The inventory says what we wrote at their places before.
        """
        unwritten = self._unwritten.get(owner[0], set())
        ours = {place_of(entry): record_of(entry) for entry in inventory if entry not in unwritten}
        for record in records:
            wish = Present(record_of(record), ours.get(place_of(record)))
            is_first = record in unwritten and wish.written is None
            unwritten.discard(record)
            submitted = _Submitted(replace(record, state="Written"), False, is_first)
            self._outbox.submit(
                Owner(*owner), place_of(record), submitted, [self.zone(record).submit(wish)], wake
            )

    def remove(self, owner: tuple[str, int], entries: Iterable[InventoryRecord], wake: Wake) -> None:
        """Have records removed. A place may have two entries, while it changes: both are removed.

        What was planned and never written needs no removal: what is there is somebody else's, and stays.
        """
        unwritten = self._unwritten.get(owner[0], set())
        places: dict[Place, list[InventoryRecord]] = {}
        for entry in entries:
            places.setdefault(place_of(entry), []).append(entry)
        for place, same_place in places.items():
            written = [entry for entry in same_place if entry not in unwritten]
            tickets = [self.zone(entry).submit(Absent(record_of(entry))) for entry in written]
            unwritten.difference_update(same_place)
            self._outbox.submit(Owner(*owner), place, _Submitted(same_place[0], True), tickets, wake)

    def plan(
        self, uid: str, inventory: tuple[InventoryRecord, ...], records: tuple[InventoryRecord, ...]
    ) -> tuple[InventoryRecord, ...]:
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

    def reconsider(self, key: RecordKey) -> None:
        """Something has changed where a record was refused: it may be tried again at once."""
        self._outbox.reconsider(lambda place: place[1:] == (key.name, key.type))

    def collect(
        self, uid: str, generation: int, inventory: tuple[InventoryRecord, ...]
    ) -> tuple[tuple[InventoryRecord, ...], DnsWork]:
        """The inventory with all answers applied, what is pending, and what was refused."""
        news = self._outbox.collect(Owner(uid, generation))
        for refusal in news.newly_refused:
            if refusal.change.is_first:
                self._unwritten.setdefault(uid, set()).add(replace(refusal.change.entry, state="Planned"))
        removed, left = 0, list[str]()
        changes: list[DnsChange] = []
        for answer in news.answers:
            after = _apply(answer, inventory)
            if set(after) == set(inventory):
                self._outbox.settle(uid, answer.place)  # the status has it
            else:
                changes += self._changes(answer)
                removed += bool(answer.change.removing and any(result.change_id for result in answer.results))
                left += _kept(answer)
            inventory = after
        refused = tuple(
            Refusal(refusal.change.entry, refusal.change.removing, refusal.error) for refusal in news.refusals
        )
        return inventory, DnsWork(
            news.pending, tuple(dict.fromkeys(changes)), news.failure, refused, removed, tuple(left)
        )

    def answered(
        self, uid: str, inventory: tuple[InventoryRecord, ...]
    ) -> tuple[tuple[InventoryRecord, ...], tuple[DnsChange, ...]]:
        """The inventory with all successful answers applied, and the changes that they belong to.

        Unlike `collect` it has no effect: for the status of a pass that has failed for another reason.
        """
        changes: list[DnsChange] = []
        for answer in self._outbox.answers(uid):
            after = _apply(answer, inventory)
            if set(after) != set(inventory):
                changes += self._changes(answer)
            inventory = after
        return inventory, tuple(dict.fromkeys(changes))

    def forget(self, uid: str) -> None:
        """The object is gone."""
        self._outbox.forget(uid)
        self._unwritten.pop(uid, None)

    def _changes(self, answer: Answer[Place, _Submitted, Written]) -> Iterable[DnsChange]:
        """The Route 53 changes that an answer belongs to.

        A record that was found to be gone may have been removed a moment ago, by a call whose answer was lost: then it
        is not known which change that was, and it counts as propagated after the time that Route 53 needs at most.
        """
        zone, role = answer.change.entry.zone, answer.change.entry.role
        ids = [result.change_id for result in answer.results if result.change_id]
        if not ids and answer.change.removing and all(result.left is None for result in answer.results):
            until = self._clock.now().replace(microsecond=0) + UNKNOWN_PROPAGATION
            return (DnsChange(zone, role=role, until=until),)
        return (DnsChange(zone, id_, role) for id_ in ids)


def _is_gone_with_its_zone(submitted: _Submitted, failure: PassError) -> bool:
    """With its zone a record is gone as well."""
    return submitted.removing and failure.error_type == DNS_NO_ZONE.error_type


def _apply(
    answer: Answer[Place, _Submitted, Written], inventory: tuple[InventoryRecord, ...]
) -> tuple[InventoryRecord, ...]:
    """The inventory after an answer: nothing at this place, or exactly this record, if it is ours."""
    submitted = answer.change
    others = tuple(entry for entry in inventory if place_of(entry) != answer.place)
    is_anothers = submitted.is_first and not any(result.change for result in answer.results)
    return others if submitted.removing or is_anothers else (*others, submitted.entry)


def _kept(answer: Answer[Place, _Submitted, Written]) -> Iterable[str]:
    """Describes what is left where a record of ours should be gone. One of two entries of a place is enough."""
    if answer.change.removing and not any(result.change for result in answer.results):
        for record in {result.left for result in answer.results if result.left is not None}:
            target = ", ".join(record.target)
            yield f"{record.type} {record.name}, which now leads to {target} (TTL {record.ttl})"
