"""Paths and sample objects: the smallest valid manifest of each kind that tests use."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from edgekeeper.core.json import JsonObject


@dataclass(frozen=True)
class Kind:
    """One resource as a client addresses it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The group version's path: `/api/v1`, `/apis/apps/v1`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of a collection, an object, or a subresource; no namespace means all of them."""
        scope = f"/namespaces/{namespace}" if namespace else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{self.root}{scope}/{self.plural}{tail}"

    def new(self, name: str = "", **content: Any) -> JsonObject:
        """A manifest with this name; keywords become its other top-level fields, `metadata` is merged."""
        metadata = {"name": name} if name else {}
        metadata.update(content.pop("metadata", {}))
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, **content}


NAMESPACES = Kind("", "v1", "namespaces", "Namespace", namespaced=False)
CONFIG_MAPS = Kind("", "v1", "configmaps", "ConfigMap")
SECRETS = Kind("", "v1", "secrets", "Secret")
SERVICES = Kind("", "v1", "services", "Service")
SERVICE_ACCOUNTS = Kind("", "v1", "serviceaccounts", "ServiceAccount")
PODS = Kind("", "v1", "pods", "Pod")
EVENTS = Kind("", "v1", "events", "Event")
NEW_EVENTS = Kind("events.k8s.io", "v1", "events", "Event")
CLAIMS = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
QUOTAS = Kind("", "v1", "resourcequotas", "ResourceQuota")
DEPLOYMENTS = Kind("apps", "v1", "deployments", "Deployment")
REPLICA_SETS = Kind("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS = Kind("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SETS = Kind("apps", "v1", "daemonsets", "DaemonSet")
JOBS = Kind("batch", "v1", "jobs", "Job")
CRON_JOBS = Kind("batch", "v1", "cronjobs", "CronJob")
INGRESSES = Kind("networking.k8s.io", "v1", "ingresses", "Ingress")
NETWORK_POLICIES = Kind("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
AUTOSCALERS = Kind("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
DISRUPTION_BUDGETS = Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
ENDPOINT_SLICES = Kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
LEASES = Kind("coordination.k8s.io", "v1", "leases", "Lease")
ROLES = Kind("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Kind("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLES = Kind("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = Kind(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
VALIDATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
MUTATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)


def unique(prefix: str) -> str:
    """A name nobody else uses: tests share their servers."""
    return f"{prefix}-{secrets.token_hex(4)}"


def config_map(name: str = "settings", **data: str) -> JsonObject:
    return CONFIG_MAPS.new(name, data=data or {"colour": "green"})


def labelled(name: str, **labels: str) -> JsonObject:
    return CONFIG_MAPS.new(name, metadata={"labels": labels})


def pod_template(**labels: str) -> JsonObject:
    return {
        "metadata": {"labels": labels or {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "example/web:1"}]},
    }


def pod(name: str = "web", **content: Any) -> JsonObject:
    spec = {"containers": [{"name": "main", "image": "example/web:1"}]}
    return PODS.new(name, **{"spec": spec, **content})


def deployment(name: str = "web", **spec: Any) -> JsonObject:
    selector = {"matchLabels": {"app": "web"}}
    return DEPLOYMENTS.new(name, spec={"selector": selector, "template": pod_template(), **spec})


def service(name: str = "web", **spec: Any) -> JsonObject:
    return SERVICES.new(name, spec={"selector": {"app": "web"}, "ports": [{"port": 80}], **spec})


def without_volatile(obj: JsonObject) -> JsonObject:
    """The object without what the server makes up: identity, times, versions and field owners."""
    volatile = {"uid", "creationTimestamp", "resourceVersion", "managedFields", "generation"}
    metadata = {key: value for key, value in obj["metadata"].items() if key not in volatile}
    return {**obj, "metadata": metadata}
