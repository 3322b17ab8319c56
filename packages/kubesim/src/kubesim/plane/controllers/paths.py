"""Where an object is found on the server."""

from __future__ import annotations

from kubesim.plane.resource import Resource


def collection_path(resource: Resource, namespace: str = "") -> str:
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{scope}/{resource.plural}"


def object_path(resource: Resource, namespace: str, name: str) -> str:
    return f"{collection_path(resource, namespace)}/{name}"
