"""What a schema says about patching: for each field, how it merges and by which key.

The API's types declare this through the OpenAPI extensions `x-kubernetes-patch-strategy` and
`x-kubernetes-patch-merge-key`. A `Shape` is a cursor into the schema that moves along with the merge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError

_REFERENCE = "#/definitions/"


def unmergeable(message: str) -> StatusError:
    """A patch that the merge cannot digest. The real server, too, calls this its own error and gives no reason."""
    return StatusError(500, "", message)


@dataclass(frozen=True, slots=True)
class Shape:
    """The schema of one value, with references resolved, and the patch extensions of the field that holds it."""

    schema: JsonObject
    definitions: Mapping[str, JsonObject]
    name: str = ""
    strategy: str = ""
    """`merge`, `replace` or nothing; `retainKeys` needs no word here, its directive says it all."""
    merge_key: str = ""

    @classmethod
    def of(cls, schema: JsonObject, definitions: Mapping[str, JsonObject]) -> Shape:
        return _resolved(schema, definitions, "", "")

    def field(self, name: str) -> Shape:
        """Descend into an object's field. Only fields that the live object has are asked for."""
        properties = self.schema.get("properties", {})
        if name in properties:
            schema = properties[name]
        elif isinstance(self.schema.get("additionalProperties"), dict):
            schema = self.schema["additionalProperties"]
        else:
            raise unmergeable(f'unable to find api field in struct {self.name} for the json field "{name}"')
        declared: str = schema.get("x-kubernetes-patch-strategy", "")
        strategy = next((part for part in declared.split(",") if part != "retainKeys"), "")
        return _resolved(schema, self.definitions, strategy, schema.get("x-kubernetes-patch-merge-key", ""))

    def item(self) -> Shape:
        """Descend into the items of a list."""
        return _resolved(self.schema.get("items", {}), self.definitions, "", "")


def _resolved(
    schema: JsonObject, definitions: Mapping[str, JsonObject], strategy: str, merge_key: str
) -> Shape:
    target = schema["allOf"][0] if len(schema.get("allOf", ())) == 1 else schema
    reference: str = target.get("$ref", "")
    if not reference:
        return Shape(target, definitions, "", strategy, merge_key)
    full_name = reference.removeprefix(_REFERENCE)
    return Shape(definitions[full_name], definitions, full_name.rpartition(".")[2], strategy, merge_key)
