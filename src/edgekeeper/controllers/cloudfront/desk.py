"""Records on their way: what was handed to the writers of zones, for whom, and what became of it.

A pass hands its records in and ends; the writer wakes the object when its batch is through, and the next pass collects
the answers here. An answer is kept until the status has it, so that a pass that fails in between loses nothing. All of
this is memory: after a restart the records are handed in again, and the writer finds that there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Final

from msgspec.structs import replace

from edgekeeper.api.cloudfront import InventoryRecord
from edgekeeper.cloud.aws.changes import Absent, Present
from edgekeeper.cloud.aws.meanings import DNS_NO_ZONE
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.aws.zone import Written, Zone
from edgekeeper.cloud.aws.zones import Zones
from edgekeeper.cloud.coalescer import Ticket
from edgekeeper.controllers.cloudfront.desired import place_of, record_of
from edgekeeper.controllers.cloudfront.snapshot import DnsWork
from edgekeeper.core.backoff import Backoff
from edgekeeper.core.errors import PassError, Retry, Wait

Wake = Callable[[], None]

_PAUSES: Final = Backoff(first=timedelta(seconds=1), longest=timedelta(minutes=5), jitter=0)


@dataclass(frozen=True, slots=True)
class _Errand:
    entry: InventoryRecord
    removing: bool
    tickets: tuple[Ticket[Written], ...]

    @property
    def done(self) -> bool:
        return all(ticket.done for ticket in self.tickets)

    def results(self) -> list[Written]:
        """What was written. Raise what one of the tickets met; but with its zone a record is gone as well."""
        try:
            return [ticket.result() for ticket in self.tickets]
        except PassError as failure:
            if self.removing and failure.error_type == DNS_NO_ZONE.error_type:
                return []
            raise

    def apply(self, inventory: tuple[InventoryRecord, ...]) -> tuple[InventoryRecord, ...]:
        """The inventory after it was done: nothing at this place, or exactly this record."""
        others = tuple(one for one in inventory if place_of(one) != place_of(self.entry))
        return others if self.removing else (*others, self.entry)


class DnsDesk:
    """Hands records in, and collects the answers."""

    def __init__(self, zones: Zones) -> None:
        self._zones = zones
        self._errands: dict[str, dict[tuple[str, str, str], _Errand]] = {}
        self._streaks: dict[str, int] = {}
        """How often in a row records of an object have failed."""

    def zone(self, entry: InventoryRecord) -> Zone:
        return self._zones.get(entry.zone, Role(entry.role))

    def write(
        self, uid: str, records: Iterable[InventoryRecord], inventory: Iterable[InventoryRecord], wake: Wake
    ) -> None:
        """Hand records in. The inventory tells what stood at their places before, if that was ours."""
        ours = {place_of(one): record_of(one) for one in inventory if one.state == "Written"}
        for record in records:
            wish = Present(record_of(record), ours.get(place_of(record)))
            ticket = self.zone(record).submit(wish, wake=wake)
            self._keep(uid, _Errand(replace(record, state="Written"), False, (ticket,)))

    def remove(self, uid: str, entries: Iterable[InventoryRecord], wake: Wake) -> None:
        """Have records removed. A place may have two entries, while it changes: whatever stands there goes."""
        places: dict[tuple[str, str, str], list[InventoryRecord]] = {}
        for entry in entries:
            places.setdefault(place_of(entry), []).append(entry)
        for found in places.values():
            tickets = tuple(self.zone(one).submit(_absence_of(one), wake=wake) for one in found)
            self._keep(uid, _Errand(found[0], True, tickets))

    def supersede(self, uid: str, records: Iterable[InventoryRecord]) -> None:
        """Records are planned anew: what was done at their places before says nothing about them."""
        errands = self._errands.get(uid, {})
        for record in records:
            errands.pop(place_of(record), None)

    def collect(
        self, uid: str, inventory: tuple[InventoryRecord, ...]
    ) -> tuple[tuple[InventoryRecord, ...], DnsWork]:
        """The inventory with all answers in it, and what is still on its way."""
        errands = self._errands.get(uid, {})
        pending, change_id, error, removed = False, "", None, 0
        for place, errand in list(errands.items()):
            if not errand.done:
                pending = True
                continue
            try:
                results = errand.results()
            except PassError as failure:
                del errands[place]
                error = error or self._paused(uid, failure)
                continue
            self._streaks.pop(uid, None)
            done = next((one.change_id for one in results if one.change_id), "")
            change_id = done or change_id
            after = errand.apply(inventory)
            if set(after) == set(inventory):
                del errands[place]  # the status has it
            else:
                removed += bool(errand.removing and done)
            inventory = after
        return inventory, DnsWork(pending, change_id, error, removed)

    def forget(self, uid: str) -> None:
        """The object is gone."""
        self._errands.pop(uid, None)
        self._streaks.pop(uid, None)

    def _paused(self, uid: str, failure: PassError) -> PassError:
        """A failure that may pass, after a pause that grows.

        Handing records in is a pass that succeeds: after it the queue would begin with its shortest pause again.
        """
        if not isinstance(failure, Retry):
            return failure
        streak = self._streaks[uid] = self._streaks.get(uid, 0) + 1
        told = Wait(_PAUSES.delay(streak, Random(0)), failure.reason, failure.message)
        told.error_type = failure.error_type
        return told

    def _keep(self, uid: str, errand: _Errand) -> None:
        self._errands.setdefault(uid, {})[place_of(errand.entry)] = errand


def _absence_of(entry: InventoryRecord) -> Absent:
    return Absent(record_of(entry), is_certain=entry.state == "Written")
