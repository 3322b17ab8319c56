"""What the servers have to store: a custom resource of 2 KB with a schema that has something to check."""

from __future__ import annotations

from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject

GROUP, VERSION, PLURAL = "bench.edgekeeper.io", "v1", "sites"
API_VERSION = f"{GROUP}/{VERSION}"
CRD_NAME = f"{PLURAL}.{GROUP}"
CRDS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACES_PATH = "/api/v1/namespaces"
OBJECT_BYTES = 2048


def sites_path(namespace: str) -> str:
    return f"/apis/{API_VERSION}/namespaces/{namespace}/{PLURAL}"


def definition() -> JsonObject:
    """The CustomResourceDefinition: bounds, patterns, enumerations, defaults, maps and keyed lists."""
    schema = _object({"spec": _spec_schema(), "status": _object({"ready": {"type": "boolean"}})}, ["spec"])
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": PLURAL, "singular": "site", "kind": "Site", "listKind": "SiteList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD_NAME},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _spec_schema() -> JsonObject:
    hostname = {"type": "string", "maxLength": 253, "pattern": r"^[a-z0-9.-]+$"}
    header = _object({"name": _text(128), "value": _text(512)}, ["name"])
    origin = _object(
        {
            "name": _text(64),
            "host": hostname,
            "port": {"type": "integer", "minimum": 1, "maximum": 65535},
            "protocol": {"type": "string", "enum": ["http", "https"], "default": "https"},
            "headers": {"type": "array", "maxItems": 16, "items": header},
        },
        ["name", "host"],
    )
    return _object(
        {
            "enabled": {"type": "boolean", "default": True},
            "hostnames": {"type": "array", "maxItems": 64, "items": hostname},
            "origins": {
                "type": "array",
                "maxItems": 32,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": origin,
            },
            "tags": {"type": "object", "additionalProperties": _text(256)},
            "notes": _text(4096),
        },
        ["hostnames", "origins"],
    )


def _text(length: int) -> JsonObject:
    return {"type": "string", "maxLength": length}


def _object(properties: JsonObject, required: list[str] | None = None) -> JsonObject:
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def site(name: str) -> bytes:
    """One object as a client sends it, padded to exactly two kilobytes."""
    body: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": "Site",
        "metadata": {"name": name, "labels": {"app": "bench", "tier": "edge"}},
        "spec": {
            "hostnames": [f"{name}-{number}.example.com" for number in range(4)],
            "origins": [
                {
                    "name": f"origin-{number}",
                    "host": f"origin-{number}.example.net",
                    "port": 8443,
                    "headers": [{"name": "x-origin", "value": f"origin-{number}"}],
                }
                for number in range(6)
            ],
            "tags": {f"tag-{number}": f"value-{number}" for number in range(8)},
            "notes": "",
        },
    }
    body["spec"]["notes"] = "n" * (OBJECT_BYTES - len(msgspec.json.encode(body)))
    return msgspec.json.encode(body)
