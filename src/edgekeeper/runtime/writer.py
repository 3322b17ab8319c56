"""The write of a pass: turns what a reconciler wants into one request, or into none if nothing would change.

    write            request                                       not sent if
    ───────────────  ────────────────────────────────────────────  ─────────────────────────────────────────────
    StatusWrite      merge patch of /status                        the status is equal; the order of lists whose
                                                                   entries have a `type` is ignored
    MetadataWrite    merge patch of the object                     nothing in it would change
    ApplyWrite       server-side apply under the given manager     each field has its value already

Guarantees
    - Each request carries the resourceVersion that was read. Concurrent writes of others are never overwritten, and an
      object that was deleted, or deleted and created again, is never changed: patches get a 404 or a conflict, and an
      apply with a uid does not create an object.
    - A write that would change nothing is not sent.

Caveats
    - The store has no managedFields, so an apply is compared by value. None gives up the ownership of a field: the field
      is not applied, and the write is sent as long as the object has a value there.
    - A status cannot contain null: there, None means that the field is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, TypedDict, cast

import msgspec

from edgekeeper.core.errors import Conflict, PassError, Retry, Stall, Wait
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.core.outcome import ApplyWrite, MetadataWrite, StatusWrite, Write
from edgekeeper.kube.errors import (
    ApiError,
    FieldConflictError,
    InvalidError,
    NotFoundError,
    StaleError,
    ThrottledError,
)
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.runtime.finalizers import changed_finalizers

INVALID_OBJECT = "InvalidObject"
FIELD_CONFLICT = "FieldManagerConflict"
THROTTLED = "Throttled"
DEFAULT_THROTTLE = timedelta(seconds=5)
"""The requeue time after a 429 without `Retry-After`."""


class _Outer(TypedDict, total=False):
    """An object without its spec."""

    metadata: Any
    status: Any


_decode_all = msgspec.json.Decoder(dict).decode
_decode_outer = cast("Callable[[bytes], JsonObject]", msgspec.json.Decoder(_Outer).decode)


class WritingClient(Protocol):
    """The methods of `KubeClient` that a writer uses."""

    async def merge_patch_version(
        self, kind: Kind, key: Key, patch: JsonObject, *, subresource: str = ""
    ) -> str: ...

    async def apply(
        self, kind: Kind, key: Key, fields: JsonObject, *, manager: str, force: bool = True
    ) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class Patch:
    """The request of a write: with preconditions, and without fields that would not change."""

    body: JsonObject
    subresource: str = ""
    manager: str = ""
    """The field manager of a server-side apply; empty for a merge patch."""
    force: bool = True


class Writer:
    """Writes the objects of one kind."""

    def __init__(self, client: WritingClient, kind: Kind) -> None:
        self._client = client
        self._kind = kind

    async def perform(self, key: Key, obj: JsonObject, patch: Patch) -> bool:
        """Send a patch of the object that was read. Return whether the version that was read is outdated now.

        Raise a PassError on failure: `Conflict` if the object has changed since it was read, `Stall` if the write is
        invalid. An object that no longer exists needs no write.
        """
        try:
            version = await self._send(key, patch)
        except NotFoundError:
            return True
        except ApiError as error:
            raise as_pass_error(error) from error
        return bool(version != dig(obj, "metadata", "resourceVersion"))

    async def _send(self, key: Key, patch: Patch) -> str:
        """Send a patch and return the new resourceVersion."""
        if patch.manager:
            applied = await self._client.apply(
                self._kind, key, patch.body, manager=patch.manager, force=patch.force
            )
            version: str = dig(applied, "metadata", "resourceVersion")
            return version
        return await self._client.merge_patch_version(
            self._kind, key, patch.body, subresource=patch.subresource
        )


def as_pass_error(error: ApiError) -> PassError:
    """The error of a pass for an error of the API server."""
    match error:
        case FieldConflictError():
            return Stall(FIELD_CONFLICT, str(error))
        case StaleError():
            return Conflict(str(error))
        case InvalidError():
            return Stall(INVALID_OBJECT, str(error))
        case ThrottledError():
            return Wait(error.retry_after or DEFAULT_THROTTLE, THROTTLED, str(error))
        case _:
            return Retry(str(error), error.reason or type(error).__name__.removesuffix("Error"))


def read_for(write: Write | None, raw: bytes) -> JsonObject:
    """The parts of the object that `plan_write` needs: the spec, which is most of it, is decoded for an apply only."""
    return _decode_all(raw) if isinstance(write, ApplyWrite) else _decode_outer(raw)


def plan_write(obj: JsonObject, write: Write | None) -> Patch | None:
    """The patch that makes `obj` as `write` wants it, or None if nothing would change. Pure."""
    match write:
        case StatusWrite():
            return _status_patch(obj, write)
        case MetadataWrite():
            return _metadata_patch(obj, write)
        case ApplyWrite():
            return _apply_patch(obj, write)
        case None:
            return None


def _status_patch(obj: JsonObject, write: StatusWrite) -> Patch | None:
    changes = merge_difference(dig_object(obj, "status"), write.status)
    if not changes:
        return None
    return Patch({"metadata": _version_of(obj), "status": changes}, subresource="status")


def _metadata_patch(obj: JsonObject, write: MetadataWrite) -> Patch | None:
    metadata = dig_object(obj, "metadata")
    changes: JsonObject = {}
    finalizers = changed_finalizers(obj, write)
    if finalizers != (metadata.get("finalizers") or []):
        changes["finalizers"] = finalizers
    for field, wanted in (("labels", write.labels), ("annotations", write.annotations)):
        present = dig_object(metadata, field)
        different = {name: value for name, value in wanted.items() if present.get(name) != value}
        if different:
            changes[field] = different
    return Patch({"metadata": {**_version_of(obj), **changes}}) if changes else None


def _apply_patch(obj: JsonObject, write: ApplyWrite) -> Patch | None:
    if _covers(obj, write.fields):
        return None
    fields = _without_none(write.fields)
    metadata = {**dig_object(fields, "metadata"), **_version_of(obj), "uid": dig(obj, "metadata", "uid")}
    return Patch({**fields, "metadata": metadata}, manager=write.manager, force=write.force)


def _version_of(obj: JsonObject) -> JsonObject:
    return {"resourceVersion": dig(obj, "metadata", "resourceVersion")}


def merge_difference(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> JsonObject:
    """The merge patch that turns `present` into `wanted`; empty if they are equivalent."""
    changes: JsonObject = {}
    for name, value in wanted.items():
        current = present.get(name)
        if isinstance(value, dict) and isinstance(current, dict):
            if inner := merge_difference(current, value):
                changes[name] = inner
        elif not means_same(current, value):
            changes[name] = _without_none(value)
    changes |= {name: None for name, value in present.items() if value is not None and name not in wanted}
    return changes


def means_same(left: Any, right: Any) -> bool:
    """Whether two values are equivalent: fields of None, and the order of lists whose entries have types, are ignored."""
    if isinstance(left, dict) and isinstance(right, dict):
        return all(means_same(left.get(name), right.get(name)) for name in left.keys() | right.keys())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(means_same, _in_order(left), _in_order(right)))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _in_order(entries: list[Any]) -> list[Any]:
    """The entries sorted by `type` if each has a different one, as conditions do; else as they are."""
    types = [entry.get("type") if isinstance(entry, dict) else None for entry in entries]
    if all(isinstance(name, str) for name in types) and len(set(types)) == len(types):
        return [entry for _, entry in sorted(zip(types, entries, strict=True), key=lambda pair: str(pair[0]))]
    return entries


def _covers(present: Any, wanted: Any) -> bool:
    """Whether all values in `wanted` are the same in `present`; further fields are ignored."""
    if isinstance(wanted, dict):
        fields = present if isinstance(present, dict) else {}
        return all(_covers(fields.get(name), value) for name, value in wanted.items())
    return means_same(present, wanted)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_none(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_none(entry) for entry in value]
    return value
