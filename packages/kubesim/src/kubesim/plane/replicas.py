"""Replica counts of any kind in one shape: the `Scale` of an object, and an object with another count."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig
from kubesim.plane.errors import internal
from kubesim.plane.resource import Resource, Scale
from kubesim.plane.selector import format_label_selector, label_selector_of

_SHOWN_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(resource: Resource, tree: JsonObject) -> JsonObject:
    """The `Scale` that describes an object."""
    paths = scale_paths(resource)
    metadata = tree["metadata"]
    status: JsonObject = {"replicas": dig(tree, *paths.status_replicas) or 0}
    selector = dig(tree, *paths.selector) if paths.selector else None
    if isinstance(selector, dict):
        selector = format_label_selector(label_selector_of(selector))
    if selector:
        status["selector"] = selector
    replicas = dig(tree, *paths.spec_replicas)
    if replicas is None and resource.custom:
        raise internal(f'the spec replicas field ".{".".join(paths.spec_replicas)}" does not exist')
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in _SHOWN_METADATA if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def with_replicas(resource: Resource, tree: JsonObject, replicas: int) -> JsonObject:
    """A copy of an object that wants another count; everything off the path is shared."""
    return _with_value(tree, scale_paths(resource).spec_replicas, replicas)


def scale_paths(resource: Resource) -> Scale:
    """Where a resource keeps its counts. Only resources with a scale subresource are ever asked."""
    if resource.scale is None:
        raise internal(f"{resource.qualified_plural} cannot be scaled")
    return resource.scale


def _with_value(tree: JsonObject, path: tuple[str, ...], value: int) -> JsonObject:
    """A copy of the tree with one value replaced; everything off the path is shared."""
    first, *rest = path
    if not rest:
        return {**tree, first: value}
    return {**tree, first: _with_value(tree.get(first) or {}, tuple(rest), value)}
