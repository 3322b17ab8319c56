"""Outcomes: one value per pass, with room for one write of the object and no more."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgekeeper.core.outcome import (
    ApplyWrite,
    Event,
    MetadataWrite,
    Outcome,
    StatusWrite,
    Write,
    done,
    requeue,
)

WRITES: list[Write] = [
    StatusWrite({"ready": True}),
    MetadataWrite(add_finalizers=("example.com/f",)),
    ApplyWrite({"spec": {}}, manager="edgekeeper-spec"),
]


def test_done_asks_for_nothing() -> None:
    assert done() == Outcome(requeue_after=None, write=None, events=(), details={})


def test_requeue_says_when() -> None:
    assert requeue(timedelta(minutes=5)).requeue_after == timedelta(minutes=5)


@pytest.mark.parametrize("write", WRITES)
def test_outcome_takes_one_write_and_keeps_the_rest(write: Write) -> None:
    outcome = requeue(timedelta(minutes=5)).writing(write)
    assert outcome == Outcome(requeue_after=timedelta(minutes=5), write=write)


@pytest.mark.parametrize("second", WRITES)
@pytest.mark.parametrize("first", WRITES)
def test_second_write_is_refused(first: Write, second: Write) -> None:
    with pytest.raises(ValueError, match="at most once"):
        done().writing(first).writing(second)


def test_events_add_up_in_order() -> None:
    events = [Event("Normal", reason, "") for reason in ("A", "B", "C")]
    assert done().with_events(events[0]).with_events(*events[1:]).events == tuple(events)


def test_outcomes_are_not_changed_by_what_is_built_on_them() -> None:
    first = done()
    first.with_events(Event("Warning", "A", "")).writing(WRITES[0])
    assert first == done()
