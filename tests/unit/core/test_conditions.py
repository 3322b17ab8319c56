"""Conditions: facts are marked, Ready follows from them, and nobody can forget a stamp."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.conditions import Condition, Conditions, Declaration, Status, status_violations
from edgekeeper.core.json import JsonObject

START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = START + timedelta(hours=1)
WIDGET = Declaration(required=("Synced", "Reachable"), negative=("Stalled",), informative=("Cached",))


def begin(present: Any = None, generation: int = 1, now: datetime = START) -> Conditions:
    return Conditions(WIDGET, present, generation, now)


def all_well(present: Any = None, generation: int = 1, now: datetime = START) -> Conditions:
    conditions = begin(present, generation, now)
    conditions.mark("Synced", True, "InSync")
    conditions.mark("Reachable", True, "Answers")
    return conditions


def by_type(entries: list[Any]) -> dict[str, JsonObject]:
    return {entry["type"]: entry for entry in entries}


# Ready


def test_ready_is_true_when_all_required_conditions_are() -> None:
    ready = all_well().ready
    assert (ready.status, ready.reason, ready.observed_generation) == ("True", "Ready", 1)


def test_ready_speaks_as_declared() -> None:
    conditions = Conditions(
        Declaration(("Up",), ready_reason="Deployed", ready_message="all set"), [], 1, START
    )
    conditions.mark("Up", True, "Yes")
    assert (conditions.ready.reason, conditions.ready.message) == ("Deployed", "all set")


@pytest.mark.parametrize(
    ("marks", "status", "reason", "message"),
    [
        pytest.param([], "Unknown", "Pending", "Synced is not known yet", id="nothing is known"),
        pytest.param(
            [("Synced", "True", "A", "")],
            "Unknown",
            "Pending",
            "Reachable is not known yet",
            id="one is missing",
        ),
        pytest.param(
            [("Synced", "False", "Updating", "two changes left")],
            *("False", "Updating", "two changes left"),
            id="a required one is False",
        ),
        pytest.param(
            [("Synced", "Unknown", "Asking", "no answer yet"), ("Reachable", "True", "B", "")],
            *("Unknown", "Asking", "no answer yet"),
            id="a required one is Unknown",
        ),
        pytest.param(
            [("Synced", "Unknown", "Asking", ""), ("Reachable", "False", "Down", "")],
            *("False", "Down", "Reachable is False"),
            id="False outweighs Unknown",
        ),
        pytest.param(
            [("Reachable", "False", "Down", "second"), ("Synced", "False", "Updating", "first")],
            *("False", "Updating", "first"),
            id="the order of the declaration decides, not that of the marks",
        ),
        pytest.param(
            [("Synced", "False", "Updating", ""), ("Stalled", "True", "NameConflict", "")],
            *("False", "NameConflict", "Stalled is True"),
            id="a negative one outweighs all",
        ),
        pytest.param(
            [("Synced", "True", "A", ""), ("Reachable", "True", "B", ""), ("Stalled", "Unknown", "C", "")],
            *("True", "Ready", ""),
            id="a negative one that is not True does not count",
        ),
        pytest.param(
            [("Synced", "True", "A", ""), ("Reachable", "True", "B", ""), ("Cached", "False", "C", "")],
            *("True", "Ready", ""),
            id="an informative one does not count",
        ),
        pytest.param(
            [("Synced", "Unknown", "Asking", ""), ("Reachable", "True", "B", "")],
            *("Unknown", "Asking", "Synced is Unknown"),
            id="without a message the type tells what is the matter",
        ),
    ],
)
def test_ready_follows_from_the_facts(
    marks: list[tuple[str, Status, str, str]], status: str, reason: str, message: str
) -> None:
    conditions = begin()
    for mark in marks:
        conditions.mark(*mark)
    ready = conditions.ready
    assert (ready.status, ready.reason, ready.message) == (status, reason, message)


def test_ready_cannot_be_marked() -> None:
    with pytest.raises(ValueError, match="Ready is concluded"):
        begin().mark("Ready", True, "Wish")


def test_ready_needs_facts_about_the_present_generation() -> None:
    conditions = Conditions(WIDGET, all_well(generation=1).to_list(), 2, LATER)
    assert conditions.ready.status == "Unknown"
    assert conditions.ready.message == "Synced is not known yet for generation 2"


def test_ready_is_not_held_back_by_what_an_earlier_spec_did_wrong() -> None:
    failed = begin(generation=1)
    failed.mark("Stalled", True, "InvalidSpec", "no such zone")
    corrected = all_well(failed.to_list(), generation=2, now=LATER)
    assert corrected.ready.status == "True"
    assert by_type(corrected.to_list())["Stalled"] == {
        "type": "Stalled",
        "status": "Unknown",
        "reason": "Pending",
        "message": "Stalled was True for generation 1: no such zone",
        "observedGeneration": 2,
        "lastTransitionTime": "2026-01-01T01:00:00Z",
    }


def test_ready_is_held_back_by_a_negative_condition_of_the_same_generation() -> None:
    failed = begin()
    failed.mark("Stalled", True, "InvalidSpec")
    assert all_well(failed.to_list()).ready.reason == "InvalidSpec"


# Stamps


def test_every_mark_carries_the_generation_and_the_time() -> None:
    entries = all_well(generation=7).to_list()
    assert [entry["observedGeneration"] for entry in entries] == [7, 7, 7]
    assert {entry["lastTransitionTime"] for entry in entries} == {"2026-01-01T00:00:00Z"}


def test_transition_time_stays_while_the_status_stays() -> None:
    repeated = all_well(all_well().to_list(), generation=2, now=LATER)
    repeated.mark("Synced", True, "StillInSync", "another message")
    assert {entry["lastTransitionTime"] for entry in repeated.to_list()} == {"2026-01-01T00:00:00Z"}


def test_transition_time_moves_with_the_status() -> None:
    changed = all_well(all_well().to_list(), now=LATER)
    changed.mark("Reachable", False, "Down")
    times = {type_: entry["lastTransitionTime"] for type_, entry in by_type(changed.to_list()).items()}
    assert times == {
        "Ready": "2026-01-01T01:00:00Z",
        "Synced": "2026-01-01T00:00:00Z",
        "Reachable": "2026-01-01T01:00:00Z",
    }


def test_transition_time_stays_when_a_pass_changes_its_mind() -> None:
    conditions = all_well(all_well().to_list(), now=LATER)
    conditions.mark("Reachable", False, "Down")
    conditions.mark("Reachable", True, "UpAgain")
    assert by_type(conditions.to_list())["Reachable"]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_unmarked_facts_are_kept_with_the_generation_they_speak_of() -> None:
    before = all_well(generation=3).to_list()
    after = begin(before, generation=4, now=LATER).to_list()
    assert after[1:] == before[1:]


def test_same_facts_make_the_same_list() -> None:
    before = all_well().to_list()
    assert all_well(before, now=LATER).to_list() == before


# The list


def test_list_is_ordered_by_the_declaration_whatever_came_first() -> None:
    conditions = begin(list(reversed(all_well().to_list())))
    conditions.mark("Cached", True, "Fresh")
    conditions.mark("Stalled", False, "Fine")
    assert [entry["type"] for entry in conditions.to_list()] == [
        "Ready",
        "Synced",
        "Reachable",
        "Stalled",
        "Cached",
    ]


def test_foreign_conditions_are_kept_untouched_and_last() -> None:
    foreign = [{"type": "Approved", "status": "maybe", "extra": [1]}, "nonsense", {"status": "True"}]
    conditions = all_well([foreign[0], *all_well().to_list(), *foreign[1:]])
    assert conditions.to_list()[3:] == foreign


def test_unpublished_facts_give_ready_its_reason_and_do_not_appear() -> None:
    declaration = Declaration(("Deployed", "Reachable"), unpublished=("Deployed",))
    conditions = Conditions(declaration, [], 1, START)
    conditions.mark("Deployed", False, "Deploying", "in progress")
    assert [(one["type"], one["reason"]) for one in conditions.to_list()] == [("Ready", "Deploying")]


def test_a_foreign_condition_is_not_taken_for_an_unpublished_fact() -> None:
    declaration = Declaration(("Deployed",), unpublished=("Deployed",))
    foreign = {**all_well().to_list()[1], "type": "Deployed"}
    conditions = Conditions(declaration, [foreign], 1, START)
    assert conditions.ready.status == "Unknown"
    assert conditions.to_list()[1:] == [foreign]


def test_of_duplicates_the_first_counts_and_the_rest_goes() -> None:
    first, second = ({**all_well().to_list()[1], "reason": reason} for reason in ("First", "Second"))
    entries = begin([first, second]).to_list()
    assert [entry["reason"] for entry in entries if entry["type"] == "Synced"] == ["First"]


@pytest.mark.parametrize(
    "present",
    [
        pytest.param(None, id="null"),
        pytest.param("conditions", id="a text"),
        pytest.param([{"type": "Synced"}], id="no status"),
        pytest.param([{"type": "Synced", "status": "yes", "lastTransitionTime": "x"}], id="another status"),
        pytest.param([{"type": "Synced", "status": "True"}], id="no time"),
    ],
)
def test_what_makes_no_sense_is_as_good_as_absent(present: Any) -> None:
    assert begin(present).get("Synced") is None
    assert all_well(present).to_list() == all_well().to_list()


def test_conditions_of_a_controller_before_us_are_completed() -> None:
    old = {
        "type": "Synced",
        "status": "True",
        "lastTransitionTime": "2025-01-01T00:00:00Z",
        "reason": "it's fine",
    }
    assert begin([old]).get("Synced") == Condition("Synced", "True", "Pending", "", 0, "2025-01-01T00:00:00Z")


# Reading and forgetting


def test_of_reads_generation_and_conditions_from_the_object() -> None:
    obj: JsonObject = {
        "metadata": {"generation": 5},
        "status": {"conditions": all_well(generation=5).to_list()},
    }
    assert Conditions.of(WIDGET, obj, LATER).ready.status == "True"
    assert Conditions.of(WIDGET, {}, LATER).ready.observed_generation == 0


def test_holds_is_about_the_present_generation() -> None:
    assert all_well().holds("Synced")
    assert not begin(all_well().to_list(), generation=2).holds("Synced")
    assert not begin().holds("Synced")


def test_get_answers_ready_like_any_other() -> None:
    conditions = all_well()
    assert conditions.get("Ready") == conditions.ready
    assert conditions.get("Cached") is None


def test_forgotten_facts_leave_no_trace() -> None:
    conditions = all_well()
    conditions.forget("Reachable")
    conditions.forget("Reachable")
    assert [entry["type"] for entry in conditions.to_list()] == ["Ready", "Synced"]
    assert conditions.ready.status == "Unknown"


# What is refused


@pytest.mark.parametrize("reason", ["", "in sync", "inSync", "In-Sync", "In_Sync", "Ünïcode", "A" * 1025])
def test_reason_must_be_camel_case(reason: str) -> None:
    with pytest.raises(ValueError, match="not a CamelCase reason"):
        begin().mark("Synced", True, reason)


def test_undeclared_condition_cannot_be_marked() -> None:
    with pytest.raises(ValueError, match="Sinced is concluded or not declared"):
        begin().mark("Sinced", True, "Typo")


def test_status_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="not a condition status: 'yes'"):
        begin().mark("Synced", "yes", "Because")  # type: ignore[arg-type] # the law is about what types cannot stop


def test_messages_are_bounded() -> None:
    conditions = begin()
    conditions.mark("Synced", False, "Failed", "x" * 40_000)
    message = by_type(conditions.to_list())["Synced"]["message"]
    assert len(message) == 32_768
    assert message.endswith("x…")


def test_messages_are_bounded_after_secrets_were_taken_out() -> None:
    conditions = begin()
    conditions.mark("Synced", False, "Failed", "token=a " * 4_000)
    assert len(by_type(conditions.to_list())["Ready"]["message"]) == 32_768


def test_messages_hold_no_secrets() -> None:
    conditions = begin()
    conditions.mark("Synced", False, "Failed", "POST https://api.example.com/?access_token=c4n4ry: 403")
    assert "c4n4ry" not in str(conditions.to_list())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param({"required": ()}, "concluded from nothing", id="nothing required"),
        pytest.param({"required": ("A", "A")}, "declared once", id="twice in one role"),
        pytest.param({"required": ("A",), "negative": ("A",)}, "declared once", id="in two roles"),
        pytest.param({"required": ("Ready",)}, "Ready never", id="Ready"),
        pytest.param(
            {"required": ("A",), "unpublished": ("B",)}, "only required", id="unpublished, not required"
        ),
        pytest.param({"required": ("A b",)}, "not a condition type: 'A b'", id="malformed type"),
        pytest.param({"required": ("A",), "ready_reason": "so so"}, "not a CamelCase", id="malformed reason"),
    ],
)
def test_declaration_refuses_what_cannot_be_meant(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Declaration(**arguments)


# Whatever happens, the laws hold

MARKS = st.lists(
    st.tuples(
        st.sampled_from(WIDGET.types),
        st.sampled_from([*get_args(Status), True, False]),
        st.sampled_from(["Fine", "Broken", "Asking"]),
        st.text(max_size=20),
    ),
    max_size=6,
)
PASSES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 90), MARKS), min_size=1, max_size=8)


@given(PASSES)
def test_every_history_of_marks_obeys_the_laws_of_status(passes: list[tuple[int, int, list[Any]]]) -> None:
    obj: JsonObject = {"metadata": {"uid": "u", "generation": 1}}
    now = START
    for bump, seconds, marks in passes:
        generation = obj["metadata"]["generation"] + bump
        now += timedelta(seconds=seconds)
        edited = {**obj, "metadata": {"uid": "u", "generation": generation}}
        conditions = Conditions.of(WIDGET, edited, now)
        for mark in marks:
            conditions.mark(*mark)
        written = {**edited, "status": {"conditions": conditions.to_list()}}
        assert status_violations(written, edited, declaration=WIDGET, now=now) == []
        obj = written


@given(MARKS)
def test_writing_the_same_facts_again_changes_nothing(marks: list[Any]) -> None:
    first = begin()
    for mark in marks:
        first.mark(*mark)
    second = begin(first.to_list(), now=LATER)
    for mark in marks:
        second.mark(*mark)
    assert second.to_list() == first.to_list()
