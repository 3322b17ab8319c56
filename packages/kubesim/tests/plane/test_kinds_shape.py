"""The normal form of built-in objects."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.kinds.definitions import definitions
from kubesim.plane.kinds.shape import shape_of


def shaped(definition: str, value: Any) -> Any:
    return shape_of(f"io.k8s.{definition}")(value)


@pytest.mark.parametrize(
    ("definition", "value", "normal"),
    [
        pytest.param("api.core.v1.ConfigMap", {"data": None}, {"metadata": {}}, id="null is absent"),
        pytest.param("api.core.v1.ConfigMap", {"data": {}}, {"metadata": {}}, id="empty map vanishes"),
        pytest.param(
            "api.core.v1.ConfigMap",
            {"data": {"a": None}},
            {"metadata": {}, "data": {"a": ""}},
            id="key without value holds nothing",
        ),
        pytest.param(
            "api.core.v1.ConfigMap",
            {"immutable": False},
            {"metadata": {}, "immutable": False},
            id="optional scalar keeps its zero",
        ),
        pytest.param(
            "api.core.v1.EnvVar", {"name": "a", "value": ""}, {"name": "a"}, id="zero text vanishes"
        ),
        pytest.param("api.core.v1.EnvVar", {}, {"name": ""}, id="mandatory text appears"),
        pytest.param(
            "api.core.v1.ExecAction", {"command": [None]}, {"command": [""]}, id="null in a list is zero"
        ),
        pytest.param(
            "api.core.v1.VolumeMount",
            {"name": "a", "mountPath": "/", "readOnly": False},
            {"name": "a", "mountPath": "/"},
            id="zero flag vanishes",
        ),
        pytest.param(
            "api.core.v1.PodAffinity",
            {"requiredDuringSchedulingIgnoredDuringExecution": []},
            {},
            id="empty list vanishes",
        ),
        pytest.param("api.rbac.v1.PolicyRule", {}, {"verbs": None}, id="mandatory list is null"),
        pytest.param(
            "api.rbac.v1.PolicyRule", {"verbs": []}, {"verbs": None}, id="mandatory empty list is null"
        ),
        pytest.param(
            "api.core.v1.EmptyDirVolumeSource",
            {"sizeLimit": "1024Mi"},
            {"sizeLimit": "1Gi"},
            id="quantity has one spelling",
        ),
        pytest.param(
            "api.core.v1.ResourceRequirements",
            {"limits": {"cpu": 0.5}},
            {"limits": {"cpu": "500m"}},
            id="number becomes a quantity",
        ),
        pytest.param(
            "api.core.v1.NodeCondition",
            {"type": "a", "status": "True", "lastTransitionTime": "2024-01-01T02:00:00.5+02:00"},
            {
                "type": "a",
                "status": "True",
                "lastHeartbeatTime": None,
                "lastTransitionTime": "2024-01-01T00:00:00Z",
            },
            id="time is in seconds and UTC",
        ),
        pytest.param(
            "api.coordination.v1.LeaseSpec",
            {"renewTime": "2024-01-01T00:00:00.5Z"},
            {"renewTime": "2024-01-01T00:00:00.500000Z"},
            id="fine time has microseconds",
        ),
        pytest.param(
            "api.core.v1.Volume",
            {"name": "v"},
            {"name": "v", "emptyDir": {}},
            id="volume is an empty directory",
        ),
        pytest.param(
            "api.core.v1.Volume",
            {"name": "v", "emptyDir": {}},
            {"name": "v", "emptyDir": {}},
            id="empty struct stays",
        ),
    ],
)
def test_value_takes_its_normal_form(definition: str, value: JsonObject, normal: JsonObject) -> None:
    assert shaped(definition, value) == normal


STRUCTS = sorted(name for name, schema in definitions().items() if "properties" in schema)


@pytest.mark.parametrize("definition", STRUCTS, ids=lambda name: name.removeprefix("io.k8s."))
def test_normal_form_of_nothing_is_stable(definition: str) -> None:
    once = shape_of(definition)({})
    twice = shape_of(definition)(shape_of(definition)({}))
    assert once == twice


@pytest.mark.parametrize("wrong", [None, 5, "text", [1]])
def test_value_of_another_type_is_left_alone(wrong: Any) -> None:
    assert shaped("api.core.v1.PodSpec", wrong) == wrong


@pytest.mark.parametrize("wrong", [5, "text", {"a": 1}])
def test_nested_value_of_another_type_is_left_alone(wrong: Any) -> None:
    assert shaped("api.core.v1.PodSpec", {"containers": wrong})["containers"] == wrong


def test_recursive_types_are_shaped_to_the_bottom() -> None:
    schema = {"properties": {"a": {"properties": {"b": {"type": "string", "description": ""}}}}}
    name = "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    assert shaped(name, schema) == {"properties": {"a": {"properties": {"b": {"type": "string"}}}}}


def test_defaults_are_not_shared_between_objects() -> None:
    one, two = (
        shaped("api.autoscaling.v2.HorizontalPodAutoscalerSpec", {}),
        shaped("api.autoscaling.v2.HorizontalPodAutoscalerSpec", {}),
    )
    one["metrics"][0]["resource"]["name"] = "memory"
    one["scaleTargetRef"]["kind"] = "Changed"
    assert two["metrics"][0]["resource"]["name"] == "cpu"
    assert two["scaleTargetRef"] == {"kind": "", "name": ""}


def test_empty_value_of_a_type_has_no_defaults_in_it() -> None:
    empty = shape_of("io.k8s.api.core.v1.Event").zero()
    assert empty == {
        "metadata": {},
        "involvedObject": {},
        "source": {},
        "reportingComponent": "",
        "reportingInstance": "",
        "eventTime": None,
        "firstTimestamp": None,
        "lastTimestamp": None,
    }


def test_empty_value_of_a_type_reaches_into_nested_types() -> None:
    empty = shape_of("io.k8s.api.apps.v1.Deployment").zero()
    assert empty["spec"] == {
        "selector": None,
        "strategy": {},
        "template": {"metadata": {}, "spec": {"containers": None}},
    }


@pytest.mark.parametrize("definition", STRUCTS, ids=lambda name: name.removeprefix("io.k8s."))
def test_every_type_has_an_empty_value(definition: str) -> None:
    assert isinstance(shape_of(definition).zero(), dict)
