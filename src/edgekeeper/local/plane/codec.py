"""From the bytes of a body to an object the verbs can work with: decoded, of the right kind, pruned and defaulted."""

from __future__ import annotations

import msgspec

from edgekeeper.core.json import JsonObject
from edgekeeper.local.plane.body import decode_body, duplicate_keys
from edgekeeper.local.plane.call import Call
from edgekeeper.local.plane.errors import bad_request
from edgekeeper.local.plane.meta import malformed_metadata

encode = msgspec.json.Encoder().encode


def decode_object(call: Call) -> JsonObject:
    """Read the body of a create or replace as an object of the call's resource."""
    request = call.request
    tree = decode_body(request.header("content-type"), request.body, call.resource.kind)
    repeated: list[str] = []
    # Most clients send what the encoder would write. Then no key can be there twice, and there is no need to look.
    if call.field_validation != "Ignore" and encode(tree) != request.body:
        repeated = duplicate_keys(request.header("content-type"), request.body)
    _check_kind(call, tree)
    shape(call, tree, repeated)
    return tree


def shape(call: Call, tree: JsonObject, complaints: list[str] | None = None) -> None:
    """Bring a decoded object into the form its schema describes, in place.

    Unknown fields go; `fieldValidation` decides whether they are refused, warned of or passed over in silence.
    """
    resource = call.resource
    metadata = tree.setdefault("metadata", {})
    if metadata is None:
        metadata = tree["metadata"] = {}
    problem = malformed_metadata(metadata)
    if problem:
        raise bad_request(f"{_cannot_handle(call)}: {problem}")
    for name in [name for name, value in metadata.items() if value is None]:
        del metadata[name]
    found = list(complaints or ())
    mistyped = () if resource.custom else resource.schema.type_errors(tree)
    if mistyped:
        raise bad_request(f"{_cannot_handle(call)}: {mistyped[0].message}")
    found += [f'unknown field "{path}"' for path in resource.schema.prune(tree)]
    if found and call.field_validation == "Strict":
        raise bad_request(f"{_cannot_handle(call)}: strict decoding error: {', '.join(found)}")
    if call.field_validation == "Warn":
        for complaint in found:
            call.warn(complaint)
    resource.schema.default(tree)
    resource.strategy.default(tree)


def _check_kind(call: Call, tree: JsonObject) -> None:
    resource = call.resource
    kind, api_version = tree.get("kind"), tree.get("apiVersion")
    if resource.custom and not kind:
        raise bad_request(f"Object 'Kind' is missing in '{call.request.body.decode(errors='replace')}'")
    if resource.custom and not api_version:
        raise bad_request(f"Object 'apiVersion' is missing in '{call.request.body.decode(errors='replace')}'")
    kind = tree.setdefault("kind", resource.kind)
    api_version = tree.setdefault("apiVersion", resource.api_version)
    if kind != resource.kind:
        named = f'{kind} in version "{str(api_version).rpartition("/")[2]}"'
        raise bad_request(f"{named} cannot be handled as a {resource.kind}")
    if api_version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version ({resource.api_version})"
        )


def _cannot_handle(call: Call) -> str:
    resource = call.resource
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
