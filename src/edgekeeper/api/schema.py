"""From typed structs to structural schemas, the dialect of OpenAPI that CustomResourceDefinitions are written in.

A field is required where the struct has no default for it. Limits, patterns and descriptions are `msgspec.Meta` on the
type; what only Kubernetes knows stands in `extra_json_schema` there: formats, `x-kubernetes-…`, defaults that the server
shall fill in. A struct brings its own rules as `__rules__`, pairs of an expression and a message.

    class Certificate(Struct):
        __rules__ = (Rule("self.arn.startsWith('arn:')", "arn must be an ARN"),)
        arn: Annotated[str, Meta(description="…", min_length=1)]

Optional fields are absent, never null: `T | None` is the schema of T. Anything that has no structural schema is refused
when the definition is made, long before a server would refuse it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import inspect

from edgekeeper.core.json import JsonObject


@dataclass(frozen=True, slots=True)
class Rule:
    """A validation rule of a struct, a list or a string, as text: the server evaluates it."""

    rule: str
    message: str
    message_expression: str = ""
    """Makes the message out of the value. `message` stands in for it where it fails."""

    def as_schema(self) -> JsonObject:
        written = {"message": self.message, "rule": self.rule}
        if self.message_expression:
            written["messageExpression"] = self.message_expression
        return written


def admission(*rules: Rule, **bounds: Any) -> JsonObject:
    """Rules and bounds that only the server applies, for `extra_json_schema`.

    A bound in `msgspec.Meta` holds when an object is decoded as well. What was stored before there was a bound must
    still be decoded, so a new bound stands here.
    """
    written = {"x-kubernetes-validations": [rule.as_schema() for rule in rules]} if rules else {}
    return {**bounds, **written}


class UnstructuralTypeError(TypeError):
    """A type that no structural schema describes."""


def schema_of(struct: type[msgspec.Struct]) -> JsonObject:
    """The structural schema of a struct."""
    return _schema(inspect.type_info(struct))


def _schema(info: inspect.Type) -> JsonObject:
    match info:
        case inspect.Metadata():
            return {**_schema(info.type), **(info.extra_json_schema or {})}
        case inspect.StructType():
            return _object(info)
        case inspect.UnionType():
            return _schema(_only_value(info))
        case inspect.ListType():
            bounds = _present(minItems=info.min_length, maxItems=info.max_length)
            return {"type": "array", "items": _schema(info.item_type), **bounds}
        case inspect.StrType():
            bounds = _present(minLength=info.min_length, maxLength=info.max_length, pattern=info.pattern)
            return {"type": "string", **bounds}
        case inspect.IntType():
            return {"type": "integer", "format": "int64", **_present(minimum=info.ge, maximum=info.le)}
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.LiteralType():
            return {"type": "string", "enum": sorted(info.values)}
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


def _only_value(info: inspect.UnionType) -> inspect.Type:
    values = [member for member in info.types if not isinstance(member, inspect.NoneType)]
    if len(values) != 1:
        raise UnstructuralTypeError(f"a field must be of one type, not of any of {values!r}")
    return values[0]


def _present(**keywords: Any) -> JsonObject:
    return {name: value for name, value in keywords.items() if value is not None}
