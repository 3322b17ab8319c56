"""Leader election over a Lease: at most one of several replicas acts.

The protocol is that of client-go, so replicas of different versions and other tools are compatible: the leader writes
its identity and renews the Lease every `retry_period`; the others watch the Lease and take over when it has not changed
for `duration`. This elector adds `check`, by which the leader makes sure before each mutating call, without a request,
that no other replica can be leading yet.

    state       what happens                                               next
    STANDBY     the Lease is missing, released, or unchanged for `duration`:
                written with our name, and the server accepts it           LEADING
    STANDBY     anything else, any error                                   STANDBY
    LEADING     renewed                                                    LEADING
    LEADING     not renewed for `renew_deadline`                           LOST
    LEADING     the Lease has another holder                               LOST
    any         `release` is called                                        RELEASED

LOST and RELEASED are final: to lead again a new process must start, so that no state in memory survives from an
earlier term.

Expected flow
    1. `run` tries to acquire every `retry_period` (with jitter), and exactly when an unchanged Lease expires.
    2. `wait_elected` returns; the manager starts its workers. `check` passes from here on.
    3. `run` renews every `retry_period`. A renewal is one conditional PUT; the Lease is read again only if it failed.
    4. On shutdown the workers stop first, then `release` clears the holder, and another replica leads within seconds.
    5. If renewing fails for too long, `check` refuses first, then `run` raises LostLeadershipError: exit.

Guarantees
    - Two electors never both pass `check` at one instant. A holder counts its term from the moment *before* it sent
      its last accepted renewal, for seven tenths of `renew_deadline` (7 s); others wait a full `duration` (15 s) from
      the moment *after* they first saw that renewal. Clocks may run at rates that differ by a factor of two.
    - Wall clocks do not matter. They are written into the Lease for display and never read.
    - A frozen process or a blocked event loop makes no mutating call after it wakes up: `check` reads the clock anew.
    - Nothing but LostLeadershipError (and cancellation) ends `run`. Each attempt has a time limit of its own: one
      request that hangs does not interrupt the work, and none outlives the deadline.
    - Each write carries the resourceVersion of what was read: of two that take over at once, one is refused.
    - Of a Lease that vanishes, only those who have never seen its holder make a new one at once; the others wait
      until its term is over.

Assumptions
    - The identity is unique. Should two candidates share one all the same, each still counts only
      what it wrote itself as its own; a restarted process waits for the term of its former self.
    - The client's own checks do not call `check`, or an elector would need to lead in order to renew.
    - `Clock.monotonic` goes on while the process is stopped. A suspended machine may stop it; then see the caveats.

Caveats
    - A call that passed `check` may reach its destination much later. Seven seconds of term in fifteen of lease leave
      eight for it; a call that must never happen twice needs preconditions of its own besides leadership.
    - Between the term's end and `renew_deadline` `check` refuses although a late renewal may yet succeed.
    - Anyone with the right to write Leases can remove the leader, and so make two lead at the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from random import Random
from typing import Protocol

from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.log import get_logger
from edgekeeper.kube.errors import AlreadyExistsError, NotFoundError, StaleError
from edgekeeper.kube.kinds import LEASE, Key, Kind
from edgekeeper.kube.lease_record import LeaseRecord, new_lease, with_spec

_log = get_logger(__name__)

_TERM = 0.7
"""The part of the renew deadline in which a holder may act. With 15/10 s, others wait more than twice as long."""
_ATTEMPT = 0.4
"""The part of the renew deadline that one attempt may take."""
_JITTER = 0.5
"""Candidates come back after one to one and a half retry periods, so that a crowd of them spreads out."""
_SHORTEST_PAUSE = 0.1
"""The least part of a retry period to wait: no clock, however odd, makes the elector spin."""
_RELEASED_DURATION = timedelta(seconds=1)


class LostLeadershipError(Exception):
    """This process does not lead, or cannot be sure that it does."""


class LeaseClient(Protocol):
    """The methods of `KubeClient` that an elector uses."""

    async def get(self, kind: Kind, key: Key) -> JsonObject: ...

    async def create(self, kind: Kind, obj: JsonObject, *, namespace: str = "") -> JsonObject: ...

    async def replace(self, kind: Kind, key: Key, obj: JsonObject) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """The three intervals of an election, with client-go's defaults."""

    duration: timedelta = timedelta(seconds=15)
    """How long others wait after the last change of the Lease before they take over."""
    renew_deadline: timedelta = timedelta(seconds=10)
    """How long a leader keeps trying to renew."""
    retry_period: timedelta = timedelta(seconds=2)
    """The interval between two attempts."""

    def __post_init__(self) -> None:
        if self.retry_period <= timedelta(0):
            raise ValueError("the retry period must be positive")
        if self.term <= self.retry_period:
            raise ValueError(f"the renew deadline must be longer than {1 / _TERM:.2f} retry periods")
        if self.duration <= self.renew_deadline:
            raise ValueError("the lease duration must be longer than the renew deadline")

    @property
    def term(self) -> timedelta:
        """How long after a renewal was sent its holder may act: the renew deadline minus a margin."""
        return self.renew_deadline * _TERM

    @property
    def attempt_limit(self) -> timedelta:
        """How long one attempt may take: after one that hung there is time for another within the term."""
        return self.renew_deadline * _ATTEMPT


class Phase(Enum):
    """The state of an elector; the table at the top of the module has the transitions."""

    STANDBY = "standby"
    LEADING = "leading"
    LOST = "lost"
    RELEASED = "released"


class Elector:
    """One candidate for one Lease: acquires it, renews it, and checks whether this process still leads."""

    def __init__(
        self,
        client: LeaseClient,
        clock: Clock,
        key: Key,
        identity: str,
        options: LeaseOptions = LeaseOptions(),  # noqa: B008 - frozen
        on_change: Callable[[bool], None] | None = None,
    ) -> None:
        self.identity = identity
        self._client = client
        self._clock = clock
        self._key = key
        self._options = options
        self._on_change = on_change
        self._term = options.term.total_seconds()
        self._phase = Phase.STANDBY
        self._renewed_at = 0.0
        """When the last accepted renewal was sent. Valid only while leading."""
        self._lease: JsonObject | None = None
        """The Lease as last read or written, deleted or not."""
        self._seen_at = 0.0
        """When the present content of `_lease` was first read."""
        self._claimed = False
        """Whether a write of this elector took effect, or may have: only then is a Lease with our identity ours."""
        self._writing = asyncio.Lock()
        self._elected = asyncio.Event()
        self._ended = asyncio.Event()
        # Seeded with the identity: different for each candidate, and reproducible in tests.
        self._random = Random(identity)
        self._log = _log.bind(lease=str(key), identity=identity)

    @property
    def is_leader(self) -> bool:
        """Whether `check` would pass now."""
        return self._phase is Phase.LEADING and self._age() < self._term

    @property
    def holder(self) -> str:
        """The holder that the Lease named when it was last read. For display only."""
        return LeaseRecord.of(self._lease or {}).holder

    def check(self) -> None:
        """Raise LostLeadershipError unless this process leads and its term is not over. Makes no request."""
        if self._phase is not Phase.LEADING:
            raise LostLeadershipError(f"cannot act as leader of {self._key}: {self._phase.value}")
        if self._age() >= self._term:
            raise LostLeadershipError(
                f"cannot act as leader of {self._key}: last renewed {self._age():.1f} s ago"
            )

    async def wait_elected(self) -> None:
        """Return as soon as this candidate leads. Raise LostLeadershipError if that can no longer happen."""
        await self._elected.wait()
        if self._phase is not Phase.LEADING:
            raise LostLeadershipError(f"cannot lead {self._key}: {self._phase.value}")

    async def run(self) -> None:
        """Acquire, then renew. Return after `release`, raise LostLeadershipError when leadership is lost."""
        self._log.info("Waiting to lead")
        while not self._ended.is_set():
            if self._phase is Phase.LEADING and self._time_left() <= 0:
                self._enter(Phase.LOST)
                break
            began = self._clock.monotonic()
            await self._attempt()
            await self._pause(began)
        if self._phase is Phase.LOST:
            raise LostLeadershipError(f"lost the leadership of {self._key}")

    async def release(self) -> None:
        """Stop leading at once, and give the Lease back. Never raises: a Lease that is not given back expires.

        Call it after everything that acts as leader has stopped.
        """
        self._enter(Phase.RELEASED)
        if not self._claimed:
            return
        try:
            async with asyncio.timeout(self._options.attempt_limit.total_seconds()), self._writing:
                await self._clear_holder()
        except Exception as error:  # noqa: BLE001 - the Lease expires by itself
            self._log.warning("Cannot release lease", error=_text_of(error))

    async def _attempt(self) -> None:
        """Try once to acquire or renew. Errors are logged; the next attempt follows after the retry period."""
        limit = self._options.attempt_limit.total_seconds()
        if self._phase is Phase.LEADING:
            limit = min(limit, max(self._time_left(), self._shortest_pause))
        try:
            async with asyncio.timeout(limit), self._writing:
                await self._acquire_or_renew()
        except Exception as error:  # noqa: BLE001 - a failed attempt must not end `run`
            self._log.warning("Cannot acquire or renew lease", error=_text_of(error))

    async def _acquire_or_renew(self) -> None:
        if self._phase is Phase.LEADING and await self._renew_unread():
            return
        lease = await self._read()
        if self._phase is Phase.LEADING and lease is not None and not self._is_ours(lease):
            self._enter(Phase.LOST)
        if self._phase in (Phase.LOST, Phase.RELEASED) or self._is_taken():
            return
        try:
            await self._write(lease)
        except (AlreadyExistsError, StaleError):
            self._log.debug("Another candidate wrote the lease first")

    async def _renew_unread(self) -> bool:
        """Renew with the resourceVersion of our last write. Return False if the Lease has changed and must be read."""
        try:
            await self._write(self._lease)
        except (NotFoundError, AlreadyExistsError, StaleError):
            return False
        return True

    async def _read(self) -> JsonObject | None:
        try:
            lease = await self._client.get(LEASE, self._key)
        except NotFoundError:
            return None
        self._observe(lease)
        return lease

    async def _write(self, lease: JsonObject | None) -> None:
        """Write our identity into the Lease as it was read, or create it. The term begins when the request is sent."""
        sent_at = self._clock.monotonic()
        written = await self._put(lease, self.identity, self._options.duration)
        if self._clock.monotonic() - sent_at >= self._term:
            raise TimeoutError("the answer came too late to rely on")
        self._observe(written)
        self._renewed_at = sent_at
        if self._phase is Phase.STANDBY:
            self._enter(Phase.LEADING)

    async def _put(self, lease: JsonObject | None, holder: str, duration: timedelta) -> JsonObject:
        now = self._clock.now()
        if lease is None:
            created = new_lease(self._key, holder, duration, now)
            return await self._claiming(self._client.create(LEASE, created, namespace=self._key.namespace))
        changed = with_spec(lease, LeaseRecord.of(lease).handed_to(holder, duration, now))
        return await self._claiming(self._client.replace(LEASE, self._key, changed))

    async def _claiming(self, write: Awaitable[JsonObject]) -> JsonObject:
        """Await a write of the Lease, which may have taken effect even if no answer arrives."""
        claimed, self._claimed = self._claimed, True
        try:
            return await write
        except (NotFoundError, AlreadyExistsError, StaleError):
            self._claimed = claimed  # certainly without effect
            raise

    async def _clear_holder(self) -> None:
        for _ in range(2):
            lease = await self._read()
            if lease is None or not self._is_ours(lease):
                return
            try:
                self._observe(await self._put(lease, "", _RELEASED_DURATION))
            except StaleError:
                continue
            self._log.info("Released lease")
            return

    def _observe(self, lease: JsonObject) -> None:
        """Store the Lease, and the time if its uid or spec changed. Changes of labels and the like do not count."""
        if self._lease is None or _renewal(lease) != _renewal(self._lease):
            self._seen_at = self._clock.monotonic()
            holder = LeaseRecord.of(lease).holder
            if holder not in ("", self.holder, self.identity):
                self._log.info("Lease has a new holder", holder=holder)
        self._lease = lease

    def _is_ours(self, lease: JsonObject) -> bool:
        return self._claimed and LeaseRecord.of(lease).holder == self.identity

    def _is_taken(self) -> bool:
        """Whether another candidate may be leading, going by the last Lease read, even if it was deleted since."""
        if self._lease is None or not self.holder or self._is_ours(self._lease):
            return False
        return self._expires_in() > 0

    def _expires_in(self) -> float:
        duration = max(self._options.duration, LeaseRecord.of(self._lease or {}).duration)
        return self._seen_at + duration.total_seconds() - self._clock.monotonic()

    def _age(self) -> float:
        return self._clock.monotonic() - self._renewed_at

    def _time_left(self) -> float:
        return self._options.renew_deadline.total_seconds() - self._age()

    @property
    def _shortest_pause(self) -> float:
        return self._options.retry_period.total_seconds() * _SHORTEST_PAUSE

    async def _pause(self, began: float) -> None:
        """Wait until the next attempt is due, counted from the start of the last one, or until the elector ends."""
        period = self._options.retry_period.total_seconds()
        if self._phase is not Phase.LEADING:
            period *= 1 + self._random.random() * _JITTER
        delay = began + period - self._clock.monotonic()
        if self._phase is Phase.LEADING:
            delay = min(delay, self._time_left())
        elif self._is_taken():
            # With a small jitter, so that the first of several candidates has written when the second one reads.
            delay = min(delay, self._expires_in() + self._random.random() * self._shortest_pause)
        try:
            async with asyncio.timeout(max(delay, self._shortest_pause)):
                await self._ended.wait()
        except TimeoutError:
            return

    def _enter(self, phase: Phase) -> None:
        if self._phase is phase or self._phase is Phase.LOST:
            return
        was_leading, self._phase = self._phase is Phase.LEADING, phase
        if phase is Phase.LEADING:
            self._log.info("Became leader")
        elif was_leading:
            self._log.info("Stopped leading", phase=phase.value)
        self._elected.set()
        if phase is not Phase.LEADING:
            self._ended.set()
        if self._on_change is not None and was_leading != (phase is Phase.LEADING):
            self._on_change(phase is Phase.LEADING)


def _renewal(lease: JsonObject) -> tuple[object, object]:
    """The parts of a Lease that a renewal changes."""
    return dig(lease, "metadata", "uid"), dig(lease, "spec")


def _text_of(error: Exception) -> str:
    return str(error) or type(error).__name__
