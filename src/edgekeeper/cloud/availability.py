"""Tracks whether each service of a cloud can be used, as a metric and as one log line per outage.

    edgekeeper_cloud_available{provider,service}      1, or 0 during an outage

    credentials are missing or not accepted           reported at once: it affects all calls with these credentials
    no response, throttling                           reported after `PATIENCE` without any response

A refusal counts as a response. `core.outages` handles outages per object.

*Guarantees*
 - An outage is logged once when it begins and once when it ends, however many calls fail; missing credentials are logged
   once for all services.
 - The metric of a service that is no longer called is removed after `REMEMBERED`.
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
"""How long calls may be without a response before that counts as an outage."""
REMEMBERED: Final = timedelta(minutes=15)
"""Longer than any backoff of an object that needs the service."""


class Service(NamedTuple):
    """A service of a provider, with a credential."""

    provider: str
    service: str
    credential: str
    """The name of the credential, never its value."""


@dataclass(slots=True)
class _State:
    """The result of the last calls of a service."""

    since: float
    last: float
    cause: Cause | None = None
    """Why it cannot be used; None if the last call got a response."""
    reported: Cause | None = None
    """The cause that was logged, if any."""


class Availability:
    """The state of each service, derived from the results of its calls."""

    def __init__(self, clock: Clock, metrics: CloudMetrics) -> None:
        self._clock = clock
        self._states: dict[Service, _State] = {}
        metrics.watch_availability(self.figures)

    def answered(self, service: Service) -> None:
        """A call got a response, which may be a refusal."""
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
        """Whether each service can be used with all credentials that are in use."""
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
                    "Credentials are missing or not accepted",
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
        """Other services with the same credential for which missing credentials were logged."""
        for other, state in self._states.items():
            is_same = (other.provider, other.credential) == (service.provider, service.credential)
            if is_same and other != service and state.reported is Cause.CREDENTIALS:
                yield state
