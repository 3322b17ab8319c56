"""Rules of ConfigMaps, Secrets, claims, quotas and limit ranges."""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import (
    forbidden_field,
    invalid_value,
    required,
    too_long,
    unsupported_value,
)
from kubesim.plane.kinds.quantity import parse_quantity
from kubesim.plane.kinds.rules import name
from kubesim.plane.kinds.rules.check import (
    Errors,
    conforms,
    each,
    immutable,
    optional_of,
    quantity,
    selector,
)
from kubesim.plane.labels import label_key_problems, subdomain_problems

_LARGEST = 1024 * 1024
_WHOLE_OBJECT = "[]"
_FROZEN = "field is immutable when `immutable` is set"
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_MEASURED = ("cpu", "memory", "ephemeral-storage")
_QUOTA_RESOURCES = frozenset(
    (
        *_MEASURED,
        *(f"{role}.{resource}" for role in ("requests", "limits") for resource in _MEASURED),
        "requests.storage",
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    )
)
_CLAIM_IS_FIXED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def config_map(new: JsonObject, old: JsonObject | None) -> Errors:
    yield from _frozen(new, old, "data", "binaryData")
    text, binary = dig_object(new, "data"), dig_object(new, "binaryData")
    for key in text:
        for problem in name.config_key(key):
            yield invalid_value(f"data[{key}]", key, problem)
        if key in binary:
            yield invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binary:
        yield from conforms(f"binaryData[{key}]", key, name.config_key)
    if (
        sum(_text_size(value) for value in text.values()) + sum(map(_decoded_size, binary.values()))
        > _LARGEST
    ):
        yield too_long(_WHOLE_OBJECT, _LARGEST)


def _frozen(new: JsonObject, old: JsonObject | None, *fields: str) -> Errors:
    """Once marked immutable, neither the content nor the mark may change."""
    if old is None or not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden_field("immutable", _FROZEN)
    for field in fields:
        if new.get(field) != old.get(field):
            yield forbidden_field(field, _FROZEN)


def _text_size(value: str) -> int:
    return len(value) if value.isascii() else len(value.encode())


def _decoded_size(encoded: str) -> int:
    return len(encoded) * 3 // 4 - encoded.count("=", -2)


def secret(new: JsonObject, old: JsonObject | None) -> Errors:
    if old is not None:
        yield from immutable("type", new.get("type"), old.get("type"))
        yield from _frozen(new, old, "data")
    content = dig_object(new, "data")
    for key in content:
        yield from conforms(f"data[{key}]", key, name.config_key)
    if sum(map(_decoded_size, content.values())) > _LARGEST:
        yield too_long("data", _LARGEST)
    check = _SECRET_TYPES.get(new.get("type", ""))
    if check is not None:
        yield from check(new, content)


def _service_account_token(secret: JsonObject, _: JsonObject) -> Errors:
    annotation = "kubernetes.io/service-account.name"
    if not dig(secret, "metadata", "annotations", annotation):
        yield required(f"metadata.annotations[{annotation}]")


def _basic_auth(_: JsonObject, content: JsonObject) -> Errors:
    if "username" not in content and "password" not in content:
        yield required("data[username]")
        yield required("data[password]")


def _keys(*keys: str) -> Callable[[JsonObject, JsonObject], Errors]:
    def check(_: JsonObject, content: JsonObject) -> Errors:
        for key in keys:
            if key not in content:
                yield required(f"data[{key}]")

    return check


def _registry_config(key: str) -> Callable[[JsonObject, JsonObject], Errors]:
    def check(_: JsonObject, content: JsonObject) -> Errors:
        if key not in content:
            yield required(f"data[{key}]")
        elif problem := _json_problem(content[key]):
            yield invalid_value(f"data[{key}]", "<secret contents redacted>", problem)

    return check


def _json_problem(encoded: str) -> str:
    try:
        msgspec.json.decode(a2b_base64(encoded), type=dict)
    except (msgspec.DecodeError, Base64Error) as error:
        return "unexpected end of JSON input" if not encoded else str(error)
    return ""


_SECRET_TYPES: dict[str, Callable[[JsonObject, JsonObject], Errors]] = {
    "kubernetes.io/service-account-token": _service_account_token,
    "kubernetes.io/dockercfg": _registry_config(".dockercfg"),
    "kubernetes.io/dockerconfigjson": _registry_config(".dockerconfigjson"),
    "kubernetes.io/basic-auth": _basic_auth,
    "kubernetes.io/ssh-auth": _keys("ssh-privatekey"),
    "kubernetes.io/tls": _keys("tls.crt", "tls.key"),
}


def claim(new: JsonObject, old: JsonObject | None) -> Errors:
    yield from claim_spec("spec", dig_object(new, "spec"))
    if old is not None:
        yield from _claim_update(new, old)


def claim_spec(path: str, spec: JsonObject) -> Errors:
    modes = dig_list(spec, "accessModes")
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from selector(f"{path}.selector", spec.get("selector"))
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield unsupported_value(f"{path}.accessModes", mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(set(modes)) > 1:
        yield forbidden_field(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")
    yield from _storage_request(f"{path}.resources[storage]", dig(spec, "resources", "requests", "storage"))
    if spec.get("storageClassName"):
        yield from conforms(f"{path}.storageClassName", spec["storageClassName"], subdomain_problems)
    yield from optional_of(f"{path}.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem"))


def _storage_request(path: str, size: Any) -> Errors:
    amount = parse_quantity(size)
    if amount is None:
        yield required(path)
    elif amount <= 0:
        yield invalid_value(path, size, "must be greater than zero")


def _claim_update(new: JsonObject, old: JsonObject) -> Errors:
    spec, before = dict(dig_object(new, "spec")), dict(dig_object(old, "spec"))
    if not before.get("volumeName"):
        before["volumeName"] = spec.get("volumeName")
        spec["volumeName"] = spec.get("volumeName")
    bound = dig(new, "status", "phase") == "Bound"
    if bound:
        # A bound claim may grow and change its attributes class.
        for part in (spec, before):
            part.pop("volumeAttributesClassName", None)
        spec["resources"] = before.get("resources")
    if spec != before:
        yield forbidden_field("spec", _CLAIM_IS_FIXED)
    wanted = parse_quantity(dig(new, "spec", "resources", "requests", "storage")) or 0
    had = parse_quantity(dig(old, "spec", "resources", "requests", "storage")) or 0
    capacity = parse_quantity(dig(old, "status", "capacity", "storage")) or 0
    if wanted < had and wanted <= capacity:
        yield forbidden_field("spec.resources.requests.storage", "field can not be less than status.capacity")
    yield from immutable("volumeMode", dig(new, "spec", "volumeMode"), dig(old, "spec", "volumeMode"))


def resource_quota(new: JsonObject, old: JsonObject | None) -> Errors:
    for resource, amount in dig_object(new, "spec", "hard").items():
        path = f"spec.hard[{resource}]"
        yield from _quota_resource(path, resource)
        yield from quantity(path, amount)
    if old is not None:
        scopes, before = dig_list(new, "spec", "scopes"), dig_list(old, "spec", "scopes")
        if set(scopes) != set(before):
            yield invalid_value("spec.scopes", scopes, "field is immutable")


def _quota_resource(path: str, resource: str) -> Errors:
    problems = label_key_problems(resource)
    if problems:
        yield from conforms(path, resource, label_key_problems)
    elif not _is_quota_resource(resource):
        yield invalid_value(path, resource, "must be a standard resource type or fully qualified")
        yield invalid_value(path, resource, "must be a standard resource for quota")


def _is_quota_resource(resource: str) -> bool:
    huge = resource.removeprefix("requests.").startswith("hugepages-")
    return "/" in resource or huge or resource in _QUOTA_RESOURCES


def limit_range(new: JsonObject, _: JsonObject | None) -> Errors:
    for path, item in each(dig(new, "spec"), "limits", "spec"):
        if not item.get("type"):
            yield required(f"{path}.type")
        for role in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            for resource, amount in dig_object(item, role).items():
                yield from quantity(f"{path}.{role}[{resource}]", amount)
        yield from _limit_order(path, item)


def _limit_order(path: str, item: JsonObject) -> Errors:
    for resource, low in dig_object(item, "min").items():
        high = dig(item, "max", resource)
        if high is not None and (parse_quantity(low) or 0) > (parse_quantity(high) or 0):
            yield invalid_value(
                f"{path}.min[{resource}]", low, f"min value {low} is greater than max value {high}"
            )
