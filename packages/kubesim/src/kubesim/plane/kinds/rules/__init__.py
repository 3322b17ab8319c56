"""What kube-apiserver demands of built-in objects beyond their types.

Each rule takes the new object and the one it replaces, if any, and returns what is wrong: the same fields, in the same
words, in the same order as the real server. Rules cover what people run into, not every corner.

    check, name        the vocabulary: single checks, and the syntax of names
    core, event, service, pod, container, volume, workload, job, schedule,
    autoscaler, network, cluster, access, webhook
                       the rules of each area
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.field_error import FieldError
from kubesim.plane.kinds.rules import (
    access,
    autoscaler,
    cluster,
    core,
    event,
    job,
    name,
    network,
    pod,
    service,
    webhook,
    workload,
)

Validate = Callable[[JsonObject, JsonObject | None], list[FieldError]]
Rule = Callable[[JsonObject, JsonObject | None], Iterator[FieldError]]


def _listed(rule: Rule) -> Validate:
    return lambda new, old: list(rule(new, old))


_RULES: dict[str, Rule] = {
    "ClusterRole": access.cluster_role,
    "ClusterRoleBinding": access.cluster_role_binding,
    "ConfigMap": core.config_map,
    "ControllerRevision": workload.controller_revision,
    "CronJob": job.cron_job,
    "DaemonSet": workload.daemon_set,
    "Deployment": workload.deployment,
    "EndpointSlice": network.endpoint_slice,
    "Endpoints": network.endpoints,
    "Event": event.core_event,
    "Event.events.k8s.io": event.new_event,
    "HorizontalPodAutoscaler": autoscaler.autoscaler,
    "Ingress": network.ingress,
    "IngressClass": network.ingress_class,
    "Job": job.job,
    "Lease": cluster.lease,
    "LimitRange": core.limit_range,
    "MutatingWebhookConfiguration": webhook.mutating,
    "NetworkPolicy": network.network_policy,
    "PersistentVolumeClaim": core.claim,
    "Pod": pod.pod,
    "PodDisruptionBudget": cluster.disruption_budget,
    "PriorityClass": cluster.priority_class,
    "ReplicaSet": workload.replica_set,
    "ResourceQuota": core.resource_quota,
    "Role": access.role,
    "RoleBinding": access.role_binding,
    "Secret": core.secret,
    "Service": service.service,
    "StatefulSet": workload.stateful_set,
    "StorageClass": cluster.storage_class,
    "ValidatingWebhookConfiguration": webhook.validating,
}

RULES: dict[str, Validate] = {kind: _listed(rule) for kind, rule in _RULES.items()}
"""The rules of each kind; `Kind.group` where a kind has other rules in another group."""

STATUS_RULES: dict[str, Validate] = {
    "Deployment": _listed(workload.deployment_status),
    "ReplicaSet": _listed(workload.replica_set_status),
}
"""The rules of each kind for writes to its status."""

NAME_RULES: dict[str, Callable[[str], Sequence[str]]] = {
    "ClusterRole": name.path_segment,
    "ClusterRoleBinding": name.path_segment,
    "Event": name.anything,
    "Namespace": name.label,
    "Role": name.path_segment,
    "RoleBinding": name.path_segment,
    "Service": name.label,
    "StatefulSet": name.label,
}
"""Where the name of an object follows other rules than those of a DNS subdomain."""
