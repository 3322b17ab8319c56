"""Outages as the objects see them that have something to do: how long each has been kept waiting, and what it says.

    object                                            while its cloud cannot be used
    at rest, or stalled                               keeps its conditions
    new, changed or being deleted (`has_work`)        nothing for `PATIENCE`, then Synced=False/CloudUnavailable
      of whose present spec nothing is known          and Ready=Unknown, with the same reason
    … and an answer comes                             the ordinary pass says what is true, and forgets the outage

*Guarantees*
 - An object tells of an outage once: one write, one event. Which call failed last, and when, changes nothing about what
   it says; only another cause does, once it has lasted for as long as the first.
 - It is told in time: `next_look` says when to come back for it, and `due` that there is something to tell without
   another attempt.

*Assumptions*
 - Passes call `note` where they fail and `clear` where they had an answer of the cloud. A pass that only handed
   something in knows neither, and calls `expect`.

Memory only: after a restart time counts anew, and what an object says of an outage stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from edgekeeper.core.clock import Clock
from edgekeeper.core.conditions import READY
from edgekeeper.core.errors import Cause, PassError, Wait, fresh
from edgekeeper.core.json import JsonObject, dig, dig_list

CLOUD_UNAVAILABLE: Final = "CloudUnavailable"
PATIENCE: Final = timedelta(seconds=55)
"""How long an object waits in silence, so that it is told why within a minute."""
LONGEST_PAUSE: Final = timedelta(minutes=5)
"""Between two attempts of one object, however long the outage lasts."""
AFTER_TELLING: Final = timedelta(seconds=1)
SERIES_GAP: Final = timedelta(minutes=20)
"""An object of which nothing was heard for so long is not waiting any more: it was paused, or is gone."""
_TOLERANCE: Final = timedelta(milliseconds=10)
"""By which a timer may come early: one that was set again for the same moment would spin."""

WORDS: Final = {
    Cause.UNREACHABLE: "the cloud does not answer",
    Cause.THROTTLED: "the cloud does not accept more calls for now",
    Cause.CREDENTIALS: "the operator's credentials are missing or not accepted by the cloud",
    Cause.UNLISTED: "it is not known yet what is in the cloud",
}
"""How a message begins, by which the cause that was told is recognised."""
_NEXT: Final = "tried again every few minutes, and as soon as the object changes"


@dataclass(slots=True)
class _Series:
    first: float
    """When the first attempt began that had no answer."""
    last: float
    error: PassError | None = None
    since: float = 0.0
    """When the present cause was met first."""
    is_told: bool = False


class Outages:
    """Objects that are kept waiting by their cloud, by uid."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._series: dict[str, _Series] = {}
        self._swept = clock.monotonic()

    def __len__(self) -> int:
        """How many objects are waiting."""
        return len(self._series)

    def expect(self, uid: str, since: float) -> None:
        """Something was asked of the cloud, at that moment of the monotonic clock, and the answer is still to come."""
        now = self._clock.monotonic()
        self._sweep(now)
        series = self._series.get(uid)
        if series is None or now - series.last > SERIES_GAP.total_seconds():
            series = self._series[uid] = _Series(since, now)
        series.last = now

    def note(self, uid: str, error: PassError, since: float) -> None:
        """An attempt that began at that moment has failed, for what `error.unavailable` says."""
        self.expect(uid, since)
        series = self._series[uid]
        is_other = series.error is None or series.error.unavailable is not error.unavailable
        if is_other:
            series.since = self._clock.monotonic()
        if is_other or error.error_type:  # what the cloud said tells more than that nobody asks it at present
            series.error = fresh(error)

    def clear(self, uid: str) -> None:
        """The cloud has answered, or the object is gone."""
        self._series.pop(uid, None)

    def next_look(self, uid: str) -> timedelta | None:
        """When to come back at the latest: to tell of the outage in time, or to see whether it is over."""
        series = self._series.get(uid)
        if series is None or series.error is None:
            return None
        return self.time_left(uid) or LONGEST_PAUSE

    def time_left(self, uid: str) -> timedelta | None:
        """How long an answer may be waited for, so that an outage is told in time; None where it is late already."""
        series = self._series.get(uid)
        if series is None:
            return PATIENCE
        if self._is_long(series.first):
            return None
        return timedelta(seconds=series.first - self._clock.monotonic()) + PATIENCE

    def due(self, uid: str) -> Wait | None:
        """What to raise in place of another attempt, once, because it is time to tell of the outage."""
        series = self._series.get(uid)
        if series is None or series.error is None or series.is_told or not self._is_long(series.first):
            return None
        series.is_told = True
        told = Wait(AFTER_TELLING, series.error.reason, series.error.message)
        told.unavailable = series.error.unavailable
        return told

    def message(self, uid: str, said: str) -> str:
        """What the object should say, given what it says of an outage already; empty while it is too early."""
        series = self._series.get(uid)
        if series is None or series.error is None or series.error.unavailable is None:
            return said
        words = WORDS[series.error.unavailable]
        is_said = said.startswith(f"{words}: ")
        if not is_said and not self._is_long(series.since if said else series.first):
            return said
        series.is_told = True
        return said if is_said else f"{words}: {series.error.message}; {_NEXT}"

    def _is_long(self, since: float) -> bool:
        return self._clock.monotonic() - since > (PATIENCE - _TOLERANCE).total_seconds()

    def _sweep(self, now: float) -> None:
        """Forget now and then whom nobody has asked about for long."""
        longest = SERIES_GAP.total_seconds()
        if now - self._swept > longest:
            self._swept = now
            self._series = {uid: one for uid, one in self._series.items() if now - one.last <= longest}


def silence() -> Wait:
    """What to raise where an answer was waited for, for as long as `time_left` allowed."""
    told = Wait(AFTER_TELLING, "Unreachable", f"no answer within {PATIENCE.total_seconds():.0f} s")
    told.unavailable = Cause.UNREACHABLE
    return told


def has_work(obj: JsonObject) -> bool:
    """Is an object being deleted, or is its spec not carried out yet without waiting for a person?

    A spec that was refused shows in Ready and in the condition that it is about, with the same reason.
    """
    if dig(obj, "metadata", "deletionTimestamp"):
        return True
    generation = dig(obj, "metadata", "generation")
    if dig(obj, "status", "observedGeneration") == generation:
        return False
    conditions = dig_list(obj, "status", "conditions")
    refusals = [one for one in conditions if _is_false(one, generation)]
    reasons = {str(dig(one, "reason")) for one in refusals if dig(one, "type") != READY}
    ready = {str(dig(one, "reason")) for one in refusals if dig(one, "type") == READY}
    return ready.isdisjoint(reasons)


def outage_said(obj: JsonObject, type_: str) -> str:
    """What a condition of an object says of an outage, for whichever generation; empty where it says nothing of one."""
    for one in dig_list(obj, "status", "conditions"):
        if dig(one, "type") == type_ and dig(one, "reason") == CLOUD_UNAVAILABLE:
            return str(dig(one, "message") or "")
    return ""


def _is_false(condition: object, generation: object) -> bool:
    return bool(dig(condition, "status") == "False" and dig(condition, "observedGeneration") == generation)
