"""The health of a watch: pauses after failures, how long the store may be out of date, and whether the kind is served."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from random import Random

from edgekeeper.core.backoff import Backoff
from edgekeeper.core.clock import Clock
from edgekeeper.kube.errors import ApiError, ExpiredError, ForbiddenError, NotFoundError
from edgekeeper.kube.ledger import StaleViewError
from edgekeeper.kube.stream import IdleTimeoutError

_TIMES_NOT_SERVED = 3
_TOO_LARGE = "ResourceVersionTooLarge"


_PAUSES = Backoff(first=timedelta(seconds=0.8), longest=timedelta(seconds=30), jitter=0.5)


@dataclass(frozen=True, slots=True)
class HealthOptions:
    """Backoff and time limits of a watch."""

    backoff: Backoff = _PAUSES
    healthy: timedelta = timedelta(seconds=120)
    """After this long without a failure the backoff starts anew."""
    catch_up: timedelta = timedelta(minutes=2)
    """How long a server that returns an older state than before is given to catch up."""


DEFAULT_HEALTH_OPTIONS = HealthOptions()


class Health:
    """Counts the failures of one watch and decides how long to pause. All times are of the monotonic clock."""

    def __init__(self, clock: Clock, options: HealthOptions, random: Random) -> None:
        self._clock = clock
        self._options = options
        self._random = random
        self._failures = 0
        self._well_since: float | None = None
        self._not_served = 0
        self._since_hint = 0
        """404s since the last `expect_success`: they decide how long the next pause after a 404 is."""
        self._behind_since: float | None = None
        self.stale_since: float | None = None
        """Since when the store may be out of date; None while a watch is open."""
        self.trouble = ""
        """The text of the last error; empty while a watch is open."""
        self.is_denied = False
        """Whether the last error was a 403."""

    @property
    def is_served(self) -> bool:
        """Whether the server serves the kind: False after three 404s in a row."""
        return self._not_served < _TIMES_NOT_SERVED

    @property
    def must_accept_older_state(self) -> bool:
        """Whether the server has returned an older state for so long that it has to be accepted as the current one."""
        since = self._behind_since
        catch_up = self._options.catch_up.total_seconds()
        return since is not None and self._clock.monotonic() - since >= catch_up

    def mark_served(self) -> None:
        self._not_served = 0

    def expect_success(self) -> None:
        """Reset the backoff, because the next attempts are likely to succeed."""
        self._since_hint = self._failures = 0

    def mark_following(self) -> None:
        """A watch is open, so the store is up to date."""
        if self._well_since is None:
            self._well_since = self._clock.monotonic()
        self._not_served = self._since_hint = 0
        self._behind_since = None
        self.stale_since = None
        self.trouble = ""
        self.is_denied = False

    def mark_failed(self, error: Exception, last_line_at: float | None) -> timedelta:
        """Count a failure and return how long to pause. `last_line_at` is when the stream last delivered a line."""
        if self.stale_since is None:
            self.stale_since = self._clock.monotonic() if last_line_at is None else last_line_at
        self.trouble = str(error)
        self.is_denied = isinstance(error, ForbiddenError)
        if isinstance(error, IdleTimeoutError):
            # No pause: there was no request for a while. The server may be healthy: old ones send no bookmarks for
            # kinds that have not changed since they started. Opening another watch shows whether it responds.
            return timedelta(0)
        return self._pause(error, self._count(error))

    def _count(self, error: Exception) -> int:
        """Count a failure; return how many there were in a row. 404s are counted separately."""
        now = self._clock.monotonic()
        if self._well_since is not None and now - self._well_since >= self._options.healthy.total_seconds():
            self._failures = 0
        self._well_since = None
        if self._behind_since is None and is_behind(error):
            self._behind_since = now
        if isinstance(error, NotFoundError):
            # A missing kind is no failure of the server, and must not lengthen the pauses after real failures.
            self._not_served += 1
            self._since_hint += 1
            return self._since_hint
        self._not_served = self._since_hint = 0
        self._failures += 1
        return self._failures

    def _pause(self, error: Exception, failures: int) -> timedelta:
        if isinstance(error, ExpiredError) and failures == 1:
            return timedelta(0)
        pause = self._options.backoff.delay(failures, self._random)
        asked = error.retry_after if isinstance(error, ApiError) else None
        return max(pause, asked or timedelta(0))


def is_behind(error: Exception) -> bool:
    """Whether the error means that the server's state is older than one that it returned before."""
    if isinstance(error, ApiError):
        return any(cause.get("reason") == _TOO_LARGE for cause in error.causes)
    return isinstance(error, StaleViewError)
