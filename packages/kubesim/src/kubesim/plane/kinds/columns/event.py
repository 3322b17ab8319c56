"""The columns of events, in both of their shapes: `v1` and `events.k8s.io/v1`."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig
from kubesim.plane.kinds.age import Since
from kubesim.plane.kinds.columns.cell import WIDE, name_cell, of
from kubesim.plane.kinds.convert.event import to_core
from kubesim.plane.resource import Column


def _first_seen(event: JsonObject) -> Since:
    return Since(event.get("firstTimestamp") or event.get("eventTime"))


def _last_seen(event: JsonObject) -> Since:
    if event.get("series"):
        return Since(dig(event, "series", "lastObservedTime"))
    return Since(event["lastTimestamp"]) if event.get("lastTimestamp") else _first_seen(event)


def _times_seen(event: JsonObject) -> int:
    # An event of the new API that happened once has no count.
    return dig(event, "series", "count") or event.get("count") or 1


def _target(event: JsonObject) -> str:
    kind, name = (dig(event, "involvedObject", "kind") or "").lower(), dig(event, "involvedObject", "name")
    return f"{kind}/{name}" if name else kind


def _source(event: JsonObject) -> str:
    component = dig(event, "source", "component") or event.get("reportingComponent") or ""
    instance = dig(event, "source", "host") or event.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component


_CORE: tuple[Column, ...] = (
    of("Last Seen", _last_seen),
    of("Type", lambda event: event.get("type") or ""),
    of("Reason", lambda event: event.get("reason") or ""),
    of("Object", _target),
    of("Subobject", lambda event: dig(event, "involvedObject", "fieldPath") or "", priority=WIDE),
    of("Source", _source, priority=WIDE),
    of("Message", lambda event: (event.get("message") or "").strip()),
    of("First Seen", _first_seen, priority=WIDE),
    of("Count", _times_seen, priority=WIDE),
    Column("Name", name_cell, format="name", priority=WIDE),
)


def _converted(column: Column) -> Column:
    cell = column.cell
    return Column(
        column.name, lambda event: cell(to_core(event)), format=column.format, priority=column.priority
    )


COLUMNS: dict[str, tuple[Column, ...]] = {
    "Event": _CORE,
    "Event.v1.events.k8s.io": tuple(_converted(column) for column in _CORE),
}
