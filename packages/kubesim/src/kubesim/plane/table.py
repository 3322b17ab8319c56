"""Tables: how `kubectl get` shows objects, computed by the server from printer columns."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from edgekeeper.core.json import JsonObject, dig
from kubesim.plane.errors import bad_request
from kubesim.plane.kinds.age import Since, render_cell
from kubesim.plane.negotiate import Wanted
from kubesim.plane.resource import Column

if TYPE_CHECKING:
    from kubesim.plane.call import Call

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
    rows = []
    for tree in trees:
        row: JsonObject = {"cells": [_cell(call, column, tree, now) for column in columns]}
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
        "columnDefinitions": [_definition(column) for column in columns],
        "rows": rows,
    }


def columns_of(call: Call) -> tuple[Column, ...]:
    """The columns of a resource. Custom kinds declare what follows the name; built-in ones bring all of theirs."""
    columns = call.resource.columns or (AGE,)
    return columns if any(column.name == "Name" for column in columns) else (NAME, *columns)


def _cell(call: Call, column: Column, tree: JsonObject, now: datetime) -> Any:
    value = column.cell(tree)
    # Built-in kinds say themselves which of their times are ages; of custom ones, all declared dates are.
    if column.type == "date" and call.resource.custom and value is not None:
        value = Since(value)
    return render_cell(value, now)


def _definition(column: Column) -> JsonObject:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }
