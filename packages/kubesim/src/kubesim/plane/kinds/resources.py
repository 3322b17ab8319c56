"""The built-in kinds, complete: each row of the catalogue joined with its schema, columns and rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from edgekeeper.core.json import JsonObject
from kubesim.plane.kinds.catalogue import ROWS, Row
from kubesim.plane.kinds.columns import columns_of
from kubesim.plane.kinds.convert import autoscaler, event
from kubesim.plane.kinds.strategies import strategy_of
from kubesim.plane.kinds.typed import TypedSchema
from kubesim.plane.resource import GroupResource, Resource


@dataclass(frozen=True, slots=True)
class Conversion:
    """How a version that is not stored relates to the one that is."""

    storage_version: str
    to_storage: Callable[[JsonObject], JsonObject] | None = None
    from_storage: Callable[[JsonObject], JsonObject] | None = None
    storage: GroupResource | None = None


_AS_STORED = Conversion("")
_CONVERSIONS: dict[tuple[str, str, str], Conversion] = {
    ("events.k8s.io", "v1", "Event"): Conversion(
        "v1", event.to_core, event.from_core, GroupResource("", "events")
    ),
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): Conversion("v2", autoscaler.to_v2, autoscaler.to_v1),
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): Conversion("v2"),
}


@cache
def builtin_resources() -> tuple[Resource, ...]:
    """Return every built-in resource. Schemas are compiled at first use."""
    return tuple(_resource(row) for row in ROWS)


def _resource(row: Row) -> Resource:
    conversion = _CONVERSIONS.get((row.group, row.version, row.kind), _AS_STORED)
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
        columns=columns_of(row.group, row.kind, row.version),
        strategy=strategy_of(row),
        storage=conversion.storage,
        storage_version=conversion.storage_version,
        to_storage=conversion.to_storage,
        from_storage=conversion.from_storage,
        tracks_generation=row.generation,
        selectable_fields=row.fields,
    )
