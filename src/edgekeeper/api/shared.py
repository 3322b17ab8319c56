"""Types that several kinds use: conditions, and the parts of a status that record DNS records and changes.

Descriptions refer to "the object". A kind can set a more specific description where it uses a type:

    conditions: list[Annotated[Condition, Meta(description="A condition of the tenant.")]]
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from edgekeeper.core.json import JsonObject, dig, dig_object

SpecT = TypeVar("SpecT", bound=Struct)
StatusT = TypeVar("StatusT", bound=Struct)

ATOMIC_LIST: Final[dict[str, Any]] = {"x-kubernetes-list-type": "atomic"}
"""For `extra_json_schema` of a list that one field manager owns as a whole."""
LISTED_BY_TYPE: Final[dict[str, Any]] = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
"""For `extra_json_schema` of a list whose entries have a unique `type` and individual field managers."""


class CamelStruct(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Encodes field names in camel case, and omits fields that have their default."""


class StrictStruct(CamelStruct, frozen=True, forbid_unknown_fields=True):
    """Settings of which a misspelt one must not be ignored.

    The API server would drop a field that the schema does not know, from clients that do not ask it to be strict. Here it is
    stored, and refused when the object is decoded.
    """

    __keeps_unknown__ = True


class Condition(CamelStruct, frozen=True):
    """A condition of the object."""

    type: Annotated[str, Meta(max_length=316, description="The type of the condition, such as Ready.")]
    status: Annotated[Literal["True", "False", "Unknown"], Meta(description="Whether the condition holds.")]
    reason: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1024,
            description="The reason for the status, as one word; docs/troubleshooting.md lists all.",
        ),
    ]
    message: Annotated[str, Meta(max_length=32768, description="The reason in words.")]
    last_transition_time: Annotated[datetime, Meta(description="When the status last changed.")]
    observed_generation: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="The generation of the object that the condition is about."),
    ] = None


Conditions = Annotated[
    list[Condition],
    Meta(description="What is known about the object.", extra_json_schema=LISTED_BY_TYPE),
]


class InventoryRecord(CamelStruct, frozen=True):
    """A DNS record of this object, as it was last written."""

    zone: Annotated[str, Meta(description="The id of the hosted zone.")]
    name: Annotated[str, Meta(description="The name of the record, without the final dot.")]
    type: Annotated[str, Meta(description="The type of the record: CNAME, A or AAAA.")]
    target: Annotated[str, Meta(description="The target of the record.")]
    ttl: Annotated[int | None, Meta(description="The TTL in seconds; unset for an alias record.")] = None
    role: Annotated[str, Meta(description="The ARN of the IAM role used to write the zone, if any.")] = ""
    state: Annotated[
        Literal["Planned", "Written"],
        Meta(
            description="Planned: not written yet, so the operator does not own the record. Written: the operator has written it."
        ),
    ] = "Written"
    alias_zone: Annotated[
        str,
        Meta(description="The hosted zone of the target of an alias; unset for an endpoint of CloudFront."),
    ] = ""


class DnsChange(CamelStruct, frozen=True):
    """A Route 53 change that may not be propagated to all name servers."""

    zone: Annotated[str, Meta(description="The id of the hosted zone.")]
    id: Annotated[
        str, Meta(description="The id of the change in Route 53; empty if the response was lost.")
    ] = ""
    role: Annotated[str, Meta(description="The ARN of the IAM role used to write the zone, if any.")] = ""
    until: Annotated[
        datetime | None, Meta(description="When a change without an id counts as propagated.")
    ] = None


def read_parts(obj: JsonObject, blank: SpecT, status: type[StatusT]) -> tuple[SpecT, StatusT]:
    """Decode the spec and the status of an object. Raise msgspec.ValidationError if it does not match the types.

    Conditions are left out: `core.conditions` reads them, and preserves those of other controllers. If the object is being
    deleted, fields of the spec that are not valid by themselves are replaced by those of `blank`, so that it can be
    finalized: what it owns is identified by its name, its ownership mark and the inventory in its status.
    """
    facts = {name: value for name, value in dig_object(obj, "status").items() if name != "conditions"}
    whole: Any = _Parts[type(blank), status]  # type: ignore[misc]
    try:
        parts: _Parts[SpecT, StatusT] = msgspec.convert({"spec": obj.get("spec"), "status": facts}, whole)
    except msgspec.ValidationError:
        if not dig(obj, "metadata", "deletionTimestamp"):
            raise
        return _valid_part(dig_object(obj, "spec"), blank), msgspec.convert(facts, status)
    return parts.spec, parts.status


class _Parts(Struct, Generic[SpecT, StatusT], frozen=True):
    """Spec and status together, so that errors name the whole path of a field."""

    spec: SpecT
    status: StatusT


def _valid_part(given: JsonObject, blank: SpecT) -> SpecT:
    fitting: dict[str, Any] = {}
    for field in msgspec.structs.fields(blank):
        with suppress(KeyError, msgspec.ValidationError):
            fitting[field.name] = msgspec.convert(given[field.encode_name], field.type)
    return msgspec.structs.replace(blank, **fitting)
