"""HorizontalPodAutoscalers as `autoscaling/v1`, which knows one metric only: the CPU utilisation of the pods.

What does not fit into that version travels in annotations, so that nothing is lost when an object is read and written
back through it. The annotations carry the names Kubernetes gives them; their text is the `v2` form.
"""

from __future__ import annotations

from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object

V1, V2 = "autoscaling/v1", "autoscaling/v2"
DEFAULT_CPU_UTILIZATION = 80
CPU_FIELD = "targetCPUUtilizationPercentage"
_CURRENT_CPU_FIELD = "currentCPUUtilizationPercentage"
_PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS_ANNOTATION = f"{_PREFIX}metrics"
_CARRIED = {
    METRICS_ANNOTATION: ("spec", "metrics"),
    f"{_PREFIX}behavior": ("spec", "behavior"),
    f"{_PREFIX}current-metrics": ("status", "currentMetrics"),
    f"{_PREFIX}conditions": ("status", "conditions"),
}


def to_v2(tree: JsonObject) -> JsonObject:
    """Return an `autoscaling/v1` autoscaler as `autoscaling/v2`."""
    converted = {**tree, "spec": dict(dig_object(tree, "spec")), "status": dict(dig_object(tree, "status"))}
    _unpack_annotations(converted)
    spec, status = converted["spec"], converted["status"]
    target = spec.pop(CPU_FIELD, None)
    if target is None and not spec.get("metrics"):
        target = DEFAULT_CPU_UTILIZATION
    if target is not None:
        spec["metrics"] = [_cpu_metric("target", target), *spec.get("metrics", [])]
    current = status.pop(_CURRENT_CPU_FIELD, None)
    if current is not None and "currentMetrics" not in status:
        status["currentMetrics"] = [_cpu_metric("current", current)]
    return _versioned(converted, V2)


def to_v1(tree: JsonObject) -> JsonObject:
    """Return an `autoscaling/v2` autoscaler as `autoscaling/v1`."""
    converted = {**tree, "spec": dict(dig_object(tree, "spec")), "status": dict(dig_object(tree, "status"))}
    spec, status = converted["spec"], converted["status"]
    metrics = dig_list(spec, "metrics")
    cpu = next((one for one in metrics if _is_cpu(one, "target")), None)
    current = next((one for one in dig_list(status, "currentMetrics") if _is_cpu(one, "current")), None)
    spec["metrics"] = [one for one in metrics if one is not cpu]
    _pack_annotations(converted)
    if cpu is not None:
        spec[CPU_FIELD] = cpu["resource"]["target"]["averageUtilization"]
    if current is not None:
        status[_CURRENT_CPU_FIELD] = current["resource"]["current"]["averageUtilization"]
    return _versioned(converted, V1)


def _cpu_metric(role: str, utilization: Any) -> JsonObject:
    amount: JsonObject = {"averageUtilization": utilization}
    if role == "target":
        amount["type"] = "Utilization"
    return {"type": "Resource", "resource": {"name": "cpu", role: amount}}


def _is_cpu(metric: Any, role: str) -> bool:
    return (
        dig(metric, "type") == "Resource"
        and dig(metric, "resource", "name") == "cpu"
        and dig(metric, "resource", role, "averageUtilization") is not None
    )


def _pack_annotations(tree: JsonObject) -> None:
    packed = {}
    for annotation, (section, field) in _CARRIED.items():
        value = tree[section].pop(field, None)
        if value:
            packed[annotation] = msgspec.json.encode(value).decode()
    if packed:
        annotations = {**dig_object(tree, "metadata", "annotations"), **packed}
        tree["metadata"] = {**tree["metadata"], "annotations": annotations}


def _unpack_annotations(tree: JsonObject) -> None:
    annotations = dict(dig_object(tree, "metadata", "annotations"))
    for annotation, (section, field) in _CARRIED.items():
        text = annotations.pop(annotation, None)
        if text is not None:
            tree[section][field] = msgspec.json.decode(text)
    metadata = {**dig_object(tree, "metadata"), "annotations": annotations}
    if not annotations:
        del metadata["annotations"]
    tree["metadata"] = metadata


def _versioned(tree: JsonObject, version: str) -> JsonObject:
    if "apiVersion" in tree:
        tree["apiVersion"] = version
    return tree
