"""The roles and bindings that every cluster starts with, as tables.

Operators and charts count on these names: they bind `view` or `edit`, label their own roles so that `admin` gathers
them, and rely on discovery being open to everybody who is authenticated. Roles of system components that do not exist
here (nodes, the scheduler, the controller manager) are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from edgekeeper.core.json import JsonObject
from kubesim.plane.auth.rbac import RBAC_GROUP, aggregate

_READ = "get list watch"
_WRITE = "create update patch delete deletecollection"
_READ_WRITE = "get list watch create update patch delete deletecollection"
_CORE = ""

_Rule: TypeAlias = tuple[str, tuple[str, ...], str]
"""Verbs, API groups and resources; several words in one string. No groups at all: the last column holds URLs."""

_HEALTH = "/livez /readyz /healthz"
_VERSION = "/version /version/"

_VIEW: tuple[_Rule, ...] = (
    (
        _READ,
        (_CORE,),
        (
            "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers "
            "replicationcontrollers/scale serviceaccounts services services/status"
        ),
    ),
    (
        _READ,
        (_CORE,),
        (
            "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status "
            "resourcequotas resourcequotas/status"
        ),
    ),
    (_READ, (_CORE,), "namespaces"),
    (_READ, (_CORE, "events.k8s.io"), "events"),
    (_READ, ("discovery.k8s.io",), "endpointslices"),
    (
        _READ,
        ("apps",),
        (
            "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status "
            "replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status"
        ),
    ),
    (_READ, ("autoscaling",), "horizontalpodautoscalers horizontalpodautoscalers/status"),
    (_READ, ("batch",), "cronjobs cronjobs/status jobs jobs/status"),
    (
        _READ,
        ("extensions",),
        (
            "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses "
            "ingresses/status networkpolicies replicasets replicasets/scale replicasets/status "
            "replicationcontrollers/scale"
        ),
    ),
    (_READ, ("policy",), "poddisruptionbudgets poddisruptionbudgets/status"),
    (_READ, ("networking.k8s.io",), "ingresses ingresses/status networkpolicies"),
    (_READ, ("resource.k8s.io",), "resourceclaims resourceclaims/status resourceclaimtemplates"),
)

_EDIT: tuple[_Rule, ...] = (
    (_READ, (_CORE,), "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
    ("impersonate", (_CORE,), "serviceaccounts"),
    (_WRITE, (_CORE,), "pods pods/attach pods/exec pods/portforward pods/proxy"),
    ("create", (_CORE,), "pods/eviction"),
    (
        _WRITE,
        (_CORE,),
        (
            "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets "
            "serviceaccounts services services/proxy"
        ),
    ),
    ("create", (_CORE,), "serviceaccounts/token"),
    (_WRITE, (_CORE, "events.k8s.io"), "events"),
    (
        _WRITE,
        ("apps",),
        (
            "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale "
            "statefulsets statefulsets/scale"
        ),
    ),
    (_WRITE, ("autoscaling",), "horizontalpodautoscalers"),
    (_WRITE, ("batch",), "cronjobs jobs"),
    (
        _WRITE,
        ("extensions",),
        (
            "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets "
            "replicasets/scale replicationcontrollers/scale"
        ),
    ),
    (_WRITE, ("policy",), "poddisruptionbudgets"),
    (_WRITE, ("networking.k8s.io",), "ingresses networkpolicies"),
    (_READ_WRITE, ("coordination.k8s.io",), "leases"),
    (_WRITE, ("resource.k8s.io",), "resourceclaims resourceclaimtemplates"),
)

_ADMIN: tuple[_Rule, ...] = (
    ("create", ("authorization.k8s.io",), "localsubjectaccessreviews"),
    (_READ_WRITE, (RBAC_GROUP,), "rolebindings roles"),
)

_ROLES: dict[str, tuple[_Rule, ...]] = {
    "cluster-admin": (("*", ("*",), "*"), ("*", (), "*")),
    "system:discovery": (("get", (), f"/api /api/* /apis /apis/* {_HEALTH} /openapi /openapi/* {_VERSION}"),),
    "system:monitoring": (
        ("get", (), f"{_HEALTH} /flagz /healthz/* /livez/* /metrics /metrics/slis /readyz/* /statusz"),
        ("get", (_CORE,), "nodes/metrics"),
    ),
    "system:basic-user": (
        ("create", ("authorization.k8s.io",), "selfsubjectaccessreviews selfsubjectrulesreviews"),
        ("create", ("authentication.k8s.io",), "selfsubjectreviews"),
    ),
    "system:auth-delegator": (
        ("create", ("authentication.k8s.io",), "tokenreviews"),
        ("create", ("authorization.k8s.io",), "subjectaccessreviews"),
    ),
    "system:public-info-viewer": (("get", (), f"{_HEALTH} {_VERSION}"),),
    "system:aggregate-to-admin": _ADMIN,
    "system:aggregate-to-edit": _EDIT,
    "system:aggregate-to-view": _VIEW,
}

_AGGREGATED = ("admin", "edit", "view")

_GATHERED_INTO = {
    "edit": "admin",
    "view": "edit",
    "system:aggregate-to-admin": "admin",
    "system:aggregate-to-edit": "edit",
    "system:aggregate-to-view": "view",
}

_BINDINGS: dict[str, tuple[str, ...]] = {
    "cluster-admin": ("system:masters",),
    "system:monitoring": ("system:monitoring",),
    "system:discovery": ("system:authenticated",),
    "system:basic-user": ("system:authenticated",),
    "system:public-info-viewer": ("system:authenticated", "system:unauthenticated"),
}


def bootstrap_policy() -> list[JsonObject]:
    """Return the default ClusterRoles, with their aggregated rules filled in, and ClusterRoleBindings."""
    roles = [_role(name, rules) for name, rules in _ROLES.items()]
    roles += [_aggregated_role(name) for name in _AGGREGATED]
    rules_of = aggregate(roles)
    for role in roles:
        role["rules"] = rules_of.get(role["metadata"]["name"], role["rules"])
    return [*roles, *(_binding(role, groups) for role, groups in _BINDINGS.items())]


def _metadata(name: str) -> JsonObject:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    if name in _GATHERED_INTO:
        labels[_label(_GATHERED_INTO[name])] = "true"
    return {
        "name": name,
        "labels": labels,
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }


def _label(aggregated_role: str) -> str:
    return f"{RBAC_GROUP}/aggregate-to-{aggregated_role}"


def _role(name: str, rules: Iterable[_Rule]) -> JsonObject:
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": _metadata(name),
        "rules": [_rule(rule) for rule in rules],
    }


def _aggregated_role(name: str) -> JsonObject:
    selector = {"matchLabels": {_label(name): "true"}}
    return {**_role(name, ()), "aggregationRule": {"clusterRoleSelectors": [selector]}}


def _rule(rule: _Rule) -> JsonObject:
    verbs, groups, targets = rule
    if not groups:
        return {"nonResourceURLs": sorted(targets.split()), "verbs": sorted(verbs.split())}
    return {"apiGroups": list(groups), "resources": sorted(targets.split()), "verbs": sorted(verbs.split())}


def _binding(role: str, groups: Iterable[str]) -> JsonObject:
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": _metadata(role),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": RBAC_GROUP, "kind": "Group", "name": group} for group in groups],
    }
