"""Ownership after a create, replace or patch: whoever changes a field owns it.

    live, new ──compare──▶ removed, changed ──▶ every manager loses both, the writer gains what changed

The clients of these verbs know nothing of ownership. They usually send back the `managedFields` they were given, or
none at all, and both mean the same; only an explicit empty list clears them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgekeeper.core.json import JsonObject, dig
from kubesim.plane.apply.compare import compare, same
from kubesim.plane.apply.fieldset import (
    FieldSet,
    difference,
    recursive_difference,
    set_of_fields,
    union,
)
from kubesim.plane.apply.managers import (
    Managers,
    Owned,
    Writer,
    cap_updaters,
    is_reset,
    parse_managers,
    read_managers,
    write_managers,
)
from kubesim.plane.apply.merge import reconciled
from kubesim.plane.apply.metadata import SYSTEM_FIELDS
from kubesim.plane.apply.types import FieldTypes, Node, UnkeyedItemError

Ignored = Sequence[tuple[str, ...]]
"""Fields that a request cannot write, such as `("status",)`: the server resets them, so nobody comes to own them."""

_SYSTEM = set_of_fields(SYSTEM_FIELDS)


def record_update(
    types: FieldTypes, live: JsonObject | None, new: JsonObject, writer: Writer, ignored: Ignored = ()
) -> None:
    """Set `metadata.managedFields` of `new`, which is about to replace `live`, in place.

    An object that nobody tracks stays untracked until it is applied to. An object whose lists cannot be told item
    from item loses its tracking; validation refuses it for the same reason.
    """
    managers = _known_managers(types, live, new, writer)
    metadata = new.setdefault("metadata", {})
    metadata.pop("managedFields", None)
    if not managers and dig(live, "metadata", "uid"):
        return
    try:
        managers = updated_managers(types, (live, new), managers, writer, ignored)
    except UnkeyedItemError:
        return
    if managers:
        metadata["managedFields"] = write_managers(managers)


def _known_managers(types: FieldTypes, live: JsonObject | None, new: JsonObject, writer: Writer) -> Managers:
    """The managers before the change: as the client states them, else as they are stored."""
    before = dig(live, "metadata", "managedFields")
    stated: Any = None if writer.subresource else dig(new, "metadata", "managedFields")
    if is_reset(stated, builtin=types.builtin):
        return {}
    if stated and stated != before:
        try:
            return parse_managers(stated)
        except ValueError:
            # Whatever a client made of them, it cannot have meant to corrupt them.
            return read_managers(before)
    return read_managers(before)


def updated_managers(
    types: FieldTypes,
    change: tuple[JsonObject | None, JsonObject],
    managers: Managers,
    writer: Writer,
    ignored: Ignored,
) -> Managers:
    """The managers after `writer` replaced the first object of `change` by the second."""
    live, new = change
    removed, changed = compare(types.root, types.unset if live is None else live, new)
    if ignored:
        reset = set_of_fields(tuple(ignored))
        removed, changed = recursive_difference(removed, reset), recursive_difference(changed, reset)
    result = without_lost(types.root, managers, removed, changed)
    own = difference(changed, _SYSTEM)
    if own:
        manager = writer.updating()
        previous = result.get(manager)
        fields = own if previous is None else union(own, previous.fields)
        result[manager] = Owned(fields, writer.api_version, writer.time)
        cap_updaters(result)
    return result


def without_lost(root: Node, managers: Managers, removed: FieldSet, changed: FieldSet) -> Managers:
    """The managers without the fields that vanished or that somebody else set, and without those left with nothing."""
    result: Managers = {}
    for manager, owned in managers.items():
        fields = reconciled(root, owned.fields)
        fields = difference(difference(fields, changed), removed)
        if fields:
            result[manager] = owned._replace(fields=fields) if fields is not owned.fields else owned
    return result


def without_system_fields(fields: FieldSet) -> FieldSet:
    """What of a set can be owned at all."""
    return difference(fields, _SYSTEM)


def keep_times_if_unchanged(live: JsonObject, new: JsonObject) -> None:
    """Give the entries of `new` their old times back where nothing but times differs, so that no write is needed.

    To be called right before storing: only then, after defaulting and normalization, is it known what changed.
    """
    before, after = dig(live, "metadata", "managedFields"), dig(new, "metadata", "managedFields")
    if not before or not after or len(before) != len(after) or before == after:
        return
    timeless_live = {**live, "metadata": {**live["metadata"], "managedFields": _without_times(before)}}
    timeless_new = {**new, "metadata": {**new["metadata"], "managedFields": _without_times(after)}}
    if same(timeless_live, timeless_new):
        new["metadata"]["managedFields"] = before


def _without_times(entries: list[JsonObject]) -> list[JsonObject]:
    return [{key: value for key, value in entry.items() if key != "time"} for entry in entries]
