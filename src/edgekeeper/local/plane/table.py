"""Tables: how `kubectl get` shows objects, computed by the server from printer columns."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.local.plane.errors import bad_request
from edgekeeper.local.plane.kinds.age import human_duration
from edgekeeper.local.plane.negotiate import Wanted
from edgekeeper.local.plane.resource import Column

if TYPE_CHECKING:
    from edgekeeper.local.plane.call import Call

NAME = Column(
    "Name", lambda tree: dig(tree, "metadata", "name"), format="name", description="Name of the object"
)
AGE = Column(
    "Age",
    lambda tree: dig(tree, "metadata", "creationTimestamp"),
    type="date",
    description="Time since creation",
)


def build_table(call: Call, trees: list[JsonObject], metadata: JsonObject, wanted: Wanted) -> JsonObject:
    """Arrange objects as rows. `includeObject` says how much of each object travels along."""
    include = call.request.parameter("includeObject", "Metadata")
    if include not in ("None", "Metadata", "Object"):
        raise bad_request(f'invalid includeObject "{include}": must be one of None, Metadata, Object')
    columns = columns_of(call)
    now = call.cluster.now()
    # A built-in kind always has an age; a date of a custom resource may just not be there.
    missing = None if call.resource.custom else "<unknown>"
    rows = []
    for tree in trees:
        row: JsonObject = {"cells": [render_cell(column, tree, now, missing) for column in columns]}
        if include == "Object":
            row["object"] = tree
        elif include == "Metadata":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": f"meta.k8s.io/{wanted.meta_version}",
                "metadata": tree["metadata"],
            }
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{wanted.meta_version}",
        "metadata": metadata,
        "columnDefinitions": [_definition(column, custom=call.resource.custom) for column in columns],
        "rows": rows,
    }


def columns_of(call: Call) -> tuple[Column, ...]:
    """The columns of a resource. Custom kinds declare what follows the name; built-in ones bring all of theirs."""
    columns = call.resource.columns or (AGE,)
    return columns if columns[0].name == "Name" else (NAME, *columns)


def render_cell(column: Column, tree: JsonObject, now: datetime, missing: str | None) -> Any:
    value = column.cell(tree)
    if column.type != "date":
        return value
    if value is None:
        return missing
    moment = parse_time(value)
    return "<invalid>" if moment is None else human_duration((now - moment).total_seconds())


def parse_time(text: Any) -> datetime | None:
    """Read an RFC 3339 time; None where it is none."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (AttributeError, TypeError, ValueError):
        return None


def _definition(column: Column, *, custom: bool) -> JsonObject:
    # Built-in kinds publish rendered ages as strings; only custom resources declare dates.
    kind = "string" if column.type == "date" and not custom else column.type
    return {
        "name": column.name,
        "type": kind,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }
