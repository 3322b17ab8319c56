"""Defaults of Services. The addresses and ports the server allocates come later: see `prepare.service`."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.kinds.defaults.fill import Fill, absent, zero

AFFINITY_TIMEOUT = 10_800


def service(tree: JsonObject) -> None:
    spec = dig_object(tree, "spec")
    _SPEC(spec)
    _affinity(spec)
    _traffic_policies(spec)
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in dig_list(tree, "status", "loadBalancer", "ingress"):
            if dig(ingress, "ip"):
                ingress.setdefault("ipMode", "VIP")


_SPEC = zero(sessionAffinity="None", type="ClusterIP")


def _affinity(spec: JsonObject) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif dig(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds") is None:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_TIMEOUT}}


def _traffic_policies(spec: JsonObject) -> None:
    exposed = spec["type"] in ("NodePort", "LoadBalancer") or (
        spec["type"] == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    if exposed:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec.setdefault("internalTrafficPolicy", "Cluster")


def port(tree: JsonObject) -> None:
    if not tree.get("protocol"):
        tree["protocol"] = "TCP"
    if not tree.get("targetPort"):
        tree["targetPort"] = tree.get("port", 0)


DEFAULTS: dict[str, Fill] = {
    "api.core.v1.Service": service,
    "api.core.v1.ServicePort": port,
    "api.admissionregistration.v1.ServiceReference": absent(port=443),
}
