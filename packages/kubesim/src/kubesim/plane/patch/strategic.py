"""Strategic merge patch: a merge patch that knows the API's types.

Objects merge field by field. Lists are replaced, unless the schema says `merge`: then their items are matched by the
merge key, or by value for plain ones. The patch may steer with directives:

    $patch: replace | delete          in an object, or in an item of a merging list
    $retainKeys: [field, …]           drop the fields of the object that are not listed
    $deleteFromPrimitiveList/field    remove these values from the field's list
    $setElementOrder/field            bring the field's list into this order

Expected flow for one object: `$patch` ends it; then `$retainKeys`, the ordered lists, and the remaining fields.
Everything works in place on copies that `strategic_merge_patch` makes at the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError, bad_request
from kubesim.plane.patch.golang import go_text, go_type, json_name
from kubesim.plane.patch.lists import arrange, identify, is_object_type, item_type, positions
from kubesim.plane.patch.strategy import Shape, unmergeable
from kubesim.plane.patch.tree import clone

_PATCH = "$patch"
_RETAIN_KEYS = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList"
_SET_ORDER = "$setElementOrder"


def strategic_merge_patch(
    document: JsonObject, patch: Any, schema: JsonObject, definitions: Mapping[str, JsonObject]
) -> JsonObject:
    """Return `document` with the decoded patch applied. `schema` may refer into `definitions` by `$ref`."""
    if patch is None:
        return _copy(document)
    if not isinstance(patch, dict):
        problem = f"cannot unmarshal {json_name(patch)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"json: {problem}")
    return _merge_object(_copy(document), _copy(patch), Shape.of(schema, definitions))


def _copy(tree: JsonObject) -> JsonObject:
    return {key: clone(value) for key, value in tree.items()}


def _merge_object(live: JsonObject, patch: JsonObject, shape: Shape) -> JsonObject:
    if _PATCH in patch:
        return _directed(patch)
    _retain_keys(live, patch)
    for key in [key for key in patch if key.startswith(_SET_ORDER)]:
        _merge_ordered_list(live, patch, key, shape)
    for key, value in patch.items():
        if key.startswith(_DELETE_FROM):
            _delete_from_list(live, _named_field(key, _DELETE_FROM), value)
        elif value is None:
            live.pop(key, None)
        else:
            _merge_field(live, key, value, shape)
    return live


def _directed(patch: JsonObject) -> JsonObject:
    directive = patch[_PATCH]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _PATCH}
    if directive == "delete":
        return {}
    raise _unknown_directive(patch)


def _unknown_directive(patch: JsonObject) -> StatusError:
    return unmergeable(f"unknown patch type: {go_text(patch[_PATCH])} in map: {go_text(patch)}")


def _named_field(key: str, directive: str) -> str:
    """Return the field of `$directive/field`."""
    prefix, slash, field = key.partition("/")
    if prefix == directive and slash:
        return field
    subject = "primitive list" if directive == _DELETE_FROM else "setElementOrder list"
    raise bad_request(f"invalid patch format of {subject}")


def _retain_keys(live: JsonObject, patch: JsonObject) -> None:
    if _RETAIN_KEYS not in patch:
        return
    retained = patch.pop(_RETAIN_KEYS)
    set_keys = [
        key
        for key, value in patch.items()
        if value is not None and not key.startswith((_DELETE_FROM, _SET_ORDER))
    ]
    if not isinstance(retained, list) or any(key not in retained for key in set_keys):
        raise bad_request("invalid patch format of retainKeys")
    for key in [key for key in live if key not in retained]:
        del live[key]


def _merge_field(live: JsonObject, key: str, value: Any, shape: Shape) -> None:
    present = live.get(key)
    if isinstance(present, dict) and isinstance(value, dict):
        field = shape.field(key)
        live[key] = value if field.strategy == "replace" else _merge_object(present, value, field)
    elif isinstance(present, list) and isinstance(value, list):
        live[key] = _merge_list(present, value, shape.field(key))
    elif _is_directed(value):
        live.pop(key, None)
    else:
        live[key] = _plain(value)


def _is_directed(value: Any) -> bool:
    return isinstance(value, dict) and _PATCH in value


def _plain(value: Any) -> Any:
    """Return a value that is new in the document, without nulls and without parts that hold a directive."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if item is not None and not _is_directed(item)}
        return {key: _plain(item) for key, item in kept.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value if not _is_directed(item)]
    return value


def _merge_list(live: list[Any], patch: list[Any], shape: Shape) -> list[Any]:
    if shape.strategy != "merge":
        return patch
    if not live and not patch:
        return live
    if not is_object_type(item_type(live, patch)):
        identity = identify("")
        distinct = {identity(item): item for item in (*live, *patch)}
        return arrange(distinct.values(), patch, live, "")
    if not shape.merge_key:
        raise unmergeable("cannot merge lists without merge key for struct")
    live, patch = _obey_item_directives(live, patch, shape.merge_key)
    merged = _merge_items(list(live), patch, shape)
    return arrange(merged, patch, live, shape.merge_key)


def _obey_item_directives(
    live: list[JsonObject], patch: list[JsonObject], merge_key: str
) -> tuple[list[JsonObject], list[JsonObject]]:
    """Carry out the directives among the items of a patch. Return the live items and patch items that remain."""
    identity = identify(merge_key)
    plain = [item for item in patch if _PATCH not in item]
    doomed = set()
    replace = False
    for item in patch:
        match item.get(_PATCH, ""):
            case "":
                continue
            case "delete":
                doomed.add(identity(item))
            case "replace":
                replace = True
            case "merge":
                raise unmergeable("merging lists cannot yet be specified in the patch")
            case _:
                raise _unknown_directive(item)
    if replace:
        return plain, []
    return [item for item in live if merge_key not in item or identity(item) not in doomed], plain


def _merge_items(live: list[JsonObject], patch: list[JsonObject], shape: Shape) -> list[JsonObject]:
    identity = identify(shape.merge_key)
    known = positions(live, shape.merge_key)
    for item in patch:
        position = known.get(identity(item))
        if position is None:
            known[identity(item)] = len(live)
            live.append(item)
        else:
            live[position] = _merge_object(live[position], item, shape.item())
    return live


def _delete_from_list(live: JsonObject, field: str, doomed: Any) -> None:
    present = live.get(field)
    if doomed is None:
        live.pop(field, None)
    elif isinstance(present, list) and isinstance(doomed, list) and (present or doomed):
        item_type(present, doomed)
        identity = identify("")
        gone = set(map(identity, doomed))
        live[field] = [item for item in present if identity(item) not in gone]


def _merge_ordered_list(live: JsonObject, patch: JsonObject, directive: str, shape: Shape) -> None:
    """Merge the list that `$setElementOrder/field` names, and put it into the given order."""
    order = _as_list(patch.pop(directive))
    name = _named_field(directive, _SET_ORDER)
    in_live, in_patch = name in live, name in patch
    before = _as_list(live[name]) if in_live else []
    change = _as_list(patch[name]) if in_patch else []
    field = shape.field(name)
    _check_order(change, order, field.merge_key)
    if not in_live and not in_patch:
        return
    item_type(before, change)
    if in_live and in_patch:
        merged = _merge_list(before, change, field)
    else:
        merged = before if in_live else _plain(change)
    live[name] = arrange(merged, order, before, field.merge_key)
    patch.pop(name, None)


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise unmergeable(f"expected a []interface {{}}, but received a {go_type(value)}")
    return value


def _check_order(change: list[Any], order: list[Any], merge_key: str) -> None:
    """Every item that the patch sets must appear in the order list, and in the same sequence."""
    if not change or not order:
        return
    identity = identify(merge_key)
    wanted = [identity(item) for item in change if not _is_directed(item)]
    position = 0
    for entry in map(identity, order):
        if position < len(wanted) and wanted[position] == entry:
            position += 1
    if position < len(wanted):
        raise unmergeable(
            f"The order in patch list:\n{go_text(change)}\n doesn't match {_SET_ORDER} list:\n{go_text(order)}\n"
        )
