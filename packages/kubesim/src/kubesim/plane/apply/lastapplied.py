"""Peace between the two ways kubectl applies.

Client-side apply keeps the last configuration in an annotation and owns its fields as an update. When the same person
turns to server-side apply, those fields are no conflict; and while the annotation is there it is kept up to date, so
that going back works too. Both concern only the manager that kubectl names itself by default.
"""

from __future__ import annotations

from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject, dig
from kubesim.plane.apply.check import misfits
from kubesim.plane.apply.compare import compare
from kubesim.plane.apply.conflict import Conflict
from kubesim.plane.apply.element import literal
from kubesim.plane.apply.fieldset import FieldSet, contains, difference
from kubesim.plane.apply.footprint import claimed
from kubesim.plane.apply.types import FieldTypes

KUBECTL = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

_MAX_ANNOTATIONS_SIZE = 256 * 1024


def excused(
    types: FieldTypes, live: JsonObject, api_version: str, conflicts: list[Conflict]
) -> list[Conflict]:
    """The conflicts that remain, without those over what client-side apply last set and nobody changed since."""
    allowed = _still_as_applied(types, live, api_version)
    return [conflict for conflict in conflicts if not contains(allowed, conflict.path)]


def _still_as_applied(types: FieldTypes, live: JsonObject, api_version: str) -> FieldSet:
    last = _last_applied(live)
    if dig(last, "apiVersion") != api_version or misfits(types.root, last) or misfits(types.root, live):
        return {}
    removed, changed = compare(types.root, last, live)
    return difference(difference(claimed(types.root, last), changed), removed)


def _last_applied(live: JsonObject) -> Any:
    try:
        return msgspec.json.decode(dig(live, "metadata", "annotations", ANNOTATION) or "{}")
    except msgspec.DecodeError:
        return {}


def refresh_annotation(result: JsonObject, applied: JsonObject) -> None:
    """Let the annotation, where there is one, say what has just been applied."""
    annotations = dig(result, "metadata", "annotations")
    if not dig(annotations, ANNOTATION):
        return
    annotations[ANNOTATION] = f"{literal(_without_annotation(applied))}\n"
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _MAX_ANNOTATIONS_SIZE:
        del annotations[ANNOTATION]


def _without_annotation(applied: JsonObject) -> JsonObject:
    annotations = dig(applied, "metadata", "annotations")
    if not isinstance(annotations, dict):
        return applied
    others = {key: value for key, value in annotations.items() if key != ANNOTATION}
    return {**applied, "metadata": {**applied["metadata"], "annotations": others}}
