"""May this be the schema of a CustomResourceDefinition?

    shape          every place has a type, and junctors only narrow what is declared outside of them
    default_check  defaults are valid values of the schema they stand in
    dialect        only the keywords of OpenAPI that Kubernetes supports, and its own ones where they make sense
    rules          expressions that compile and cannot become too expensive

They are asked as the real server asks them: defaults only once the shape is right, the shape only of schemas whose
keywords it can represent at all, and rules only where all of that is right.
"""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject, dig_list, dig_object
from edgekeeper.schema.default_check import check_defaults
from edgekeeper.schema.dialect import check_dialect
from edgekeeper.schema.field_error import FieldError, forbidden_field, invalid_value
from edgekeeper.schema.rules import RuleCompiler
from edgekeeper.schema.shape import check_shape

_UNREPRESENTABLE = (
    "id",
    "$schema",
    "$ref",
    "patternProperties",
    "dependencies",
    "additionalItems",
    "definitions",
)
_ALLOWED_AT_ROOT = (
    *("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"),
    *(
        "MaxLength",
        "MinLength",
        "Pattern",
        "MaxItems",
        "MinItems",
        "UniqueItems",
        "MultipleOf",
        "Required",
        "Items",
    ),
    *("Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"),
)
"""The Go names of what may stand beside the status in a schema; the message lists them so."""

_GO_NAMES = {
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}


def check_structural(
    source: JsonObject,
    path: str,
    *,
    status: bool = False,
    rules: RuleCompiler | None = None,
    seen_before: bool = False,
) -> list[FieldError]:
    """Return why kube-apiserver would refuse `source`, found at `path`.

    `status`: the kind has a status subresource. `rules` knows about validation rules; without it they are not looked
    into. `seen_before`: the schema was accepted earlier, so that its rules may be more expensive than new ones.
    """
    errors = _check_root_beside_status(source, path) if status else []
    if source.get("nullable"):
        errors.append(forbidden_field(f"{path}.nullable", "nullable cannot be true at the root"))
    represented = not _is_unrepresentable(source)
    misshapen: list[FieldError] = []
    if represented:
        misshapen = check_shape(source, path) or check_defaults(source, path, rules)
    broken = check_dialect(source, path)
    errors += misshapen + broken
    if rules is not None and represented and not misshapen:
        errors += rules.definition_errors(source, path, broken, lenient=seen_before)
    return errors


def _check_root_beside_status(source: JsonObject, path: str) -> list[FieldError]:
    """Writes of the status validate it alone, so nothing outside of it may restrict it."""
    declared = source.get("type")
    if declared and declared != "object":
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [invalid_value(f"{path}.type", declared, detail)]
    if all(
        _go_name(key) in _ALLOWED_AT_ROOT
        for key, value in source.items()
        if value not in (None, False, "", [], {})
    ):
        return []
    names = " ".join(_ALLOWED_AT_ROOT)
    detail = (
        f"only [{names}] fields are allowed at the root of the schema if the status subresource is enabled"
    )
    return [invalid_value(path, source, detail)]


def _go_name(keyword: str) -> str:
    return _GO_NAMES.get(keyword, keyword[:1].upper() + keyword[1:])


def _is_unrepresentable(schema: Any) -> bool:
    """Keywords that are refused by name; the shape of a schema that has them is not worth discussing."""
    if not isinstance(schema, dict):
        return False
    if any(schema.get(keyword) for keyword in _UNREPRESENTABLE) or isinstance(schema.get("items"), list):
        return True
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return True
    inner = [schema.get("items"), schema.get("not"), schema.get("additionalProperties")]
    inner += dig_object(schema, "properties").values()
    inner += [branch for junctor in ("allOf", "anyOf", "oneOf") for branch in dig_list(schema, junctor)]
    return any(_is_unrepresentable(child) for child in inner)
