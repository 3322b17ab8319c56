"""What the annotations of an object ask for, read without any code of the operator."""

from __future__ import annotations

from collections.abc import Mapping

from edgekeeper.core.annotations import ADOPT, DELETION_POLICY, DRIFT_POLICY, PAUSED, PREFIX
from edgekeeper.core.json import JsonObject, dig, dig_object

VALID: Mapping[str, tuple[str, ...]] = {
    PAUSED: ("true", "false"),
    ADOPT: ("true", "false"),
    DELETION_POLICY: ("delete", "orphan"),
    DRIFT_POLICY: ("enforce", "report", "suspend"),
}


def annotation(obj: JsonObject, name: str) -> str:
    return str(dig(obj, "metadata", "annotations", name) or "").lower()


def is_misspelt(obj: JsonObject) -> bool:
    """Is an annotation of ours none that there is? The keys that are drawn are all close to one of ours."""
    annotations = dig_object(obj, "metadata", "annotations")
    named = {name: value for name, value in annotations.items() if name.startswith(PREFIX)}
    return any(str(value).lower() not in VALID.get(name, ()) for name, value in named.items())


def is_paused(obj: JsonObject) -> bool:
    return annotation(obj, PAUSED) == "true" and not is_misspelt(obj)


def is_left_alone(obj: JsonObject) -> bool:
    """Is nothing to be done for the object?"""
    return is_misspelt(obj) or is_paused(obj)


def is_hands_off(obj: JsonObject) -> bool:
    """Is drift of the object left as it is?"""
    return annotation(obj, DRIFT_POLICY) in ("report", "suspend")
