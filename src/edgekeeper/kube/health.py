"""How a watch is doing: when to try again, how long we have been in the dark, and when to believe the unlikely."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from random import Random

from edgekeeper.core.backoff import Backoff
from edgekeeper.core.clock import Clock
from edgekeeper.kube.errors import ApiError, ExpiredError, ForbiddenError, NotFoundError
from edgekeeper.kube.ledger import StaleViewError
from edgekeeper.kube.stream import SilenceError

_TIMES_NOT_SERVED = 3
_TOO_LARGE = "ResourceVersionTooLarge"


_PAUSES = Backoff(first=timedelta(seconds=0.8), longest=timedelta(seconds=30), jitter=0.5)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to put up with what."""

    backoff: Backoff = _PAUSES
    healthy: timedelta = timedelta(seconds=120)
    """How long all has to go well for a failure to count as the first again."""
    doubt: timedelta = timedelta(minutes=2)
    """How long a server that is behind what it has told before is expected to catch up."""


DEFAULT_PATIENCE = Patience()


class Health:
    """The failures of one watch, and what follows from them. All times are of the monotonic clock."""

    def __init__(self, clock: Clock, patience: Patience, random: Random) -> None:
        self._clock = clock
        self._patience = patience
        self._random = random
        self._failures = 0
        self._well_since: float | None = None
        self._not_served = 0
        self._since_hint = 0
        """Failures since there was reason to expect a success soon: they decide how long the next pause is."""
        self._behind_since: float | None = None
        self.stale_since: float | None = None
        """Since when we may have missed something; None while we follow the server."""
        self.trouble = ""
        """What went wrong last, while we may be missing something."""
        self.is_denied = False
        """Whether that was a lack of rights."""

    @property
    def is_served(self) -> bool:
        """Whether the server serves the kind. It has to deny that three times in a row to be believed."""
        return self._not_served < _TIMES_NOT_SERVED

    @property
    def is_past_doubt(self) -> bool:
        """The server has been behind us for so long that its past must be taken for the present."""
        since = self._behind_since
        doubt = self._patience.doubt.total_seconds()
        return since is not None and self._clock.monotonic() - since >= doubt

    def mark_served(self) -> None:
        self._not_served = 0

    def expect_success(self) -> None:
        """There is reason to think that the next attempts will succeed: pauses start short again."""
        self._since_hint = self._failures = 0

    def mark_following(self) -> None:
        """A watch is open: whatever happens now, we will be told."""
        if self._well_since is None:
            self._well_since = self._clock.monotonic()
        self._not_served = self._since_hint = 0
        self._behind_since = None
        self.stale_since = None
        self.trouble = ""
        self.is_denied = False

    def mark_failed(self, error: Exception, heard: float | None) -> timedelta:
        """Something went wrong, `heard` being when all was last well. Return how long to leave the server alone."""
        if self.stale_since is None:
            self.stale_since = self._clock.monotonic() if heard is None else heard
        self.trouble = str(error)
        self.is_denied = isinstance(error, ForbiddenError)
        if isinstance(error, SilenceError):
            # The server was left alone for long enough. It may just have nothing to say: old ones send no bookmarks
            # of kinds that have not changed since they started. Opening another watch shows whether it lives.
            return timedelta(0)
        return self._pause(error, self._count(error))

    def _count(self, error: Exception) -> int:
        """Count a failure; return how many of its sort there were in a row."""
        now = self._clock.monotonic()
        if self._well_since is not None and now - self._well_since >= self._patience.healthy.total_seconds():
            self._failures = 0
        self._well_since = None
        if self._behind_since is None and is_behind(error):
            self._behind_since = now
        if isinstance(error, NotFoundError):
            # Says nothing about the server, and must not make it slow to see the kind come back and go again.
            self._not_served += 1
            self._since_hint += 1
            return self._since_hint
        self._not_served = self._since_hint = 0
        self._failures += 1
        return self._failures

    def _pause(self, error: Exception, failures: int) -> timedelta:
        if isinstance(error, ExpiredError) and failures == 1:
            return timedelta(0)
        pause = self._patience.backoff.delay(failures, self._random)
        asked = error.retry_after if isinstance(error, ApiError) else None
        return max(pause, asked or timedelta(0))


def is_behind(error: Exception) -> bool:
    """Whether the server does not know yet what it has told us before."""
    if isinstance(error, ApiError):
        return any(cause.get("reason") == _TOO_LARGE for cause in error.causes)
    return isinstance(error, StaleViewError)
