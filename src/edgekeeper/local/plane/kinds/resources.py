"""The built-in kinds, complete: each row of the catalogue joined with its schema, columns and rules."""

from __future__ import annotations

from functools import cache

from edgekeeper.local.plane.kinds.catalogue import ROWS, Row
from edgekeeper.local.plane.kinds.typed import TypedSchema
from edgekeeper.local.plane.resource import Resource


@cache
def builtin_resources() -> tuple[Resource, ...]:
    """Return every built-in resource. Schemas are compiled at first use."""
    return tuple(_resource(row) for row in ROWS)


def _resource(row: Row) -> Resource:
    return Resource(
        group=row.group,
        version=row.version,
        kind=row.kind,
        plural=row.plural,
        singular=row.kind.lower(),
        namespaced=row.namespaced,
        schema=TypedSchema(row.definition),
        short_names=row.short_names,
        categories=row.categories,
        verbs=row.verbs,
        list_kind=f"{row.kind}List",
        status=row.status,
        scale=row.scale,
        tracks_generation=row.generation,
        selectable_fields=row.fields,
    )
