"""PATCH: JSON patch, merge patch, strategic merge patch and server-side apply, each as a change of the live object."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.schema.field_error import FieldError, forbidden_field, invalid_value
from kubesim.plane.apply import apply_configuration
from kubesim.plane.body import decode_patch_body, duplicate_keys
from kubesim.plane.call import Call, meta_of
from kubesim.plane.codec import StrictDecodingError, complain, malformed, shape
from kubesim.plane.create import create_object, reset_fields, writer_of
from kubesim.plane.errors import (
    StatusError,
    bad_request,
    conflict,
    invalid,
    not_found,
    unsupported_media_type,
)
from kubesim.plane.patch import json_patch, json_patch_complaints, merge_patch, strategic_merge_patch
from kubesim.plane.render import render_item
from kubesim.plane.request import Response
from kubesim.plane.update import Change, check_identity, nameless, write_existing

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_FOR_CUSTOM_KINDS = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
_FOR_BUILT_IN_KINDS = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)


async def patch(call: Call) -> Response:
    """PATCH of any type."""
    media_type = patch_type(call)
    if media_type == APPLY_PATCH:
        return await _apply(call)
    if call.flag("force"):
        problem = forbidden_field("force", "may not be specified for non-apply patch")
        raise call.invalid_options([problem])
    body = decode_patch_body(media_type, call.request.body)
    complaints = duplicate_keys(media_type, call.request.body)
    if media_type == JSON_PATCH:
        complaints = [f"json patch {one}" for one in complaints] + json_patch_complaints(body)
    return render_item(call, await write_existing(call, _patched(call, media_type, body, complaints)))


def patch_type(call: Call) -> str:
    """The kind of patch, as far as the resource takes it."""
    media_type = call.request.header("content-type").partition(";")[0].strip().lower()
    if call.resource.custom:
        if media_type not in _FOR_CUSTOM_KINDS:
            raise unsupported_media_type(_FOR_CUSTOM_KINDS)
    elif media_type not in _FOR_BUILT_IN_KINDS:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    return media_type


def _patched(call: Call, media_type: str, body: Any, complaints: list[str]) -> Change:
    resource = call.resource
    compute: Change
    if media_type == JSON_PATCH:
        compute = partial(json_patch, patch=body)
    elif media_type == MERGE_PATCH:
        compute = partial(merge_patch, patch=body)
    else:
        definitions = call.cluster.registry.definitions
        compute = partial(
            strategic_merge_patch, patch=body, schema=resource.schema.source, definitions=definitions
        )

    def change(live: JsonObject) -> JsonObject:
        new = compute(live)
        _check_patched(call, new)
        try:
            shape(call, new, complaints)
        except StrictDecodingError as error:
            raise _unusable(new, error.complaint) from error
        metadata = meta_of(new)
        check_identity(call, metadata)
        if metadata.get("uid", "") != meta_of(live)["uid"]:
            problem = invalid_value("metadata.uid", metadata.get("uid", ""), "field is immutable")
            raise call.invalid(call.info.name, [problem])
        if metadata.get("resourceVersion") == meta_of(live)["resourceVersion"]:
            # It came from the live object: the client did not insist on it.
            del metadata["resourceVersion"]
        return new

    return change


def _check_patched(call: Call, new: JsonObject) -> None:
    """A patch must lead to an object of the same kind that can be decoded at all."""
    resource = call.resource
    if not dig(new, "metadata", "name"):
        raise nameless(call)
    problem = malformed(resource, new)
    if not problem and (new.get("kind"), new.get("apiVersion")) != (resource.kind, resource.api_version):
        problem = f"unable to decode {new.get('apiVersion')} {new.get('kind')} as a {resource.kind}"
    if problem:
        raise _unusable(new, problem)


def _unusable(new: JsonObject, problem: str) -> StatusError:
    """422 about the patch as a whole: what it leads to is no object that the server could keep."""
    shown = msgspec.json.encode(new, order="sorted").decode()
    return invalid("", "", "", [invalid_value("patch", shown, problem)])


async def _apply(call: Call) -> Response:
    """Server-side apply: create what is missing, merge into what is there."""
    call.require_manager()
    applied = _applied(call)
    if call.current() is not None:
        item = await write_existing(call, lambda live: merged_with(call, live, applied), applied=True)
        return render_item(call, item)
    if call.subresource:
        raise not_found(call.resource.group, call.resource.plural, call.info.name)
    uid = meta_of(applied).get("uid")
    if uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(call.resource.group, call.resource.plural, call.info.name, why)
    return render_item(call, await create_object(call, merged_with(call, None, applied), applied=True), 201)


def _applied(call: Call) -> JsonObject:
    """The applied configuration, with the identity that the path gives it."""
    configuration: JsonObject = decode_patch_body(APPLY_PATCH, call.request.body)
    complain(call, duplicate_keys(APPLY_PATCH, call.request.body))
    metadata = configuration.setdefault("metadata", {})
    if isinstance(metadata, dict):
        metadata.setdefault("name", call.info.name)
        if call.namespace:
            metadata.setdefault("namespace", call.namespace)
        check_identity(call, metadata)
    return configuration


def merged_with(call: Call, live: JsonObject | None, applied: JsonObject) -> JsonObject:
    types = call.cluster.registry.field_types(call.resource)
    if (applied.get("kind"), applied.get("apiVersion")) != (call.resource.kind, call.resource.api_version):
        group, _, version = str(applied.get("apiVersion") or "").rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={applied.get('kind') or ''}")
    merged = apply_configuration(
        types, live, applied, writer_of(call), force=call.flag("force"), ignored=reset_fields(call)
    )
    nulls = _refused_nulls(call, merged)
    shape(call, merged)
    if nulls:
        raise call.invalid(call.info.name, nulls)
    return merged


def _may_have_nulls(body: bytes) -> bool:
    """In JSON they are spelled out; YAML has many spellings."""
    return b"null" in body or not body.lstrip().startswith(b"{")


def _refused_nulls(call: Call, merged: JsonObject) -> list[FieldError]:
    """Nulls of a custom resource that are no values. Other requests pass over them; here they are validated."""
    if not call.resource.custom or not _may_have_nulls(call.request.body):
        return []
    tree = deepcopy(merged)
    call.resource.schema.default(tree)
    return [error for error in call.resource.schema.validate(tree) if error.value == "null"]
