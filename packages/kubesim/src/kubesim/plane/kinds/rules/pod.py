"""Rules of pods and of the templates that workloads make pods from."""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import forbidden_field, invalid_value
from kubesim.plane.kinds.rules import name
from kubesim.plane.kinds.rules.check import (
    Errors,
    conforms,
    each,
    ip,
    labels,
    missing,
    one_of,
    optional_of,
    selector,
)
from kubesim.plane.kinds.rules.container import containers
from kubesim.plane.kinds.rules.volume import volumes
from kubesim.plane.labels import label_key_problems, label_value_problems, subdomain_problems

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_LARGEST_INT32 = 2**31 - 1
_UPDATABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod(new: JsonObject, old: JsonObject | None) -> Errors:
    yield from pod_spec("spec", dig_object(new, "spec"))
    if old is not None:
        yield from _update(dig_object(new, "spec"), dig_object(old, "spec"))


def template(path: str, tree: JsonObject, extra_volumes: set[str] | None = None) -> Errors:
    yield from labels(f"{path}.labels", dig_object(tree, "metadata", "labels"))
    yield from pod_spec(f"{path}.spec", dig_object(tree, "spec"), extra_volumes)


def pod_spec(path: str, spec: JsonObject, extra_volumes: set[str] | None = None) -> Errors:
    known = set(extra_volumes or ())
    yield from volumes(spec, path, known)
    yield from containers(spec, path, known)
    yield from one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), _RESTART_POLICIES)
    yield from one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    yield from labels(f"{path}.nodeSelector", dig_object(spec, "nodeSelector"))
    yield from _affinity(path, dig_object(spec, "affinity"))
    yield from _spread(spec, path)
    for field, syntax in (
        ("serviceAccountName", subdomain_problems),
        ("nodeName", subdomain_problems),
        ("hostname", name.label),
        ("subdomain", name.label),
        ("priorityClassName", subdomain_problems),
    ):
        if spec.get(field):
            yield from conforms(f"{path}.{field}", spec[field], syntax)
    deadline = spec.get("activeDeadlineSeconds")
    if isinstance(deadline, int) and not 1 <= deadline <= _LARGEST_INT32:
        why = f"must be between 1 and {_LARGEST_INT32}, inclusive"
        yield invalid_value(f"{path}.activeDeadlineSeconds", deadline, why)
    for where, toleration in each(spec, "tolerations", path):
        yield from _toleration(where, toleration)
    for where, alias in each(spec, "hostAliases", path):
        yield from ip(f"{where}.ip", alias.get("ip", ""))


def _affinity(path: str, affinity: JsonObject) -> Errors:
    for kind in ("podAffinity", "podAntiAffinity"):
        where = f"{path}.affinity.{kind}"
        required_terms = "requiredDuringSchedulingIgnoredDuringExecution"
        for term_path, term in each(affinity.get(kind), required_terms, where):
            yield from selector(f"{term_path}.labelSelector", term.get("labelSelector"))
            key = term.get("topologyKey", "")
            yield from missing(f"{term_path}.topologyKey", key, "can not be empty")
            yield from conforms(f"{term_path}.topologyKey", key, label_key_problems)


def _spread(spec: JsonObject, path: str) -> Errors:
    for where, constraint in each(spec, "topologySpreadConstraints", path):
        skew = constraint.get("maxSkew", 0)
        if skew <= 0:
            yield invalid_value(f"{where}.maxSkew", skew, "must be greater than zero")
        yield from missing(f"{where}.topologyKey", constraint.get("topologyKey"), "can not be empty")
        supported = ("DoNotSchedule", "ScheduleAnyway")
        yield from optional_of(f"{where}.whenUnsatisfiable", constraint.get("whenUnsatisfiable"), supported)
        yield from selector(f"{where}.labelSelector", constraint.get("labelSelector"))


def _toleration(path: str, toleration: JsonObject) -> Errors:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    if key:
        yield from conforms(f"{path}.key", key, label_key_problems)
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid_value(f"{path}.operator", operator, why)
    if "tolerationSeconds" in toleration and toleration.get("effect") != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid_value(f"{path}.effect", toleration.get("effect", ""), why)
    value = toleration.get("value", "")
    if operator in ("", "Equal"):
        problems = label_value_problems(value)
        if problems:
            yield invalid_value(f"{path}.operator", value, ";".join(problems))
    elif operator == "Exists" and value:
        yield invalid_value(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    if operator not in ("", "Equal", "Exists"):
        yield from one_of(f"{path}.operator", operator, ("Equal", "Exists"))
    if toleration.get("effect"):
        effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
        yield from one_of(f"{path}.effect", toleration["effect"], effects)


def _update(spec: JsonObject, before: JsonObject) -> Errors:
    """Little of a pod may change once it exists."""
    for field in ("containers", "initContainers"):
        if len(dig_list(spec, field)) != len(dig_list(before, field)):
            yield forbidden_field(f"spec.{field}", "pod updates may not add or remove containers")
            return
    kept = dig_list(before, "tolerations")
    if any(one not in dig_list(spec, "tolerations") for one in kept):
        yield forbidden_field(
            "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
        )
    if _fixed_part(spec) != _fixed_part(before):
        yield forbidden_field("spec", _UPDATABLE)


def _fixed_part(spec: JsonObject) -> JsonObject:
    changeable = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
    fixed = {key: value for key, value in spec.items() if key not in changeable}
    for field in ("containers", "initContainers"):
        fixed[field] = [_without_image(one) for one in dig_list(spec, field)]
    return fixed


def _without_image(container: Any) -> JsonObject:
    return (
        {key: value for key, value in container.items() if key != "image"} if dig(container, "name") else {}
    )
