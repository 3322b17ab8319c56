"""Delete: preconditions, propagation, finalizers, grace, and collections of it.

An object without finalizers goes at once. Otherwise it is marked (`deletionTimestamp`) and goes when the last
finalizer does. Foreground and orphan propagation are finalizers too, which the garbage collector (`gc.py`) removes
when the dependents are gone or have been let go.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from edgekeeper.core.clock import timestamp
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import FieldError, unsupported_value
from kubesim.plane.body import decode_body
from kubesim.plane.call import NAMESPACES, Call, meta_of
from kubesim.plane.errors import StatusError, bad_request, conflict, invalid, not_found
from kubesim.plane.read import Selection
from kubesim.plane.render import Page, render_item, render_page, respond
from kubesim.plane.request import Response
from kubesim.plane.store import Item

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_POLICIES = ("Foreground", "Background", "Orphan")
_DEFAULT_GRACE = 30
_LONGEST_GRACE = 2**63 // 10**9
"""Nearly three centuries: what the server can count in nanoseconds."""


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """What the client says about a deletion, from the body or, failing that, from the query."""

    grace: int | None = None
    policy: str = ""
    uid: str = ""
    revision: str = ""
    dry_run: bool = False


async def delete(call: Call) -> Response:
    """DELETE of one object."""
    item = call.current()
    if item is None:
        raise not_found(call.resource.group, call.resource.plural, call.info.name)
    options = read_options(call)
    gone, remains = await _delete_item(call, item, options)
    if remains or call.resource.shows_deleted:
        return render_item(call, gone)
    return respond(_success(call, item), media_type=call.negotiated().media_type)


async def delete_collection(call: Call) -> Response:
    """DELETE of everything that the selectors choose, one by one, as if each had been named."""
    options = read_options(call)
    selection = Selection(call)
    chosen = [item for item in call.collection.ordered() if selection.matches(item)]
    page = Page(chosen, call.cluster.store.revision)
    for item in chosen:
        current = call.collection.items.get(item.key)
        if current is not None:
            await _delete_if_there(call, current, options)
    return render_page(call, page)


async def _delete_if_there(call: Call, item: Item, options: DeleteOptions) -> None:
    try:
        await _delete_item(call, item, options)
    except StatusError as error:
        # Somebody else was quicker, which comes to the same.
        if error.code != 404:
            raise


async def _delete_item(call: Call, item: Item, options: DeleteOptions) -> tuple[Item, bool]:
    """Delete or mark one item; return it as it is now, and whether it is still there."""
    live = call.in_own_version(item)
    _check_preconditions(call, live, options, item.key[1])
    await call.cluster.admission.validate(call, "DELETE", None, live)
    current = call.collection.items.get(item.key)
    if current is None:
        raise not_found(call.resource.group, call.resource.plural, item.key[1])
    tree = current.decode()
    # While webhooks were asked, another object may have taken the name.
    _check_preconditions(call, tree, options, item.key[1])
    changed = _mark(call, tree, options)
    if options.dry_run:
        return Item.unsaved(tree), not _may_go(call, tree)
    store = call.cluster.store
    if _may_go(call, tree):
        # What ends gracefully shows when it ended; everything else is just gone.
        last = tree if _ends_gracefully(call) else None
        return store.delete(call.resource.stored_as, item.key, last), False
    return (store.put(call.resource.stored_as, tree) if changed else current), True


def _mark(call: Call, tree: JsonObject, options: DeleteOptions) -> bool:
    """Write down that the object is to go, and what has to happen before; True when that changed anything."""
    metadata = meta_of(tree)
    finalizers = dig_list(metadata, "finalizers")
    wanted = _finalizers_for(options.policy, finalizers)
    changed = wanted != finalizers
    if changed:
        metadata["finalizers"] = wanted
        if not wanted:
            del metadata["finalizers"]
    grace = _grace(call, tree, options)
    if "deletionTimestamp" not in metadata:
        moment = call.cluster.now() + timedelta(seconds=min(grace, _LONGEST_GRACE))
        metadata["deletionTimestamp"] = timestamp(moment)
        metadata["deletionGracePeriodSeconds"] = grace
        if "generation" in metadata:
            metadata["generation"] += 1
        call.resource.strategy.prepare_delete(tree)
        return True
    shorter = grace < metadata.get("deletionGracePeriodSeconds", 0)
    if shorter:
        metadata["deletionGracePeriodSeconds"] = grace
    return changed or shorter


def _may_go(call: Call, tree: JsonObject) -> bool:
    metadata = meta_of(tree)
    if metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds"):
        return False
    return not (call.resource.stored_as == NAMESPACES and dig(tree, "spec", "finalizers"))


def _finalizers_for(policy: str, present: list[str]) -> list[str]:
    """Turn a propagation policy into the finalizer that carries it out."""
    if not policy:
        return present
    kept = [finalizer for finalizer in present if finalizer not in (FOREGROUND, ORPHAN)]
    if policy == "Foreground":
        kept.append(FOREGROUND)
    elif policy == "Orphan":
        kept.append(ORPHAN)
    return kept


def _grace(call: Call, tree: JsonObject, options: DeleteOptions) -> int:
    """Only pods on a node end gracefully; everything else goes at once."""
    if not _ends_gracefully(call) or not dig(tree, "spec", "nodeName"):
        return 0
    if dig(tree, "status", "phase") in ("Succeeded", "Failed"):
        return 0
    if options.grace is not None:
        return options.grace
    declared = dig(tree, "spec", "terminationGracePeriodSeconds")
    return declared if isinstance(declared, int) else _DEFAULT_GRACE


def _ends_gracefully(call: Call) -> bool:
    return call.resource.kind == "Pod" and not call.resource.group


def _check_preconditions(call: Call, live: JsonObject, options: DeleteOptions, name: str) -> None:
    metadata = meta_of(live)
    for label, wanted, actual, fate in (
        ("UID", options.uid, metadata.get("uid", ""), "deleted and then recreated"),
        ("ResourceVersion", options.revision, metadata["resourceVersion"], "modified"),
    ):
        if wanted and wanted != actual:
            why = (
                f"the {label} in the precondition ({wanted}) does not match the {label} in record ({actual}). "
                f"The object might have been {fate}"
            )
            raise conflict(call.resource.group, call.resource.kind, name, why)


def read_options(call: Call) -> DeleteOptions:
    """The options of a deletion: those of the body, or, where there is none, those of the query."""
    options = _options_of_body(call) if call.request.body else _options_of_query(call)
    policy, orphan = options.get("propagationPolicy"), options.get("orphanDependents")
    errors = _option_errors(options, policy, orphan)
    if errors:
        raise invalid("meta.k8s.io", "DeleteOptions", "", errors)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    grace = options.get("gracePeriodSeconds")
    if grace is not None and not isinstance(grace, int):
        raise bad_request("gracePeriodSeconds must be an integer")
    preconditions = dig_object(options, "preconditions")
    return DeleteOptions(
        grace=None if grace is None else max(grace, 0),
        policy=policy or "",
        uid=preconditions.get("uid") or "",
        revision=preconditions.get("resourceVersion") or "",
        dry_run=bool(dig_list(options, "dryRun")),
    )


def _options_of_body(call: Call) -> JsonObject:
    options = decode_body(call.request.header("content-type"), call.request.body)
    if options.get("kind") not in (None, "DeleteOptions"):
        raise bad_request(f"the body of a deletion must be DeleteOptions, not {options.get('kind')}")
    return options


def _options_of_query(call: Call) -> JsonObject:
    options: JsonObject = {"dryRun": list(call.request.query.get("dryRun", []))}
    if call.request.parameter("propagationPolicy"):
        options["propagationPolicy"] = call.request.parameter("propagationPolicy")
    if call.request.parameter("orphanDependents"):
        options["orphanDependents"] = call.flag("orphanDependents")
    if call.request.parameter("gracePeriodSeconds"):
        options["gracePeriodSeconds"] = call.number("gracePeriodSeconds")
    return options


def _option_errors(body: JsonObject, policy: Any, orphan: Any) -> list[FieldError]:
    errors = []
    if policy and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(FieldError("propagationPolicy", "Invalid value", why, policy))
    if policy and policy not in _POLICIES:
        supported = (*_POLICIES, "nil")
        errors.append(unsupported_value("propagationPolicy", policy, supported))
    wrong = [value for value in dig_list(body, "dryRun") if value != "All"]
    if wrong:
        errors.append(unsupported_value("dryRun", wrong, ["All"]))
    return errors


def _success(call: Call, item: Item) -> JsonObject:
    resource = call.resource
    details: JsonObject = {"name": item.key[1], "kind": resource.plural, "uid": item.uid}
    if resource.group:
        details["group"] = resource.group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
