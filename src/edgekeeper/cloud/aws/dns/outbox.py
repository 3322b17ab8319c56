"""Records on their way: what was handed to the writers of zones, for whom, and what became of it.

A pass hands its records in and ends; the writer wakes the object when its batch is through, and the next pass collects
the answers here. An answer is kept until the status has it, so that a pass that fails in between loses nothing. A
refusal is kept for as long as it need not be tried again, so that all refusals of an object are reported together. All
of this is memory: after a restart the records are handed in again, and the writer finds that there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Final

from msgspec.structs import replace

from edgekeeper.api.cloudfront import DnsChange, InventoryRecord
from edgekeeper.cloud.aws.changes import Absent, Present
from edgekeeper.cloud.aws.dns.entries import Place, place_of, record_of
from edgekeeper.cloud.aws.dns.state import DnsWork, Refusal
from edgekeeper.cloud.aws.meanings import DNS_NO_ZONE
from edgekeeper.cloud.aws.records import RecordKey
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.aws.zone import Written, Zone
from edgekeeper.cloud.aws.zones import Zones
from edgekeeper.cloud.coalescer import Ticket
from edgekeeper.core.backoff import Backoff
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import STALL_INTERVAL, PassError, Retry, Stall, Wait, fresh

Wake = Callable[[], None]

UNKNOWN_PROPAGATION: Final = timedelta(minutes=1)
"""How long a change takes to reach all name servers, at most."""
_PAUSES: Final = Backoff(first=timedelta(seconds=1), longest=timedelta(minutes=5), jitter=0)


@dataclass(frozen=True, slots=True)
class _Errand:
    entry: InventoryRecord
    removing: bool
    generation: int
    tickets: tuple[Ticket[Written], ...]
    is_first: bool = False
    """Whether we know that the record was never written before: what already stands there is not ours."""

    @property
    def done(self) -> bool:
        return all(ticket.done for ticket in self.tickets)

    @property
    def succeeded(self) -> bool:
        try:
            self.results()
        except PassError:
            return False
        return True

    def results(self) -> list[Written]:
        """What was written. Raise what one of the tickets met; but with its zone a record is gone as well."""
        try:
            return [ticket.result() for ticket in self.tickets]
        except PassError as failure:
            if self.removing and failure.error_type == DNS_NO_ZONE.error_type:
                return []
            raise

    def apply(self, inventory: tuple[InventoryRecord, ...]) -> tuple[InventoryRecord, ...]:
        """The inventory after it was done: nothing at this place, or exactly this record, if it is ours."""
        others = tuple(one for one in inventory if place_of(one) != place_of(self.entry))
        is_anothers = self.is_first and not any(one.change for one in self.results())
        return others if self.removing or is_anothers else (*others, self.entry)


@dataclass(frozen=True, slots=True)
class _Refused:
    """A record that was refused, and until when it is not tried again."""

    refusal: Refusal
    generation: int
    until: float


class DnsOutbox:
    """Hands records in, and collects the answers."""

    def __init__(self, zones: Zones, clock: Clock) -> None:
        self._zones = zones
        self._clock = clock
        self._errands: dict[str, dict[Place, _Errand]] = {}
        self._refused: dict[str, dict[Place, _Refused]] = {}
        self._streaks: dict[str, int] = {}
        """How often in a row records of an object have failed."""
        self._unwritten: dict[str, set[InventoryRecord]] = {}
        """Planned by this process, and certainly not written: not handed in yet, or refused."""

    def zone(self, entry: InventoryRecord) -> Zone:
        return self._zones.get(entry.zone, Role(entry.role))

    def write(
        self,
        owner: tuple[str, int],
        records: Iterable[InventoryRecord],
        inventory: Iterable[InventoryRecord],
        wake: Wake,
    ) -> None:
        """Hand in records for an owner, given by uid and generation.

        The inventory tells what stood at their places before, if that was ours.
        """
        uid, generation = owner
        unwritten = self._unwritten.get(uid, set())
        ours = {place_of(one): record_of(one) for one in inventory if one not in unwritten}
        for record in records:
            wish = Present(record_of(record), ours.get(place_of(record)))
            ticket = self.zone(record).submit(wish, wake=wake)
            is_first = record in unwritten and wish.written is None
            unwritten.discard(record)
            errand = _Errand(replace(record, state="Written"), False, generation, (ticket,), is_first)
            self._keep(uid, errand)

    def remove(self, owner: tuple[str, int], entries: Iterable[InventoryRecord], wake: Wake) -> None:
        """Have records removed. A place may have two entries, while it changes: whatever stands there goes.

        What was planned and never written needs no removal: what stands there is somebody else's, and stays.
        """
        uid, generation = owner
        unwritten = self._unwritten.get(uid, set())
        places: dict[Place, list[InventoryRecord]] = {}
        for entry in entries:
            places.setdefault(place_of(entry), []).append(entry)
        for found in places.values():
            written = [one for one in found if one not in unwritten]
            tickets = tuple(self.zone(one).submit(Absent(record_of(one)), wake=wake) for one in written)
            self._keep(uid, _Errand(found[0], True, generation, tickets))
            unwritten.difference_update(found)
            if not tickets:
                wake()

    def plan(
        self, uid: str, inventory: tuple[InventoryRecord, ...], records: tuple[InventoryRecord, ...]
    ) -> tuple[InventoryRecord, ...]:
        """The inventory with records that are about to be written.

        What was done at their places before says nothing about them, and what was planned there and never written is
        planned no more.
        """
        errands, unwritten = self._errands.get(uid, {}), self._unwritten.setdefault(uid, set())
        places = {place_of(record) for record in records}
        for place in places:
            errands.pop(place, None)
        given_up = {one for one in inventory if place_of(one) in places and one in unwritten}
        unwritten -= given_up
        unwritten.update(records)
        return (*(one for one in inventory if one not in given_up), *records)

    def reconsider(self, key: RecordKey) -> None:
        """Something has changed where a record was refused: it may be tried again at once."""
        for refused in self._refused.values():
            for place in [one for one in refused if one[1:] == (key.name, key.type)]:
                del refused[place]

    def collect(
        self, uid: str, generation: int, inventory: tuple[InventoryRecord, ...]
    ) -> tuple[tuple[InventoryRecord, ...], DnsWork]:
        """The inventory with all answers in it, what is still on its way, and what was refused."""
        errands = self._errands.get(uid, {})
        pending, error, removed = False, None, 0
        left: list[str] = []
        changes: list[DnsChange] = []
        for place, errand in list(errands.items()):
            if not errand.done:
                pending = True
                continue
            try:
                results = errand.results()
            except Stall as refusal:
                del errands[place]
                self._refuse(uid, errand, refusal)
                continue
            except PassError as failure:
                del errands[place]
                error = error or self._paused(uid, failure)
                continue
            except Exception:
                del errands[place]  # a mistake of ours ends one pass, and not all that follow
                raise
            self._streaks.pop(uid, None)
            after = errand.apply(inventory)
            if set(after) == set(inventory):
                del errands[place]  # the status has it
            else:
                changes += self._changes(errand, results)
                removed += bool(errand.removing and any(one.change_id for one in results))
                left += _kept(errand, results)
            inventory = after
        return inventory, DnsWork(
            pending,
            tuple(dict.fromkeys(changes)),
            error,
            self._refusals(uid, generation),
            removed,
            tuple(left),
        )

    def answered(
        self, uid: str, inventory: tuple[InventoryRecord, ...]
    ) -> tuple[tuple[InventoryRecord, ...], tuple[DnsChange, ...]]:
        """The inventory with all good answers in it, and the changes that they belong to.

        Unlike `collect` it only looks: for the status of a pass that has failed for another reason.
        """
        changes: list[DnsChange] = []
        for errand in self._errands.get(uid, {}).values():
            if errand.done and errand.succeeded:
                after = errand.apply(inventory)
                if set(after) != set(inventory):
                    changes += self._changes(errand, errand.results())
                inventory = after
        return inventory, tuple(dict.fromkeys(changes))

    def forget(self, uid: str) -> None:
        """The object is gone."""
        for memory in (self._errands, self._refused, self._streaks, self._unwritten):
            memory.pop(uid, None)

    def _changes(self, errand: _Errand, results: Iterable[Written]) -> Iterable[DnsChange]:
        """The changes that an errand belongs to.

        A record that was found to be gone may have been removed a moment ago, by a call whose answer was lost: then it
        is not known which change that was, and it counts as propagated after the time that Route 53 needs at most.
        """
        zone, role = errand.entry.zone, errand.entry.role
        ids = [one.change_id for one in results if one.change_id]
        if not ids and errand.removing and all(one.left is None for one in results):
            until = self._clock.now().replace(microsecond=0) + UNKNOWN_PROPAGATION
            return (DnsChange(zone, role=role, until=until),)
        return (DnsChange(zone, one, role) for one in ids)

    def _refuse(self, uid: str, errand: _Errand, refusal: Stall) -> None:
        if errand.is_first:
            self._unwritten.setdefault(uid, set()).add(replace(errand.entry, state="Planned"))
        until = self._clock.monotonic() + STALL_INTERVAL.total_seconds()
        told = _Refused(Refusal(errand.entry, errand.removing, fresh(refusal)), errand.generation, until)
        self._refused.setdefault(uid, {})[place_of(errand.entry)] = told

    def _refusals(self, uid: str, generation: int) -> tuple[Refusal, ...]:
        """What was refused and is not to be tried again yet, in a stable order."""
        now, known = self._clock.monotonic(), self._refused.get(uid, {})
        for place in [
            place for place, one in known.items() if one.until <= now or one.generation != generation
        ]:
            del known[place]
        if not known:
            self._refused.pop(uid, None)
        return tuple(known[place].refusal for place in sorted(known))

    def _paused(self, uid: str, failure: PassError) -> PassError:
        """A failure that may pass, after a pause that grows.

        Handing records in is a pass that succeeds: after it the queue would begin with its shortest pause again.
        """
        if not isinstance(failure, Retry):
            return failure
        streak = self._streaks[uid] = self._streaks.get(uid, 0) + 1
        told = Wait(_PAUSES.delay(streak, Random(0)), failure.reason, failure.message)
        told.error_type, told.unavailable = failure.error_type, failure.unavailable
        return told

    def _keep(self, uid: str, errand: _Errand) -> None:
        self._errands.setdefault(uid, {})[place_of(errand.entry)] = errand


def _kept(errand: _Errand, results: Iterable[Written]) -> Iterable[str]:
    """What stands where a record of ours should be gone, in words. One of two entries of a place is enough."""
    if errand.removing and not any(one.change for one in results):
        for found in {one.left for one in results if one.left is not None}:
            yield f"{found.type} {found.name}, which now leads to {', '.join(found.target)} (TTL {found.ttl})"
