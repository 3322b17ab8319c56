"""Defaults of the core kinds that hold no pods."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig_object
from kubesim.plane.kinds.defaults.fill import Fill, absent, zero

NAME_LABEL = "kubernetes.io/metadata.name"


def namespace(tree: JsonObject) -> None:
    """Every namespace carries its own name as a label, so that selectors can name it."""
    metadata = tree.get("metadata")
    if isinstance(metadata, dict) and metadata.get("name"):
        labels = metadata.get("labels")
        metadata["labels"] = {**(labels if isinstance(labels, dict) else {}), NAME_LABEL: metadata["name"]}


def node_status(status: JsonObject) -> None:
    if "capacity" in status and "allocatable" not in status:
        status["allocatable"] = dict(dig_object(status, "capacity"))


def limit_range_item(item: JsonObject) -> None:
    """Limits of containers derive from one another: the default from the maximum, the request from the default."""
    if item.get("type") != "Container":
        return
    default = {**dig_object(item, "max"), **dig_object(item, "default")}
    request = {**dig_object(item, "min"), **default, **dig_object(item, "defaultRequest")}
    for key, amounts in (("default", default), ("defaultRequest", request)):
        if amounts:
            item[key] = amounts


DEFAULTS: dict[str, Fill] = {
    "api.core.v1.EndpointPort": zero(protocol="TCP"),
    "api.core.v1.LimitRangeItem": limit_range_item,
    "api.core.v1.Namespace": namespace,
    "api.core.v1.NamespaceStatus": zero(phase="Active"),
    "api.core.v1.NodeStatus": node_status,
    "api.core.v1.PersistentVolumeClaimSpec": absent(volumeMode="Filesystem"),
    "api.core.v1.PersistentVolumeClaimStatus": zero(phase="Pending"),
    "api.core.v1.Secret": zero(type="Opaque"),
}
