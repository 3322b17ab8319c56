"""Columns of the core kinds, except pods and events."""

from __future__ import annotations

from collections.abc import Iterable

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.kinds.columns.cell import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    WIDE,
    Cell,
    condition_is_true,
    count,
    of,
    text,
)
from kubesim.plane.resource import Column

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _config_map_entries(tree: JsonObject) -> int:
    return len(dig_object(tree, "data")) + len(dig_object(tree, "binaryData"))


def _node_status(tree: JsonObject) -> str:
    known = any(dig(one, "type") == "Ready" for one in dig_list(tree, "status", "conditions"))
    status = ("Ready" if condition_is_true(tree, "Ready") else "NotReady") if known else "Unknown"
    return f"{status},SchedulingDisabled" if dig(tree, "spec", "unschedulable") else status


def _node_roles(tree: JsonObject) -> str:
    labels = dig_object(tree, "metadata", "labels")
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return ",".join(sorted(roles - {""})) or NONE


def _node_address(kind: str) -> Cell:
    def cell(tree: JsonObject) -> str:
        addresses = dig_list(tree, "status", "addresses")
        return next((one["address"] for one in addresses if dig(one, "type") == kind), NONE)

    return cell


def _node_kernel(tree: JsonObject) -> str:
    info = dig_object(tree, "status", "nodeInfo")
    version = info.get("kernelVersion") or UNKNOWN
    return f"{version} ({info['architecture']})" if info.get("architecture") else version


def _claim_status(tree: JsonObject) -> str:
    terminating = dig(tree, "metadata", "deletionTimestamp")
    return "Terminating" if terminating else dig(tree, "status", "phase") or ""


def _claim_capacity(tree: JsonObject) -> str:
    if not dig(tree, "spec", "volumeName"):
        return ""
    return dig(tree, "status", "capacity", "storage") or "0"


def _claim_access_modes(tree: JsonObject) -> str:
    if not dig(tree, "spec", "volumeName"):
        return ""
    modes = dig_list(tree, "status", "accessModes")
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in modes)


def _claim_class(tree: JsonObject) -> str:
    annotated = dig_object(tree, "metadata", "annotations").get("volume.beta.kubernetes.io/storage-class")
    return annotated or dig(tree, "spec", "storageClassName") or ""


def _quota(*, limits: bool) -> Cell:
    def shown(tree: JsonObject) -> Iterable[str]:
        used = dig_object(tree, "status", "used")
        for resource, hard in sorted(dig_object(tree, "status", "hard").items()):
            if resource.startswith("limits.") == limits:
                yield f"{resource}: {used.get(resource, '0')}/{hard}"

    return lambda tree: ", ".join(shown(tree))


COLUMNS: dict[str, tuple[Column, ...]] = {
    "Namespace": (NAME, text("Status", "status", "phase"), AGE),
    "ConfigMap": (NAME, of("Data", _config_map_entries), AGE),
    "Secret": (NAME, text("Type", "type"), count("Data", "data", kind="string"), AGE),
    "ServiceAccount": (NAME, AGE),
    "Node": (
        NAME,
        of("Status", _node_status),
        of("Roles", _node_roles),
        AGE,
        text("Version", "status", "nodeInfo", "kubeletVersion"),
        of("Internal-IP", _node_address("InternalIP"), priority=WIDE),
        of("External-IP", _node_address("ExternalIP"), priority=WIDE),
        text("OS-Image", "status", "nodeInfo", "osImage", empty=UNKNOWN, priority=WIDE),
        of("Kernel-Version", _node_kernel, priority=WIDE),
        text(
            "Container-Runtime", "status", "nodeInfo", "containerRuntimeVersion", empty=UNKNOWN, priority=WIDE
        ),
    ),
    "PersistentVolumeClaim": (
        NAME,
        of("Status", _claim_status),
        text("Volume", "spec", "volumeName"),
        of("Capacity", _claim_capacity),
        of("Access Modes", _claim_access_modes),
        of("StorageClass", _claim_class),
        text("VolumeAttributesClass", "spec", "volumeAttributesClassName", empty=UNSET),
        AGE,
        text("VolumeMode", "spec", "volumeMode", empty=UNSET, priority=WIDE),
    ),
    "ResourceQuota": (
        NAME,
        of("Request", _quota(limits=False)),
        of("Limit", _quota(limits=True)),
        AGE,
    ),
}
