"""Rules of the kinds that keep pods running: Deployments, ReplicaSets, StatefulSets, DaemonSets."""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import forbidden_field, invalid_value, required, unsupported_value
from kubesim.plane.errors import StatusError
from kubesim.plane.kinds.rules import name
from kubesim.plane.kinds.rules.check import (
    Errors,
    at_most_all,
    conforms,
    each,
    immutable,
    int_or_percent,
    not_negative,
    one_of,
    selector,
    struct,
)
from kubesim.plane.kinds.rules.core import claim_spec
from kubesim.plane.kinds.rules.pod import template
from kubesim.plane.selector import label_selector_of

_STATEFUL_SET_IS_FIXED = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',"
    " 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATEFUL_SET_CHANGEABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
MISMATCH = "`selector` does not match template `labels`"


def deployment(new: JsonObject, old: JsonObject | None) -> Errors:
    spec = dig_object(new, "spec")
    yield from not_negative(spec, "spec", "replicas")
    yield from _pods(spec, "deployment", "ReplicaSet")
    yield from _deployment_strategy(dig_object(spec, "strategy"))
    yield from not_negative(
        spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"
    )
    deadline = spec.get("progressDeadlineSeconds")
    if isinstance(deadline, int) and deadline <= (spec.get("minReadySeconds") or 0):
        why = "must be greater than minReadySeconds"
        yield invalid_value("spec.progressDeadlineSeconds", deadline, why)
    if old is not None:
        yield from immutable("spec.selector", spec.get("selector"), dig(old, "spec", "selector"))


def deployment_status(new: JsonObject, _old: JsonObject | None) -> Errors:
    yield from _counts(new, "updatedReplicas", "readyReplicas", "availableReplicas")


def replica_set_status(new: JsonObject, _old: JsonObject | None) -> Errors:
    yield from _counts(new, "fullyLabeledReplicas", "readyReplicas", "availableReplicas")


def _counts(new: JsonObject, *parts: str) -> Errors:
    """No count exceeds that of all pods, and pods that are available are ready."""
    status = dig_object(new, "status")
    yield from not_negative(status, "status", "replicas", *parts)
    counts = {part: status.get(part) or 0 for part in parts}
    for part, count in counts.items():
        if count > (status.get("replicas") or 0):
            yield invalid_value(f"status.{part}", count, "cannot be greater than status.replicas")
    if counts["availableReplicas"] > counts["readyReplicas"]:
        why = "cannot be greater than readyReplicas"
        yield invalid_value("status.availableReplicas", counts["availableReplicas"], why)


def replica_set(new: JsonObject, old: JsonObject | None) -> Errors:
    spec = dig_object(new, "spec")
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    # The server has one sentence for both kinds.
    yield from _pods(spec, "deployment", "ReplicaSet")
    if old is not None:
        yield from immutable("spec.selector", spec.get("selector"), dig(old, "spec", "selector"))


def daemon_set(new: JsonObject, old: JsonObject | None) -> Errors:
    spec = dig_object(new, "spec")
    yield from _daemon_selector(spec)
    yield from template("spec.template", dig_object(spec, "template"))
    yield from _lasting(spec, "DaemonSet")
    yield from not_negative(spec, "spec", "minReadySeconds")
    yield from _daemon_strategy(dig_object(spec, "updateStrategy"))
    yield from not_negative(spec, "spec", "revisionHistoryLimit")
    if old is not None:
        yield from immutable("spec.selector", spec.get("selector"), dig(old, "spec", "selector"))


def stateful_set(new: JsonObject, old: JsonObject | None) -> Errors:
    spec = dig_object(new, "spec")
    policies = ("OrderedReady", "Parallel")
    if spec.get("podManagementPolicy") not in policies:
        why = "must be 'OrderedReady' or 'Parallel'"
        yield invalid_value("spec.podManagementPolicy", spec.get("podManagementPolicy"), why)
    yield from _stateful_strategy(dig_object(spec, "updateStrategy"))
    yield from _claims(spec)
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    if spec.get("serviceName") and old is None:
        yield from conforms("spec.serviceName", spec["serviceName"], name.label)
    claims = {dig(one, "metadata", "name") or "" for one in dig_list(spec, "volumeClaimTemplates")}
    yield from _pods(spec, "statefulset", "StatefulSet", claims)
    if old is not None and _fixed_part(spec) != _fixed_part(dig_object(old, "spec")):
        yield forbidden_field("spec", _STATEFUL_SET_IS_FIXED)


def _fixed_part(spec: JsonObject) -> JsonObject:
    return {key: value for key, value in spec.items() if key not in _STATEFUL_SET_CHANGEABLE}


def controller_revision(new: JsonObject, old: JsonObject | None) -> Errors:
    yield from not_negative(new, "", "revision")
    if old is not None:
        yield from immutable("data", new.get("data"), old.get("data"))
    elif not isinstance(new.get("data"), dict):
        yield required("data", "data is mandatory")


def _pods(spec: JsonObject, kind: str, owner: str, extra_volumes: set[str] | None = None) -> Errors:
    """The selector, the template, and that the one selects what the other makes."""
    path = "spec.selector"
    chosen = spec.get("selector")
    if chosen is None:
        yield required(path)
    else:
        yield from selector(path, chosen)
        if is_empty(chosen):
            yield invalid_value(path, chosen, f"empty selector is invalid for {kind}")
    matched = selects(chosen, dig_object(spec, "template"))
    if matched is None:
        yield invalid_value(path, chosen, "invalid label selector" if kind == "deployment" else "")
        return
    if not matched:
        yield invalid_value(*_mismatch(spec))
    yield from template("spec.template", dig_object(spec, "template"), extra_volumes)
    yield from _lasting(spec, owner)


def _daemon_selector(spec: JsonObject) -> Errors:
    chosen = spec.get("selector")
    yield from selector("spec.selector", chosen)
    if chosen is None or selects(chosen, dig_object(spec, "template")) is False:
        yield invalid_value(*_mismatch(spec))
    if chosen is not None and is_empty(chosen):
        yield invalid_value("spec.selector", chosen, "empty selector is invalid for daemonset")


def _mismatch(spec: JsonObject) -> tuple[str, Any, str]:
    return "spec.template.metadata.labels", dig(spec, "template", "metadata", "labels"), MISMATCH


def is_empty(chosen: JsonObject) -> bool:
    return not dig_object(chosen, "matchLabels") and not dig_list(chosen, "matchExpressions")


def selects(chosen: JsonObject | None, tree: JsonObject) -> bool | None:
    """Whether a selector takes the pods of a template; None where the selector is malformed."""
    try:
        found = label_selector_of(chosen)
    except StatusError:
        return None
    return found.matches(dig_object(tree, "metadata", "labels"))


def _lasting(spec: JsonObject, owner: str) -> Errors:
    """Pods that are replaced when they end must be of the kind that is meant to last."""
    policy = dig(spec, "template", "spec", "restartPolicy")
    if policy != "Always":
        yield unsupported_value("spec.template.spec.restartPolicy", policy, ("Always",))
    if dig(spec, "template", "spec", "activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {owner} is not Supported"
        yield forbidden_field("spec.template.spec.activeDeadlineSeconds", why)


def _deployment_strategy(strategy: JsonObject) -> Errors:
    path = "spec.strategy"
    if strategy.get("type") == "Recreate":
        if "rollingUpdate" in strategy:
            why = "may not be specified when strategy `type` is 'Recreate'"
            yield forbidden_field(f"{path}.rollingUpdate", why)
    elif strategy.get("type") == "RollingUpdate":
        yield from _rolling_update(f"{path}.rollingUpdate", dig_object(strategy, "rollingUpdate"))
    else:
        shown = struct(Type=strategy.get("type"), RollingUpdate=strategy.get("rollingUpdate"))
        yield unsupported_value(path, shown, ("Recreate", "RollingUpdate"))


def _rolling_update(path: str, parameters: JsonObject) -> Errors:
    unavailable, surge = parameters.get("maxUnavailable", 0), parameters.get("maxSurge", 0)
    yield from int_or_percent(f"{path}.maxUnavailable", unavailable)
    yield from int_or_percent(f"{path}.maxSurge", surge)
    if unavailable in (0, "0%") and surge in (0, "0%"):
        yield invalid_value(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    yield from at_most_all(f"{path}.maxUnavailable", unavailable)


def _daemon_strategy(strategy: JsonObject) -> Errors:
    path = "spec.updateStrategy"
    if strategy.get("type") == "RollingUpdate":
        parameters = dig_object(strategy, "rollingUpdate")
        for field in ("maxUnavailable", "maxSurge"):
            yield from int_or_percent(f"{path}.rollingUpdate.{field}", parameters.get(field, 0))
    elif strategy.get("type") != "OnDelete":
        shown = struct(Type=strategy.get("type"), RollingUpdate=strategy.get("rollingUpdate"))
        yield unsupported_value(path, shown, ("RollingUpdate", "OnDelete"))


def _stateful_strategy(strategy: JsonObject) -> Errors:
    path, kind = "spec.updateStrategy", strategy.get("type")
    if kind == "OnDelete":
        if "rollingUpdate" in strategy:
            why = "only allowed for updateStrategy 'RollingUpdate'"
            shown = struct(Partition=dig(strategy, "rollingUpdate", "partition"), MaxUnavailable=None)
            yield invalid_value(f"{path}.rollingUpdate", shown, why)
    elif kind == "RollingUpdate":
        yield from not_negative(strategy.get("rollingUpdate"), f"{path}.rollingUpdate", "partition")
    else:
        shown = struct(Type=kind, RollingUpdate=strategy.get("rollingUpdate"))
        yield invalid_value(path, shown, "must be 'RollingUpdate' or 'OnDelete'")


def _claims(spec: JsonObject) -> Errors:
    policy = dig_object(spec, "persistentVolumeClaimRetentionPolicy")
    for field in ("whenScaled", "whenDeleted"):
        where = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
        yield from one_of(where, policy.get(field), ("Retain", "Delete"))
    for path, claim in each(spec, "volumeClaimTemplates", "spec"):
        yield from claim_spec(f"{path}.spec", dig_object(claim, "spec"))
