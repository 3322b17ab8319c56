"""Replacing objects, and what every change of an existing object goes through.

    PUT      the body                                  ┐
    PATCH    the live object with a patch applied      ├─► the new object ─► rules ─► admission ─► commit
    apply    the live object merged with intentions    ┘

The new object is computed from the live one by a `Change`; a change that was computed from an object that somebody
else has replaced meanwhile is computed again, unless the client insisted on a resourceVersion. `patching.py` has the
changes that PATCH makes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import invalid_value
from kubesim.plane.apply import keep_times_if_unchanged, record_update
from kubesim.plane.call import Call, meta_of
from kubesim.plane.codec import decode_object, shape
from kubesim.plane.create import create_object, metadata_errors, reset_fields, writer_of
from kubesim.plane.errors import StatusError, bad_request, conflict, failure, invalid, not_found
from kubesim.plane.meta import carry_over, validate_metadata_update
from kubesim.plane.render import render_item
from kubesim.plane.request import Response
from kubesim.plane.store import Item

Change: TypeAlias = Callable[[JsonObject], JsonObject]
"""Computes the new object from the live one, which it must not alter."""

_ATTEMPTS = 5
STALE = "the object has been modified; please apply your changes to the latest version and try again"


async def replace(call: Call) -> Response:
    """PUT. A few kinds let it create what is not there; some insist on a resourceVersion."""
    body = decode_object(call)
    metadata = meta_of(body)
    check_identity(call, metadata)
    version = metadata.get("resourceVersion", "")
    if version and not (version.isascii() and version.isdigit()):
        raise failure(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if call.current() is None and call.resource.create_on_update and not call.subresource:
        metadata.pop("resourceVersion", None)
        return render_item(call, await create_object(call, body), 201)
    if not version and not call.resource.unconditional_update and call.current() is not None:
        problem = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(call.resource.group, call.resource.plural, call.info.name, [problem])
    return render_item(call, await write_existing(call, lambda _: {**body, "metadata": dict(metadata)}))


def nameless(call: Call) -> StatusError:
    return bad_request(
        f"the name of the object ({call.info.name} based on URL) was undeterminable: name must be provided"
    )


def check_identity(call: Call, metadata: JsonObject) -> None:
    """The object in the body must be the one that the path names."""
    name = metadata.get("name", "")
    if not name:
        raise nameless(call)
    if name != call.info.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.info.name})"
        )
    if (metadata.get("namespace") or call.namespace) != call.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


async def write_existing(call: Call, change: Change, *, applied: bool = False) -> Item:
    """Bring an existing object into its new form, computing again when somebody else was quicker."""
    for _ in range(_ATTEMPTS):
        item = call.current()
        if item is None:
            raise not_found(call.resource.group, call.resource.plural, call.info.name)
        live = call.in_own_version(item)
        new = change(live)
        insisted = _check_preconditions(call, new, live)
        new = await _admit(call, new, live, applied=applied)
        if call.current() is item:
            return _commit(call, new, live, item)
        if insisted:
            break
    raise conflict(call.resource.group, call.resource.plural, call.info.name, STALE)


def _check_preconditions(call: Call, new: JsonObject, live: JsonObject) -> bool:
    """Compare what the client insists on with what is; True when it insists on a resourceVersion."""
    wanted, actual = meta_of(new), meta_of(live)
    where = (call.resource.group, call.resource.plural, call.info.name)
    uid = wanted.get("uid")
    if uid and uid != actual.get("uid"):
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {actual.get('uid')}"
        raise conflict(*where, why)
    version = wanted.get("resourceVersion")
    if version and version != actual["resourceVersion"]:
        raise conflict(*where, STALE)
    return bool(version)


async def _admit(call: Call, new: JsonObject, live: JsonObject, *, applied: bool) -> JsonObject:
    """Everything between the client's wish and the object to be stored."""
    _restrict(call, new, live)
    if not applied:
        types = call.cluster.registry.field_types(call.resource)
        record_update(types, live, new, writer_of(call), reset_fields(call))
    mutated = await call.cluster.admission.mutate(call, "UPDATE", new, live)
    if mutated is not new:
        new = mutated
        shape(call, new)
        _restrict(call, new, live)
    if not call.subresource:
        call.resource.strategy.prepare_update(new, live)
    _count_generation(call, new, live)
    _validate(call, new, live)
    await call.cluster.admission.validate(call, "UPDATE", new, live)
    return new


def _restrict(call: Call, new: JsonObject, live: JsonObject) -> None:
    """Undo what this endpoint may not change: status on the object, everything else on its status."""
    if call.subresource == "status":
        managed = meta_of(new).get("managedFields")
        kept = {name: value for name, value in live.items() if name != "status"}
        status = new.get("status")
        new.clear()
        new.update(kept)
        new["metadata"] = dict(meta_of(live))
        if managed is not None:
            new["metadata"]["managedFields"] = managed
        if status is not None:
            new["status"] = status
        return
    if call.resource.status:
        new.pop("status", None)
        if "status" in live:
            new["status"] = live["status"]
    metadata = meta_of(new)
    carry_over(metadata, meta_of(live))
    metadata.setdefault("name", call.info.name)
    if call.resource.namespaced:
        metadata.setdefault("namespace", call.namespace)
    if "generateName" in meta_of(live):
        metadata.setdefault("generateName", meta_of(live)["generateName"])
    metadata["resourceVersion"] = meta_of(live)["resourceVersion"]


def _count_generation(call: Call, new: JsonObject, live: JsonObject) -> None:
    if not call.resource.tracks_generation or call.subresource == "status":
        return
    ignored = {"metadata", "status"} if call.resource.status else {"metadata"}
    changed = any(new.get(name) != live.get(name) for name in new.keys() | live.keys() if name not in ignored)
    if changed:
        meta_of(new)["generation"] = (
            dig(live, "metadata", "generation") + 1 if "generation" in meta_of(live) else 1
        )


def _validate(call: Call, new: JsonObject, live: JsonObject) -> None:
    resource = call.resource
    metadata = meta_of(new)
    errors = metadata_errors(call, metadata)
    errors += validate_metadata_update(metadata, meta_of(live))
    if call.subresource == "status":
        errors += resource.schema.validate_status(new, live)
        errors += resource.strategy.validate_status(new, live)
    else:
        errors += resource.schema.validate(new, live)
        errors += resource.strategy.validate(new, live)
    for error in errors:
        if error.tolerated:
            call.warn(str(error))
    if blamed := [error for error in errors if not error.tolerated]:
        raise call.invalid(call.info.name, blamed)


def _commit(call: Call, new: JsonObject, live: JsonObject, item: Item) -> Item:
    """Store the new object, unless nothing changed; finish a deletion that its last finalizer held up."""
    if call.dry_run:
        return Item.unsaved(call.in_stored_version(new))
    keep_times_if_unchanged(live, new)
    if new == live:
        return item
    store = call.cluster.store
    stored = call.in_stored_version(new)
    finished = "deletionTimestamp" in meta_of(new) and not meta_of(new).get("finalizers")
    if finished and not dig(new, "metadata", "deletionGracePeriodSeconds") and not _held_by_spec(call, new):
        # Watchers see one event, the deletion; it shows the object as its last update left it.
        return store.delete(call.resource.stored_as, item.key, stored)
    return store.put(call.resource.stored_as, stored)


def _held_by_spec(call: Call, new: JsonObject) -> bool:
    """A namespace stays until `spec.finalizers` is empty, whatever metadata says."""
    return call.resource.kind == "Namespace" and bool(dig(new, "spec", "finalizers"))


async def finalize_namespace(call: Call) -> Response:
    """PUT of a namespace's `finalize` subresource: only `spec.finalizers` counts."""
    body = decode_object(call)
    finalizers = dig_list(body, "spec", "finalizers")

    def change(live: JsonObject) -> JsonObject:
        spec = {**dig_object(live, "spec"), "finalizers": finalizers}
        if not finalizers:
            del spec["finalizers"]
        return {**live, "spec": spec, "metadata": dict(meta_of(live))}

    return render_item(call, await write_existing(call, change))
