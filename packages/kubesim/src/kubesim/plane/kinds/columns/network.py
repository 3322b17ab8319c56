"""Columns of Services, Ingresses, endpoints and network policies."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.kinds.columns.cell import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    WIDE,
    decorated_name,
    few,
    format_labels,
    format_selector,
    load_balancer_addresses,
    of,
    text,
)
from kubesim.plane.resource import Column

_SHOWN = 3
"""How many hosts, ports or addresses a cell lists."""


def _external_ip(service: JsonObject) -> str:
    kind, declared = dig(service, "spec", "type"), dig_list(service, "spec", "externalIPs")
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(declared) or NONE
    if kind == "LoadBalancer":
        assigned = load_balancer_addresses(service)
        return ",".join([*([assigned] if assigned else []), *declared]) or "<pending>"
    return dig(service, "spec", "externalName") or "" if kind == "ExternalName" else UNKNOWN


def _ports(service: JsonObject) -> str:
    return ",".join(_port(one) for one in dig_list(service, "spec", "ports")) or NONE


def _port(port: JsonObject) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol')}"


def _hosts(ingress: JsonObject) -> str:
    rules = dig_list(ingress, "spec", "rules")
    hosts = [host for rule in rules if (host := dig(rule, "host"))]
    if not hosts:
        return "*"
    # Rules without a host count as "more" once the cell is full.
    return few(hosts, len(rules) if len(hosts) >= _SHOWN else len(hosts), _SHOWN)


def _ingress_parameters(ingress_class: JsonObject) -> str:
    parameters = dig_object(ingress_class, "spec", "parameters")
    if not parameters:
        return NONE
    group = f".{parameters['apiGroup']}" if "apiGroup" in parameters else ""
    return f"{parameters.get('kind')}{group}/{parameters.get('name')}"


def _endpoints(tree: JsonObject) -> str:
    subsets = dig_list(tree, "subsets")
    if not subsets:
        return NONE
    entries: list[str] = []
    for subset in subsets:
        addresses = [dig(one, "ip") or "" for one in dig_list(subset, "addresses")]
        ports = [dig(one, "port") for one in dig_list(subset, "ports")]
        entries += [_host_port(ip, port) for port in ports for ip in addresses] if ports else addresses
    return few(entries, len(entries), _SHOWN)


def _host_port(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def _slice_ports(tree: JsonObject) -> str:
    ports = [str(dig(one, "port") or dig(one, "name") or "*") for one in dig_list(tree, "ports")]
    return few(ports, len(ports), _SHOWN) or UNSET


def _slice_addresses(tree: JsonObject) -> str:
    endpoints = dig_list(tree, "endpoints")
    addresses = [address for one in endpoints for address in dig_list(one, "addresses")]
    return few(addresses, len(addresses), _SHOWN) or UNSET


COLUMNS: dict[str, tuple[Column, ...]] = {
    "Service": (
        NAME,
        text("Type", "spec", "type"),
        of("Cluster-IP", lambda tree: dig(tree, "spec", "clusterIPs", 0) or NONE),
        of("External-IP", _external_ip),
        of("Port(s)", _ports),
        AGE,
        of("Selector", lambda tree: format_labels(dig(tree, "spec", "selector")), priority=WIDE),
    ),
    "Endpoints": (NAME, of("Endpoints", _endpoints), AGE),
    "EndpointSlice": (
        NAME,
        text("AddressType", "addressType"),
        of("Ports", _slice_ports),
        of("Endpoints", _slice_addresses),
        AGE,
    ),
    "Ingress": (
        NAME,
        text("Class", "spec", "ingressClassName", empty=NONE),
        of("Hosts", _hosts),
        of("Address", load_balancer_addresses),
        of("Ports", lambda tree: "80, 443" if dig_list(tree, "spec", "tls") else "80"),
        AGE,
    ),
    "IngressClass": (
        decorated_name("ingressclass.kubernetes.io/is-default-class"),
        text("Controller", "spec", "controller"),
        of("Parameters", _ingress_parameters),
        AGE,
    ),
    "NetworkPolicy": (
        NAME,
        of("Pod-Selector", lambda tree: format_selector(dig(tree, "spec", "podSelector"))),
        AGE,
    ),
}
