"""Rules of disruption budgets, leases, priorities and storage classes."""

from __future__ import annotations

import msgspec

from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.schema.field_error import forbidden_field, invalid_value, required
from kubesim.plane.kinds.rules.check import (
    Errors,
    at_most_all,
    immutable,
    int_or_percent,
    optional_of,
    selector,
    struct,
)
from kubesim.plane.labels import label_key_problems

_HIGHEST_PRIORITY = 1_000_000_000
_SYSTEM_PRIORITIES = ("system-cluster-critical", "system-node-critical")


def disruption_budget(new: JsonObject, _: JsonObject | None) -> Errors:
    spec = dig_object(new, "spec")
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield invalid_value("spec", _budget_shown(spec), "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        if field in spec:
            yield from int_or_percent(f"spec.{field}", spec[field])
            yield from at_most_all(f"spec.{field}", spec[field])
    yield from selector("spec.selector", spec.get("selector"))
    yield from optional_of(
        "spec.unhealthyPodEvictionPolicy",
        spec.get("unhealthyPodEvictionPolicy"),
        ("AlwaysAllow", "IfHealthyBudget"),
    )


def _budget_shown(spec: JsonObject) -> msgspec.Raw:
    return struct(
        MinAvailable=spec.get("minAvailable"),
        Selector=spec.get("selector"),
        MaxUnavailable=spec.get("maxUnavailable"),
        UnhealthyPodEvictionPolicy=spec.get("unhealthyPodEvictionPolicy"),
    )


def lease(new: JsonObject, _: JsonObject | None) -> Errors:
    spec = dig_object(new, "spec")
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield invalid_value("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield invalid_value("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


def priority_class(new: JsonObject, old: JsonObject | None) -> Errors:
    policies = ("PreemptLowerPriority", "Never")
    if old is not None:
        if new.get("value") != old.get("value"):
            yield forbidden_field("value", "may not be changed in an update.")
        yield from immutable("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))
        return
    name, value = dig(new, "metadata", "name") or "", new.get("value") or 0
    if name.startswith("system-") and name not in _SYSTEM_PRIORITIES:
        why = (
            "priority class names with 'system-' prefix are reserved for system use only. "
            f"error: {name} is not a known system priority class"
        )
        yield forbidden_field("metadata.name", why)
    elif not name.startswith("system-") and value > _HIGHEST_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        yield forbidden_field("value", why)
    yield from optional_of("preemptionPolicy", new.get("preemptionPolicy"), policies)


def storage_class(new: JsonObject, old: JsonObject | None) -> Errors:
    if old is not None:
        for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
            yield from immutable(field, new.get(field), old.get(field))
        return
    provisioner = new.get("provisioner") or ""
    if not provisioner:
        yield required("provisioner")
    else:
        for problem in label_key_problems(provisioner.lower()):
            yield invalid_value("provisioner", provisioner.lower(), problem)
    for key in dig_object(new, "parameters"):
        if not key:
            yield invalid_value("parameters", key, "field must not be empty.")
    yield from optional_of("reclaimPolicy", new.get("reclaimPolicy"), ("Delete", "Retain"))
    modes = ("Immediate", "WaitForFirstConsumer")
    yield from optional_of("volumeBindingMode", new.get("volumeBindingMode"), modes)
