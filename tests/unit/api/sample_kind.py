"""A kind with everything that a definition can have: cluster scope, maps, floats, free-form objects, shared types."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta

from edgekeeper.api.definition import AGE, CustomKind, condition_column
from edgekeeper.api.schema import Rule
from edgekeeper.api.shared import (
    ATOMIC_LIST,
    LISTED_BY_TYPE,
    CamelStruct,
    Condition,
    DnsChange,
    InventoryRecord,
)
from edgekeeper.core.json import JsonObject


class Limit(CamelStruct, frozen=True):
    """How much of something."""

    __rules__ = (Rule("!has(self.share) || self.share <= self.most", "share must not exceed most"),)

    most: Annotated[float, Meta(gt=0)]
    share: Annotated[float, Meta(ge=0)] | None = None


class GaugeSpec(CamelStruct, frozen=True):
    """What is measured."""

    limits: Annotated[dict[str, Limit], Meta(max_length=4, description="By resource.")]
    labels: dict[str, str] = {}
    values: Annotated[dict[str, Any], Meta(description="Passed on as they are.")] = {}
    default: Annotated[Any, Meta(description="Any value at all.")] = None


class GaugeStatus(CamelStruct, frozen=True):
    """What was found."""

    observed: dict[str, float] = {}
    inventory: Annotated[list[InventoryRecord], Meta(extra_json_schema=ATOMIC_LIST)] = []
    changes: Annotated[list[DnsChange], Meta(extra_json_schema=ATOMIC_LIST)] = []
    conditions: Annotated[list[Condition], Meta(extra_json_schema=LISTED_BY_TYPE)] = []


def gauge(group: str) -> CustomKind:
    """The kind, in a group of its own where several tests share a server."""
    return CustomKind(
        group=group,
        version="v1",
        kind="PressureGauge",
        plural="pressuregauges",
        description="A gauge.",
        spec=GaugeSpec,
        status=GaugeStatus,
        columns=(condition_column("Ready"), AGE),
        scope="Cluster",
        singular="gauge",
    )


SPEC: Final[JsonObject] = {
    "limits": {"steam": {"most": 1.5, "share": 0.25}},
    "labels": {"team": "boilers"},
    "values": {"deep": {"er": [1, {"est": None}]}, "n": 0.5},
    "default": ["anything"],
}
STATUS: Final[JsonObject] = {
    "observed": {"steam": 0.75},
    "inventory": [{"zone": "Z1", "name": "a.example.com", "type": "CNAME", "target": "b.example.com"}],
    "changes": [{"zone": "Z1", "id": "C1"}],
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "Fine",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ],
}
REFUSED: Final[tuple[tuple[JsonObject, str], ...]] = (
    ({"limits": {"steam": {"most": 0}}}, "spec.limits.steam.most"),
    ({"limits": {"steam": {"most": "much"}}}, "spec.limits.steam.most"),
    ({"limits": {"steam": {"most": 1, "share": 2}}}, "share must not exceed most"),
    ({"limits": {str(number): {"most": 1} for number in range(5)}}, "spec.limits"),
    ({"limits": {}, "labels": {"team": 1}}, "spec.labels.team"),
)
"""Specs, and what the refusal of each says."""
