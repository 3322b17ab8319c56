"""The writer of a zone's address records, with a mirror of them.

*Expected flow* of a batch
 1. Changes that are in effect already by the mirror are not written; conflicts with records of others are refused
    (`_find_result`).
 2. If existing records are changed or deleted, the zone is listed first, because the mirror may be outdated.
 3. One call writes all changes. The result is applied to the mirror.
 4. If Cloudflare reports that a record exists or is missing, the mirror was outdated: the zone is listed, and the other
    changes are written without the one that is impossible, with two further calls.
 5. If the zone is full, as many changes as fit are written. Errors that concern all changes, such as a refused token, are
    returned for all at once.

*Guarantees*
 - After a call without a response the zone is listed before the next write.
 - Writers of the same zone with other credentials write one at a time, and their writes are applied to this mirror, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta

from edgekeeper.cloud.cloudflare.errors import (
    INVALID_SPEC,
    QUOTA_EXCEEDED,
    RECORD_CONFLICT,
    may_concern_one_change,
    unreadable,
)
from edgekeeper.cloud.cloudflare.hostnames import normalise
from edgekeeper.cloud.cloudflare.models import BatchResult, DnsRecord
from edgekeeper.cloud.cloudflare.record_plan import RecordChange, RecordPlan, plan_change
from edgekeeper.cloud.cloudflare.records import Records, by_name
from edgekeeper.cloud.coalescer import Coalescer, CoalescerOptions, Ticket
from edgekeeper.cloud.mirror import Mirror, NotSyncedError
from edgekeeper.cloud.write_lock import WriteLock
from edgekeeper.core.errors import Conflict, PassError, Retry, Stall

BATCH = 200
"""Operations per call, the limit of all Cloudflare plans."""
WINDOW = timedelta(seconds=1)
"""How long a change waits for others."""

Stored = tuple[DnsRecord, ...]


class ZoneWriter:
    """Writes the address records of one zone."""

    def __init__(
        self,
        records: Records,
        name: str,
        mirror: Mirror[str, DnsRecord],
        lock: WriteLock[ZoneWriter],
        *,
        window: timedelta = WINDOW,
        longest: timedelta = WINDOW,
    ) -> None:
        self.mirror = mirror
        self._lock = lock
        self._records = records
        self._index: dict[str, dict[str, DnsRecord]] = {}
        mirror.subscribe(self._follow)
        self._unsure = False
        """Whether the last call, of any writer of the zone, had no response."""
        self._coalescer: Coalescer[RecordChange, Stored] = Coalescer(
            f"zone {name}",
            self._write,
            key=lambda change: change.name,
            weigh=self._weigh,
            find_result=self._find_result,
            options=CoalescerOptions(window, BATCH, longest),
        )

    async def run(self) -> None:
        """Write what is submitted, until cancelled."""
        with self._lock.joined(self):
            await self._coalescer.run()

    @property
    def pending(self) -> int:
        """Changes without a result."""
        return self._coalescer.pending

    def submit(self, change: RecordChange, *, wake: Callable[[], None] | None = None) -> Ticket[Stored]:
        """Submit the desired address records of a name. Raise Stall if the name is not normalised.

        The result is the records after the write.
        """
        if normalise(change.name) != change.name:
            raise Stall(INVALID_SPEC, f"{change.name!r} is not a normalised hostname")
        return self._coalescer.submit(change, wake=wake)

    def records_of(self, name: str) -> Stored:
        """The records of a name in the mirror. Raise NotSyncedError if it is not synced."""
        if not self.mirror.synced:
            raise NotSyncedError(self.mirror.name)
        return tuple(self._index.get(name, {}).values())

    def _follow(self, id_: str, old: DnsRecord | None, new: DnsRecord | None) -> None:
        if old is not None:
            same_name = self._index.get(old.name, {})
            same_name.pop(id_, None)
            if not same_name:
                self._index.pop(old.name, None)
        if new is not None:
            self._index.setdefault(new.name, {})[id_] = new

    # Before a batch

    def _weigh(self, change: RecordChange) -> int:
        try:
            return max(1, plan_change(change, self.records_of(change.name)).size)
        except PassError:
            return max(1, len(change.wanted))

    def _find_result(self, change: RecordChange) -> Stored | None:
        plan = plan_change(change, self.records_of(change.name))
        return plan.kept if plan.size == 0 and not self._unsure else None

    # The batch

    async def _write(self, changes: Sequence[RecordChange]) -> Sequence[Stored | PassError]:
        async with self._lock.lock:
            return await self._write_alone(changes)

    async def _write_alone(self, changes: Sequence[RecordChange]) -> Sequence[Stored | PassError]:
        try:
            return await self._write_all(changes)
        except Stall as error:
            if may_concern_one_change(error):
                raise
            if error.reason == QUOTA_EXCEEDED and len(changes) > 1:
                return await self._write_what_fits(changes, error)
            return [error] * len(changes)

    async def _write_all(self, changes: Sequence[RecordChange]) -> list[Stored | PassError]:
        plans = self._plan(changes, self.records_of)
        if self._unsure or any(isinstance(plan, RecordPlan) and plan.touches_existing for plan in plans):
            plans = await self._plan_live(changes)
        try:
            return await self._perform(plans)
        except (Conflict, Stall) as error:
            if isinstance(error, Stall) and error.reason != RECORD_CONFLICT:
                raise
        return await self._perform(await self._plan_live(changes))

    async def _write_what_fits(
        self, changes: Sequence[RecordChange], full: Stall
    ) -> list[Stored | PassError]:
        """Write as many changes as the zone has room for: the first half, or half of that, and so on."""
        count = len(changes) // 2
        while count:
            try:
                return [*await self._write_all(changes[:count]), *[full] * (len(changes) - count)]
            except Stall as error:
                if error.reason != QUOTA_EXCEEDED:
                    raise
            count //= 2
        return [full] * len(changes)

    def _plan(
        self, changes: Sequence[RecordChange], lookup: Callable[[str], Iterable[DnsRecord]]
    ) -> list[RecordPlan | PassError]:
        plans: list[RecordPlan | PassError] = []
        for change in changes:
            try:
                plans.append(plan_change(change, lookup(change.name)))
            except PassError as error:
                plans.append(error)
        return plans

    async def _plan_live(self, changes: Sequence[RecordChange]) -> list[RecordPlan | PassError]:
        live = await self._records.all()
        self._unsure = False
        self.mirror.poke()  # apply what was just read
        return self._plan(changes, by_name(live))

    async def _perform(self, plans: Sequence[RecordPlan | PassError]) -> list[Stored | PassError]:
        """Perform the plans, in as few calls as possible."""
        outcomes: list[Stored | PassError] = [
            plan if isinstance(plan, PassError) else plan.kept for plan in plans
        ]
        for batch in _batches(plans):
            for position, stored in zip(batch, await self._call(list(batch.values())), strict=True):
                outcomes[position] = stored
        return outcomes

    async def _call(self, plans: Sequence[RecordPlan]) -> list[Stored]:
        try:
            result = await self._records.change(plans)
            stored = _stored(plans, result)
        except (Retry, asyncio.CancelledError):
            for writer in self._lock.writers:
                writer.mark_uncertain()
            raise
        for writer in self._lock.writers:
            writer.record_written(zip(plans, stored, strict=True))
        return stored

    # What this writer or another one of the same zone has done

    def record_written(self, written: Iterable[tuple[RecordPlan, Stored]]) -> None:
        """Apply the results of plans to the mirror."""
        for plan, records in written:
            for record in plan.deletes:
                self.mirror.remove(record.id)
            for record in records:
                self.mirror.put(record.id, record)

    def mark_uncertain(self) -> None:
        """Require a listing of the zone before the next write, because a response was lost."""
        self._unsure = True
        self.mirror.poke()


def _batches(plans: Sequence[RecordPlan | PassError]) -> Iterator[dict[int, RecordPlan]]:
    """Plans by position, as many as fit into a call. A plan is never split, so that records are replaced atomically."""
    batch: dict[int, RecordPlan] = {}
    room = BATCH
    for position, plan in enumerate(plans):
        if isinstance(plan, PassError) or plan.size == 0:
            continue
        if batch and plan.size > room:
            yield batch
            batch, room = {}, BATCH
        batch[position] = plan
        room -= plan.size
    if batch:
        yield batch


def _stored(plans: Sequence[RecordPlan], result: BatchResult) -> list[Stored]:
    """The records of each plan after the call. Raise Retry if the response lacks some of them."""
    changed = {record.id: record for record in result.patches or ()}
    created = {(record.type, record.name, record.content): record for record in result.posts or ()}
    try:
        return [
            (
                *plan.kept,
                *(changed[record.id] for record, _ in plan.patches),
                *(created[fields["type"], fields["name"], fields["content"]] for fields in plan.posts),
            )
            for plan in plans
        ]
    except KeyError as error:
        raise unreadable(f"the response to a change of DNS records lacks one of them: {error}") from error
