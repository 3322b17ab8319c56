"""From the bytes of a body to an object the verbs can work with: decoded, of the right kind, pruned and defaulted."""

from __future__ import annotations

from functools import cache

import msgspec

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.field_error import invalid_value
from kubesim.plane.body import decode_body, duplicate_keys, unrecognized
from kubesim.plane.call import Call
from kubesim.plane.errors import StatusError, bad_request, cannot_be_handled, invalid, not_registered
from kubesim.plane.kinds.typed import TypedSchema
from kubesim.plane.resource import Resource

encode = msgspec.json.Encoder().encode
_EXTENSIONS = "apiextensions.k8s.io"
_TEXTS = frozenset({"name", "namespace", "generateName", "uid", "resourceVersion"})
_TEXT_MAPS = frozenset({"labels", "annotations"})


def decode_object(call: Call) -> JsonObject:
    """Read the body of a create or replace as an object of the call's resource."""
    request = call.request
    content_type = request.header("content-type")
    tree = decode_body(content_type, request.body, call.resource.kind, call.resource.api_version)
    # Most clients send what the encoder would write. Then no key can be there twice, and there is no need to look.
    complaints: list[str] = []
    if call.field_validation != "Ignore" and encode(tree) != request.body:
        complaints = duplicate_keys(content_type, request.body)
    _check_kind(call, tree)
    shape(call, tree, complaints)
    return tree


def shape(call: Call, tree: JsonObject, complaints: list[str] | None = None) -> None:
    """Bring a decoded object into the form its schema describes, in place.

    Unknown fields go; `fieldValidation` decides whether they are refused, warned of or passed over in silence.
    """
    resource = call.resource
    problem = malformed(resource, tree)
    if problem:
        raise bad_request(f"{_cannot_handle(resource)}: {problem}")
    metadata = tree["metadata"]
    # An empty list of owners of fields is a wish, to forget them, which would not survive the normal form.
    managed_fields = metadata.get("managedFields")
    for name in [name for name, value in metadata.items() if value is None or value in ({}, [])]:
        del metadata[name]
    unknown = [f'unknown field "{path}"' for path in resource.schema.prune(tree)]
    if resource.custom and not _is_plain(metadata):
        unknown += [f'unknown field "metadata.{path}"' for path in _metadata_schema().prune(metadata)]
    complain(call, [*(complaints or ()), *unknown])
    resource.schema.default(tree)
    resource.strategy.default(tree)
    if managed_fields is not None:
        metadata["managedFields"] = managed_fields


class StrictDecodingError(StatusError):
    """400: fields that are unknown or there twice, and a client that wanted to know."""

    def __init__(self, resource: Resource, complaints: list[str]) -> None:
        self.complaint = f"strict decoding error: {', '.join(complaints)}"
        super().__init__(400, "BadRequest", f"{_cannot_handle(resource)}: {self.complaint}")


def complain(call: Call, complaints: list[str]) -> None:
    """Refuse, warn or keep silent about fields that are unknown or there twice, as the client wished."""
    if not complaints or call.field_validation == "Ignore":
        return
    if call.field_validation == "Strict":
        raise StrictDecodingError(call.resource, complaints)
    for complaint in complaints:
        call.warn(complaint)


def malformed(resource: Resource, tree: JsonObject) -> str:
    """Say why an object cannot even be decoded: wrong types in a built-in kind, or in anybody's metadata."""
    if tree.get("metadata") is None:
        tree["metadata"] = {}
    if not resource.custom:
        mismatches = resource.schema.type_errors(tree)
    elif not isinstance(tree["metadata"], dict):
        return "json: cannot unmarshal into Go value of type v1.ObjectMeta"
    else:
        metadata = tree["metadata"]
        mismatches = () if _is_plain(metadata) else _metadata_schema().type_errors(metadata)
    return mismatches[0].message if mismatches else ""


def _is_plain(metadata: JsonObject) -> bool:
    """Whether metadata has nothing but names, labels and annotations, all of them well formed: most of it is so."""
    return all(
        type(value) is str if name in _TEXTS else name in _TEXT_MAPS and _is_text_map(value)
        for name, value in metadata.items()
    )


def _is_text_map(value: object) -> bool:
    return type(value) is dict and all(type(text) is str for text in value.values())


@cache
def _metadata_schema() -> TypedSchema:
    return TypedSchema("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")


def _check_kind(call: Call, tree: JsonObject) -> None:
    """The body must be of the kind that the path serves. Built-in kinds may leave it unsaid."""
    resource, body = call.resource, call.request.body
    if resource.custom and not tree.get("kind"):
        raise unrecognized(
            resource.kind, f"Object 'Kind' is missing in '{body.decode(errors='replace')}'", body
        )
    kind = tree.get("kind") or resource.kind
    api_version = tree.get("apiVersion") or resource.api_version
    tree["kind"], tree["apiVersion"] = kind, api_version
    if kind != resource.kind:
        raise _other_kind(resource, tree)
    if api_version != resource.api_version:
        if not resource.custom and not call.cluster.registry.find_kind(api_version, kind):
            raise cannot_be_handled(api_version, kind, resource.kind, not_registered(api_version, kind))
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version ({resource.api_version})"
        )


def _other_kind(resource: Resource, tree: JsonObject) -> StatusError:
    kind = tree["kind"]
    group, _, version = tree["apiVersion"].rpartition("/")
    if resource.custom:
        metadata = tree.get("metadata")
        name = metadata.get("name", "") if isinstance(metadata, dict) else ""
        return invalid(group, kind, name, [invalid_value("kind", kind, f"must be {resource.kind}")])
    if _EXTENSIONS in (group, resource.group):  # definitions are served by a server of their own
        why = not_registered(tree["apiVersion"], kind)
    else:
        package = resource.stored_as.group.partition(".")[0] or "core"
        why = f"converting ({version}.{kind}) to ({package}.{resource.kind}): unknown conversion"
    return cannot_be_handled(tree["apiVersion"], kind, resource.kind, why)


def _cannot_handle(resource: Resource) -> str:
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
