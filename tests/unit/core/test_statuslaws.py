"""The oracle of status: it is silent about what is true and finds every kind of lie."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from edgekeeper.core.conditions import Declaration, status_violations
from edgekeeper.core.json import JsonObject

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON = "2026-01-01T12:00:00Z"
WIDGET = Declaration(required=("Synced", "Deployed"), negative=("Broken",), unpublished=("Deployed",))


def condition(type_: str, status: str = "True", **changes: Any) -> JsonObject:
    entry = {
        "type": type_,
        "status": status,
        "reason": "Because",
        "message": "",
        "observedGeneration": 2,
        "lastTransitionTime": NOON,
    }
    return {name: value for name, value in {**entry, **changes}.items() if value is not None}


def widget(*conditions: Any, generation: int = 2, **status: Any) -> JsonObject:
    """An object whose status tells the truth, but for what is said otherwise."""
    entries = list(conditions) or [condition("Ready"), condition("Synced"), condition("Broken", "False")]
    return {
        "metadata": {"uid": "u", "generation": generation},
        "status": {"observedGeneration": 2, "conditions": entries, **status},
    }


def judged(obj: JsonObject, previous: JsonObject | None = None) -> list[str]:
    return status_violations(obj, previous, declaration=WIDGET, now=NOW)


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(widget(), id="ready"),
        pytest.param(widget(condition("Ready", "False"), condition("Broken")), id="broken and not ready"),
        pytest.param(widget(condition("Ready", "Unknown"), observedGeneration=1), id="not known yet"),
        pytest.param({"metadata": {"generation": 1}}, id="no status"),
        pytest.param({"metadata": {"generation": 1}, "status": {"phase": "Pending"}}, id="no conditions"),
        pytest.param(
            widget(condition("Ready"), condition("Synced"), {"type": "Foreign"}), id="foreign conditions"
        ),
    ],
)
def test_truth_breaks_no_law(obj: JsonObject) -> None:
    assert judged(obj, obj) == []
    assert judged(obj) == []


SYNCED = condition("Synced")
READY = condition("Ready")


@pytest.mark.parametrize(
    ("obj", "violation"),
    [
        pytest.param(
            widget(READY, SYNCED, condition("Broken")),
            "law 1: Broken is True while Ready is True",
            id="negative",
        ),
        pytest.param(widget(SYNCED), "law 2: the condition Ready is missing", id="no Ready"),
        pytest.param(
            {"status": {"observedGeneration": 1}},
            "law 2: the condition Ready is missing",
            id="no conditions at all",
        ),
        pytest.param(
            widget(condition("Ready", "False"), observedGeneration=3),
            "law 3: status has observed generation 3 of 2",
            id="status from the future",
        ),
        pytest.param(
            widget(condition("Ready", "False", observedGeneration=9)),
            "law 3: Ready has observed generation 9 of 2",
            id="condition from the future",
        ),
        pytest.param(widget(READY, SYNCED, SYNCED), "law 4: Synced is there 2 times", id="duplicate"),
        pytest.param(
            widget(READY, condition("Synced", lastTransitionTime="noon")),
            "law 6: the lastTransitionTime of Synced is not a time: 'noon'",
            id="no time",
        ),
        pytest.param(
            widget(READY, condition("Synced", lastTransitionTime=None)),
            "law 6: the lastTransitionTime of Synced is not a time: None",
            id="missing time",
        ),
        pytest.param(
            widget(READY, condition("Synced", lastTransitionTime="2026-01-01T12:00:01Z")),
            "law 6: the lastTransitionTime of Synced is in the future: 2026-01-01T12:00:01Z",
            id="future time",
        ),
        pytest.param(
            widget(condition("Ready", "maybe")), "law 7: Ready has the status 'maybe'", id="fourth status"
        ),
        pytest.param(
            widget(READY, condition("Synced", reason="all good")),
            "law 7: Synced has a reason that is not CamelCase: 'all good'",
            id="prose as reason",
        ),
        pytest.param(
            widget(READY, condition("Synced", reason=None)),
            "law 7: Synced has a reason that is not CamelCase: None",
            id="no reason",
        ),
        pytest.param(
            widget(READY, condition("Synced", message="x" * 32_769)),
            "law 7: Synced has a message that is no text of at most 32768 characters",
            id="endless message",
        ),
        pytest.param(
            widget(READY, SYNCED, "broken"),
            "law 7: a condition is not an object: 'broken'",
            id="not an object",
        ),
        pytest.param(
            widget(generation=3),
            "law 8: Ready is True for generation 2, but the generation is 3",
            id="ready for an earlier generation",
        ),
        pytest.param(
            widget(observedGeneration=1),
            "law 8: Ready is True for generation 2, but status has observed generation 1",
            id="ready before it was carried out",
        ),
        pytest.param(
            widget(READY, condition("Synced", "False")),
            "law 8: Ready is True for generation 2, but Synced is False for 2",
            id="ready without what it requires",
        ),
        pytest.param(
            widget(READY),
            "law 8: Ready is True for generation 2, but Synced is None for None",
            id="required missing",
        ),
        pytest.param(
            widget(READY, condition("Synced", observedGeneration=1)),
            "law 8: Ready is True for generation 2, but Synced is True for 1",
            id="required is of an earlier generation",
        ),
        pytest.param(
            widget(READY, condition("Synced", message="PUT failed: token=c4n4ry")),
            "law 10: the message of Synced looks as if it held a secret",
            id="secret",
        ),
    ],
)
def test_every_lie_is_found(obj: JsonObject, violation: str) -> None:
    assert judged(obj) == [violation]


@pytest.mark.parametrize(
    ("change", "violation"),
    [
        pytest.param(
            {"lastTransitionTime": "2026-01-01T11:00:00Z"},
            "law 5: the lastTransitionTime of Synced moved while it stayed True",
            id="time without transition",
        ),
        pytest.param(
            {"observedGeneration": 3},
            "law 9: the observed generation of Synced went back from 3 to 2",
            id="generation goes back",
        ),
    ],
)
def test_every_lie_about_the_past_is_found(change: JsonObject, violation: str) -> None:
    before = widget(READY, {**SYNCED, **change}, generation=3)
    assert judged(widget(READY, SYNCED), before) == [violation]


def test_observed_generation_of_status_does_not_go_back() -> None:
    before = widget(condition("Ready", "False"), generation=5, observedGeneration=5)
    after = widget(condition("Ready", "False"), generation=5, observedGeneration=2)
    assert judged(after, before) == ["law 9: the observed generation of status went back from 5 to 2"]


def test_transition_may_move_the_time() -> None:
    before = widget(condition("Ready", "False", lastTransitionTime="2026-01-01T11:00:00Z"), SYNCED)
    assert judged(widget(READY, SYNCED), before) == []


def test_edit_of_the_spec_does_not_make_the_status_a_lie() -> None:
    before = widget()
    edited = copy.deepcopy(before)
    edited["metadata"]["generation"] = 3
    assert judged(edited, before) == []


def test_another_object_of_the_same_name_has_no_past() -> None:
    before = widget(READY, condition("Synced", observedGeneration=9, lastTransitionTime=None), generation=9)
    before["metadata"]["uid"] = "another"
    assert judged(widget(), before) == []


def test_without_a_declaration_the_usual_names_are_judged() -> None:
    lying = widget(READY, condition("Stalled"), condition("Odd", reason="not camel"))
    assert status_violations(lying) == [
        "law 1: Stalled is True while Ready is True",
        "law 7: Odd has a reason that is not CamelCase: 'not camel'",
    ]


def test_a_condition_without_a_type_is_malformed() -> None:
    nameless = condition("Ready", "False")
    del nameless["type"]
    assert status_violations(widget(READY, nameless)) == ["law 7: a condition has no type"]


def test_without_a_clock_no_time_is_in_the_future() -> None:
    assert (
        status_violations(widget(READY, condition("Synced", lastTransitionTime="2999-01-01T00:00:00Z"))) == []
    )


def test_objects_without_a_generation_are_not_measured_by_it() -> None:
    assert (
        status_violations({"status": {"conditions": [condition("Ready", "False", observedGeneration=4)]}})
        == []
    )
