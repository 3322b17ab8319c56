"""Discovery: what groups, versions and resources there are, in the old form and in the aggregated one.

kubectl asks for the aggregated form first (two calls for everything) and falls back to one call per group.
"""

from __future__ import annotations

import base64
import hashlib

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import UnservedPathError, no_such_resource
from kubesim.plane.registry import Registry, version_rank
from kubesim.plane.resource import GroupResource, Resource

_SCALE = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
_SUBRESOURCE_VERBS = ["get", "patch", "update"]
_AGGREGATED = "as=APIGroupDiscoveryList"


def wants_aggregated(accept: str) -> str:
    """The version of aggregated discovery that a client accepts best, or an empty string for the old form."""
    for clause in accept.split(","):
        if _AGGREGATED in clause:
            return "v2" if "v=v2" in clause and "v=v2beta1" not in clause else "v2beta1"
        if clause.strip().split(";")[0] in ("application/json", "*/*"):
            return ""
    return ""


def core_versions(address: str) -> JsonObject:
    """GET /api"""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def group_list(registry: Registry) -> JsonObject:
    """GET /apis"""
    groups = [_group(name, versions) for name, versions in registry.groups().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(registry: Registry, name: str) -> JsonObject:
    """GET /apis/{group}"""
    versions = registry.groups().get(name)
    if not versions:
        raise UnservedPathError
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def resource_list(registry: Registry, group_name: str, version: str) -> JsonObject:
    """GET /api/v1 and /apis/{group}/{version}"""
    in_group = registry.of_group(group_name)
    if not in_group:
        raise UnservedPathError
    found = [one for one in in_group if one.version == version]
    if not found:
        raise no_such_resource()
    entries: list[JsonObject] = []
    for resource in sorted(found, key=lambda one: one.plural):
        entries.append(_resource_entry(registry, resource))
        entries.extend(_subresource_entries(resource))
    group_version = f"{group_name}/{version}" if group_name else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": entries,
    }


def aggregated(registry: Registry, version: str, *, core: bool) -> JsonObject:
    """GET /api or /apis with the aggregated media type: every group with all its resources."""
    items = []
    for name, versions in registry.groups().items():
        if bool(name) == core:
            continue
        listed = [
            {"version": one, "resources": _aggregated_resources(registry, name, one), "freshness": "Current"}
            for one in versions
        ]
        items.append({"metadata": {"name": name} if name else {}, "versions": listed})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": items,
    }


def _group(name: str, versions: list[str]) -> JsonObject:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resource_entry(registry: Registry, resource: Resource) -> JsonObject:
    entry: JsonObject = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": sorted(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if "list" in resource.verbs:
        entry["storageVersionHash"] = _storage_hash(registry, resource)
    return entry


def _subresource_entries(resource: Resource) -> list[JsonObject]:
    """Subresources follow their resource, in the order of their names."""
    common = {"singularName": "", "namespaced": resource.namespaced}
    entries: list[JsonObject] = []
    if resource.kind == "Namespace" and not resource.group:
        entries.append({"name": "namespaces/finalize", **common, "kind": "Namespace", "verbs": ["update"]})
    if resource.scale is not None:
        entries.append(
            {"name": f"{resource.plural}/scale", **common, **_SCALE, "verbs": list(_SUBRESOURCE_VERBS)}
        )
    if resource.status:
        entries.append(
            {
                "name": f"{resource.plural}/status",
                **common,
                "kind": resource.kind,
                "verbs": list(_SUBRESOURCE_VERBS),
            }
        )
    if resource.kind == "ServiceAccount" and not resource.group:
        token = {
            "group": "authentication.k8s.io",
            "version": "v1",
            "kind": "TokenRequest",
            "verbs": ["create"],
        }
        entries.append({"name": "serviceaccounts/token", **common, **token})
    return entries


def _aggregated_resources(registry: Registry, group_name: str, version: str) -> list[JsonObject]:
    found = [one for one in registry.of_group(group_name) if one.version == version]
    entries = []
    for resource in sorted(found, key=lambda one: one.plural):
        entry: JsonObject = {
            "resource": resource.plural,
            "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "singularResource": resource.singular,
            "verbs": sorted(resource.verbs),
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        subresources = [_aggregated_subresource(resource, one) for one in _subresource_entries(resource)]
        if subresources:
            entry["subresources"] = subresources
        entries.append(entry)
    return entries


def _aggregated_subresource(resource: Resource, entry: JsonObject) -> JsonObject:
    kind = {
        "group": entry.get("group", resource.group),
        "version": entry.get("version", resource.version),
        "kind": entry["kind"],
    }
    return {"subresource": entry["name"].partition("/")[2], "responseKind": kind, "verbs": entry["verbs"]}


def _storage_hash(registry: Registry, resource: Resource) -> str:
    """A fingerprint of the version that objects are stored in, as the real server computes it."""
    stored = registry.any_version(GroupResource(resource.group, resource.plural))
    version = resource.storage_version or max(
        (one.version for one in [stored, resource] if one is not None), key=version_rank
    )
    text = f"{resource.group}/{version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()
