"""Server-side apply: laying a manager's configuration over an object.

    live, applied ──merge──▶ merged ──prune──▶ result ──compare with live──▶ conflicts, or new owners

An applier owns exactly what its last configuration said. What an earlier one said and this one leaves out is removed,
unless another manager owns it too. Changing a field that somebody else owns is a conflict unless forced.
"""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig
from kubesim.plane.apply.check import misfits
from kubesim.plane.apply.compare import compare, same
from kubesim.plane.apply.conflict import ApplyConflict, ApplyError, Conflict
from kubesim.plane.apply.fieldset import (
    FieldSet,
    difference,
    intersection,
    members,
    recursive_difference,
    set_of_fields,
    union,
)
from kubesim.plane.apply.footprint import claimed
from kubesim.plane.apply.lastapplied import KUBECTL, excused, refresh_annotation
from kubesim.plane.apply.managers import (
    Managers,
    Owned,
    Writer,
    read_managers,
    write_managers,
)
from kubesim.plane.apply.merge import merged, reconciled, with_named_fields, without
from kubesim.plane.apply.types import FieldTypes, Node, UnkeyedItemError
from kubesim.plane.apply.update import (
    Ignored,
    updated_managers,
    without_lost,
    without_system_fields,
)

_BEFORE_FIRST_APPLY = "before-first-apply"


def apply_configuration(
    types: FieldTypes,
    live: JsonObject | None,
    applied: JsonObject,
    writer: Writer,
    *,
    force: bool,
    ignored: Ignored = (),
) -> JsonObject:
    """Return `live` with the configuration applied, as a fresh object with its new `managedFields`.

    `live` is None where the object is to be created. Raises `ApplyError` for a configuration that cannot be merged
    and `ApplyConflict` for fields that others own.
    """
    _refuse_unfit(types, live, applied, writer)
    attempt = _Attempt(types, live or {}, applied, writer, ignored)
    try:
        result = attempt.merge(_managers_of(types, live, writer, ignored), force=force)
    except UnkeyedItemError as error:
        raise ApplyError(f"failed to create typed live object ({_identity(applied)}): {error}") from error
    if writer.manager == KUBECTL:
        refresh_annotation(result, applied)
    return result


def _refuse_unfit(types: FieldTypes, live: JsonObject | None, applied: JsonObject, writer: Writer) -> None:
    kind = dig(live, "kind") or applied.get("kind")
    if applied.get("apiVersion") != writer.api_version or applied.get("kind") != kind:
        raise ApplyError(f"invalid object type: {_group_version_kind(applied)}", code=400)
    if dig(applied, "metadata", "managedFields") is not None:
        raise ApplyError("metadata.managedFields must be nil", code=400)
    problem = misfits(types.root, applied)
    if problem:
        raise ApplyError(f"failed to create typed patch object ({_identity(applied)}): {problem}")


def _identity(applied: JsonObject) -> str:
    namespace, name = dig(applied, "metadata", "namespace") or "", dig(applied, "metadata", "name") or ""
    return f"{namespace}/{name}; {_group_version_kind(applied)}"


def _group_version_kind(applied: JsonObject) -> str:
    group, slash, version = str(applied.get("apiVersion", "")).rpartition("/")
    return f"{group}{slash or '/'}{version}, Kind={applied.get('kind', '')}"


def _managers_of(types: FieldTypes, live: JsonObject | None, writer: Writer, ignored: Ignored) -> Managers:
    """The managers of the live object; if it has none, one for all that was there before."""
    managers = read_managers(dig(live, "metadata", "managedFields"))
    if managers or live is None:
        return managers
    predecessor = Writer(_BEFORE_FIRST_APPLY, writer.api_version, writer.time, writer.subresource)
    return updated_managers(types, (None, live), {}, predecessor, ignored)


class _Attempt:
    """One configuration on its way into one object."""

    def __init__(
        self, types: FieldTypes, live: JsonObject, applied: JsonObject, writer: Writer, ignored: Ignored
    ) -> None:
        self._types = types
        self._live = live
        self._applied = applied
        self._writer = writer
        self._ignored = set_of_fields(tuple(ignored))

    def merge(self, managers: Managers, *, force: bool) -> JsonObject:
        """The merged object with its managers."""
        root, manager = self._types.root, self._writer.applying()
        others = {other: _reconciled(root, owned) for other, owned in managers.items() if other != manager}
        last = managers.get(manager)
        claim = recursive_difference(claimed(root, self._applied), self._ignored)
        result = merged(root, self._live, self._applied)
        if last is not None and last.fields:
            owned = _all_owned(others, claim)
            result = _pruned(root, result, reconciled(root, last.fields), owned)
        after = self._owners_after(result, others, force=force)
        own = without_system_fields(claim)
        if own:
            is_same = same(self._live, result)
            time = self._writer.time if not is_same else last.time if last is not None else ""
            after[manager] = Owned(own, self._writer.api_version, time)
        return _with_managers(result, after)

    def _owners_after(self, result: JsonObject, others: Managers, *, force: bool) -> Managers:
        """What the other managers keep once `result` replaces the live object."""
        root = self._types.root
        removed, changed = compare(root, self._live, result)
        removed = recursive_difference(removed, self._ignored)
        changed = recursive_difference(changed, self._ignored)
        conflicts = [
            Conflict(manager, path)
            for manager, owned in others.items()
            for path in members(intersection(owned.fields, changed))
        ]
        if conflicts and not force:
            self._excuse_or_refuse(conflicts)
        return without_lost(root, others, removed, changed)

    def _excuse_or_refuse(self, conflicts: list[Conflict]) -> None:
        """Raise the conflicts, except those with what kubectl itself applied before it applied on the server."""
        if self._writer.manager == KUBECTL:
            conflicts = excused(self._types, self._live, self._writer.api_version, conflicts)
        if conflicts:
            raise ApplyConflict(conflicts)


def _reconciled(root: Node, owned: Owned) -> Owned:
    return owned._replace(fields=reconciled(root, owned.fields))


def _all_owned(others: Managers, claim: FieldSet) -> FieldSet:
    for owned in others.values():
        claim = union(claim, owned.fields)
    return claim


def _pruned(root: Node, value: JsonObject, last: FieldSet, owned: FieldSet) -> JsonObject:
    """The merged value without what the applier's last configuration said and nobody says any more.

    Taking out what it owned takes along what others keep inside; that is put back, first what somebody owns, then
    what nobody owns and the applier never asked for.
    """
    last, owned = with_named_fields(root, last), with_named_fields(root, owned)
    present = with_named_fields(root, claimed(root, value))
    bare = with_named_fields(root, claimed(root, without(root, value, last)))
    kept = without(root, value, difference(present, union(bare, owned)))
    remaining = with_named_fields(root, claimed(root, kept))
    pruned: JsonObject = without(root, value, intersection(difference(present, remaining), last))
    return pruned


def _with_managers(result: JsonObject, managers: Managers) -> JsonObject:
    metadata = result.setdefault("metadata", {})
    metadata.pop("managedFields", None)
    if managers:
        metadata["managedFields"] = write_managers(managers)
    return result
