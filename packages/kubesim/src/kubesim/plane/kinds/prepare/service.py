"""Addresses and node ports of Services.

kube-apiserver draws them from pools. Here they are derived from the Service's name, so that the same manifests get
the same addresses on every run and nothing has to be remembered; nothing listens on them anyway.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from zlib import crc32

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object

_FIRST_ADDRESS = IPv4Address("10.96.0.10")
_ADDRESSES = 2**20 - 32
_FIRST_NODE_PORT = 30_000
_NODE_PORTS = 2_768
HEADLESS = "None"


def create_service(service: JsonObject) -> None:
    spec = dig_object(service, "spec")
    service["status"] = {"loadBalancer": {}}
    if _needs_cluster_ip(spec):
        _allocate_cluster_ip(service, spec)
    if _needs_node_ports(spec):
        _allocate_node_ports(service, spec)
    if _needs_health_port(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = _node_port(service, "health", set())


def update_service(new: JsonObject, old: JsonObject) -> None:
    spec, before = dig_object(new, "spec"), dig_object(old, "spec")
    _follow_the_first_address(spec, before)
    _drop_what_the_type_ended(spec, before)
    _keep_allocations(spec, before)
    status = dig_object(new, "status")
    create_service(new)
    if status and spec.get("type") == "LoadBalancer":
        new["status"] = status


def _needs_cluster_ip(spec: JsonObject) -> bool:
    return spec.get("type") != "ExternalName"


def _needs_node_ports(spec: JsonObject) -> bool:
    kind = spec.get("type")
    return kind == "NodePort" or (
        kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    )


def _needs_health_port(spec: JsonObject) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _allocate_cluster_ip(service: JsonObject, spec: JsonObject) -> None:
    listed = dig_list(spec, "clusterIPs")
    address = spec.get("clusterIP") or (listed[0] if listed else derived_cluster_ip(service))
    spec["clusterIP"] = address
    spec["clusterIPs"] = listed or [address]
    dual = address == HEADLESS and not spec.get("selector")
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if dual else "SingleStack")
    both = dual and spec["ipFamilyPolicy"] != "SingleStack"
    spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if both else [_family(address)])


def _family(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def derived_cluster_ip(service: JsonObject) -> str:
    """The address that a Service gets unless it asks for another."""
    return str(_FIRST_ADDRESS + _digest(service) % _ADDRESSES)


def _allocate_node_ports(service: JsonObject, spec: JsonObject) -> None:
    ports = [port for port in dig_list(spec, "ports") if isinstance(port, dict)]
    taken = {port["nodePort"] for port in ports if port.get("nodePort")}
    for port in ports:
        if not port.get("nodePort"):
            port["nodePort"] = _node_port(service, f"{port.get('port')}/{port.get('protocol')}", taken)
            taken.add(port["nodePort"])


def _node_port(service: JsonObject, use: str, taken: set[int]) -> int:
    offset = _digest(service, use) % _NODE_PORTS
    while _FIRST_NODE_PORT + offset in taken:
        offset = (offset + 1) % _NODE_PORTS
    return _FIRST_NODE_PORT + offset


def _digest(service: JsonObject, use: str = "") -> int:
    metadata = dig_object(service, "metadata")
    return crc32(f"{metadata.get('namespace', '')}/{metadata.get('name', '')}/{use}".encode())


def _follow_the_first_address(spec: JsonObject, before: JsonObject) -> None:
    """A client that knows only `clusterIP` speaks for `clusterIPs` too."""
    changed = spec.get("clusterIP") != before.get("clusterIP")
    if changed and spec.get("clusterIP") and spec.get("clusterIPs") == before.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def _drop_what_the_type_ended(spec: JsonObject, before: JsonObject) -> None:
    """A Service that changes its type loses what only the old type had, where the client left it untouched."""
    ended: list[str] = []
    if _needs_cluster_ip(before) and not _needs_cluster_ip(spec):
        ended += ["clusterIP", "clusterIPs", "internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy"]
    if _needs_health_port(before) and not _needs_health_port(spec):
        ended.append("healthCheckNodePort")
    if before.get("type") == "LoadBalancer" != spec.get("type"):
        ended += ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
    if spec.get("type") in ("ClusterIP", "ExternalName") and not spec.get("externalIPs"):
        ended.append("externalTrafficPolicy")
    for field in ended:
        if spec.get(field) == before.get(field):
            spec.pop(field, None)
    if _needs_node_ports(before) and spec.get("type") not in ("NodePort", "LoadBalancer"):
        _drop_node_ports(spec, before)


def _drop_node_ports(spec: JsonObject, before: JsonObject) -> None:
    allocated = {dig(port, "nodePort") for port in dig_list(before, "ports")}
    for port in dig_list(spec, "ports"):
        if isinstance(port, dict) and port.get("nodePort") in allocated:
            port.pop("nodePort", None)


def _keep_allocations(spec: JsonObject, before: JsonObject) -> None:
    """A client that does not repeat what the server allocated keeps it."""
    if _needs_cluster_ip(spec) and _needs_cluster_ip(before):
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(field) and before.get(field):
                spec[field] = before[field]
    if _needs_node_ports(spec) and _needs_node_ports(before):
        known = {dig(port, "name"): dig(port, "nodePort") for port in dig_list(before, "ports")}
        used = {dig(port, "nodePort") for port in dig_list(spec, "ports")}
        for port in dig_list(spec, "ports"):
            if not port.get("nodePort") and known.get(port.get("name")) not in used | {None}:
                port["nodePort"] = known[port.get("name")]
    if _needs_health_port(spec) and _needs_health_port(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort")
