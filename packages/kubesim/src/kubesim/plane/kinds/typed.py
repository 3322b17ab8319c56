"""The schema of a built-in kind, which differs from that of a custom resource.

kube-apiserver decodes built-in objects into structs. A wrong type is therefore a malformed request, defaults are those
of the type (see `shape`), and whatever else must hold is said by hand-written rules (see `rules`), not by the schema.

Passes are compiled when the first object of a kind arrives, because a server starts with some forty kinds and most of
them are never used.
"""

from __future__ import annotations

from functools import cache

from edgekeeper.core.json import JsonObject
from edgekeeper.schema import CompiledSchema, Definitions, TypeMismatch, compile_schema
from edgekeeper.schema.field_error import FieldError
from kubesim.plane.kinds.definitions import definitions
from kubesim.plane.kinds.shape import shape_of

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class TypedSchema:
    """The schema of one definition."""

    __slots__ = ("_compiled", "_definition", "source")

    def __init__(self, definition: str) -> None:
        self.source: JsonObject = definitions()[definition]
        self._definition = definition
        self._compiled: CompiledSchema | None = None

    def _schema(self) -> CompiledSchema:
        if self._compiled is None:
            reference: JsonObject = {"$ref": f"#/definitions/{self._definition}"}
            self._compiled = compile_schema(reference, definitions=_shared_definitions())
        return self._compiled

    def type_errors(self, value: JsonObject) -> list[TypeMismatch]:
        return self._schema().type_errors(value)

    def prune(self, value: JsonObject) -> list[str]:
        removed = self._schema().prune(value)
        metadata = value.get("metadata")
        if isinstance(metadata, dict) and "metadata" in self.source["properties"]:
            # Metadata is typed like the rest here, while the schemas of custom resources do not describe it.
            unknown = _metadata_schema().prune(metadata)
            return sorted(removed + [f"metadata.{path}" for path in unknown]) if unknown else removed
        return removed

    def default(self, value: JsonObject) -> None:
        shape_of(self._definition)(value)

    def zero(self) -> JsonObject:
        """The empty object of this type. Whoever creates an object does not own the fields it has in common with it."""
        return shape_of(self._definition).zero()

    def validate(self, value: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
        """A built-in object that could be decoded is valid as far as its schema goes."""
        return []

    def validate_status(self, value: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
        return []


@cache
def _metadata_schema() -> CompiledSchema:
    reference: JsonObject = {"$ref": f"#/definitions/{OBJECT_META}"}
    return compile_schema(reference, definitions=_shared_definitions())


@cache
def _shared_definitions() -> Definitions:
    return Definitions(definitions())
