"""One hosted zone: a mirror of its records, the single writer of its changes, and the state of its batches.

    zone = Zone(zone_id, route53, clock, metrics)
    group.create_task(zone.run())
    …
    ticket = zone.submit(Present(record, written=inventory.get(key)), wake=wake)     in a pass, which then ends
    …
    written = ticket.result()                                                        in the pass after the wake-up
    zone.in_sync(written.change_id, wake)

*Guarantees*
 - A record that was never ours is not overwritten; a record is deleted only if it still is what we wrote (`changes`).
 - After a batch whose response was lost, the zone is read before anything is written again.
 - An invalid record fails alone: Route 53 names it, and the others are written without it.
 - If the zone itself is refused (IAM, no such zone), it is retried after a while and not once per record.

*Caveats*
 - If the zone cannot be listed, changes are sent without knowing the existing records: CREATE and DELETE with the values that
   we wrote, which Route 53 compares. After a lost response, our own records then look like somebody else's.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.dns.changes import LARGEST_BATCH, Absent, Action, Change, TakenError, Wish, plan
from edgekeeper.cloud.aws.dns.propagation import Propagation
from edgekeeper.cloud.aws.dns.records import Record, RecordKey, normalise_name
from edgekeeper.cloud.aws.error_table import DNS_CONFLICT, DNS_TAKEN
from edgekeeper.cloud.aws.roles import RoleRefusedError
from edgekeeper.cloud.aws.route53 import RECORDS_PER_PAGE, Route53
from edgekeeper.cloud.coalescer import Coalescer, CoalescerOptions, Ticket
from edgekeeper.cloud.error_table import error_for
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import DEFAULT_OPTIONS, Mirror, MirrorOptions
from edgekeeper.cloud.write_lock import WriteLock
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Conflict, PassError, Retry, Stall, fresh
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

WINDOW: Final = timedelta(seconds=1)
REFUSAL_REMEMBERED: Final = timedelta(seconds=30)

_NAMED = re.compile(r"name='(?P<name>[^']+)', type='(?P<type>[A-Z]+)'")
_RRSET = re.compile(r"RRSet (?:of type (?P<type>[A-Z]+) )?with DNS name (?P<name>\S+)")


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a wish."""

    change: Change | None
    """The change that was made; None if none was necessary."""
    change_id: str = ""
    """The id of the batch; empty if no change was made."""
    left: Record | None = None
    """The record that was not removed because somebody has changed it since we wrote it."""


UNCHANGED: Final = Written(None)


class Zone:
    """The mirror and the writer of a hosted zone, as one role reaches it."""

    def __init__(  # noqa: PLR0913 - four things that it needs, the rest by name
        self,
        zone_id: str,
        route53: Route53,
        clock: Clock,
        metrics: CloudMetrics,
        options: MirrorOptions = DEFAULT_OPTIONS,
        *,
        name: str = "",
        lock: WriteLock[Zone] | None = None,
    ) -> None:
        """`options.fast` is also how often Route 53 is asked about a batch that is not in sync.

        `name` distinguishes zones of the same id, reached by other roles, in logs and metrics. `lock` is what it
        shares with those others.
        """
        self.id = zone_id
        name = name or zone_id
        self.is_listing_denied = False
        """Whether IAM denies listing the zone."""
        self.mirror: Mirror[RecordKey, Record] = Mirror(
            f"records of zone {name}",
            self._records,
            clock,
            metrics,
            options=options,
            confirm=lambda key: route53.find_record(zone_id, key),
        )
        self._route53 = route53
        self._clock = clock
        self._lock: WriteLock[Zone] = lock or WriteLock()
        self._propagation = Propagation(route53.find_change, options.fast)
        self._writer: Coalescer[Wish, Written] = Coalescer(
            f"zone {name}",
            self._write,
            key=_key,
            weigh=self._weigh,
            find_result=self._find_result,
            find_faulty=find_faulty,
            options=CoalescerOptions(window=WINDOW, heaviest=LARGEST_BATCH),
        )
        self.apex = ""
        """The zone's own name, once it was listed."""
        self._is_doubtful = False
        """Whether the response to a batch was lost since the zone was read."""
        self._refusal: tuple[float, Stall] | None = None

    @property
    def role_refusal(self) -> RoleRefusedError | None:
        """The error if the zone's role cannot be assumed, so that the zone can be neither listed nor written."""
        problem = self.mirror.problem
        return problem if isinstance(problem, RoleRefusedError) else None

    def submit(self, wish: Wish, *, wake: Callable[[], None] | None = None) -> Ticket[Written]:
        """Submit a wish. `wake` is called when there is a result."""
        return self._writer.submit(wish, wake=wake)

    @property
    def is_idle(self) -> bool:
        """Whether no wish is without a result, and no batch is being followed."""
        return not self._writer.pending and not self._propagation.pending

    def in_sync(self, change_id: str, wake: Callable[[], None] | None = None) -> bool:
        """Whether a batch has reached all name servers. If not yet, call `wake` when it has."""
        return self._propagation.in_sync(change_id, wake)

    def propagation_problem(self, change_id: str) -> PassError | None:
        """Why the state of a batch cannot be read at present; None where it can."""
        return self._propagation.problem(change_id)

    async def run(self) -> None:
        """List, write and follow until cancelled."""
        with self._lock.joined(self):
            async with asyncio.TaskGroup() as group:
                group.create_task(self.mirror.run(), name=f"mirror of zone {self.id}")
                group.create_task(self._writer.run(), name=f"writer of zone {self.id}")
                group.create_task(self._propagation.run(), name=f"changes of zone {self.id}")

    # Reading

    async def _records(self) -> AsyncIterator[dict[RecordKey, Record]]:
        try:
            async for page in self._route53.records(self.id):
                self.apex = next((key.name for key in page if key.type == "SOA"), self.apex)
                yield page
        except Stall as refusal:
            if not self.is_listing_denied and refusal.error_type == "dns_access_denied":
                log.warning("Zone cannot be listed; records are written without reading it", zone=self.id)
                self.is_listing_denied = True
            raise
        self.is_listing_denied = False

    def _plan(self, wish: Wish) -> Change | None:
        """The change that a wish needs, according to the mirror. Raise Stall if the record belongs to somebody else."""
        records = None if self.is_listing_denied else self._record(_key(wish))
        try:
            return plan(wish, records)
        except TakenError as error:
            raise error_for(DNS_TAKEN, f"{error} {_named(error.existing.key)}") from error

    def _record(self, key: RecordKey) -> dict[RecordKey, Record]:
        """The record of a key, as a mapping. Raise the error that keeps the zone from being listed, if a person must act."""
        problem = self.mirror.problem
        if not self.mirror.synced and isinstance(problem, Stall):
            raise fresh(problem)
        record = self.mirror.get(key)
        return {} if record is None else {key: record}

    def _find_result(self, wish: Wish) -> Written | None:
        if self._refusal is not None and self._clock.monotonic() < self._refusal[0]:
            raise fresh(self._refusal[1])
        if self._is_doubtful or isinstance(wish, Absent):
            return None  # a record counts as gone only after the zone was read
        return UNCHANGED if self._plan(wish) is None else None

    def _weigh(self, wish: Wish) -> int:
        """The largest weight that the change of a wish can have: which change it is, is known only when it is written."""
        if isinstance(wish, Absent):
            return Change(Action.DELETE, wish.written).weight
        action = Action.CREATE if wish.written is None else Action.UPSERT
        return Change(action, wish.record).weight

    # Writing

    async def _write(self, wishes: Sequence[Wish]) -> Sequence[Written]:
        async with self._lock.lock:
            return await self._write_alone(wishes)

    async def _write_alone(self, wishes: Sequence[Wish]) -> Sequence[Written]:
        await self._read_if_needed(wishes)
        plans = [self._plan(wish) for wish in wishes]
        changes = [change for change in plans if change is not None]
        change_id = await self._change(changes) if changes else ""
        for zone in self._lock.writers:
            zone.record_written(changes)
        return [
            self._unchanged(wish) if change is None else Written(change, change_id)
            for wish, change in zip(wishes, plans, strict=True)
        ]

    def _unchanged(self, wish: Wish) -> Written:
        """The result if nothing is written. A record that differs from what we wrote is not removed, but reported."""
        return Written(None, left=self.mirror.get(_key(wish))) if isinstance(wish, Absent) else UNCHANGED

    async def _read_if_needed(self, wishes: Sequence[Wish]) -> None:
        """Read the zone, or single records, after a lost response and before a record counts as gone or changed.

        A record that the mirror has as we wrote it is not read: Route 53 deletes it only if that is still true.
        """
        if self.is_listing_denied:
            return
        unseen = [_key(wish) for wish in wishes if isinstance(wish, Absent) and self._plan(wish) is None]
        if not self._is_doubtful and not unseen:
            return
        try:
            if self._is_doubtful or len(unseen) > 1 + self.mirror.count // RECORDS_PER_PAGE:
                await self.mirror.refresh()
            else:
                for key in unseen:
                    self._put(key, await self._route53.find_record(self.id, key))
        except Stall as refusal:
            self._cache_refusal(refusal)
            raise
        self._is_doubtful = False

    async def _change(self, changes: Sequence[Change]) -> str:
        try:
            receipt = await self._route53.change(self.id, changes)
        except (Retry, asyncio.CancelledError):
            for zone in self._lock.writers:
                zone.mark_uncertain()
            raise
        except Conflict as stale:
            return await self._settle_stale(changes, stale)
        except Stall as refusal:
            if not _is_about_records(refusal):
                self._cache_refusal(refusal)
            raise
        self._propagation.follow(receipt.id)
        return receipt.id

    def _cache_refusal(self, refusal: Stall) -> None:
        self._refusal = (self._clock.monotonic() + REFUSAL_REMEMBERED.total_seconds(), fresh(refusal))

    async def _settle_stale(self, changes: Sequence[Change], stale: Conflict) -> str:
        """The mirror is outdated: read the record that the change is about."""
        if len(changes) > 1:
            # Raise a Stall, so that the writer splits the batch and finds the record that caused it.
            raise error_for(DNS_TAKEN, stale.message) from stale
        (change,) = changes
        if self.is_listing_denied:
            record = None  # our record is gone, or somebody has replaced it
        else:
            record = await self._route53.find_record(self.id, change.record.key)
            self._put(change.record.key, record)
        if change.action is Action.DELETE and record is None:
            return ""  # already gone
        raise stale

    # What this writer or another one of the same zone has done

    def record_written(self, changes: Iterable[Change]) -> None:
        """Apply changes that were written to the mirror. Listings that started earlier do not undo them."""
        for change in changes:
            self._put(change.record.key, None if change.action is Action.DELETE else change.record)

    def mark_uncertain(self) -> None:
        """Require a read of the zone before the next write, because the response to a batch was lost."""
        self._is_doubtful = True

    def _put(self, key: RecordKey, record: Record | None) -> None:
        if record is None:
            self.mirror.remove(key)
        else:
            self.mirror.put(key, record)


def _key(wish: Wish) -> RecordKey:
    return wish.written.key if isinstance(wish, Absent) else wish.record.key


def _named(key: RecordKey) -> str:
    """A record as Route 53's own messages name it, so that `find_faulty` finds it."""
    return f"[name='{key.name}.', type='{key.type}']"


def _is_about_records(refusal: PassError) -> bool:
    """Whether a record of the batch caused the refusal, and not the zone or missing permissions."""
    return refusal.reason == DNS_CONFLICT or refusal.error_type == "dns_invalid_input"


def find_faulty(error: Exception, wishes: Sequence[Wish]) -> Collection[int]:
    """The positions of the wishes whose records an error names."""
    text = str(error)
    matches = [*_NAMED.finditer(text), *_RRSET.finditer(text)]
    named = {(normalise_name(match["name"]), match["type"]) for match in matches}
    return [
        position
        for position, (name, kind, _) in enumerate(map(_key, wishes))
        if (name, kind) in named or (name, None) in named
    ]
