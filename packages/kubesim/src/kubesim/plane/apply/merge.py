"""Values under field sets: merging an applied configuration into an object, and taking fields out of it.

Results are fresh all the way down, so that a caller may go on to change them without touching what is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.plane.apply.fieldset import MEMBER, FieldSet, as_member, is_member
from kubesim.plane.apply.footprint import indexed
from kubesim.plane.apply.types import ListType, MapType, Node


class _Absent:
    """The type of `ABSENT`: no value at all, which null is not."""


ABSENT = _Absent()


def copied(value: Any) -> Any:
    """A deep copy of a JSON value."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def merged(node: Node, live: Any, applied: Any) -> Any:
    """The live value with the applied one laid over it; nothing is removed."""
    if applied is ABSENT:
        return copied(live)
    if isinstance(applied, dict | None) and node.map is not None and not node.map.atomic:
        base = live if isinstance(live, dict) else {}
        if base or applied:
            return _merged_maps(node.map, base, applied or {})
    if isinstance(applied, list | None) and node.list is not None and not node.list.atomic:
        items = live if isinstance(live, list) else []
        if items or applied:
            return _merged_lists(node.list, items, applied or [])
    return copied(applied)


def _merged_maps(map_type: MapType, live: JsonObject, applied: JsonObject) -> JsonObject:
    result: JsonObject = {}
    for name in (*live, *(name for name in applied if name not in live)):
        child = map_type.fields[name][1]
        result[name] = merged(child, live.get(name, ABSENT), applied.get(name, ABSENT))
    return result


def _merged_lists(list_type: ListType, live: list[Any], applied: list[Any]) -> list[Any]:
    node = list_type.element
    before, after = indexed(list_type, live), indexed(list_type, applied)
    result = []
    for element, position in _merged_order([list_type.element_of(item) for item in live], list(after)):
        if element in after:
            # Items that repeat a key cannot be told apart: what is applied replaces them all.
            same = before.get(element, [])
            result.append(merged(node, same[0] if len(same) == 1 else ABSENT, after[element][0]))
        else:
            result.append(copied(live[position]))
    return result


def _merged_order(live: list[str], applied: list[str]) -> Iterator[tuple[str, int]]:
    """The order of a merged list: applied items as applied, others where they stood among their neighbours.

    Both lists are walked side by side. Items only one side knows are taken when they come up; a shared item waits
    until the applied list reaches it. Yields each path element with the live position that it was found at.
    """
    known, in_live = set(applied), set(live)
    awaited = [element for element in applied if element in in_live]
    taken: set[str] = set()
    i = j = 0
    while i < len(live) or j < len(applied):
        if i < len(live) and j < len(applied) and live[i] == applied[j]:
            yield live[i], i
            taken.add(live[i])
            awaited = awaited[1:]
            i, j = i + 1, j + 1
            continue
        if i < len(live) and j < len(applied) and live[i] in known and awaited and awaited[0] != live[i]:
            i += 1
            continue
        if i < len(live):
            if live[i] not in known:
                yield live[i], i
                i += 1
                continue
            if live[i] in taken:
                i += 1
        if j < len(applied):
            yield applied[j], -1
            taken.add(applied[j])
            if awaited and awaited[0] == applied[j]:
                awaited = awaited[1:]
            j += 1


def without(node: Node, value: Any, fields: FieldSet) -> Any:
    """The value with all members of the set taken out of it; containers that this empties become null."""
    if isinstance(value, dict) and node.map is not None:
        return None if node.map.atomic else _map_without(node.map, value, fields)
    if isinstance(value, list) and node.list is not None:
        return None if node.list.atomic else _list_without(node.list, value, fields)
    return value


def _map_without(map_type: MapType, value: JsonObject, fields: FieldSet) -> JsonObject | None:
    result: JsonObject = {}
    for name, inner in value.items():
        element, child = map_type.fields[name]
        taken = fields.get(element)
        if taken is None:
            result[name] = copied(inner)
        elif not is_member(taken):
            result[name] = without(child, inner, taken)
    return result or None


def _list_without(list_type: ListType, items: list[Any], fields: FieldSet) -> list[Any] | None:
    result = []
    for item in items:
        taken = fields.get(list_type.element_of(item))
        if taken is None:
            result.append(copied(item))
        elif not is_member(taken):
            result.append(without(list_type.element, item, taken))
    return result or None


def with_named_fields(node: Node, fields: FieldSet) -> FieldSet:
    """The set with every declared struct field on the way to a member made a member too.

    Claims name leaves only. To remove what somebody applied, the structs that exist just to hold it must go as well.
    """
    result: FieldSet = {}
    for element, child in fields.items():
        if child:
            inner = with_named_fields(node.below(element), child)
            is_named = node.map is not None and element.startswith("f:") and element[2:] in node.map.declared
            result[element] = as_member(inner) if is_named else inner
        else:
            result[element] = child
    return result


def reconciled(node: Node, fields: FieldSet) -> FieldSet:
    """The set as the present schema allows it: below a node that has become atomic nothing is owned on its own."""
    result = fields
    for element, child in fields.items():
        now = _reconciled_child(node, element, child) if child else child
        if now is not child:
            result = {**result, element: now}
    return result


def _reconciled_child(node: Node, element: str, child: FieldSet) -> FieldSet:
    below = node.below(element)
    if below.map is not None:
        if below.map.deduced:
            return child
        is_atomic = below.map.atomic
    else:
        is_atomic = below.list is not None and not below.scalar and below.list.atomic
    return MEMBER if is_atomic else reconciled(below, child)
