"""Rules of the volumes of a pod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import (
    FieldError,
    duplicate_value,
    forbidden_field,
    invalid_value,
    required,
)
from kubesim.plane.kinds.rules import name
from kubesim.plane.kinds.rules.check import Errors, conforms, each
from kubesim.plane.kinds.rules.core import claim_spec

_MODE_RULE = "must be a number between 0 and 0777 (octal), both inclusive"


def volumes(spec: JsonObject, path: str, known: set[str]) -> Errors:
    """Check the volumes and collect the names of the sound ones in `known`."""
    for where, volume in each(spec, "volumes", path):
        found = [*_source(where, volume), *_name(f"{where}.name", volume.get("name", ""), known)]
        if found:
            yield from found
        else:
            known.add(volume["name"])


def _name(path: str, text: str, known: set[str]) -> Errors:
    if not text:
        yield required(path)
    else:
        yield from conforms(path, text, name.label)
    if text in known:
        yield duplicate_value(path, text)


def _source(path: str, volume: JsonObject) -> Errors:
    kinds = [field for field in volume if field != "name"]
    if not kinds:
        yield required(path, "must specify a volume type")
    for extra in sorted(kinds)[1:]:
        yield forbidden_field(f"{path}.{extra}", "may not specify more than 1 volume type")
    for kind in sorted(kinds)[:1]:
        check = _SOURCES.get(kind)
        if check is not None and isinstance(volume[kind], dict):
            yield from check(f"{path}.{kind}", volume[kind])


def _host_path(path: str, source: JsonObject) -> Errors:
    if not source.get("path"):
        yield required(f"{path}.path")
    else:
        yield from no_backsteps(f"{path}.path", source["path"])


def _files(name_field: str) -> Callable[[str, JsonObject], Errors]:
    def check(path: str, source: JsonObject) -> Errors:
        if not source.get(name_field):
            yield required(f"{path}.{name_field}")
        yield from _mode(f"{path}.defaultMode", source.get("defaultMode"))
        for where, item in each(source, "items", path):
            yield from _key_to_path(where, item)

    return check


def _key_to_path(path: str, item: JsonObject) -> Errors:
    for field in ("key", "path"):
        if not item.get(field):
            yield required(f"{path}.{field}")
    target = item.get("path", "")
    yield from relative(f"{path}.path", target)
    if target.startswith("..") and not target.startswith("../"):
        yield invalid_value(f"{path}.path", target, "must not start with '..'")
    yield from _mode(f"{path}.mode", item.get("mode"))


def _mode(path: str, mode: Any) -> Errors:
    if isinstance(mode, int) and not 0 <= mode <= 0o777:
        yield invalid_value(path, mode, _MODE_RULE)


def _projected(path: str, source: JsonObject) -> Errors:
    yield from _mode(f"{path}.defaultMode", source.get("defaultMode"))
    for where, projection in each(source, "sources", path):
        for kind in ("secret", "configMap"):
            if kind in projection and not dig(projection, kind, "name"):
                yield required(f"{where}.{kind}.name")
        if "serviceAccountToken" in projection and not dig(projection, "serviceAccountToken", "path"):
            yield required(f"{where}.path")
        if len(projection) > 1:
            yield forbidden_field(where, "may not specify more than 1 volume type per source")


def _claim(path: str, source: JsonObject) -> Errors:
    if not source.get("claimName"):
        yield required(f"{path}.claimName")


def _nfs(path: str, source: JsonObject) -> Errors:
    for field in ("server", "path"):
        if not source.get(field):
            yield required(f"{path}.{field}")
    if not source.get("path", "").startswith("/"):
        yield invalid_value(f"{path}.path", source.get("path", ""), "must be an absolute path")


def _csi(path: str, source: JsonObject) -> Errors:
    if not source.get("driver"):
        yield required(f"{path}.driver")


def _ephemeral(path: str, source: JsonObject) -> Errors:
    if not dig_object(source, "volumeClaimTemplate"):
        yield required(f"{path}.volumeClaimTemplate")
    else:
        template = dig_object(source, "volumeClaimTemplate", "spec")
        yield from claim_spec(f"{path}.volumeClaimTemplate.spec", template)


def no_backsteps(path: str, target: str) -> Errors:
    if ".." in target.split("/"):
        yield invalid_value(path, target, "must not contain '..'")


def relative(path: str, target: str) -> Errors:
    """A path that stays below its starting point."""
    if target.startswith("/"):
        yield invalid_value(path, target, "must be a relative path")
    yield from no_backsteps(path, target)


_SOURCES: dict[str, Callable[[str, JsonObject], Errors]] = {
    "configMap": _files("name"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "hostPath": _host_path,
    "nfs": _nfs,
    "persistentVolumeClaim": _claim,
    "projected": _projected,
    "secret": _files("secretName"),
}


def mounts(container: JsonObject, path: str, known: set[str]) -> Errors:
    """Check where a container mounts volumes: each must exist, and no two at the same place."""
    points: set[str] = set()
    devices = {dig(one, "devicePath") for one in dig_list(container, "volumeDevices")}
    for where, mount in each(container, "volumeMounts", path):
        volume, point = mount.get("name", ""), mount.get("mountPath", "")
        if not volume:
            yield required(f"{where}.name")
        if volume not in known:
            yield FieldError(f"{where}.name", "Not found", value=volume)
        if not point:
            yield required(f"{where}.mountPath")
        if point in points:
            yield invalid_value(f"{where}.mountPath", point, "must be unique")
        points.add(point)
        if point in devices:
            why = "must not already exist as a path in volumeDevices"
            yield invalid_value(f"{where}.mountPath", point, why)
        for field in ("subPath", "subPathExpr"):
            yield from relative(f"{path}.volumeMounts.{field}", mount.get(field, ""))
        if mount.get("subPath") and mount.get("subPathExpr"):
            why = "subPathExpr and subPath are mutually exclusive"
            yield invalid_value(f"{where}.subPathExpr", mount["subPathExpr"], why)
