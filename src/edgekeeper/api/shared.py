"""Types that several kinds share: conditions, and what an object's status says about what it owns outside.

Descriptions here speak of "the object". A kind that wants its own word says so where it uses the type:

    conditions: list[Annotated[Condition, Meta(description="A fact about the tenant.")]]
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

ATOMIC_LIST: Final[dict[str, Any]] = {"x-kubernetes-list-type": "atomic"}
"""For `extra_json_schema` of a list that has one owner as a whole."""
LISTED_BY_TYPE: Final[dict[str, Any]] = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
"""For `extra_json_schema` of a list whose entries have a `type` that is unique in it, and owners of their own."""


class CamelStruct(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Field names as Kubernetes writes them; what is unset is left out."""


class StrictStruct(CamelStruct, frozen=True, forbid_unknown_fields=True):
    """Settings of which a misspelt one must not be ignored.

    The API server would drop a field that the schema does not know, from clients that do not ask it to be strict. Here it is
    stored, and refused when the object is decoded.
    """

    __keeps_unknown__ = True


class Condition(CamelStruct, frozen=True):
    """A fact about the object."""

    type: Annotated[str, Meta(max_length=316)]
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[str, Meta(min_length=1, max_length=1024)]
    message: Annotated[str, Meta(max_length=32768)]
    last_transition_time: datetime
    observed_generation: Annotated[int, Meta(ge=0)] | None = None


class InventoryRecord(CamelStruct, frozen=True):
    """A DNS record that was written for this object, exactly as it was written."""

    zone: Annotated[str, Meta(description="The hosted zone.")]
    name: Annotated[str, Meta(description="The record's name, without the final dot.")]
    type: Annotated[str, Meta(description="CNAME, A or AAAA.")]
    target: Annotated[str, Meta(description="Where it points.")]
    ttl: Annotated[int | None, Meta(description="Seconds; an alias record has none.")] = None
    role: Annotated[str, Meta(description="The role with which the zone was written.")] = ""
    state: Annotated[
        Literal["Planned", "Written"],
        Meta(
            description="Planned before it is written for the first time: until then it is not ours to change."
        ),
    ] = "Written"


class DnsChange(CamelStruct, frozen=True):
    """A change of a zone that may not have reached all name servers."""

    zone: Annotated[str, Meta(description="The hosted zone's id.")]
    id: Annotated[str, Meta(description="Route 53's id of the change; empty where its answer was lost.")] = ""
    role: Annotated[str, Meta(description="The role that the zone was written with, if any.")] = ""
    until: Annotated[
        datetime | None, Meta(description="When a change without an id counts as propagated.")
    ] = None
