"""Outages as objects see them: when they speak, what they say, and that they say it once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.errors import Cause, PassError, Retry, Wait
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outages import (
    LONGEST_PAUSE,
    PATIENCE,
    SERIES_GAP,
    Outages,
    has_work,
    no_response,
    reported_outage,
)

UID = "6f1c"
SECOND = timedelta(seconds=1)


def error(
    message: str = "no route", cause: Cause = Cause.UNREACHABLE, error_type: str = "retryable"
) -> PassError:
    told = Retry(message, "Unreachable")
    told.unavailable, told.error_type = cause, error_type
    return told


class Object:
    """An object that tries, in virtual time, and what it says."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.outages = Outages(self.clock)
        self.said = ""
        self.writes = 0

    def fail(self, error: PassError, after: timedelta = timedelta(0)) -> str:
        """Try, and fail after some time, counted from the attempt's begin."""
        began = self.clock.monotonic()
        self.clock.advance(after)
        self.outages.note(UID, error, began)
        return self.speak()

    def speak(self) -> str:
        message = self.outages.message(UID, self.said)
        self.writes += message != self.said
        self.said = message
        return message


@pytest.fixture(name="obj")
def _obj() -> Object:
    return Object()


def test_object_says_nothing_at_first_and_then_why_and_when_it_goes_on(obj: Object) -> None:
    assert obj.fail(error()) == ""
    obj.clock.advance(PATIENCE - SECOND)
    assert obj.fail(error()) == ""
    obj.clock.advance(SECOND)
    told = obj.fail(error())
    assert told.startswith("the cloud does not answer: no route; tried again every few minutes")
    assert timedelta(minutes=1) > PATIENCE


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_words(obj: Object, cause: Cause) -> None:
    obj.fail(error("why", cause))
    obj.clock.advance(PATIENCE)
    assert obj.speak().partition(": ")[2].startswith("why; ")


def test_time_counts_from_the_begin_of_the_attempt(obj: Object) -> None:
    assert obj.fail(error(), after=PATIENCE).startswith("the cloud")


def test_time_counts_from_what_was_handed_in(obj: Object) -> None:
    obj.outages.expect(UID, obj.clock.monotonic())
    obj.clock.advance(PATIENCE)
    assert obj.speak() == "", "nothing has failed"
    assert obj.fail(error()).startswith("the cloud")


def test_what_is_said_does_not_change_with_every_attempt(obj: Object) -> None:
    for number in range(500):
        obj.fail(error(f"no route to {number}"))
        obj.clock.advance(timedelta(seconds=20))
    assert obj.writes == 1


def test_other_cause_is_said_once_it_has_lasted(obj: Object) -> None:
    obj.fail(error())
    obj.clock.advance(PATIENCE)
    first = obj.fail(error())
    assert obj.fail(error("expired", Cause.CREDENTIALS)) == first
    obj.clock.advance(PATIENCE)
    assert "credentials" in obj.fail(error("expired", Cause.CREDENTIALS))


def test_causes_that_take_turns_are_not_said_in_turns(obj: Object) -> None:
    for _ in range(500):
        for cause in (Cause.UNREACHABLE, Cause.THROTTLED):
            obj.clock.advance(timedelta(seconds=20))
            obj.fail(error("no", cause))
    assert obj.writes == 1


def test_answer_of_the_cloud_is_preferred_to_our_own_silence(obj: Object) -> None:
    obj.fail(error("connection refused"))
    obj.clock.advance(PATIENCE)
    assert "connection refused" in obj.fail(error("nobody asks at present", error_type=""))


def test_end_of_an_outage_starts_from_nothing(obj: Object) -> None:
    obj.fail(error())
    obj.clock.advance(PATIENCE)
    obj.fail(error())
    obj.outages.clear(UID)
    obj.said = ""
    assert len(obj.outages) == 0
    assert obj.fail(error()) == ""


def test_attempts_that_are_far_apart_are_not_one_outage(obj: Object) -> None:
    obj.fail(error())
    obj.clock.advance(SERIES_GAP + SECOND)
    assert obj.fail(error()) == ""


def test_objects_of_which_nothing_is_heard_are_forgotten(obj: Object) -> None:
    for number in range(100):
        obj.outages.note(str(number), error(), obj.clock.monotonic())
    obj.clock.advance(SERIES_GAP + SECOND)
    obj.fail(error())
    assert len(obj.outages) == 1


def test_after_a_restart_what_was_said_stands(obj: Object) -> None:
    obj.said = "the cloud does not answer: long ago; tried again"
    assert obj.fail(error()) == obj.said
    obj.clock.advance(PATIENCE)
    assert obj.fail(error()) == obj.said
    assert obj.writes == 0


def test_next_look_is_in_time_to_tell_and_then_every_few_minutes(obj: Object) -> None:
    assert obj.outages.next_look(UID) is None
    obj.outages.expect(UID, obj.clock.monotonic())
    assert obj.outages.next_look(UID) is None, "nothing to tell, as far as is known"
    obj.clock.advance(timedelta(seconds=20))
    obj.fail(error())
    assert obj.outages.next_look(UID) == PATIENCE - timedelta(seconds=20)
    obj.clock.advance(PATIENCE - timedelta(seconds=20))
    assert obj.outages.next_look(UID) == LONGEST_PAUSE


def test_it_is_due_once_and_needs_no_further_attempt(obj: Object) -> None:
    assert obj.outages.due(UID) is None
    obj.fail(error())
    assert obj.outages.due(UID) is None
    obj.clock.advance(PATIENCE)
    due = obj.outages.due(UID)
    assert isinstance(due, Wait)
    assert (due.unavailable, due.message) == (Cause.UNREACHABLE, "no route")
    assert obj.speak().startswith("the cloud")
    assert obj.outages.due(UID) is None


def test_timer_that_comes_early_does_not_spin(obj: Object) -> None:
    obj.fail(error())
    obj.clock.advance(PATIENCE - timedelta(milliseconds=1))
    assert obj.outages.due(UID) is not None


def test_answer_is_waited_for_no_longer_than_there_is_time(obj: Object) -> None:
    assert obj.outages.time_left(UID) == PATIENCE
    obj.fail(error(), after=timedelta(seconds=30))
    assert obj.outages.time_left(UID) == PATIENCE - timedelta(seconds=30)
    obj.clock.advance(timedelta(hours=1))
    assert obj.outages.time_left(UID) is None
    assert no_response().unavailable is Cause.UNREACHABLE


# Who has something to do


def fact(type_: str, status: str, reason: str, generation: int = 2) -> JsonObject:
    return {"type": type_, "status": status, "reason": reason, "observedGeneration": generation}


def thing(*conditions: object, observed: int | None = None, deleted: bool = False) -> JsonObject:
    metadata: JsonObject = {"generation": 2} | (
        {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    )
    status: JsonObject = {"conditions": list(conditions)}
    return {"metadata": metadata, "status": status | ({"observedGeneration": observed} if observed else {})}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param({"metadata": {"generation": 1}}, True, id="new"),
        pytest.param(thing(fact("Ready", "True", "Deployed", 1), observed=1), True, id="changed"),
        pytest.param(thing(fact("Ready", "True", "Deployed"), observed=2, deleted=True), True, id="deleted"),
        pytest.param(thing(fact("Ready", "True", "Deployed"), observed=2), False, id="at rest"),
        pytest.param(thing(fact("Ready", "False", "Deploying"), observed=2), False, id="carried out"),
        pytest.param(thing(fact("Ready", "False", "Creating")), True, id="being created"),
        pytest.param(
            thing(fact("Ready", "False", "NameConflict"), fact("Synced", "False", "NameConflict")),
            False,
            id="refused",
        ),
        pytest.param(
            thing(fact("Ready", "False", "NameConflict", 1), fact("Synced", "False", "NameConflict", 1)),
            True,
            id="refused before it was changed",
        ),
        pytest.param(
            thing(fact("Ready", "False", "Deploying"), fact("Synced", "False", "CloudUnavailable")),
            True,
            id="waiting for its cloud",
        ),
        pytest.param(
            thing(fact("Ready", "Unknown", "CloudUnavailable"), fact("Synced", "False", "CloudUnavailable")),
            True,
            id="waiting for its cloud since it is there",
        ),
        pytest.param(
            thing(fact("Ready", "False", "Gone"), fact("Synced", "False", "Gone"), deleted=True),
            True,
            id="refused and deleted",
        ),
        pytest.param(thing(7, {"type": "Ready", "reason": {}}, None), True, id="odd"),
    ],
)
def test_who_has_something_to_do(obj: JsonObject, expected: bool) -> None:
    assert has_work(obj) is expected


def test_what_was_said_is_found_for_whichever_generation() -> None:
    condition = {**fact("Synced", "False", "CloudUnavailable", 1), "message": "why"}
    assert reported_outage(thing(7, fact("Ready", "True", "Deployed"), condition), "Synced") == "why"
    assert reported_outage(thing(fact("Synced", "False", "DriftDetected")), "Synced") == ""
