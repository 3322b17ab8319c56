"""The generated CustomResourceDefinition in the cluster: what is to be done about it, and whether it is served. Pure.

    absent                          create it
    not kro's, or of another RGD    refuse, in kro's words
    different, as we wrote it       the definition has changed: update it, unless instances could break
    different, and changed since    somebody edited it: restore it
    equal                           wait until it is established, then it is ready

What we wrote last is remembered as a hash in an annotation, so an edit by others is told from a change of the definition.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.compatibility import compare_definitions
from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.controllers.composition.revision_objects import ownership_labels
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object

APPLIED_HASH: Final = "edgekeeper.io/definition-hash"
_KEPT_WHOLE: Final = frozenset({"default", "enum", "example"})
"""Keywords whose values are users' data: they are compared as they are."""
_DROPPED_IF_EMPTY: Final = frozenset(
    {"description", "format", "priority", "properties", "required", "additionalPrinterColumns"}
)
"""Fields that the server does not store if they are empty."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The ResourceGraphDefinition that a definition is generated for."""

    name: str
    uid: str
    allow_breaking: bool = False


@dataclass(frozen=True, slots=True)
class CrdPlan:
    """What is to be done about a definition. At most one of these is set; none of them if it is as it should be."""

    create: JsonObject | None = None
    patch: JsonObject | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class CrdState:
    """Whether the server serves the kind of a definition."""

    established: bool = False
    kind: str = ""
    """The accepted kind."""
    problem: str = ""
    """Why it never will be, as it is."""


def owned_definition(generated: JsonObject, owner: Owner) -> JsonObject:
    """A generated definition with the marks of its owner, as it is to be in the cluster."""
    metadata = dig_object(generated, "metadata")
    marks = {
        **dig_object(metadata, "labels"),
        **ownership_labels(),
        labels.DEFINITION_ID: owner.uid,
        labels.DEFINITION_NAME: owner.name,
    }
    annotations = {**dig_object(metadata, "annotations"), APPLIED_HASH: _hash_of(generated)}
    return {
        **generated,
        "metadata": {"name": metadata["name"], "labels": marks, "annotations": annotations},
    }


def plan_crd(
    live: JsonObject | None, wanted: JsonObject, owner: Owner, *, is_applied: bool = False
) -> CrdPlan:
    """Compare the definition in the cluster with what `owned_definition` returned.

    `is_applied` says that its spec is what the server made of exactly this, so that it need not be compared.
    """
    name = wanted["metadata"]["name"]
    if live is None:
        return CrdPlan(create=wanted)
    if refusal := ownership_refusal(live, owner.name):
        return CrdPlan(refusal=f"failed to update CRD {name}: {refusal}")
    changes = _patch(live, wanted, is_applied=is_applied)
    if not changes:
        return CrdPlan()
    if not _was_ours(live, wanted) and not owner.allow_breaking:
        try:
            report = compare_definitions(live, wanted)
        except RejectedError as error:
            return CrdPlan(refusal=f"failed to check schema compatibility: {error.message}")
        if report.breaking:
            return CrdPlan(refusal=f"cannot update CRD {name}: breaking changes detected: {report}")
    return CrdPlan(patch={**changes, "metadata": {**dig_object(changes, "metadata"), **_version_of(live)}})


def ownership_refusal(live: JsonObject, definition: str) -> str:
    """Why a definition in the cluster may not be changed for a ResourceGraphDefinition; empty if it may."""
    marks = dig_object(live, "metadata", "labels")
    if marks.get(labels.OWNED) != "true":
        return "CRD already exists and is not owned by KRO"
    if (other := marks.get(labels.DEFINITION_NAME)) != definition:
        return f"CRD is owned by another ResourceGraphDefinition {other}"
    return ""


def crd_state(live: JsonObject) -> CrdState:
    """What the server says about a definition."""
    conditions = {dig(one, "type"): one for one in dig_list(live, "status", "conditions")}
    accepted = conditions.get("NamesAccepted")
    if dig(accepted, "status") == "False":
        return CrdState(problem=f"names are not accepted: {dig(accepted, 'message')}")
    established = dig(conditions.get("Established"), "status") == "True"
    terminating = dig(conditions.get("Terminating"), "status") == "True"
    kind = dig(live, "status", "acceptedNames", "kind")
    return CrdState(established and not terminating, str(kind or ""))


def is_generated_for(live: JsonObject | None, definition: str) -> bool:
    return live is not None and not ownership_refusal(live, definition)


def _was_ours(live: JsonObject, wanted: JsonObject) -> bool:
    """Whether what is wanted is what was written last, so that every difference was made by others."""
    annotations = dig_object(live, "metadata", "annotations")
    return annotations.get(APPLIED_HASH) == applied_hash(wanted)


def applied_hash(wanted: JsonObject) -> str:
    """Equal for generated definitions that say the same."""
    return str(wanted["metadata"]["annotations"][APPLIED_HASH])


def installed_hash(live: JsonObject | None) -> str:
    """The same of the definition that was written last into the cluster; empty if that is not known."""
    return str(dig_object(live, "metadata", "annotations").get(APPLIED_HASH, ""))


def _hash_of(generated: JsonObject) -> str:
    text = json.dumps(_plain(generated["spec"]), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _patch(live: JsonObject, wanted: JsonObject, *, is_applied: bool) -> JsonObject:
    """The merge patch that makes the definition as wanted; empty if it is."""
    changes: JsonObject = {}
    metadata = _differences(dig_object(live, "metadata"), wanted["metadata"], ("labels", "annotations"))
    if metadata:
        changes["metadata"] = metadata
    if is_applied:
        return changes
    spec, present = wanted["spec"], dig_object(live, "spec")
    changed: JsonObject = {}
    if names := _name_differences(dig_object(present, "names"), spec["names"]):
        changed["names"] = names
    if _plain(present.get("versions")) != _plain(spec["versions"]):
        changed["versions"] = spec["versions"]
    return {**changes, "spec": changed} if changed else changes


def _differences(present: JsonObject, wanted: JsonObject, fields: tuple[str, ...]) -> JsonObject:
    """The labels and annotations that are missing or other than wanted. Those of others stay."""
    found: JsonObject = {}
    for field in fields:
        at = dig_object(present, field)
        different = {name: value for name, value in wanted[field].items() if at.get(name) != value}
        if different:
            found[field] = different
    return found


def _name_differences(present: JsonObject, wanted: JsonObject) -> JsonObject:
    different = {name: value for name, value in wanted.items() if present.get(name) != value}
    gone = {name: None for name in ("shortNames", "categories") if present.get(name) and name not in wanted}
    return {**different, **gone}


def _version_of(live: JsonObject) -> JsonObject:
    return {"resourceVersion": dig(live, "metadata", "resourceVersion")}


def _plain(value: Any) -> Any:
    """As the server stores it: without optional fields that are empty."""
    if isinstance(value, Mapping):
        return {
            name: inner if name in _KEPT_WHOLE else _plain(inner)
            for name, inner in value.items()
            if inner is not None and not (name in _DROPPED_IF_EMPTY and not inner)
        }
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value
