"""The scale subresource: one shape of replica counts for every kind that has some."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.local.plane.body import decode_body, decode_patch_body
from edgekeeper.local.plane.call import Call, meta_of
from edgekeeper.local.plane.errors import (
    bad_request,
    invalid,
    invalid_value,
    not_found,
    unsupported_media_type,
)
from edgekeeper.local.plane.patch import json_patch, merge_patch
from edgekeeper.local.plane.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from edgekeeper.local.plane.render import respond
from edgekeeper.local.plane.replicas import scale_of, with_replicas
from edgekeeper.local.plane.request import Response
from edgekeeper.local.plane.update import Change, write_existing


def get_scale(call: Call) -> Response:
    item = call.current()
    if item is None:
        raise not_found(call.resource.group, call.resource.plural, call.info.name)
    return respond(scale_of(call.resource, call.in_own_version(item)))


async def write_scale(call: Call) -> Response:
    """PUT and PATCH: only `spec.replicas` and the resourceVersion of the sent Scale count."""
    item = await write_existing(call, _scale_change(call))
    return respond(scale_of(call.resource, call.in_own_version(item)))


def _scale_change(call: Call) -> Change:
    media_type = call.request.header("content-type").partition(";")[0].strip()

    def change(live: JsonObject) -> JsonObject:
        wanted = _wanted_scale(call, media_type, scale_of(call.resource, live))
        replicas = dig(wanted, "spec", "replicas")
        if replicas is None:
            replicas = 0
        if not isinstance(replicas, int) or isinstance(replicas, bool):
            raise bad_request("spec.replicas must be an integer")
        if replicas < 0:
            problem = invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
            raise invalid("autoscaling", "Scale", call.info.name, [problem])
        new = with_replicas(call.resource, live, replicas)
        version = dig(wanted, "metadata", "resourceVersion")
        new["metadata"] = {**meta_of(live), "resourceVersion": version or meta_of(live)["resourceVersion"]}
        return new

    return change


def _wanted_scale(call: Call, media_type: str, current: JsonObject) -> JsonObject:
    if call.info.verb == "update":
        return decode_body(call.request.header("content-type"), call.request.body)
    patch = decode_patch_body(media_type, call.request.body)
    if media_type == JSON_PATCH:
        return json_patch(current, patch)
    if media_type in (MERGE_PATCH, STRATEGIC_PATCH):
        return merge_patch(current, patch)
    raise unsupported_media_type((JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH))
