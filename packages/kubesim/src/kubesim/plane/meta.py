"""ObjectMeta: the rules that hold for every kind, and what the server alone may write there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from edgekeeper.core.json import JsonObject, dig_list, dig_object
from edgekeeper.schema.field_error import FieldError, forbidden_field, invalid_value, required, too_long
from kubesim.plane.labels import label_key_problems, label_value_problems, subdomain_problems

_STANDARD_FINALIZERS = frozenset({"foregroundDeletion", "kubernetes", "orphan"})
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_LONGEST_GENERATED = 63
_ANNOTATIONS_LIMIT = 256 * 1024


def name_problems_of_most_kinds(name: str) -> Sequence[str]:
    """Why a string is no DNS-1123 subdomain, in the words that are used for names."""
    return [problem.replace("253 bytes", "253 characters") for problem in subdomain_problems(name)]


def generate_name(prefix: str, random: Random) -> str:
    """A name from `metadata.generateName`: the prefix, shortened if need be, and five random letters."""
    suffix = "".join(random.choice(_SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))
    return prefix[: _LONGEST_GENERATED - _SUFFIX_LENGTH] + suffix


def validate_metadata(
    metadata: JsonObject,
    name_problems: Callable[[str], Sequence[str]] | None,
    *,
    cluster_scoped: bool = False,
    lenient_finalizers: bool = False,
) -> list[FieldError]:
    """Check what a client may write into metadata. Built-in kinds insist on qualified names of finalizers."""
    check_name = name_problems or name_problems_of_most_kinds
    errors: list[FieldError] = []
    prefix = metadata.get("generateName")
    if prefix:
        # The prefix may end in a dash or dot, since letters follow it.
        shown = prefix + "a" if prefix[-1] in "-." else prefix
        errors.extend(invalid_value("metadata.generateName", prefix, why) for why in check_name(shown))
    name = metadata.get("name")
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        errors.extend(invalid_value("metadata.name", name, why) for why in check_name(name))
    if cluster_scoped and metadata.get("namespace"):
        errors.append(forbidden_field("metadata.namespace", "not allowed on this type"))
    errors.extend(_label_errors(metadata))
    errors.extend(_annotation_errors(metadata))
    errors.extend(_owner_errors(metadata))
    errors.extend(_finalizer_errors(metadata, lenient=lenient_finalizers))
    return errors


def validate_metadata_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Check what an update may not do to metadata. Fields that are the server's own were carried over before."""
    errors: list[FieldError] = []
    if "deletionTimestamp" in old:
        known = set(dig_list(old, "finalizers"))
        added = [finalizer for finalizer in dig_list(new, "finalizers") if finalizer not in known]
        if added:
            listed = ", ".join(f'"{finalizer}"' for finalizer in sorted(added))
            why = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
            errors.append(forbidden_field("metadata.finalizers", why))
    errors.extend(
        invalid_value(f"metadata.{fixed}", new.get(fixed, ""), "field is immutable")
        for fixed in ("name", "namespace", "uid")
        if new.get(fixed, "") != old.get(fixed, "")
    )
    return errors


def carry_over(new: JsonObject, old: JsonObject) -> None:
    """Restore the fields of metadata that only the server writes, whatever the client sent."""
    for own in (
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "selfLink",
    ):
        if own in old:
            new[own] = old[own]
        else:
            new.pop(own, None)


def _label_errors(metadata: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in dig_object(metadata, "labels").items():
        errors += [invalid_value("metadata.labels", key, why) for why in label_key_problems(key)]
        errors += [invalid_value("metadata.labels", value, why) for why in label_value_problems(value)]
    return errors


def _annotation_errors(metadata: JsonObject) -> list[FieldError]:
    annotations = dig_object(metadata, "annotations")
    errors: list[FieldError] = [
        invalid_value("metadata.annotations", key, why)
        for key in annotations
        # Case does not matter for annotation keys, historically.
        for why in label_key_problems(key.lower())
    ]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _ANNOTATIONS_LIMIT:
        errors.append(too_long("metadata.annotations", _ANNOTATIONS_LIMIT))
    return errors


def _owner_errors(metadata: JsonObject) -> list[FieldError]:
    errors = []
    controllers = []
    for owner in dig_list(metadata, "ownerReferences"):
        path = "metadata.ownerReferences"
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                why = "version must not be empty" if name == "apiVersion" else "must not be empty"
                errors.append(invalid_value(f"{path}.{name}", owner.get(name, ""), why))
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            errors.append(invalid_value(path, owner, "/v1, Kind=Event is disallowed from being an owner"))
        if owner.get("controller"):
            controllers.append(owner)
    if len(controllers) > 1:
        shown = " and ".join(f"{owner.get('kind')}/{owner.get('name')}" for owner in controllers[:2])
        why = f'Only one reference can have Controller set to true. Found "true" in references for {shown}'
        errors.append(invalid_value("metadata.ownerReferences", metadata["ownerReferences"], why))
    return errors


def _finalizer_errors(metadata: JsonObject, *, lenient: bool) -> list[FieldError]:
    finalizers = dig_list(metadata, "finalizers")
    errors: list[FieldError] = []
    for index, finalizer in enumerate(finalizers):
        path = f"metadata.finalizers[{index}]"
        errors.extend(invalid_value(path, finalizer, why) for why in label_key_problems(finalizer))
        if not lenient and "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(invalid_value(path, finalizer, why))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        why = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(invalid_value("metadata.finalizers", finalizers, why))
    return errors
