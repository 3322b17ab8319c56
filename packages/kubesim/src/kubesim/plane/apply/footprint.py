"""What a value covers: the field sets that come from looking at one value alone.

`covered` names every node of a value, the way a change from nothing to it would. `claimed` names what an applied
configuration asks to own: leaves, items and keys, but not the structs that merely lead to them.
"""

from __future__ import annotations

from typing import Any

from kubesim.plane.apply.element import SELF
from kubesim.plane.apply.fieldset import MEMBER, FieldSet, as_member, ordered
from kubesim.plane.apply.types import ListType, MapType, Node


def covered(node: Node, value: Any) -> FieldSet:
    """The value's node itself and everything in it that can be owned separately."""
    if isinstance(value, dict):
        map_type = node.map
        if map_type is None or map_type.atomic or not value:
            return MEMBER
        return covered_map(map_type, value, {SELF: MEMBER})
    if isinstance(value, list):
        list_type = node.list
        if list_type is None or list_type.atomic or not value:
            return MEMBER
        return _covered_list(list_type, value)
    return MEMBER


def covered_map(map_type: MapType, value: dict[str, Any], result: FieldSet) -> FieldSet:
    """Add what the map's fields cover to `result`."""
    fields = map_type.fields
    for name in sorted(value):
        inner = value[name]
        element, child = fields[name]
        result[element] = covered(child, inner) if type(inner) in _CONTAINERS else MEMBER
    return result


_CONTAINERS: frozenset[type[Any]] = frozenset({dict, list})


def _covered_list(list_type: ListType, items: list[Any]) -> FieldSet:
    result: FieldSet = {SELF: MEMBER}
    for element, same in indexed(list_type, items).items():
        # Items that share a key cannot be told apart; such a group is owned as a whole.
        result[element] = MEMBER if len(same) > 1 else covered(list_type.element, same[0])
    return ordered(result)


def indexed(list_type: ListType, items: list[Any]) -> dict[str, list[Any]]:
    """The items of a set or list map by their path element; more than one where keys repeat."""
    index: dict[str, list[Any]] = {}
    element_of = list_type.element_of
    for item in items:
        index.setdefault(element_of(item), []).append(item)
    return index


def claimed(node: Node, value: Any) -> FieldSet:
    """What an applier of this whole object asks to own."""
    return _claimed(node, value) or {}


def _claimed(node: Node, value: Any) -> FieldSet | None:
    if isinstance(value, dict) and node.map is not None:
        return MEMBER if node.map.atomic else _claimed_map(node.map, value)
    if isinstance(value, list) and node.list is not None:
        return MEMBER if node.list.atomic else _claimed_list(node.list, value)
    if value is None and not node.scalar:
        return None
    return MEMBER


def _claimed_map(map_type: MapType, value: dict[str, Any]) -> FieldSet | None:
    result: FieldSet = {}
    for name, inner in value.items():
        element, child = map_type.fields[name]
        claim = _claimed(child, inner)
        if inner is None or inner == {} or name not in map_type.declared:
            claim = as_member(claim or MEMBER)
        if claim is not None:
            result[element] = claim
    return ordered(result) or None


def _claimed_list(list_type: ListType, items: list[Any]) -> FieldSet | None:
    result: FieldSet = {}
    for element, same in indexed(list_type, items).items():
        claim = MEMBER if len(same) > 1 else _claimed(list_type.element, same[0])
        result[element] = as_member(claim or MEMBER)
    return ordered(result) or None
