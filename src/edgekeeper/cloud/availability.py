"""Whether each service of a cloud can be used at present: as a metric, and one log line per outage.

    edgekeeper_cloud_available{provider,service}      1, or 0 where calls fail for a reason that no object can mend

    credentials that are missing or not accepted      at once: nothing of that provider will work
    no answer, throttling                             after `PATIENCE` in which no call was answered

A refusal counts as an answer. What a failure means for an object is decided elsewhere.

*Guarantees*
 - An outage is logged once when it begins and once when it ends, however many calls meet it; one of credentials once for
   all services that they are used for.
 - A service that nobody calls any more is not shown for longer than `REMEMBERED`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple

from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Cause, PassError
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

PATIENCE: Final = timedelta(seconds=60)
"""How long calls may stay unanswered before that counts as an outage."""
REMEMBERED: Final = timedelta(minutes=15)
"""Longer than any pause between two attempts of an object that needs the service."""


class Service(NamedTuple):
    """A service of a provider, as one credential reaches it."""

    provider: str
    service: str
    credential: str
    """The name of the secret that signs calls, never the secret."""


@dataclass(slots=True)
class _State:
    """How the last calls of a service ended."""

    since: float
    last: float
    cause: Cause | None = None
    """Why it cannot be used; None where the last call was answered."""
    reported: Cause | None = None
    """The cause that was logged, where one was."""


class Availability:
    """The state of each service, from how its calls end."""

    def __init__(self, clock: Clock, metrics: CloudMetrics) -> None:
        self._clock = clock
        self._states: dict[Service, _State] = {}
        metrics.watch_availability(self.figures)

    def answered(self, service: Service) -> None:
        """A call was answered, if only by a refusal."""
        now = self._clock.monotonic()
        before = self._states.get(service)
        self._states[service] = _State(now, now)
        if before is not None and before.reported is not None:
            self._report_end(service, before.reported)

    def failed(self, service: Service, error: PassError) -> None:
        """A call failed because the service cannot be used (`unavailable`)."""
        now = self._clock.monotonic()
        state = self._states.get(service)
        if state is None or state.cause is None:
            state = self._states[service] = _State(now, now)
        state.last, state.cause = now, error.unavailable
        is_worse = state.cause is Cause.CREDENTIALS and state.reported is not Cause.CREDENTIALS
        if (state.reported is None or is_worse) and self._is_unavailable(state):
            self._report_begin(service, state, error)

    def figures(self) -> dict[tuple[str, str], bool]:
        """Whether each service can be used, with every credential that it is used with."""
        now = self._clock.monotonic()
        available: dict[tuple[str, str], bool] = {}
        for service, state in list(self._states.items()):
            if now - state.last > REMEMBERED.total_seconds():
                del self._states[service]
                continue
            place = (service.provider, service.service)
            available[place] = available.get(place, True) and not self._is_unavailable(state)
        return available

    def _is_unavailable(self, state: _State) -> bool:
        if state.cause is None:
            return False
        lasting = self._clock.monotonic() - state.since
        return state.cause is Cause.CREDENTIALS or lasting >= PATIENCE.total_seconds()

    def _report_begin(self, service: Service, state: _State, error: PassError) -> None:
        is_logged = any(self._others_reported(service))
        state.reported = state.cause
        if state.cause is Cause.CREDENTIALS:
            if not is_logged:
                log.error(
                    "Credentials are missing or not accepted: nothing can be done until they are",
                    provider=service.provider,
                    account=service.credential,
                    error=error.message,
                )
            return
        log.warning(
            "Cloud cannot be used",
            provider=service.provider,
            service=service.service,
            cause=str(state.cause),
            error=error.message,
        )

    def _report_end(self, service: Service, cause: Cause) -> None:
        if cause is Cause.CREDENTIALS:
            for state in self._others_reported(service):
                state.reported = None  # logged once for all services
            log.info("Credentials are accepted", provider=service.provider, account=service.credential)
        else:
            log.info("Cloud can be used again", provider=service.provider, service=service.service)

    def _others_reported(self, service: Service) -> Iterator[_State]:
        """Other services of the same credential for which it was logged that it is not accepted."""
        for other, state in self._states.items():
            is_same = (other.provider, other.credential) == (service.provider, service.credential)
            if is_same and other != service and state.reported is Cause.CREDENTIALS:
                yield state
