"""The schemas of the kinds that the server serves, built-in ones and custom ones, as it publishes them (OpenAPI v3).

    schemas = OpenApiSchemas(client, clock)
    schema = await schemas.schema_of(DEPLOYMENT)        # a tree without references, much like a structural schema

A document holds the schemas of one group and version. The index of documents carries a hash for each, so a document is
fetched again only when it has changed.

What is published is brought into the form that definitions of custom resources are written in:

    $ref, also within allOf          the referenced schema, overridden by the keywords next to $ref
    a schema that contains itself    a free-form object (x-kubernetes-preserve-unknown-fields) at the recursion
    an object without properties, or a value without a type    free-form as well
    a number or a string             x-kubernetes-int-or-string

Trees are shared by all callers, and must not be changed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from datetime import timedelta
from typing import Any

from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import Kind

LIFETIME = timedelta(minutes=1)
_INDEX = "/openapi/v3"
_MOST_DOCUMENTS = 8
"""Documents that are kept: those of built-in groups take megabytes."""
_FREE_FORM: JsonObject = {"x-kubernetes-preserve-unknown-fields": True}


class OpenApiSchemas:
    """Schemas of one server."""

    def __init__(self, client: KubeClient, clock: Clock, lifetime: timedelta = LIFETIME) -> None:
        self._client = client
        self._clock = clock
        self._lifetime = lifetime.total_seconds()
        self._index: JsonObject = {}
        self._asked_at: float | None = None
        self._documents: OrderedDict[str, SchemaDocument] = OrderedDict()
        """By address, which has the hash; the one that was used last is the last."""
        self._asking = asyncio.Lock()

    async def schema_of(self, kind: Kind) -> JsonObject | None:
        """The schema of a kind, or None where the server publishes none: it does not serve it, or not yet."""
        async with self._asking:
            await self._refresh()
            place = f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"
            address = dig(self._index, place, "serverRelativeURL")
            document = await self._document(address) if isinstance(address, str) else None
        return document.schema_of(kind) if document is not None else None

    def invalidate(self) -> None:
        """Look for changes before the next answer: a definition has changed."""
        self._asked_at = None

    async def _refresh(self) -> None:
        now = self._clock.monotonic()
        if self._asked_at is None or now - self._asked_at >= self._lifetime:
            self._index = dig_object(await self._client.fetch(_INDEX), "paths")
            self._asked_at = now

    async def _document(self, address: str) -> SchemaDocument | None:
        known = self._documents.get(address)
        if known is None:
            try:
                # Without the hash: the server redirects a request for a document that has changed since the index was made.
                fetched = await self._client.fetch(address.partition("?")[0])
            except NotFoundError:
                self.invalidate()  # it went after the index was made
                return None
            known = self._documents[address] = SchemaDocument(dig_object(fetched, "components", "schemas"))
        self._documents.move_to_end(address)
        while len(self._documents) > _MOST_DOCUMENTS:
            self._documents.popitem(last=False)
        return known


class SchemaDocument:
    """Named schemas that refer to each other, resolved as they are asked for: those of one group and version."""

    def __init__(self, schemas: JsonObject) -> None:
        self._schemas = schemas
        self._resolved: dict[str, JsonObject] = {}
        self._within: list[str] = []
        """The schemas that are being resolved, the outermost first."""
        self._cut = False
        """Whether one of them was met within itself."""

    def schema_of(self, kind: Kind) -> JsonObject | None:
        wanted = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        for name, schema in self._schemas.items():
            if wanted in dig_list(schema, "x-kubernetes-group-version-kind"):
                return self._named(name)
        return None

    def _named(self, name: str) -> JsonObject:
        if name in self._resolved:
            return self._resolved[name]
        if name in self._within:
            self._cut = True
            return {"type": "object", **_FREE_FORM}
        self._within.append(name)
        outer_cut, self._cut = self._cut, False
        schema = _opened(self._resolve(dig_object(self._schemas, name)))
        self._within.pop()
        # What was cut short within one schema need not be within another. The outermost is complete.
        if not self._cut or not self._within:
            self._resolved[name] = schema
        self._cut = self._cut or outer_cut
        return schema

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._resolve(entry) for entry in value]
        if not isinstance(value, dict):
            return value
        if reference := _reference(value):
            beside = {name: entry for name, entry in value.items() if name not in ("$ref", "allOf")}
            return {**self._named(reference), **self._resolve(beside)}
        if _is_int_or_string(value):
            kept = {name: entry for name, entry in value.items() if name not in ("oneOf", "anyOf", "format")}
            return {**kept, "x-kubernetes-int-or-string": True}
        return {name: self._resolve(entry) for name, entry in value.items()}


def _reference(schema: JsonObject) -> str:
    """The name that a schema refers to; empty where it refers to none."""
    parts = dig_list(schema, "allOf")
    target = schema.get("$ref") or (dig(parts[0], "$ref") if len(parts) == 1 else None)
    return target.rpartition("/")[2] if isinstance(target, str) else ""


def _is_int_or_string(schema: JsonObject) -> bool:
    types = {dig(entry, "type") for entry in dig_list(schema, "oneOf")}
    return types in ({"integer", "string"}, {"number", "string"})


def _opened(schema: JsonObject) -> JsonObject:
    """A named schema that says nothing about its fields takes any, as do raw JSON and embedded objects."""
    kind = schema.get("type")
    if kind is None and not schema.keys() & {"x-kubernetes-int-or-string", "oneOf", "anyOf", "allOf"}:
        return {**schema, **_FREE_FORM}
    if kind == "object" and not schema.keys() & {"properties", "additionalProperties"}:
        return {**schema, **_FREE_FORM}
    return schema
