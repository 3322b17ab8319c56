"""What field selectors compare: mostly a field as it stands, for a few names something derived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgekeeper.core.json import JsonObject, dig

_DERIVED: dict[tuple[str, str], Callable[[JsonObject], Any]] = {
    ("Event", "source"): lambda tree: dig(tree, "source", "component") or dig(tree, "reportingComponent"),
    ("Job", "status.successful"): lambda tree: dig(tree, "status", "succeeded") or 0,
    ("Node", "spec.unschedulable"): lambda tree: bool(dig(tree, "spec", "unschedulable")),
    ("Pod", "spec.hostNetwork"): lambda tree: bool(dig(tree, "spec", "hostNetwork")),
    ("Pod", "status.podIP"): lambda tree: dig(tree, "status", "podIPs", 0, "ip"),
    ("ReplicaSet", "status.replicas"): lambda tree: dig(tree, "status", "replicas") or 0,
}


def field_text(kind: str, tree: JsonObject, path: str) -> str:
    """Return the text that a field selector on `path` is compared with."""
    derive = _DERIVED.get((kind, path))
    value = derive(tree) if derive else dig(tree, *path.split("."))
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
