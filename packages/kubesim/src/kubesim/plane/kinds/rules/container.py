"""Rules of containers: names, ports, environment, probes, resources."""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import duplicate_value, forbidden_field, invalid_value, required
from kubesim.plane.kinds.quantity import parse_quantity
from kubesim.plane.kinds.rules import name
from kubesim.plane.kinds.rules.check import (
    PROTOCOLS,
    Errors,
    conforms,
    each,
    named,
    not_negative,
    one_of,
    port_number,
    port_reference,
    quantity,
    unique,
)
from kubesim.plane.kinds.rules.volume import mounts
from kubesim.plane.labels import label_key_problems, subdomain_problems

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_VALUE_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_PLAIN_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_SIDECARS_ONLY = "may not be set for init containers without restartPolicy=Always"


def containers(spec: JsonObject, path: str, volumes: set[str]) -> Errors:
    """Check the containers of a pod, then those that run before them; names are unique among all."""
    if not dig_list(spec, "containers"):
        yield required(f"{path}.containers")
    names: set[str] = set()
    for where, container in each(spec, "containers", path):
        yield from _container(container, where, volumes)
        yield from unique(f"{where}.name", container.get("name", ""), names)
        yield from _running(container, where)
    yield from _host_ports(spec, path)
    for where, container in each(spec, "initContainers", path):
        yield from _container(container, where, volumes)
        yield from unique(f"{where}.name", container.get("name", ""), names)
        if container.get("restartPolicy") == "Always":
            yield from _running(container, where)
        else:
            for field in ("lifecycle", *_PROBES):
                if field in container:
                    yield forbidden_field(f"{where}.{field}", _SIDECARS_ONLY)


def _container(container: JsonObject, path: str, volumes: set[str]) -> Errors:
    yield from named(f"{path}.name", container.get("name"), name.label)
    if not container.get("image"):
        yield required(f"{path}.image")
    yield from one_of(
        f"{path}.terminationMessagePolicy",
        container.get("terminationMessagePolicy"),
        ("File", "FallbackToLogsOnError"),
    )
    yield from _ports(container, path)
    yield from _environment(container, path)
    yield from mounts(container, path, volumes)
    yield from one_of(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), _PULL_POLICIES)
    yield from resources(f"{path}.resources", dig_object(container, "resources"))


def _ports(container: JsonObject, path: str) -> Errors:
    names: set[str] = set()
    for where, port in each(container, "ports", path):
        text = port.get("name")
        if text:
            problems = name.port_name(text)
            if problems:
                yield from conforms(f"{where}.name", text, name.port_name)
            else:
                yield from unique(f"{where}.name", text, names)
        if not port.get("containerPort"):
            yield required(f"{where}.containerPort")
        else:
            yield from port_number(f"{where}.containerPort", port["containerPort"])
        if port.get("hostPort"):
            yield from port_number(f"{where}.hostPort", port["hostPort"])
        yield from one_of(f"{where}.protocol", port.get("protocol"), PROTOCOLS)


def _host_ports(spec: JsonObject, path: str) -> Errors:
    taken: set[str] = set()
    for where, container in each(spec, "containers", path):
        for port_path, port in each(container, "ports", where):
            if port.get("hostPort"):
                use = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if use in taken:
                    yield duplicate_value(f"{port_path}.hostPort", use)
                taken.add(use)


def _environment(container: JsonObject, path: str) -> Errors:
    for where, variable in each(container, "env", path):
        yield from named(f"{where}.name", variable.get("name"), name.environment_variable)
        if isinstance(variable.get("valueFrom"), dict):
            yield from _value_source(f"{where}.valueFrom", variable)
    for where, source in each(container, "envFrom", path):
        kinds = [kind for kind in ("configMapRef", "secretRef") if kind in source]
        for kind in kinds:
            yield from named(f"{where}.{kind}.name", dig(source, kind, "name"), subdomain_problems)
        if not kinds:
            why = "must specify one of: `configMapRef` or `secretRef`"
            yield invalid_value(f"{path}.envFrom", "", why)
        elif len(kinds) > 1:
            why = "may not have more than one field specified at a time"
            yield invalid_value(f"{path}.envFrom", "", why)


def _value_source(path: str, variable: JsonObject) -> Errors:
    source = variable["valueFrom"]
    kinds = [kind for kind in _VALUE_SOURCES if kind in source]
    for kind in kinds:
        yield from _reference(f"{path}.{kind}", kind, dig_object(source, kind))
    if not kinds:
        listed = ", ".join(f"`{kind}`" for kind in _VALUE_SOURCES[:-1])
        yield invalid_value(path, "", f"must specify one of: {listed} or `{_VALUE_SOURCES[-1]}`")
    elif variable.get("value"):
        yield invalid_value(path, "", "may not be specified when `value` is not empty")
    elif len(kinds) > 1:
        yield invalid_value(path, "", "may not have more than one field specified at a time")


def _reference(path: str, kind: str, reference: JsonObject) -> Errors:
    if kind in ("configMapKeyRef", "secretKeyRef"):
        yield from conforms(f"{path}.name", reference.get("name", ""), subdomain_problems)
        yield from named(f"{path}.key", reference.get("key"), name.config_key)
    elif kind == "fieldRef" and not reference.get("fieldPath"):
        yield required(f"{path}.fieldPath")
    elif kind == "resourceFieldRef" and not reference.get("resource"):
        yield required(f"{path}.resource")


def _running(container: JsonObject, path: str) -> Errors:
    """What only a container that keeps running may have: hooks and probes."""
    for hook in ("postStart", "preStop"):
        handler = dig(container, "lifecycle", hook)
        if isinstance(handler, dict):
            yield from _handler(f"{path}.lifecycle.{hook}", handler)
    for kind in _PROBES:
        probe = container.get(kind)
        if isinstance(probe, dict):
            yield from _probe(f"{path}.{kind}", probe)
            if kind != "readinessProbe" and probe.get("successThreshold") != 1:
                yield invalid_value(
                    f"{path}.{kind}.successThreshold", probe.get("successThreshold"), "must be 1"
                )


def _probe(path: str, probe: JsonObject) -> Errors:
    yield from _handler(path, probe)
    yield from not_negative(
        probe,
        path,
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    )
    grace = probe.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace <= 0:
        yield invalid_value(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")


def _handler(path: str, handler: JsonObject) -> Errors:
    kinds = [kind for kind in _HANDLERS if kind in handler]
    if not kinds:
        yield required(path, "must specify a handler type")
    for kind in kinds[:1]:
        yield from _action(f"{path}.{kind}", kind, dig_object(handler, kind))
    for extra in kinds[1:]:
        yield forbidden_field(f"{path}.{extra}", "may not specify more than 1 handler type")


def _action(path: str, kind: str, action: JsonObject) -> Errors:
    if kind == "exec" and not dig_list(action, "command"):
        yield required(f"{path}.command")
    if kind in ("httpGet", "tcpSocket", "grpc"):
        yield from port_reference(f"{path}.port", action.get("port") or 0)
    if kind == "httpGet":
        scheme = action.get("scheme")
        if scheme not in ("HTTP", "HTTPS"):
            yield from one_of(f"{path}.scheme", scheme, ("HTTP", "HTTPS"))
        for header in dig_list(action, "httpHeaders"):
            yield from conforms(f"{path}.httpHeaders", dig(header, "name") or "", name.http_header)


def resources(path: str, tree: JsonObject) -> Errors:
    """Check what is requested and limited; nobody may request more than the limit."""
    limits, requests = dig_object(tree, "limits"), dig_object(tree, "requests")
    for resource, amount in limits.items():
        yield from _amount(f"{path}.limits[{resource}]", resource, amount)
    for resource, amount in requests.items():
        yield from _amount(f"{path}.requests[{resource}]", resource, amount)
        if resource in limits and _exceeds(amount, limits[resource]):
            why = f"must be less than or equal to {resource} limit of {limits[resource]}"
            yield invalid_value(f"{path}.requests", amount, why)


def _amount(path: str, resource: str, amount: Any) -> Errors:
    problems = label_key_problems(resource)
    if problems:
        yield from conforms(path, resource, label_key_problems)
    elif "/" not in resource and resource not in _PLAIN_RESOURCES and not resource.startswith("hugepages-"):
        yield invalid_value(path, resource, "must be a standard resource type or fully qualified")
        yield invalid_value(path, resource, "must be a standard resource for containers")
    yield from quantity(path, amount)


def _exceeds(amount: Any, limit: Any) -> bool:
    wanted, allowed = parse_quantity(amount), parse_quantity(limit)
    return wanted is not None and allowed is not None and wanted > allowed
