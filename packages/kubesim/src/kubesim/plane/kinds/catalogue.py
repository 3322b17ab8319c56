"""The built-in kinds by name: what discovery says about each of them.

One row per kind and version, with the facts kube-apiserver publishes: names, scope, verbs, subresources, the fields
that selectors may use, and whether `metadata.generation` counts its changes. The rules of a kind live elsewhere
(`columns`, `strategies`); `resources` joins them.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubesim.plane.resource import ALL_VERBS, Scale

ALL = ("all",)
EXTENSIONS = ("api-extensions",)
CREATE_ONLY = ("create",)
WITHOUT_COLLECTION_DELETE = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")

REPLICAS = Scale(("spec", "replicas"), ("status", "replicas"), ("spec", "selector"))

POD_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
EVENT_FIELDS = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)

NEW_EVENT_FIELDS = (
    "reason",
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reportingController",
    "type",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One kind in one version. The singular name is the kind in lower case, as everywhere in Kubernetes."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    status: bool = False
    scale: Scale | None = None
    generation: bool = False
    fields: tuple[str, ...] = ()

    @property
    def definition(self) -> str:
        """The name of its type in the published API description."""
        if self.group == "apiextensions.k8s.io":
            return f"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{self.version}.{self.kind}"
        package = self.group.partition(".")[0] or "core"
        return f"io.k8s.api.{package}.{self.version}.{self.kind}"


def _review(group: str, kind: str, plural: str, *, namespaced: bool = False) -> Row:
    """A question to the server: created, answered and never stored."""
    return Row(group, "v1", kind, plural, namespaced, verbs=CREATE_ONLY)


_CORE = (
    Row(
        "",
        "v1",
        "Namespace",
        "namespaces",
        namespaced=False,
        short_names=("ns",),
        verbs=WITHOUT_COLLECTION_DELETE,
        status=True,
        fields=("status.phase",),
    ),
    Row("", "v1", "ConfigMap", "configmaps", short_names=("cm",)),
    Row("", "v1", "Endpoints", "endpoints", short_names=("ep",)),
    Row("", "v1", "Event", "events", short_names=("ev",), fields=EVENT_FIELDS),
    Row("", "v1", "LimitRange", "limitranges", short_names=("limits",)),
    Row(
        "",
        "v1",
        "Node",
        "nodes",
        namespaced=False,
        short_names=("no",),
        status=True,
        fields=("spec.unschedulable",),
    ),
    Row("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", short_names=("pvc",), status=True),
    Row(
        "",
        "v1",
        "Pod",
        "pods",
        short_names=("po",),
        categories=ALL,
        status=True,
        generation=True,
        fields=POD_FIELDS,
    ),
    Row("", "v1", "ResourceQuota", "resourcequotas", short_names=("quota",), status=True),
    Row("", "v1", "Secret", "secrets", fields=("type",)),
    Row("", "v1", "ServiceAccount", "serviceaccounts", short_names=("sa",)),
    Row(
        "",
        "v1",
        "Service",
        "services",
        short_names=("svc",),
        categories=ALL,
        status=True,
        fields=("spec.clusterIP", "spec.type"),
    ),
)

_WORKLOADS = (
    Row("apps", "v1", "ControllerRevision", "controllerrevisions"),
    Row(
        "apps",
        "v1",
        "DaemonSet",
        "daemonsets",
        short_names=("ds",),
        categories=ALL,
        status=True,
        generation=True,
    ),
    Row(
        "apps",
        "v1",
        "Deployment",
        "deployments",
        short_names=("deploy",),
        categories=ALL,
        status=True,
        scale=REPLICAS,
        generation=True,
    ),
    Row(
        "apps",
        "v1",
        "ReplicaSet",
        "replicasets",
        short_names=("rs",),
        categories=ALL,
        status=True,
        scale=REPLICAS,
        generation=True,
        fields=("status.replicas",),
    ),
    Row(
        "apps",
        "v1",
        "StatefulSet",
        "statefulsets",
        short_names=("sts",),
        categories=ALL,
        status=True,
        scale=REPLICAS,
        generation=True,
    ),
    Row(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        short_names=("hpa",),
        categories=ALL,
        status=True,
    ),
    Row(
        "autoscaling",
        "v1",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        short_names=("hpa",),
        categories=ALL,
        status=True,
    ),
    Row(
        "batch",
        "v1",
        "CronJob",
        "cronjobs",
        short_names=("cj",),
        categories=ALL,
        status=True,
        generation=True,
    ),
    Row(
        "batch",
        "v1",
        "Job",
        "jobs",
        categories=ALL,
        status=True,
        generation=True,
        fields=("status.successful",),
    ),
)

_CLUSTER = (
    Row("events.k8s.io", "v1", "Event", "events", short_names=("ev",), fields=NEW_EVENT_FIELDS),
    Row("networking.k8s.io", "v1", "IngressClass", "ingressclasses", namespaced=False, generation=True),
    Row(
        "networking.k8s.io",
        "v1",
        "Ingress",
        "ingresses",
        short_names=("ing",),
        status=True,
        generation=True,
    ),
    Row(
        "networking.k8s.io",
        "v1",
        "NetworkPolicy",
        "networkpolicies",
        short_names=("netpol",),
        generation=True,
    ),
    Row("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", generation=True),
    Row(
        "policy",
        "v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        short_names=("pdb",),
        status=True,
        generation=True,
    ),
    Row(
        "scheduling.k8s.io",
        "v1",
        "PriorityClass",
        "priorityclasses",
        namespaced=False,
        short_names=("pc",),
        generation=True,
    ),
    Row("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False, short_names=("sc",)),
    Row("coordination.k8s.io", "v1", "Lease", "leases"),
)

_ACCESS = (
    Row("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    Row("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False),
    Row("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
    Row("rbac.authorization.k8s.io", "v1", "Role", "roles"),
    _review("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews"),
    _review("authentication.k8s.io", "TokenReview", "tokenreviews"),
    _review("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", namespaced=True),
    _review("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
    _review("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
    _review("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews"),
)

_EXTENSIONS = (
    Row(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        namespaced=False,
        categories=EXTENSIONS,
        generation=True,
    ),
    Row(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        namespaced=False,
        categories=EXTENSIONS,
        generation=True,
    ),
    Row(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        namespaced=False,
        short_names=("crd", "crds"),
        categories=EXTENSIONS,
        status=True,
        generation=True,
    ),
)

ROWS: tuple[Row, ...] = _CORE + _WORKLOADS + _CLUSTER + _ACCESS + _EXTENSIONS
