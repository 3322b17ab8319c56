"""Types that several kinds use: conditions, and the parts of a status that record DNS records and changes.

Descriptions refer to "the object". A kind can set a more specific description where it uses a type:

    conditions: list[Annotated[Condition, Meta(description="A condition of the tenant.")]]
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

ATOMIC_LIST: Final[dict[str, Any]] = {"x-kubernetes-list-type": "atomic"}
"""For `extra_json_schema` of a list that one field manager owns as a whole."""
LISTED_BY_TYPE: Final[dict[str, Any]] = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
"""For `extra_json_schema` of a list whose entries have a unique `type` and individual field managers."""


class CamelStruct(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Encodes field names in camel case, and omits fields that have their default."""


class Condition(CamelStruct, frozen=True):
    """A condition of the object."""

    type: Annotated[str, Meta(max_length=316)]
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[str, Meta(min_length=1, max_length=1024)]
    message: Annotated[str, Meta(max_length=32768)]
    last_transition_time: datetime
    observed_generation: Annotated[int, Meta(ge=0)] | None = None


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
