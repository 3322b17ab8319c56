"""Rules of roles and their bindings."""

from __future__ import annotations

import msgspec

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import invalid_value, required, unsupported_value
from kubesim.plane.kinds.defaults.cluster import RBAC_GROUP
from kubesim.plane.kinds.rules import name
from kubesim.plane.kinds.rules.check import Errors, conforms, each, named, selector, struct
from kubesim.plane.labels import subdomain_problems


def role(new: JsonObject, _: JsonObject | None) -> Errors:
    for path, rule in each(new, "rules"):
        yield from _policy_rule(path, rule, namespaced=True)


def cluster_role(new: JsonObject, _: JsonObject | None) -> Errors:
    for path, rule in each(new, "rules"):
        yield from _policy_rule(path, rule, namespaced=False)
    aggregation = new.get("aggregationRule")
    if isinstance(aggregation, dict):
        path = "aggregationRule.clusterRoleSelectors"
        if not dig_list(aggregation, "clusterRoleSelectors"):
            yield required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
        for where, chosen in each(aggregation, "clusterRoleSelectors", "aggregationRule"):
            yield from selector(where, chosen)


def _policy_rule(path: str, rule: JsonObject, *, namespaced: bool) -> Errors:
    if not dig_list(rule, "verbs"):
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    urls = dig_list(rule, "nonResourceURLs")
    if urls:
        where = f"{path}.nonResourceURLs"
        if namespaced:
            yield invalid_value(where, urls, "namespaced rules cannot apply to non-resource URLs")
        if any(dig_list(rule, field) for field in ("apiGroups", "resources", "resourceNames")):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid_value(where, urls, why)
        return
    if not dig_list(rule, "apiGroups"):
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not dig_list(rule, "resources"):
        yield required(f"{path}.resources", "resource rules must supply at least one resource")


def role_binding(new: JsonObject, old: JsonObject | None) -> Errors:
    yield from _binding(new, old, ("Role", "ClusterRole"), namespaced=True)


def cluster_role_binding(new: JsonObject, old: JsonObject | None) -> Errors:
    yield from _binding(new, old, ("ClusterRole",), namespaced=False)


def _binding(new: JsonObject, old: JsonObject | None, kinds: tuple[str, ...], *, namespaced: bool) -> Errors:
    reference = dig_object(new, "roleRef")
    if reference.get("apiGroup") != RBAC_GROUP:
        yield unsupported_value("roleRef.apiGroup", reference.get("apiGroup", ""), (RBAC_GROUP,))
    if reference.get("kind") not in kinds:
        yield unsupported_value("roleRef.kind", reference.get("kind", ""), kinds)
    yield from named("roleRef.name", reference.get("name"), name.path_segment)
    for path, subject in each(new, "subjects"):
        yield from _subject(path, subject, namespaced=namespaced)
    if old is not None and reference != dig(old, "roleRef"):
        yield invalid_value("roleRef", _reference_shown(reference), "cannot change roleRef")


def _reference_shown(reference: JsonObject) -> msgspec.Raw:
    return struct(
        APIGroup=reference.get("apiGroup", ""), Kind=reference.get("kind", ""), Name=reference.get("name", "")
    )


def _subject(path: str, subject: JsonObject, *, namespaced: bool) -> Errors:
    kind, group = subject.get("kind", ""), subject.get("apiGroup", "")
    if not subject.get("name"):
        yield required(f"{path}.name")
    if kind == "ServiceAccount":
        if subject.get("name"):
            yield from conforms(f"{path}.name", subject["name"], subdomain_problems)
        if group:
            yield unsupported_value(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        if group != RBAC_GROUP:
            yield unsupported_value(f"{path}.apiGroup", group, (RBAC_GROUP,))
    else:
        yield unsupported_value(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))
