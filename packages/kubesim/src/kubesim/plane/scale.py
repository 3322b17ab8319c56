"""The scale subresource: one shape of replica counts for every kind that has some."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.schema.field_error import invalid_value
from kubesim.plane.body import decode_body, decode_patch_body
from kubesim.plane.call import Call, meta_of
from kubesim.plane.errors import bad_request, invalid, not_found
from kubesim.plane.patch import json_patch, merge_patch
from kubesim.plane.patch.golang import json_name
from kubesim.plane.patching import APPLY_PATCH, JSON_PATCH, merged_with, patch_type
from kubesim.plane.render import render_tree
from kubesim.plane.replicas import scale_of, with_replicas
from kubesim.plane.request import Response
from kubesim.plane.update import Change, check_identity, write_existing


def get_scale(call: Call) -> Response:
    item = call.current()
    if item is None:
        raise not_found(call.resource.group, call.resource.plural, call.info.name)
    return render_tree(call, scale_of(call.resource, call.in_own_version(item)))


async def write_scale(call: Call) -> Response:
    """PUT and PATCH: only `spec.replicas` and the resourceVersion of the sent Scale count."""
    if call.info.verb == "patch" and patch_type(call) == APPLY_PATCH:
        call.require_manager()
        applied = _applied_parent(call)
        item = await write_existing(call, lambda live: merged_with(call, live, applied), applied=True)
    else:
        item = await write_existing(call, _scale_change(call))
    return render_tree(call, scale_of(call.resource, call.in_own_version(item)))


def _scale_change(call: Call) -> Change:
    def change(live: JsonObject) -> JsonObject:
        wanted = _wanted_scale(call, scale_of(call.resource, live))
        check_identity(call, dig_object(wanted, "metadata"))
        new = with_replicas(call.resource, live, _replicas(call, wanted))
        version = dig(wanted, "metadata", "resourceVersion")
        new["metadata"] = {**meta_of(live), "resourceVersion": version or meta_of(live)["resourceVersion"]}
        return new

    return change


def _wanted_scale(call: Call, current: JsonObject) -> JsonObject:
    if call.info.verb == "update":
        return decode_body(call.request.header("content-type"), call.request.body, "Scale", "autoscaling/v1")
    media_type = patch_type(call)
    patch = decode_patch_body(media_type, call.request.body)
    return json_patch(current, patch) if media_type == JSON_PATCH else merge_patch(current, patch)


def _applied_parent(call: Call) -> JsonObject:
    """An applied Scale as a configuration of the object that it scales."""
    scale: JsonObject = decode_patch_body(APPLY_PATCH, call.request.body)
    identity = {"name": call.info.name, **dig_object(scale, "metadata")}
    check_identity(call, identity)
    parent: JsonObject = {
        "apiVersion": call.resource.api_version,
        "kind": call.resource.kind,
        "metadata": identity,
    }
    if dig(scale, "spec", "replicas") is None:
        return parent
    return with_replicas(call.resource, parent, _replicas(call, scale))


def _replicas(call: Call, scale: JsonObject) -> int:
    replicas = dig(scale, "spec", "replicas")
    if replicas is None:
        return 0
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        field = "Go struct field ScaleSpec.spec.replicas of type int32"
        why = f"json: cannot unmarshal {json_name(replicas)} into {field}"
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {why}')
    if replicas < 0:
        problem = invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid("autoscaling", "Scale", call.info.name, [problem])
    return replicas
