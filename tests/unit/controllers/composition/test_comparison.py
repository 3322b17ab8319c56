"""Whether a live object is as it was applied."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.controllers.composition.comparison import covers, metadata_covers


@pytest.mark.parametrize(
    ("live", "wanted"),
    [
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 2]}}),
        ({}, {"a": {}, "b": [], "c": None}),
        ({"cpu": "500m"}, {"cpu": "0.5"}),
        ({"memory": "1Gi"}, {"memory": "1024Mi"}),
        ({"cpu": "1"}, {"cpu": 1}),
        ({"n": "1e3"}, {"n": "1k"}),
        ({"ports": [{"port": 80, "protocol": "TCP"}]}, {"ports": [{"port": 80}]}),
        ({"env": [{"name": "added"}, {"name": "x", "value": "1"}]}, {"env": [{"name": "x", "value": "1"}]}),
        ({"rules": [{"verbs": ["get"], "more": 1}]}, {"rules": [{"verbs": ["get"]}]}),
        ({"data": {"a": "eA=="}}, {"stringData": {"a": "x"}}),
    ],
)
def test_what_the_server_and_others_add_makes_no_difference(live: Any, wanted: Any) -> None:
    assert covers(live, wanted)


@pytest.mark.parametrize(
    ("live", "wanted"),
    [
        ({}, {"a": 1}),
        ({"a": 2}, {"a": 1}),
        ({"a": True}, {"a": 1}),
        ({"a": "true"}, {"a": True}),
        ({"a": "x"}, {"a": {}}),
        ({"a": [1]}, {"a": [1, 2]}),
        ({"a": [2, 1]}, {"a": [1, 2]}),
        ({"cpu": "500m"}, {"cpu": "5"}),
        ({"v": "1.2.3"}, {"v": "1.2.4"}),
        ({"env": [{"name": "x", "value": "2"}]}, {"env": [{"name": "x", "value": "1"}]}),
        ({"env": [{"name": "y"}]}, {"env": [{"name": "x"}]}),
        ({"ports": [{"port": 80}, {"port": 80}]}, {"ports": [{"port": 80}]}),
        ({"data": {"a": "eQ=="}}, {"stringData": {"a": "x"}}),
    ],
)
def test_what_we_set_and_is_otherwise_makes_a_difference(live: Any, wanted: Any) -> None:
    assert not covers(live, wanted)


def test_marks_are_compared_without_the_rest() -> None:
    wanted = {"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}}, "data": {"x": "y"}}
    live = {"metadata": {"labels": {"a": "1", "c": "3"}, "annotations": {"b": "2"}}}
    assert metadata_covers(live, wanted)
    assert not metadata_covers({"metadata": {"labels": {"a": "1"}}}, wanted)
