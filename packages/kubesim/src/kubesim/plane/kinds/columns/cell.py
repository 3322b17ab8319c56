"""Building blocks of columns: cells that read one field, and texts that several kinds share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.errors import StatusError
from kubesim.plane.kinds.age import Since
from kubesim.plane.resource import Column
from kubesim.plane.selector import format_label_selector, label_selector_of

Cell: TypeAlias = Callable[[JsonObject], Any]

NONE, UNSET, UNKNOWN = "<none>", "<unset>", "<unknown>"
WIDE = 1
"""The priority of columns that only `-o wide` shows."""


def text(name: str, *path: str, empty: str = "", priority: int = 0) -> Column:
    """A column that shows one field, or `empty` where it has no value."""
    return Column(name, lambda tree: dig(tree, *path) or empty, priority=priority)


def number(name: str, *path: str, kind: str = "integer") -> Column:
    """A column that shows one number, zero where it is absent."""
    return Column(name, lambda tree: dig(tree, *path) or 0, type=kind)


def count(name: str, *path: str, kind: str = "integer") -> Column:
    """A column that shows how many entries a list or map has."""
    return Column(name, lambda tree: len(dig(tree, *path) or ()), type=kind)


def of(name: str, cell: Cell, kind: str = "string", priority: int = 0) -> Column:
    return Column(name, cell, type=kind, priority=priority)


def name_cell(tree: JsonObject) -> Any:
    return dig(tree, "metadata", "name")


def since(*path: str) -> Cell:
    return lambda tree: Since(dig(tree, *path))


NAME = Column("Name", name_cell, format="name")
AGE = Column("Age", since("metadata", "creationTimestamp"))
CREATED_AT = Column("Created At", lambda tree: dig(tree, "metadata", "creationTimestamp"), type="date")


def ratio(part: tuple[str, ...], whole: tuple[str, ...]) -> Cell:
    """Show two numbers as `1/3`."""
    return lambda tree: f"{dig(tree, *part) or 0}/{dig(tree, *whole) or 0}"


def format_labels(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def format_selector(selector: JsonObject | None, empty: str = NONE) -> str:
    try:
        return format_label_selector(label_selector_of(selector)) or empty
    except StatusError:
        return "<invalid>"


def selector(*path: str, empty: str = NONE) -> Column:
    return of("Selector", lambda tree: format_selector(dig(tree, *path), empty), priority=WIDE)


def containers(*pod_spec: str) -> tuple[Column, Column]:
    """The names and images of the containers in a pod template."""

    def listed(field: str) -> Cell:
        return lambda tree: ",".join(dig(one, field) or "" for one in dig_list(tree, *pod_spec, "containers"))

    return of("Containers", listed("name"), priority=WIDE), of("Images", listed("image"), priority=WIDE)


def few(entries: Sequence[str], total: int, limit: int, separator: str = ",") -> str:
    """List the first entries and say how many more there are."""
    listed = separator.join(entries[:limit])
    return f"{listed} + {total - limit} more..." if total > limit else listed


def load_balancer_addresses(tree: JsonObject) -> str:
    ingresses = dig_list(tree, "status", "loadBalancer", "ingress")
    addresses = {dig(one, "ip") or dig(one, "hostname") for one in ingresses}
    return ",".join(sorted(address for address in addresses if address))


def condition_is_true(tree: JsonObject, condition: str) -> bool:
    conditions = dig_list(tree, "status", "conditions")
    return next((dig(one, "status") == "True" for one in conditions if dig(one, "type") == condition), False)


def is_default(tree: JsonObject, annotation: str) -> bool:
    return dig_object(tree, "metadata", "annotations").get(annotation) == "true"


def decorated_name(*annotations: str) -> Column:
    """A name that says so when this is the cluster's default object of its kind."""

    def cell(tree: JsonObject) -> str:
        default = any(is_default(tree, annotation) for annotation in annotations)
        return f"{name_cell(tree)} (default)" if default else str(name_cell(tree))

    return Column("Name", cell, format="name")
