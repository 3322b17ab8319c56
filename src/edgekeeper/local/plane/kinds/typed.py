"""The schema of a built-in kind: like that of a custom resource, plus what decoding into a Go type does.

kube-apiserver decodes built-in objects into structs, fills in zero values, and leaves it to hand-written rules to ask
for what is missing. So here no field is required by the schema itself; see `rules`.

A schema is compiled when the first object of its kind arrives, because a server starts with some fifty kinds and most
of them are never used.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from edgekeeper.core.json import JsonObject
from edgekeeper.local.plane.errors import FieldError
from edgekeeper.local.plane.kinds.definitions import definitions
from edgekeeper.local.plane.resource import Schema
from edgekeeper.local.plane.schema import compile_schema


class TypedSchema:
    """The lazily compiled schema of one definition."""

    __slots__ = ("_compiled", "source")

    def __init__(self, definition: str) -> None:
        self.source: JsonObject = definitions()[definition]
        self._compiled: Schema | None = None

    def _schema(self) -> Schema:
        if self._compiled is None:
            self._compiled = compile_schema(without_required(self.source), definitions=_lenient_definitions())
        return self._compiled

    def prune(self, value: JsonObject) -> list[str]:
        return self._schema().prune(value)

    def default(self, value: JsonObject) -> None:
        self._schema().default(value)

    def validate(self, value: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
        return self._schema().validate(value, old)


@cache
def _lenient_definitions() -> dict[str, JsonObject]:
    return {name: without_required(schema) for name, schema in definitions().items()}


def without_required(schema: JsonObject) -> JsonObject:
    """Return a copy that demands no field. Only whole types name required fields, so one level is enough."""
    copy: dict[str, Any] = dict(schema)
    copy.pop("required", None)
    return copy
