"""Defaults of networking, access control, extensions and other cluster matters."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig_list, dig_object
from kubesim.plane.kinds.defaults.fill import Fill, absent, both, zero

RBAC_GROUP = "rbac.authorization.k8s.io"
_CRD = "apiextensions-apiserver.pkg.apis.apiextensions.v1"


def _network_policy_types(spec: JsonObject) -> None:
    if "policyTypes" not in spec:
        spec["policyTypes"] = ["Ingress", "Egress"] if dig_list(spec, "egress") else ["Ingress"]


def _binding(binding: JsonObject) -> None:
    reference = dig_object(binding, "roleRef")
    if not reference.get("apiGroup"):
        reference["apiGroup"] = RBAC_GROUP


def _lease(spec: JsonObject) -> None:
    """Coordinated leader election is off unless a feature gate turns it on; its fields are dropped."""
    spec.pop("strategy", None)
    spec.pop("preferredHolder", None)


def _subject(subject: JsonObject) -> None:
    if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
        subject["apiGroup"] = RBAC_GROUP


def _custom_resource_names(names: JsonObject) -> None:
    kind = names.get("kind")
    if isinstance(kind, str) and kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")


_WEBHOOK = absent(
    failurePolicy="Fail", matchPolicy="Equivalent", namespaceSelector={}, objectSelector={}, timeoutSeconds=10
)

DEFAULTS: dict[str, Fill] = {
    "api.networking.v1.NetworkPolicySpec": _network_policy_types,
    "api.networking.v1.NetworkPolicyPort": absent(protocol="TCP"),
    "api.networking.v1.IngressClassParametersReference": absent(scope="Cluster"),
    "api.coordination.v1.LeaseSpec": _lease,
    "api.discovery.v1.EndpointPort": absent(name="", protocol="TCP"),
    "api.scheduling.v1.PriorityClass": absent(preemptionPolicy="PreemptLowerPriority"),
    "api.storage.v1.StorageClass": absent(reclaimPolicy="Delete", volumeBindingMode="Immediate"),
    "api.rbac.v1.RoleBinding": _binding,
    "api.rbac.v1.ClusterRoleBinding": _binding,
    "api.rbac.v1.Subject": _subject,
    "api.admissionregistration.v1.ValidatingWebhook": _WEBHOOK,
    "api.admissionregistration.v1.MutatingWebhook": both(_WEBHOOK, absent(reinvocationPolicy="Never")),
    "api.admissionregistration.v1.RuleWithOperations": zero(scope="*"),
    f"{_CRD}.CustomResourceDefinitionNames": _custom_resource_names,
    f"{_CRD}.CustomResourceDefinitionSpec": absent(conversion={"strategy": "None"}),
    f"{_CRD}.ServiceReference": absent(port=443),
}
