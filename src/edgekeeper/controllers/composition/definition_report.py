"""The status of a ResourceGraphDefinition, from what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from edgekeeper.controllers.composition.definition_decide import (
    CONTROLLER_READY,
    GRAPH_ACCEPTED,
    KIND_READY,
    REVISIONS_RESOLVED,
    Decision,
    Verdict,
)
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.json import JsonObject, dig_list, dig_object
from edgekeeper.core.outcome import Event

DELETION_BLOCKED: Final = "DeletionBlocked"
INSTANCES_EXIST: Final = "InstancesExist"
LEGACY_CONDITION: Final = "ResourceGraphAccepted"
"""What earlier versions of kro called GraphAccepted."""
ACTIVE: Final = "Active"
INACTIVE: Final = "Inactive"

DECLARATION: Final = Declaration(
    required=(REVISIONS_RESOLVED, GRAPH_ACCEPTED, KIND_READY, CONTROLLER_READY),
    negative=(DELETION_BLOCKED,),
    ready_message="the kind is served and its instances are reconciled",
)
_OF_STATE: Final = (GRAPH_ACCEPTED, KIND_READY, CONTROLLER_READY)
_EXPLAINING: Final = (GRAPH_ACCEPTED, KIND_READY, CONTROLLER_READY, REVISIONS_RESOLVED)
"""Conditions that are reported as events when they become False, the cause before its consequences."""


def status_of(obj: JsonObject, decision: Decision, accepted: Graph | None, now: datetime) -> JsonObject:
    """The whole status. `accepted` is the graph of the definition as it is now; None if it is not accepted."""
    conditions = _conditions(obj, now)
    for type_, verdict in decision.verdicts.items():
        conditions.mark(type_, verdict.status, verdict.reason, verdict.message)
    conditions.forget(DELETION_BLOCKED)
    active = all(conditions.holds(type_) for type_ in _OF_STATE)
    status: JsonObject = {
        "state": ACTIVE if active else INACTIVE,
        "conditions": conditions.to_list(),
        **({} if accepted is None else structure_of(accepted)),
    }
    if decision.last_issued:
        status["lastIssuedRevision"] = decision.last_issued
    return status


def structure_of(graph: Graph) -> JsonObject:
    """The order of a graph, and the dependencies of the resources that have some."""
    resources = [
        {"id": name, "dependencies": [{"id": one} for one in needed]}
        for name, needed in graph.dependencies.items()
        if needed
    ]
    return {"topologicalOrder": graph.order, "resources": resources}


def blocked_status(obj: JsonObject, message: str, now: datetime) -> JsonObject:
    """The status of a definition that cannot be deleted yet."""
    conditions = _conditions(obj, now)
    conditions.mark(DELETION_BLOCKED, True, INSTANCES_EXIST, message)
    return {**dig_object(obj, "status"), "conditions": conditions.to_list()}


def failed_status(obj: JsonObject, verdict: Verdict, now: datetime) -> JsonObject:
    """The status of a definition that could not be looked at."""
    conditions = _conditions(obj, now)
    conditions.mark(CONTROLLER_READY, verdict.status, verdict.reason, verdict.message)
    return {**dig_object(obj, "status"), "conditions": conditions.to_list(), "state": INACTIVE}


def news(obj: JsonObject, verdicts: Mapping[str, Verdict], now: datetime) -> tuple[Event, ...]:
    """An event for the first condition that is False, unless it said the same before."""
    conditions = _conditions(obj, now)
    for type_ in _EXPLAINING:
        verdict = verdicts.get(type_)
        if verdict is not None and verdict.status == "False":
            before = conditions.before(type_)
            is_known = before is not None and (before.status, before.message) == ("False", verdict.message)
            return () if is_known else (Event("Warning", verdict.reason, verdict.message),)
    return ()


def _conditions(obj: JsonObject, now: datetime) -> Conditions:
    present = [
        one
        for one in dig_list(obj, "status", "conditions")
        if dig_object({"": one}, "").get("type") != LEGACY_CONDITION
    ]
    metadata = dig_object(obj, "metadata")
    generation = metadata.get("generation")
    return Conditions(DECLARATION, present, generation if isinstance(generation, int) else 0, now)
