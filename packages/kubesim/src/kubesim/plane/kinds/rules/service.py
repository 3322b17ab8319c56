"""Rules of Services."""

from __future__ import annotations

import msgspec

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import duplicate_value, forbidden_field, invalid_value, required
from kubesim.plane.kinds.prepare.service import HEADLESS
from kubesim.plane.kinds.rules import name
from kubesim.plane.kinds.rules.check import (
    PROTOCOLS,
    Errors,
    cidr,
    conforms,
    each,
    ip,
    labels,
    one_of,
    optional_of,
    port_number,
    port_reference,
    struct,
    unique,
)
from kubesim.plane.labels import label_key_problems, subdomain_problems

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_POLICIES = ("Cluster", "Local")
_LONGEST_AFFINITY = 86_400
_BALANCED_ONLY = "may only be used when `type` is 'LoadBalancer'"


def service(new: JsonObject, old: JsonObject | None) -> Errors:
    spec = dig_object(new, "spec")
    if old is not None:
        yield from _fixed_addresses(spec, dig_object(old, "spec"))
    yield from _type_fields(spec)
    yield from _ports(spec)
    yield from labels("spec.selector", dig_object(spec, "selector"))
    yield from _affinity(spec)
    yield from _addresses(spec)
    yield from one_of("spec.type", spec.get("type"), _TYPES)
    yield from _port_conflicts(spec)
    yield from _balancer_fields(spec)
    yield from _traffic(spec)


def _is_headless(spec: JsonObject) -> bool:
    return dig_list(spec, "clusterIPs")[:1] == [HEADLESS]


def _type_fields(spec: JsonObject) -> Errors:
    kind = spec.get("type")
    if not dig_list(spec, "ports") and not _is_headless(spec) and kind != "ExternalName":
        yield required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and _is_headless(spec):
        yield invalid_value("spec.clusterIPs[0]", HEADLESS, f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(field):
                yield forbidden_field(f"spec.{field}", "may not be set for ExternalName services")
        target = (spec.get("externalName") or "").removesuffix(".")
        if target:
            yield from conforms("spec.externalName", target, subdomain_problems)
        else:
            yield required("spec.externalName")


def _ports(spec: JsonObject) -> Errors:
    names: set[str] = set()
    several = len(dig_list(spec, "ports")) > 1
    for path, port in each(spec, "ports", "spec"):
        if port.get("name"):
            yield from conforms(f"{path}.name", port["name"], name.label)
            yield from unique(f"{path}.name", port["name"], names)
        elif several:
            yield required(f"{path}.name")
        yield from port_number(f"{path}.port", port.get("port", 0))
        yield from one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
        yield from port_reference(f"{path}.targetPort", port.get("targetPort", 0))
        if "appProtocol" in port:
            yield from conforms(f"{path}.appProtocol", port["appProtocol"], label_key_problems)


def _port_conflicts(spec: JsonObject) -> Errors:
    if spec.get("type") == "ClusterIP":
        for path, port in each(spec, "ports", "spec"):
            if port.get("nodePort"):
                yield forbidden_field(f"{path}.nodePort", "may not be used when `type` is 'ClusterIP'")
    node_ports: set[tuple[str, int]] = set()
    for path, port in each(spec, "ports", "spec"):
        used = (port.get("protocol", ""), port.get("nodePort", 0))
        if used[1] and used in node_ports:
            yield duplicate_value(f"{path}.nodePort", used[1])
        node_ports.add(used)
    ports: set[tuple[str, int]] = set()
    for path, port in each(spec, "ports", "spec"):
        pair = (port.get("protocol", ""), port.get("port", 0))
        if pair in ports:
            yield duplicate_value(path, _port_shown(*pair))
        ports.add(pair)


def _port_shown(protocol: str, port: int) -> msgspec.Raw:
    return struct(Name="", Protocol=protocol, AppProtocol=None, Port=port, TargetPort=0, NodePort=0)


def _affinity(spec: JsonObject) -> Errors:
    yield from one_of("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None"))
    timeout = dig(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
    if timeout is not None and not 0 < timeout <= _LONGEST_AFFINITY:
        path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        yield invalid_value(path, timeout, f"must be greater than 0 and less than {_LONGEST_AFFINITY}")


def _addresses(spec: JsonObject) -> Errors:
    listed = dig_list(spec, "clusterIPs")
    for index, address in enumerate(listed):
        if address != HEADLESS or index:
            yield from ip(f"spec.clusterIPs[{index}]", address)
    if listed and spec.get("clusterIP") != listed[0]:
        yield invalid_value("spec.clusterIPs", listed, "first value must match `clusterIP`")
    for index, address in enumerate(dig_list(spec, "externalIPs")):
        yield from ip(f"spec.externalIPs[{index}]", address)


def _balancer_fields(spec: JsonObject) -> Errors:
    balanced = spec.get("type") == "LoadBalancer"
    ranges = dig_list(spec, "loadBalancerSourceRanges")
    if ranges and not balanced:
        yield forbidden_field("spec.LoadBalancerSourceRanges", _BALANCED_ONLY)
    for index, source in enumerate(ranges):
        yield from cidr(f"spec.LoadBalancerSourceRanges[{index}]", source.strip())
    if "allocateLoadBalancerNodePorts" in spec and not balanced:
        yield forbidden_field("spec.allocateLoadBalancerNodePorts", _BALANCED_ONLY)
    if "loadBalancerClass" in spec and not balanced:
        yield forbidden_field("spec.loadBalancerClass", _BALANCED_ONLY)


def _traffic(spec: JsonObject) -> Errors:
    exposed = spec.get("type") in ("NodePort", "LoadBalancer") or bool(spec.get("externalIPs"))
    policy = spec.get("externalTrafficPolicy")
    if exposed:
        yield from optional_of("spec.externalTrafficPolicy", policy, _POLICIES)
    elif policy:
        why = "may only be set for externally-accessible services"
        yield invalid_value("spec.externalTrafficPolicy", policy, why)
    if spec.get("healthCheckNodePort") and policy != "Local":
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid_value("spec.healthCheckNodePort", spec["healthCheckNodePort"], why)
    yield from optional_of("spec.internalTrafficPolicy", spec.get("internalTrafficPolicy"), _POLICIES)


def _fixed_addresses(spec: JsonObject, before: JsonObject) -> Errors:
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return
    addresses, had = dig_list(spec, "clusterIPs"), dig_list(before, "clusterIPs")
    if had and addresses[:1] != had[:1]:
        yield invalid_value("spec.clusterIPs[0]", addresses, "may not change once set")
