"""The writer of a zone's address records, with a mirror of them.

*Expected flow* of a batch
 1. What is in effect already by the mirror is not written; what conflicts with records of others is refused (`already`).
 2. Where records that exist are to be changed or deleted, the zone is listed first, because a mirror may be old.
 3. One call writes everything. What it stored goes into the mirror.
 4. Where Cloudflare says that something is in the way, or gone, the mirror was wrong: the zone is listed, and the rest
    is written without the change that cannot be. So one bad record costs the others two calls.
 5. Where the zone is full, as many as fit are written. What concerns all, such as a refused token, is reported to all at once.

*Guarantees*
 - After a call without an answer nothing is written before the zone was listed.
 - Writers of the same zone with other credentials write one at a time, and know what the others wrote.
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
"""Operations in one call, on any plan."""
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
    ) -> None:
        self.mirror = mirror
        self._lock = lock
        self._records = records
        self._index: dict[str, dict[str, DnsRecord]] = {}
        mirror.subscribe(self._follow)
        self._unsure = False
        """Whether the last call, by whichever writer of the zone, had no answer."""
        self._coalescer: Coalescer[RecordChange, Stored] = Coalescer(
            f"zone {name}",
            self._write,
            key=lambda change: change.name,
            weigh=self._weigh,
            find_result=self._find_result,
            options=CoalescerOptions(window, BATCH),
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
        """Submit what the address records of a name should be. Raise Stall where it is no name.

        The result is the records as they are then.
        """
        if normalise(change.name) != change.name:
            raise Stall(INVALID_SPEC, f"{change.name!r} is not written as Cloudflare writes it")
        return self._coalescer.submit(change, wake=wake)

    def records_of(self, name: str) -> Stored:
        """The records of a name, as the mirror knows them. Raise NotSyncedError where it does not know yet."""
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
        """The zone has not enough room for all: write the first half of them, or of that half, and so on."""
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
        self.mirror.poke()  # let it see what we have just read
        return self._plan(changes, by_name(live))

    async def _perform(self, plans: Sequence[RecordPlan | PassError]) -> list[Stored | PassError]:
        """Carry out the plans, in as few calls as possible."""
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
        """Plans were carried out, with these records as the result. The mirror shows them from now on."""
        for plan, records in written:
            for record in plan.deletes:
                self.mirror.remove(record.id)
            for record in records:
                self.mirror.put(record.id, record)

    def mark_uncertain(self) -> None:
        """A call was sent and its answer never came: the zone has to be listed before it is written again."""
        self._unsure = True
        self.mirror.poke()


def _batches(plans: Sequence[RecordPlan | PassError]) -> Iterator[dict[int, RecordPlan]]:
    """Plans by position, as many as fit into a call. A plan stays whole: a record is replaced in one go or not at all."""
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
    """The records of each plan after the call. Raise Retry where the answer lacks some of them."""
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
        raise unreadable(f"the answer to a change of DNS records lacks one of them: {error}") from error
