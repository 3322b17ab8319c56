"""Converts typed structs into structural schemas, the subset of OpenAPI that CustomResourceDefinitions use.

A field without a default is required. Limits, patterns and descriptions are set with `msgspec.Meta`; its
`extra_json_schema` takes what is specific to Kubernetes: formats, `x-kubernetes-…` and defaults that the server applies.
Validation rules of a struct are listed in its `__rules__`.

    class Certificate(Struct):
        __rules__ = (Rule("self.arn.startsWith('arn:')", "arn must be an ARN"),)
        arn: Annotated[str, Meta(description="…", min_length=1)]

    type in Python               schema
    ───────────────────────────  ──────────────────────────────────────────────────────────
    struct                       object with properties
    dict[str, T]                 object with additionalProperties
    dict[str, Any]               object with x-kubernetes-preserve-unknown-fields
    Any                          x-kubernetes-preserve-unknown-fields
    list[T]                      array
    str, int, float, bool        string, integer (int64), number (double), boolean
    Literal, StrEnum             string, or integer, with an enum
    datetime                     string of format date-time
    T | None                     the schema of T: optional fields are absent, never null

A type without a structural schema raises UnstructuralTypeError when the definition is generated.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import inspect

from edgekeeper.core.json import JsonObject


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL validation rule of a struct, a list or a string, which the API server evaluates."""

    rule: str
    message: str
    message_expression: str = ""
    """A CEL expression for the message. If its evaluation fails, the server uses `message`."""

    def as_schema(self) -> JsonObject:
        written = {"message": self.message, "rule": self.rule}
        if self.message_expression:
            written["messageExpression"] = self.message_expression
        return written


def admission(*rules: Rule, **bounds: Any) -> JsonObject:
    """Rules and limits that only the API server checks, for `extra_json_schema`.

    A limit in `msgspec.Meta` is also checked when an object is decoded. Objects that were stored before a limit was
    introduced must still be decoded, so new limits are set here.
    """
    written = {"x-kubernetes-validations": [rule.as_schema() for rule in rules]} if rules else {}
    return {**bounds, **written}


class UnstructuralTypeError(TypeError):
    """The type has no structural schema."""


def schema_of(struct: type[msgspec.Struct]) -> JsonObject:
    """The structural schema of a struct. Raise UnstructuralTypeError if it has none."""
    try:
        return _schema(inspect.type_info(struct))
    except RecursionError as error:
        raise UnstructuralTypeError(
            f"{struct.__name__} is recursive, which structural schemas do not support"
        ) from error


_FREE_FORM: JsonObject = {"x-kubernetes-preserve-unknown-fields": True}


def _schema(info: inspect.Type) -> JsonObject:
    match info:
        case inspect.Metadata():
            return {**_schema(info.type), **(info.extra_json_schema or {})}
        case inspect.StructType():
            return _object(info)
        case inspect.UnionType():
            return _union(info)
        case inspect.DictType():
            return _map(info)
        case inspect.AnyType():
            return dict(_FREE_FORM)
        case inspect.ListType():
            bounds = _present(minItems=info.min_length, maxItems=info.max_length)
            return {"type": "array", "items": _schema(info.item_type), **bounds}
    return _scalar(info)


def _scalar(info: inspect.Type) -> JsonObject:
    match info:
        case inspect.StrType():
            bounds = _present(minLength=info.min_length, maxLength=info.max_length, pattern=info.pattern)
            return {"type": "string", **bounds}
        case inspect.IntType():
            return {"type": "integer", "format": "int64", **_range(info)}
        case inspect.FloatType():
            return {"type": "number", "format": "double", **_range(info)}
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.LiteralType():
            return _enum(info.values)
        case inspect.EnumType():
            return _enum([member.value for member in info.cls])
        case inspect.DateTimeType():
            return {"type": "string", "format": "date-time"}
    raise UnstructuralTypeError(f"{info!r} has no structural schema")


def _object(info: inspect.StructType) -> JsonObject:
    schema: JsonObject = {"type": "object"}
    if documentation := info.cls.__doc__:
        schema["description"] = documentation
    schema["properties"] = {field.encode_name: _schema(field.type) for field in info.fields}
    if required := sorted(field.encode_name for field in info.fields if field.required):
        schema["required"] = required
    rules: tuple[Rule, ...] = getattr(info.cls, "__rules__", ())
    if rules:
        schema["x-kubernetes-validations"] = [rule.as_schema() for rule in rules]
    return schema


def _map(info: inspect.DictType) -> JsonObject:
    if not isinstance(info.key_type, inspect.StrType):
        raise UnstructuralTypeError(f"the keys of a map must be strings, not {info.key_type!r}")
    bounds = _present(minProperties=info.min_length, maxProperties=info.max_length)
    if isinstance(info.value_type, inspect.AnyType):
        return {"type": "object", **_FREE_FORM, **bounds}
    return {"type": "object", "additionalProperties": _schema(info.value_type), **bounds}


def _union(info: inspect.UnionType) -> JsonObject:
    values = [member for member in info.types if not isinstance(member, inspect.NoneType)]
    if len(values) != 1:
        raise UnstructuralTypeError(f"a field must be of one type, not of any of {values!r}")
    return _schema(values[0])


def _enum(values: Collection[Any]) -> JsonObject:
    for type_, name in ((str, "string"), (int, "integer")):
        if all(type(value) is type_ for value in values):
            return {"type": name, "enum": sorted(values)}
    raise UnstructuralTypeError(f"the values {list(values)!r} are neither all strings nor all integers")


def _range(info: inspect.IntType | inspect.FloatType) -> JsonObject:
    """The limits of a number. In Kubernetes `exclusiveMinimum` is a boolean that modifies `minimum`."""
    least = _present(minimum=info.ge) or _exclusive("Minimum", info.gt)
    most = _present(maximum=info.le) or _exclusive("Maximum", info.lt)
    return {**least, **most, **_present(multipleOf=info.multiple_of)}


def _exclusive(bound: str, value: float | None) -> JsonObject:
    return {} if value is None else {bound.lower(): value, f"exclusive{bound}": True}


def _present(**keywords: Any) -> JsonObject:
    return {name: value for name, value in keywords.items() if value is not None}
