"""Whether clouds can be used: a metric, and one line in the log for each outage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from edgekeeper.cloud.availability import PATIENCE, REMEMBERED, Availability, Service
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.errors import Cause, Retry
from edgekeeper.core.json import JsonObject
from tests.logs import capture_logs

TENANTS = Service("aws", "cloudfront", "aws:111122223333")
ZONES = Service("aws", "route53", "aws:111122223333")
THEIRS = Service("aws", "route53", "aws:444455556666")


class Office:
    """An account of services, and what is heard of it."""

    def __init__(self, lines: list[JsonObject]) -> None:
        self.clock = VirtualClock()
        self.registry = CollectorRegistry()
        self.availability = Availability(self.clock, CloudMetrics(self.registry))
        self._lines = lines

    def fail(self, cause: Cause = Cause.UNREACHABLE, *services: Service) -> None:
        error = Retry("no")
        error.unavailable = cause
        for service in services or (TENANTS,):
            self.availability.failed(service, error)

    def fail_for(self, lasting: timedelta, cause: Cause = Cause.UNREACHABLE) -> None:
        for _ in range(10):
            self.fail(cause)
            self.clock.advance(lasting / 10)
        self.fail(cause)

    def shown(self, service: str = "cloudfront") -> float | None:
        return self.registry.get_sample_value(
            "edgekeeper_cloud_available", {"provider": "aws", "service": service}
        )

    def told(self) -> list[str]:
        return [f"{line['log_level']} {line['event'].partition(':')[0]}" for line in self._lines]


@pytest.fixture(name="office")
def _office() -> Iterator[Office]:
    with capture_logs() as lines:
        yield Office(lines)


def test_service_that_nobody_has_called_is_not_shown(office: Office) -> None:
    assert office.shown() is None


def test_service_that_answers_is_available(office: Office) -> None:
    office.availability.answered(TENANTS)
    assert (office.shown(), office.told()) == (1, [])


@pytest.mark.parametrize("cause", [Cause.UNREACHABLE, Cause.THROTTLED])
def test_silence_is_an_outage_only_if_it_lasts(office: Office, cause: Cause) -> None:
    office.fail_for(PATIENCE - timedelta(seconds=1), cause)
    assert (office.shown(), office.told()) == (1, [])
    office.clock.advance(timedelta(seconds=2))
    office.fail(cause)
    assert (office.shown(), office.told()) == (0, ["warning Cloud cannot be used"])


def test_answer_in_between_is_the_end(office: Office) -> None:
    for _ in range(20):
        office.fail_for(PATIENCE / 2)
        office.availability.answered(TENANTS)
    assert (office.shown(), office.told()) == (1, [])


def test_outage_is_told_when_it_begins_and_when_it_ends(office: Office) -> None:
    office.fail_for(timedelta(minutes=10))
    office.availability.answered(TENANTS)
    office.availability.answered(TENANTS)
    assert office.told() == ["warning Cloud cannot be used", "info Cloud can be used again"]
    assert office.shown() == 1


def test_refused_credentials_are_an_outage_at_once_and_told_once_for_all_services(office: Office) -> None:
    for _ in range(5):
        office.fail(Cause.CREDENTIALS, TENANTS, ZONES)
        office.clock.advance(timedelta(minutes=1))
    assert (office.shown("cloudfront"), office.shown("route53")) == (0, 0)
    assert office.told() == ["error Credentials are missing or not accepted"]
    office.availability.answered(ZONES)
    office.availability.answered(TENANTS)
    assert office.told()[1:] == ["info Credentials are accepted"]
    assert (office.shown("cloudfront"), office.shown("route53")) == (1, 1)


def test_credentials_that_expire_during_an_outage_are_told(office: Office) -> None:
    office.fail_for(timedelta(minutes=2))
    for cause in (Cause.CREDENTIALS, Cause.UNREACHABLE, Cause.CREDENTIALS):
        office.fail(cause)
    told = ["warning Cloud cannot be used", "error Credentials are missing or not accepted"]
    assert office.told() == told


def test_service_is_available_if_it_is_with_every_credential(office: Office) -> None:
    office.availability.answered(ZONES)
    office.fail(Cause.CREDENTIALS, THEIRS)
    office.availability.answered(ZONES)
    assert office.shown("route53") == 0


def test_service_that_nobody_calls_any_more_is_forgotten(office: Office) -> None:
    office.fail(Cause.CREDENTIALS, THEIRS)
    office.clock.advance(REMEMBERED + timedelta(seconds=1))
    office.availability.answered(TENANTS)
    assert (office.shown("route53"), office.shown("cloudfront")) == (None, 1)
