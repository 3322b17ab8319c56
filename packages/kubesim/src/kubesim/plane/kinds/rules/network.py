"""Rules of Ingresses, network policies and endpoints."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import forbidden_field, invalid_value, required, unsupported_value
from kubesim.plane.kinds.rules import name
from kubesim.plane.kinds.rules.check import (
    PROTOCOLS,
    Errors,
    cidr,
    conforms,
    domain_prefixed_path,
    each,
    immutable,
    ip,
    named,
    one_of,
    optional_of,
    port_number,
    port_reference,
    selector,
    unique,
)
from kubesim.plane.labels import label_key_problems, subdomain_problems

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDINGS = ("/..", "/.")
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MOST_ADDRESSES, _MOST_ENDPOINTS = 100, 1000


def ingress(new: JsonObject, old: JsonObject | None) -> Errors:
    spec = dig_object(new, "spec")
    if not dig_list(spec, "rules") and "defaultBackend" not in spec:
        yield invalid_value("spec", None, "either `defaultBackend` or `rules` must be specified")
    if "defaultBackend" in spec:
        yield from _backend("spec.defaultBackend", dig_object(spec, "defaultBackend"))
    for path, rule in each(spec, "rules", "spec"):
        yield from _host(f"{path}.host", rule.get("host", ""))
        if isinstance(rule.get("http"), dict):
            yield from _http(f"{path}.http", rule["http"])
    for path, tls in each(spec, "tls", "spec"):
        yield from _tls(path, tls)
    chosen = spec.get("ingressClassName")
    if chosen is not None:
        yield from conforms("spec.ingressClassName", chosen, subdomain_problems)
    annotated = dig(new, "metadata", "annotations", _CLASS_ANNOTATION)
    if old is None and annotated is not None and chosen not in (None, annotated):
        why = "must match `ingressClassName` when both are specified"
        yield invalid_value(f"annotations.{_CLASS_ANNOTATION}", annotated, why)


def _host(path: str, host: str) -> Errors:
    if not host:
        return
    if _address(host) is not None:
        yield invalid_value(path, host, "must be a DNS name, not an IP address")
    yield from conforms(path, host, name.wildcard_subdomain if "*" in host else subdomain_problems)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _http(path: str, http: JsonObject) -> Errors:
    if not dig_list(http, "paths"):
        yield required(f"{path}.paths")
    for where, rule in each(http, "paths", path):
        yield from _http_path(where, rule)


def _http_path(path: str, rule: JsonObject) -> Errors:
    kind, text = rule.get("pathType"), rule.get("path", "")
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield unsupported_value(f"{path}.pathType", kind, _PATH_TYPES)
    elif kind != "ImplementationSpecific" or text:
        yield from _absolute_path(f"{path}.path", text, strict=kind != "ImplementationSpecific")
    yield from _backend(f"{path}.backend", dig_object(rule, "backend"))


def _absolute_path(path: str, text: str, *, strict: bool) -> Errors:
    if not text.startswith("/"):
        yield invalid_value(path, text, "must be an absolute path")
    if strict:
        for sequence in _BAD_SEQUENCES:
            if sequence in text:
                yield invalid_value(path, text, f"must not contain '{sequence}'")
        for ending in _BAD_ENDINGS:
            if text.endswith(ending):
                yield invalid_value(path, text, f"cannot end with '{ending}'")


def _backend(path: str, backend: JsonObject) -> Errors:
    if "resource" in backend and "service" in backend:
        yield invalid_value(path, "", "cannot set both resource and service backends")
    elif "resource" in backend:
        for field in ("kind", "name"):
            reference = dig(backend, "resource", field)
            yield from named(f"{path}.resource.{field}", reference, name.path_segment)
    elif "service" in backend:
        yield from named(f"{path}.service.name", dig(backend, "service", "name"), name.label)
        yield from _backend_port(path, dig_object(backend, "service", "port"))
    else:
        yield invalid_value(path, "", "resource or service backend is required")


def _backend_port(path: str, port: JsonObject) -> Errors:
    if port.get("name") and port.get("number"):
        yield invalid_value(path, "", "cannot set both port name & port number")
    elif port.get("name"):
        yield from conforms(f"{path}.service.port.name", port["name"], name.port_name)
    elif port.get("number"):
        yield from port_number(f"{path}.service.port.number", port["number"])
    else:
        yield required(path, "port name or number is required")


def _tls(path: str, tls: JsonObject) -> Errors:
    for index, host in enumerate(dig_list(tls, "hosts")):
        syntax = name.wildcard_subdomain if "*" in host else subdomain_problems
        yield from conforms(f"{path}.hosts[{index}]", host, syntax)
    if tls.get("secretName"):
        yield from conforms(f"{path}.secretName", tls["secretName"], subdomain_problems)


def ingress_class(new: JsonObject, old: JsonObject | None) -> Errors:
    spec = dig_object(new, "spec")
    if old is not None:
        yield from immutable("spec.controller", spec.get("controller"), dig(old, "spec", "controller"))
    controller = spec.get("controller") or ""
    if controller:
        yield from domain_prefixed_path("spec.controller", controller)
    else:
        yield required("spec.controller")
    parameters = spec.get("parameters")
    if isinstance(parameters, dict):
        yield from _class_parameters("spec.parameters", parameters)


def _class_parameters(path: str, parameters: JsonObject) -> Errors:
    for field in ("kind", "name"):
        yield from named(f"{path}.{field}", parameters.get(field), name.path_segment)
    scope = parameters.get("scope")
    yield from optional_of(f"{path}.scope", scope, ("Cluster", "Namespace"))
    if scope == "Namespace" and not parameters.get("namespace"):
        yield required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    if scope == "Cluster" and parameters.get("namespace"):
        yield forbidden_field(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")


def network_policy(new: JsonObject, _: JsonObject | None) -> Errors:
    spec = dig_object(new, "spec")
    yield from selector("spec.podSelector", spec.get("podSelector"))
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for path, rule in each(spec, direction, "spec"):
            for port_path, port in each(rule, "ports", path):
                yield from _policy_port(port_path, port)
            for peer_path, peer in each(rule, peers, path):
                yield from _peer(peer_path, peer)
    kinds = dig_list(spec, "policyTypes")
    if len(kinds) > 2:
        yield invalid_value("spec.policyTypes", kinds, "may not specify more than two policyTypes")
        return
    for index, kind in enumerate(kinds):
        yield from one_of(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress"))


def _policy_port(path: str, port: JsonObject) -> Errors:
    yield from optional_of(f"{path}.protocol", port.get("protocol"), ("TCP", "UDP", "SCTP"))
    number, end = port.get("port"), port.get("endPort")
    if number is not None:
        yield from port_reference(f"{path}.port", number)
    if end is None:
        return
    if number is None:
        yield invalid_value(f"{path}.endPort", end, "may not be specified when `port` is not specified")
    elif isinstance(number, str):
        yield invalid_value(f"{path}.endPort", end, "may not be specified when `port` is non-numeric")
    else:
        if end < number:
            yield invalid_value(f"{path}.endPort", number, "must be greater than or equal to `port`")
        yield from port_number(f"{path}.endPort", end)


def _peer(path: str, peer: JsonObject) -> Errors:
    for field in ("podSelector", "namespaceSelector"):
        yield from selector(f"{path}.{field}", peer.get(field))
    block = peer.get("ipBlock")
    if isinstance(block, dict):
        if block.get("cidr"):
            yield from cidr(f"{path}.ipBlock.cidr", block["cidr"])
            for index, excepted in enumerate(dig_list(block, "except")):
                yield from cidr(f"{path}.ipBlock.except[{index}]", excepted)
        else:
            yield required(f"{path}.ipBlock.cidr")
    if not peer:
        yield required(path, "must specify a peer")
    elif len(peer) > 1 and "ipBlock" in peer:
        yield forbidden_field(path, "may not specify both ipBlock and another peer")


def endpoints(new: JsonObject, _: JsonObject | None) -> Errors:
    for path, subset in each(new, "subsets"):
        if not dig_list(subset, "addresses") and not dig_list(subset, "notReadyAddresses"):
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for where, address in each(subset, field, path):
                yield from _endpoint_address(where, address)
        several = len(dig_list(subset, "ports")) > 1
        for where, port in each(subset, "ports", path):
            if several and not port.get("name"):
                yield required(f"{where}.name")
            yield from port_number(f"{where}.port", port.get("port", 0))
            yield from one_of(f"{where}.protocol", port.get("protocol"), PROTOCOLS)


def _endpoint_address(path: str, address: JsonObject) -> Errors:
    text = address.get("ip", "")
    yield from ip(f"{path}.ip", text)
    if _address(text) is None:
        yield invalid_value(f"{path}.ip", text, "must be a valid IP address")
    yield from _special_address(f"{path}.ip", text)
    if address.get("hostname"):
        yield from conforms(f"{path}.hostname", address["hostname"], name.label)


def _special_address(path: str, text: str) -> Errors:
    """Traffic must not be sent to the sender itself or to everyone."""
    address = _address(text)
    if address is None:
        return
    if address.is_unspecified:
        yield invalid_value(path, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        yield invalid_value(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        yield invalid_value(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if address.is_multicast and _is_link_local_multicast(address):
        why = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        yield invalid_value(path, text, why)


def _is_link_local_multicast(address: IPv4Address | IPv6Address) -> bool:
    text = str(address)
    return text.startswith(("224.0.0.", "ff02:"))


def endpoint_slice(new: JsonObject, old: JsonObject | None) -> Errors:
    kind = new.get("addressType")
    yield from one_of("addressType", kind, _ADDRESS_TYPES)
    names: set[Any] = set()
    for path, port in each(new, "ports"):
        if port.get("name"):
            yield from conforms(f"{path}.name", port["name"], name.label)
        yield from unique(f"{path}.name", port.get("name", ""), names)
        yield from one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
        if "appProtocol" in port:
            yield from conforms(f"{path}.appProtocol", port["appProtocol"], label_key_problems)
    if len(dig_list(new, "endpoints")) > _MOST_ENDPOINTS:
        yield invalid_value("endpoints", len(new["endpoints"]), f"must have at most {_MOST_ENDPOINTS} items")
    else:
        for path, endpoint in each(new, "endpoints"):
            yield from _slice_endpoint(path, endpoint, kind)
    if old is not None:
        yield from immutable("addressType", kind, old.get("addressType"))


def _slice_endpoint(path: str, endpoint: JsonObject, kind: Any) -> Errors:
    addresses = dig_list(endpoint, "addresses")
    if not addresses:
        yield required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MOST_ADDRESSES:
        why = f"must have at most {_MOST_ADDRESSES} items"
        yield invalid_value(f"{path}.addresses", len(addresses), why)
    for index, address in enumerate(addresses):
        yield from _slice_address(f"{path}.addresses", index, address, kind)
    if endpoint.get("hostname") is not None:
        yield from conforms(f"{path}.hostname", endpoint["hostname"], name.label)


def _slice_address(path: str, index: int, address: str, kind: Any) -> Errors:
    where = f"{path}[{index}]"
    if kind == "FQDN":
        yield from conforms(where, address.removesuffix("."), subdomain_problems)
        return
    parsed = _address(address)
    if parsed is None:
        yield from ip(where, address)
        return
    if kind in ("IPv4", "IPv6") and f"IPv{parsed.version}" != kind:
        yield invalid_value(path, address, f"must be an {kind} address")
    yield from _special_address(where, address)
