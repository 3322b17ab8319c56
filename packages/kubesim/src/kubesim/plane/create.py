"""Create: names, the server's own metadata, admission, validation, ownership, commit."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.schema.field_error import FieldError
from kubesim.plane.apply import Writer, record_update
from kubesim.plane.call import Call, meta_of
from kubesim.plane.codec import decode_object
from kubesim.plane.errors import already_exists, bad_request, conflict, failure
from kubesim.plane.meta import generate_name, validate_metadata
from kubesim.plane.render import render_item
from kubesim.plane.request import Response
from kubesim.plane.store import Item

_NAME_ATTEMPTS = 8
"""How often a generated name that is taken is drawn again."""


async def create(call: Call) -> Response:
    """POST to a collection."""
    return render_item(call, await create_object(call, decode_object(call)), 201)


async def create_object(call: Call, tree: JsonObject, *, applied: bool = False) -> Item:
    """Create `tree`, also where an apply of a missing object leads to a creation."""
    _settle_namespace(call, tree)
    metadata = meta_of(tree)
    if metadata.get("resourceVersion"):
        raise failure("resourceVersion should not be set on objects to be created")
    generated = _settle_name(call, metadata)
    if not applied:
        types = call.cluster.registry.field_types(call.resource)
        record_update(types, call.resource.schema.zero(), tree, writer_of(call), reset_fields(call))
    mutated = await call.cluster.admission.mutate(call, "CREATE", tree, None)
    if mutated is not tree:
        tree = mutated
        call.resource.schema.prune(tree)
        call.resource.schema.default(tree)
        call.resource.strategy.default(tree)
    # Ownership is what the client set: the server and webhooks add theirs only after it was recorded.
    _reset(call, tree)
    validate_new(call, tree)
    await call.cluster.admission.validate(call, "CREATE", tree, None)
    return _commit(call, tree, generated=generated)


def writer_of(call: Call) -> Writer:
    # What was changed through the scale subresource bears no time; why is the real server's secret.
    time = "" if call.subresource == "scale" else call.cluster.timestamp()
    return Writer(call.field_manager, call.resource.api_version, time, call.subresource)


def reset_fields(call: Call) -> tuple[tuple[str, ...], ...]:
    """The fields that a write through this endpoint cannot set, and so cannot own."""
    if call.subresource == "status":
        return (("spec",), ("metadata",)) if call.resource.custom else (("spec",),)
    return (("status",),) if call.resource.status else ()


def _settle_namespace(call: Call, tree: JsonObject) -> None:
    metadata = meta_of(tree)
    if not call.resource.namespaced:
        return
    if metadata.setdefault("namespace", call.namespace) != call.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _settle_name(call: Call, metadata: JsonObject) -> bool:
    """Choose a name where `generateName` asks for one; True when the server chose it."""
    if metadata.get("name") or not metadata.get("generateName"):
        return False
    for _ in range(_NAME_ATTEMPTS):
        metadata["name"] = generate_name(metadata["generateName"], call.cluster.random)
        if (metadata.get("namespace", ""), metadata["name"]) not in call.collection.items:
            break
    return True


def _reset(call: Call, tree: JsonObject) -> None:
    """Set what only the server may decide about a new object."""
    metadata = meta_of(tree)
    for own in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(own, None)
    metadata["uid"] = call.cluster.new_uid()
    metadata["creationTimestamp"] = call.cluster.timestamp()
    if call.resource.tracks_generation:
        metadata["generation"] = 1
    else:
        metadata.pop("generation", None)
    if call.resource.status:
        tree.pop("status", None)
    call.resource.strategy.prepare_create(tree)


def metadata_errors(call: Call, metadata: JsonObject) -> list[FieldError]:
    resource = call.resource
    return validate_metadata(
        metadata,
        resource.strategy.validate_name,
        cluster_scoped=not resource.namespaced,
        lenient_finalizers=resource.custom or resource.kind == "CustomResourceDefinition",
    )


def validate_new(call: Call, tree: JsonObject) -> None:
    resource = call.resource
    errors = metadata_errors(call, meta_of(tree))
    errors += resource.schema.validate(tree)
    errors += resource.strategy.validate(tree, None)
    if errors:
        raise call.invalid(dig(tree, "metadata", "name") or "", errors)


def _commit(call: Call, tree: JsonObject, *, generated: bool) -> Item:
    metadata = meta_of(tree)
    resource = call.resource
    if (metadata.get("namespace", ""), metadata["name"]) in call.collection.items:
        if generated:
            why = "the server was not able to generate a unique name for the object"
            raise conflict(resource.group, resource.plural, metadata["name"], why)
        raise already_exists(resource.group, resource.plural, metadata["name"])
    if call.dry_run:
        return Item.unsaved(call.in_stored_version(tree))
    return call.cluster.store.put(resource.stored_as, call.in_stored_version(tree))
