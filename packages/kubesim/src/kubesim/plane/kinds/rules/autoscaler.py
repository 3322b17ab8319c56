"""Rules of HorizontalPodAutoscalers, stated for `autoscaling/v2`; `v1` objects are converted first."""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import forbidden_field, invalid_value, required, unsupported_value
from kubesim.plane.kinds.convert.autoscaler import V1, to_v2
from kubesim.plane.kinds.quantity import parse_quantity
from kubesim.plane.kinds.rules import name
from kubesim.plane.kinds.rules.check import Errors, each, named, optional_of

_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_LONGEST_WINDOW = 3_600
_LONGEST_PERIOD = 1_800


def autoscaler(new: JsonObject, _: JsonObject | None) -> Errors:
    tree = to_v2(new) if new.get("apiVersion") == V1 else new
    spec = dig_object(tree, "spec")
    yield from _bounds(spec)
    target = dig_object(spec, "scaleTargetRef")
    for field in ("kind", "name"):
        yield from named(f"spec.scaleTargetRef.{field}", target.get(field), name.path_segment)
    if "/" not in target.get("apiVersion", "") and new.get("apiVersion") != V1:
        why = "apiVersion must specify API group"
        yield invalid_value("spec.scaleTargetRef.apiVersion", target.get("apiVersion", ""), why)
    for path, metric in each(spec, "metrics", "spec"):
        yield from _metric(path, metric)
    if spec.get("minReplicas") == 0:
        yield from _scaled_to_zero(spec)
    for direction in ("scaleUp", "scaleDown"):
        rules = dig(spec, "behavior", direction)
        if isinstance(rules, dict):
            yield from _scaling_rules(f"spec.behavior.{direction}", rules)


def _scaled_to_zero(spec: JsonObject) -> Errors:
    """Without pods nothing can be measured on them: something else must say when to start again."""
    if not {"Object", "External"} & {dig(one, "type") for one in dig_list(spec, "metrics")}:
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden_field("spec.metrics", why)


def _bounds(spec: JsonObject) -> Errors:
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if low is not None and low < 1:
        yield invalid_value("spec.minReplicas", low, "must be greater than or equal to 1")
    if high == 0:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif high < 0:
        yield invalid_value("spec.maxReplicas", high, "must be greater than or equal to 1")
    if low is not None and high < low:
        yield invalid_value("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")


def _metric(path: str, metric: JsonObject) -> Errors:
    kind = metric.get("type") or ""
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    field = _SOURCES.get(kind)
    if field is None:
        yield unsupported_value(f"{path}.type", kind, tuple(_SOURCES))
        return
    present = [one for one in _SOURCES.values() if one in metric]
    if field in present:
        yield from _source(f"{path}.{field}", field, dig_object(metric, field))
    else:
        yield required(f"{path}.{field}", "must populate information for the given metric source")
    for extra in present:
        if extra != field:
            yield forbidden_field(f"{path}.{extra}", "must populate the given metric source only")


def _source(path: str, field: str, source: JsonObject) -> Errors:
    target = dig_object(source, "target")
    if field in ("resource", "containerResource"):
        if not source.get("name"):
            yield required(f"{path}.name", "must specify a resource name")
    elif not dig(source, "metric", "name"):
        yield required(f"{path}.metric.name", "must specify a metric name")
    yield from _target(f"{path}.target", target)
    if field in ("resource", "containerResource"):
        yield from _resource_target(f"{path}.target", target)
    elif field == "pods" and "averageValue" not in target:
        yield required(f"{path}.target.averageValue", "must specify a positive target averageValue")


def _resource_target(path: str, target: JsonObject) -> Errors:
    utilization, average = "averageUtilization" in target, "averageValue" in target
    if not utilization and not average:
        why = "must set either a target raw value or a target utilization"
        yield required(f"{path}.averageUtilization", why)
    if utilization and average:
        why = "may not set both a target raw value and a target utilization"
        yield forbidden_field(f"{path}.averageValue", why)


def _target(path: str, target: JsonObject) -> Errors:
    kind = target.get("type") or ""
    if not kind:
        yield required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield invalid_value(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for field in ("value", "averageValue"):
        if _not_positive(target.get(field)):
            yield invalid_value(f"{path}.{field}", target[field], "must be positive")
    utilization = target.get("averageUtilization")
    if isinstance(utilization, int) and utilization < 1:
        yield invalid_value(f"{path}.averageUtilization", utilization, "must be greater than 0")


def _not_positive(value: Any) -> bool:
    amount = parse_quantity(value)
    return amount is not None and amount <= 0


def _scaling_rules(path: str, rules: JsonObject) -> Errors:
    window = rules.get("stabilizationWindowSeconds")
    where = f"{path}.stabilizationWindowSeconds"
    if isinstance(window, int) and window < 0:
        yield invalid_value(where, window, "must be greater than or equal to zero")
    if isinstance(window, int) and window > _LONGEST_WINDOW:
        yield invalid_value(where, window, f"must be less than or equal to {_LONGEST_WINDOW}")
    yield from optional_of(f"{path}.selectPolicy", rules.get("selectPolicy"), ("Disabled", "Max", "Min"))
    if not dig_list(rules, "policies"):
        yield required(f"{path}.policies", "must specify at least one Policy")
    for policy_path, policy in each(rules, "policies", path):
        yield from _scaling_policy(policy_path, policy)


def _scaling_policy(path: str, policy: JsonObject) -> Errors:
    if policy.get("type") not in ("Pods", "Percent"):
        yield unsupported_value(f"{path}.type", policy.get("type"), ("Percent", "Pods"))
    for field in ("value", "periodSeconds"):
        if policy.get(field, 0) <= 0:
            yield invalid_value(f"{path}.{field}", policy.get(field, 0), "must be greater than zero")
    if policy.get("periodSeconds", 0) > _LONGEST_PERIOD:
        why = f"must be less than or equal to {_LONGEST_PERIOD}"
        yield invalid_value(f"{path}.periodSeconds", policy["periodSeconds"], why)
