"""Field sets in the shape of FieldsV1, and the algebra on them.

A field set is a trie of path elements. It is kept in the very shape in which `metadata.managedFields` carries it, so
that reading and writing an object's ownership costs nothing:

    {"f:spec": {"f:replicas": {}, "f:ports": {".": {}, "k:{…}": {}}}}

A child `{}` is a member without children, a child with `"."` is a member with children, a child without it only leads
to members. The root is never a member; an empty root is the empty set. Sets are values: no function here, and no
caller, changes one in place, and results share branches with their operands. Keys are always in `element_order`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from kubesim.plane.apply.element import (
    SELF,
    Path,
    UnknownElementError,
    canonical_element,
    element_order,
)

FieldSet: TypeAlias = dict[str, "FieldSet"]

MEMBER: FieldSet = {}
"""A member without children."""


def is_member(child: FieldSet) -> bool:
    return not child or SELF in child


def as_member(child: FieldSet) -> FieldSet:
    """The same node, itself a member."""
    return child if is_member(child) else {SELF: MEMBER, **child}


def ordered(fields: FieldSet) -> FieldSet:
    """Put the steps of one level into canonical order."""
    if len(fields) < 2:
        return fields
    # "." and "f:" sort before the other kinds, and among themselves as plain strings.
    plain = max(fields) < "g"
    names = sorted(fields) if plain else sorted(fields, key=element_order)
    return {name: fields[name] for name in names}


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in either set."""
    result = dict(left)
    for element, child in right.items():
        mine = result.get(element)
        result[element] = child if mine is None else _union_child(mine, child)
    return result if len(result) == len(left) else ordered(result)


def _union_child(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left:
        return as_member(right)
    if not right:
        return as_member(left)
    return union(left, right)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in `left` and not in `right`; a member taken away leaves its children alone."""
    result = left
    for element, child in right.items():
        mine = left.get(element)
        if mine is not None:
            result = _put(result, left, element, _difference_child(mine, child))
    return result


def _difference_child(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if not left:
        return None if is_member(right) else left
    return _collapsed(difference(left, right or {SELF: MEMBER}))


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in `left` and neither in `right` nor below a member of it."""
    result = left
    for element, child in right.items():
        mine = left.get(element)
        if mine is None:
            continue
        if is_member(child):
            result = _put(result, left, element, None)
        elif mine:
            result = _put(result, left, element, _collapsed(recursive_difference(mine, child)))
    return result


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in both sets."""
    few, many = (left, right) if len(left) <= len(right) else (right, left)
    result: FieldSet = {}
    for element, child in few.items():
        other = many.get(element)
        common = None if other is None else _intersection_child(child, other)
        if common is not None:
            result[element] = common
    return result


def _intersection_child(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if not left:
        return MEMBER if is_member(right) else None
    if not right:
        return MEMBER if is_member(left) else None
    return _collapsed(intersection(left, right))


def _put(result: FieldSet, original: FieldSet, element: str, child: FieldSet | None) -> FieldSet:
    """Replace a child, or remove it, in a result that is the original itself until something differs."""
    if child is original[element]:
        return result
    if result is original:
        result = dict(original)
    if child is None:
        del result[element]
    else:
        result[element] = child
    return result


def _collapsed(child: FieldSet) -> FieldSet | None:
    """Normalize a computed node: nothing left is no node, a mere self mark is a plain member."""
    if not child:
        return None
    return MEMBER if len(child) == 1 and SELF in child else child


def members(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """Every member's path: those of one level first, then what lies below each."""
    for element, child in fields.items():
        if element != SELF and is_member(child):
            yield (*prefix, element)
    for element, child in fields.items():
        if child:
            yield from members(child, (*prefix, element))


def contains(fields: FieldSet, path: Path) -> bool:
    for element in path:
        child = fields.get(element)
        if child is None:
            return False
        fields = child
    return is_member(fields)


def set_of(paths: Sequence[Path]) -> FieldSet:
    """A set with these members."""
    result: FieldSet = {}
    for path in paths:
        branch: FieldSet = MEMBER
        for element in reversed(path):
            branch = {element: branch}
        result = union(result, branch)
    return result


@lru_cache(maxsize=256)
def set_of_fields(paths: tuple[tuple[str, ...], ...]) -> FieldSet:
    """A set of struct fields named by plain paths such as `("metadata", "name")`."""
    return set_of([tuple(f"f:{name}" for name in path) for path in paths])


def parse(tree: Any) -> FieldSet:
    """Read a FieldsV1 tree that a client sent; `ValueError` if it is none.

    Steps of unknown kinds are dropped: a newer server may know them, this one cannot keep them true.
    """
    if not isinstance(tree, dict):
        if tree is None:
            return {}
        raise ValueError("fieldsV1 must be an object")
    result: FieldSet = {}
    for text, child in tree.items():
        if text == SELF:
            continue
        try:
            element = canonical_element(text)
        except UnknownElementError:
            continue
        below = parse(child)
        if below and SELF in child:
            below = {SELF: MEMBER, **below}
        result[element] = below
    return ordered(result)
