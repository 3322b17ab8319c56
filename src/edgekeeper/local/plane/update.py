"""Replace, patch and apply: three ways to say what an object should become, and one way to make it so.

    PUT    the body                                  ┐
    PATCH  the live object with a patch applied      ├─► the new object ─► rules ─► admission ─► commit
    APPLY  the live object merged with intentions    ┘

The new object is computed from the live one by a `Change`; a change that was computed from an object that somebody
else has replaced meanwhile is computed again, unless the client insisted on a resourceVersion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.local.plane.apply import ApplyConflict, ApplyError, apply_configuration, keep_times_if_unchanged, record_update
from edgekeeper.local.plane.body import decode_patch_body
from edgekeeper.local.plane.call import Call, meta_of
from edgekeeper.local.plane.codec import decode_object, shape
from edgekeeper.local.plane.create import create_object, reset_fields, writer_of
from edgekeeper.local.plane.errors import (
    StatusError,
    bad_request,
    conflict,
    not_found,
    unsupported_media_type,
)
from edgekeeper.local.plane.meta import carry_over, validate_metadata, validate_metadata_update
from edgekeeper.local.plane.patch import json_patch, merge_patch, strategic_merge_patch
from edgekeeper.local.plane.render import render_item
from edgekeeper.local.plane.request import Response
from edgekeeper.local.plane.store import Item

Change: TypeAlias = Callable[[JsonObject], JsonObject]
"""Computes the new object from the live one, which it must not alter."""

_ATTEMPTS = 5
STALE = "the object has been modified; please apply your changes to the latest version and try again"

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


async def replace(call: Call) -> Response:
    """PUT. An object that does not exist is created where its kind allows that: custom resources do not."""
    body = decode_object(call)
    name = meta_of(body).get("name", "")
    if name != call.info.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.info.name})"
        )
    item = await write_existing(call, lambda _: {**body, "metadata": dict(meta_of(body))})
    return render_item(call, item)


async def patch(call: Call) -> Response:
    """PATCH of any type."""
    media_type = call.request.header("content-type").partition(";")[0].strip()
    if media_type.startswith("application/apply-patch"):
        return await _apply(call)
    patch_body = decode_patch_body(media_type, call.request.body)
    item = await write_existing(call, _patch_change(call, media_type, patch_body))
    return render_item(call, item)


def _patch_change(call: Call, media_type: str, patch_body: object) -> Change:
    resource = call.resource
    if media_type == JSON_PATCH:
        compute: Change = lambda live: json_patch(live, patch_body)  # noqa: E731
    elif media_type == MERGE_PATCH:
        compute = lambda live: merge_patch(live, patch_body)  # noqa: E731
    elif media_type == STRATEGIC_PATCH and not resource.custom:
        definitions = call.cluster.registry.definitions
        compute = lambda live: strategic_merge_patch(live, patch_body, resource.schema.source, definitions)  # noqa: E731
    else:
        supported = _PATCH_TYPES if resource.custom else (*_PATCH_TYPES[:2], STRATEGIC_PATCH, APPLY_PATCH)
        raise unsupported_media_type(supported)

    def change(live: JsonObject) -> JsonObject:
        new = compute(live)
        if new.get("kind") != resource.kind or new.get("apiVersion") != resource.api_version:
            raise bad_request("the patch may not change apiVersion or kind")
        shape(call, new)
        return new

    return change


async def _apply(call: Call) -> Response:
    """Server-side apply: create what is missing, merge into what is there."""
    call.require_manager()
    applied = decode_object_for_apply(call)
    if call.current() is None:
        if call.subresource:
            raise not_found(call.resource.group, call.resource.plural, call.info.name)
        if meta_of(applied).get("uid"):
            why = f"Precondition failed: UID in precondition: {meta_of(applied)['uid']}, UID in object meta: "
            raise conflict(call.resource.group, call.resource.plural, call.info.name, why)
        merged = _merge(call, None, applied)
        shape(call, merged)
        return render_item(call, await create_object(call, merged, applied=True), 201)
    item = await write_existing(call, lambda live: _merged_change(call, live, applied), applied=True)
    return render_item(call, item)


def decode_object_for_apply(call: Call) -> JsonObject:
    body = decode_patch_body("application/yaml", call.request.body)
    if not isinstance(body, dict):
        raise bad_request("error decoding YAML: the applied configuration must be an object")
    resource = call.resource
    if body.get("apiVersion") != resource.api_version or body.get("kind") != resource.kind:
        raise bad_request(
            f"incorrect type in apply patch: expected {resource.api_version}, Kind={resource.kind}, "
            f"got {body.get('apiVersion')}, Kind={body.get('kind')}"
        )
    metadata = body.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise bad_request("metadata must be an object")
    name = metadata.setdefault("name", call.info.name)
    if name != call.info.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.info.name})"
        )
    unknown = resource.schema.prune(body)
    complaints = [f'unknown field "{path}"' for path in unknown]
    if complaints and call.field_validation == "Strict":
        raise bad_request(f"strict decoding error: {', '.join(complaints)}")
    if call.field_validation == "Warn":
        for complaint in complaints:
            call.warn(complaint)
    return body


def _merged_change(call: Call, live: JsonObject, applied: JsonObject) -> JsonObject:
    merged = _merge(call, live, applied)
    shape(call, merged)
    return merged


def _merge(call: Call, live: JsonObject | None, applied: JsonObject) -> JsonObject:
    types = call.cluster.registry.field_types(call.resource)
    try:
        return apply_configuration(
            types, live, applied, writer_of(call), force=call.flag("force"), ignored=reset_fields(call)
        )
    except ApplyConflict as error:
        raise StatusError(409, "Conflict", error.message, details={"causes": error.causes}) from error
    except ApplyError as error:
        raise bad_request(str(error)) from error


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
    mutated = await call.cluster.admission.mutate(call, "UPDATE", new, live)
    if mutated is not new:
        new = mutated
        shape(call, new)
        _restrict(call, new, live)
    types = call.cluster.registry.field_types(call.resource)
    if not applied:
        record_update(types, live, new, writer_of(call), reset_fields(call))
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
    errors = validate_metadata(
        metadata, resource.strategy.validate_name, cluster_scoped=not resource.namespaced
    )
    errors += validate_metadata_update(metadata, meta_of(live))
    errors += resource.schema.validate(new, live)
    if call.subresource != "status":
        errors += resource.strategy.validate(new, live)
    if errors:
        raise call.invalid(call.info.name, errors)


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
        return {**live, "spec": spec, "metadata": dict(meta_of(live))}

    return render_item(call, await write_existing(call, change))
