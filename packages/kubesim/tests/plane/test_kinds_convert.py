"""Conversions between versions of a built-in kind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.kinds import builtin_resources
from kubesim.plane.kinds.convert.autoscaler import to_v1, to_v2
from kubesim.plane.kinds.convert.event import from_core, to_core
from kubesim.plane.resource import GroupResource

CORE_EVENT: JsonObject = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "d"},
    "involvedObject": {"kind": "Pod", "name": "p"},
    "reason": "Started",
    "message": "container started",
    "source": {"component": "kubelet"},
    "firstTimestamp": "2024-01-01T00:00:00Z",
    "lastTimestamp": None,
    "count": 3,
    "type": "Normal",
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
NEW_EVENT: JsonObject = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "d"},
    "regarding": {"kind": "Pod", "name": "p"},
    "reason": "Started",
    "note": "container started",
    "deprecatedSource": {"component": "kubelet"},
    "deprecatedFirstTimestamp": "2024-01-01T00:00:00Z",
    "deprecatedLastTimestamp": None,
    "deprecatedCount": 3,
    "type": "Normal",
    "eventTime": None,
}


def test_event_has_other_names_in_the_newer_api() -> None:
    assert from_core(CORE_EVENT) == NEW_EVENT
    assert to_core(NEW_EVENT) == CORE_EVENT


texts = st.text(min_size=1, max_size=10)
core_events = st.fixed_dictionaries(
    {
        "apiVersion": st.just("v1"),
        "kind": st.just("Event"),
        "metadata": st.fixed_dictionaries({"name": texts}),
        "involvedObject": st.dictionaries(texts, texts, max_size=2),
        "reportingComponent": st.text(max_size=5),
        "reportingInstance": st.text(max_size=5),
    },
    optional={
        "reason": texts,
        "message": texts,
        "type": texts,
        "action": texts,
        "count": st.integers(min_value=1),
        "source": st.dictionaries(texts, texts, max_size=2),
        "firstTimestamp": st.none() | texts,
        "lastTimestamp": st.none() | texts,
        "eventTime": st.none() | texts,
        "series": st.fixed_dictionaries({"count": st.integers()}),
        "related": st.dictionaries(texts, texts, max_size=2),
    },
)


@given(core_events)
def test_event_survives_the_way_there_and_back(event: JsonObject) -> None:
    assert to_core(from_core(event)) == event


@given(core_events)
def test_conversion_leaves_its_argument_alone(event: JsonObject) -> None:
    before = repr(event)
    from_core(event)
    to_core(event)
    assert repr(event) == before


def test_both_apis_of_events_share_their_objects() -> None:
    stored = [one.stored_as for one in builtin_resources() if one.kind == "Event"]
    assert stored == [GroupResource("", "events")] * 2


def cpu(utilization: int) -> JsonObject:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


MEMORY: JsonObject = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
}


def v2(metrics: list[JsonObject], **status: Any) -> JsonObject:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"maxReplicas": 3, "metrics": metrics},
        "status": status,
    }


def test_cpu_metric_is_a_number_in_v1() -> None:
    old = to_v1(v2([cpu(60)]))
    assert old["apiVersion"] == "autoscaling/v1"
    assert old["spec"] == {"maxReplicas": 3, "targetCPUUtilizationPercentage": 60}
    assert "annotations" not in old["metadata"]


def test_current_cpu_utilisation_is_a_number_in_v1() -> None:
    current = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 42}}}
    assert to_v1(v2([cpu(60)], currentMetrics=[current]))["status"]["currentCPUUtilizationPercentage"] == 42


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param(v2([cpu(60)]), id="cpu only"),
        pytest.param(v2([MEMORY]), id="memory only"),
        pytest.param(v2([cpu(10), MEMORY]), id="both"),
        pytest.param(v2([cpu(10)], conditions=[{"type": "AbleToScale", "status": "True"}]), id="conditions"),
    ],
)
def test_autoscaler_survives_the_way_there_and_back(tree: JsonObject) -> None:
    assert to_v2(to_v1(tree)) == tree


def test_v1_without_a_target_scales_at_eighty_percent() -> None:
    bare = {"apiVersion": "autoscaling/v1", "metadata": {"name": "h"}, "spec": {"maxReplicas": 3}}
    assert to_v2(bare)["spec"]["metrics"] == [cpu(80)]


def test_own_annotations_survive_the_conversion() -> None:
    tree = v2([MEMORY])
    tree["metadata"]["annotations"] = {"mine": "yes"}
    assert to_v1(tree)["metadata"]["annotations"].keys() == {
        "mine",
        "autoscaling.alpha.kubernetes.io/metrics",
    }
    assert to_v2(to_v1(tree)) == tree
