"""Outages of a cloud per object: how long an object has been waiting, and when and how its status reports that.

    object                                            conditions while its cloud cannot be used
    up to date, or stalled                            unchanged
    new, changed or being deleted (`has_work`)        unchanged for `PATIENCE`, then Synced=False/CloudUnavailable
      whose spec has never been observed              and Ready=Unknown, with the same reason
    … and the cloud responds                          set by the ordinary pass, which ends the outage

*Guarantees*
 - An object reports an outage once: one write, one event. Which call failed last, and when, does not change the
   message; only another cause does, once it has lasted for as long as the first.
 - It is reported in time: `next_look` is when to requeue the object for it, and `due` returns the error to report
   without another attempt.

*Assumptions*
 - A pass calls `note` if the cloud did not respond and `clear` if it did. A pass that only submitted a request, whose
   response is still to come, calls `expect`.

The state is kept in memory: after a restart the time starts anew, and an outage that a status reports stays there.
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
"""How long an object waits before its status reports the outage, which is within a minute."""
LONGEST_PAUSE: Final = timedelta(minutes=5)
"""The longest time between two attempts of one object, however long the outage lasts."""
AFTER_REPORT: Final = timedelta(seconds=1)
"""When to try again after the outage was reported."""
SERIES_GAP: Final = timedelta(minutes=20)
"""An object without an attempt for this long is no longer waiting: it was paused or deleted."""
_TOLERANCE: Final = timedelta(milliseconds=10)
"""How early a timer may fire. Without a tolerance it would be set again for the same moment, in a busy loop."""

CAUSE_TEXTS: Final = {
    Cause.UNREACHABLE: "the cloud does not answer",
    Cause.THROTTLED: "the cloud does not accept more calls for now",
    Cause.CREDENTIALS: "the operator's credentials are missing or not accepted by the cloud",
    Cause.UNLISTED: "it is not known yet what is in the cloud",
    Cause.OBJECTS_UNLISTED: "it is not known yet which other objects want the same",
}
"""The beginning of a message, by which `message` recognises the cause that the status reports already."""
_NEXT: Final = "tried again every few minutes, and as soon as the object changes"


@dataclass(slots=True)
class _Series:
    first: float
    """When the first attempt without a response began."""
    last: float
    error: PassError | None = None
    since: float = 0.0
    """When the present cause first occurred."""
    is_reported: bool = False


class Outages:
    """Tracks the objects that wait for their cloud, by uid."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._series: dict[str, _Series] = {}
        self._swept = clock.monotonic()

    def __len__(self) -> int:
        """How many objects are waiting."""
        return len(self._series)

    def expect(self, uid: str, since: float) -> None:
        """A request was submitted at `since` (monotonic clock), and its response is still to come."""
        now = self._clock.monotonic()
        self._sweep(now)
        series = self._series.get(uid)
        if series is None or now - series.last > SERIES_GAP.total_seconds():
            series = self._series[uid] = _Series(since, now)
        series.last = now

    def note(self, uid: str, error: PassError, since: float) -> None:
        """An attempt that began at `since` has failed, with the cause `error.unavailable`."""
        self.expect(uid, since)
        series = self._series[uid]
        is_other = series.error is None or series.error.unavailable is not error.unavailable
        if is_other:
            series.since = self._clock.monotonic()
        if is_other or error.error_type:  # the error of a call says more than that calls are suspended
            series.error = fresh(error)

    def clear(self, uid: str) -> None:
        """The cloud has responded, or the object no longer exists."""
        self._series.pop(uid, None)

    def next_look(self, uid: str) -> timedelta | None:
        """The longest requeue time: to report the outage in time, or to see whether it is over. None without one."""
        series = self._series.get(uid)
        if series is None or series.error is None:
            return None
        return self.time_left(uid) or LONGEST_PAUSE

    def time_left(self, uid: str) -> timedelta | None:
        """How long a pass may wait for a response and still report an outage in time; None if it is due already."""
        series = self._series.get(uid)
        if series is None:
            return PATIENCE
        if self._is_long(series.first):
            return None
        return timedelta(seconds=series.first - self._clock.monotonic()) + PATIENCE

    def due(self, uid: str) -> Wait | None:
        """The error to raise instead of another attempt when the outage is to be reported. Returned once."""
        series = self._series.get(uid)
        if series is None or series.error is None or series.is_reported or not self._is_long(series.first):
            return None
        series.is_reported = True
        wait = Wait(AFTER_REPORT, series.error.reason, series.error.message)
        wait.unavailable = series.error.unavailable
        return wait

    def message(self, uid: str, reported: str) -> str:
        """The message for the condition, given the one that it has about an outage; empty while it is too early."""
        series = self._series.get(uid)
        if series is None or series.error is None or series.error.unavailable is None:
            return reported
        words = CAUSE_TEXTS[series.error.unavailable]
        is_same_cause = reported.startswith(f"{words}: ")
        if not is_same_cause and not self._is_long(series.since if reported else series.first):
            return reported
        series.is_reported = True
        return reported if is_same_cause else f"{words}: {series.error.message}; {_NEXT}"

    def _is_long(self, since: float) -> bool:
        return self._clock.monotonic() - since > (PATIENCE - _TOLERANCE).total_seconds()

    def _sweep(self, now: float) -> None:
        """Drop objects without an attempt for `SERIES_GAP`. Does nothing more often than that."""
        longest = SERIES_GAP.total_seconds()
        if now - self._swept > longest:
            self._swept = now
            self._series = {
                uid: series for uid, series in self._series.items() if now - series.last <= longest
            }


def no_response() -> Wait:
    """The error to raise when no response came within `time_left`."""
    wait = Wait(AFTER_REPORT, "Unreachable", f"no answer within {PATIENCE.total_seconds():.0f} s")
    wait.unavailable = Cause.UNREACHABLE
    return wait


def has_work(obj: JsonObject) -> bool:
    """Whether an object is being deleted, or its spec is not applied yet and was not refused.

    A refused spec is recognised by Ready and another condition being False with the same reason.
    """
    if dig(obj, "metadata", "deletionTimestamp"):
        return True
    generation = dig(obj, "metadata", "generation")
    if dig(obj, "status", "observedGeneration") == generation:
        return False
    conditions = dig_list(obj, "status", "conditions")
    refusals = [condition for condition in conditions if _is_false(condition, generation)]
    reasons = {str(dig(refusal, "reason")) for refusal in refusals if dig(refusal, "type") != READY}
    ready = {str(dig(refusal, "reason")) for refusal in refusals if dig(refusal, "type") == READY}
    return ready.isdisjoint(reasons)


def reported_outage(obj: JsonObject, type_: str) -> str:
    """The message of a condition that reports an outage, for any generation; empty if it reports none."""
    for condition in dig_list(obj, "status", "conditions"):
        if dig(condition, "type") == type_ and dig(condition, "reason") == CLOUD_UNAVAILABLE:
            return str(dig(condition, "message") or "")
    return ""


def _is_false(condition: object, generation: object) -> bool:
    return bool(dig(condition, "status") == "False" and dig(condition, "observedGeneration") == generation)
