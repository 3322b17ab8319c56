"""Everything that is shown about one object. Pure, apart from the clock that callers pass in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from edgekeeper.core.delta import ChangedField
from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.core.redaction import redact, redact_text
from edgekeeper.diagnosis.catalog import KnownKind
from edgekeeper.diagnosis.problems import is_wrong, problems_of
from edgekeeper.lifecycle.remedies import Remedy
from edgekeeper.web.consoles import Resource
from edgekeeper.web.journal import Entry
from edgekeeper.web.rows import ObjectRow, is_left_drifted, moment

_HIDDEN_ANNOTATIONS: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})


class ConditionView(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A condition in plain words."""

    type: str
    status: str
    wrong: bool
    reason: str = ""
    message: str = ""
    since: str = ""
    cause: str = ""
    action: str = ""
    waits_for: str = ""
    until: str = ""


class DriftView(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was changed outside the operator, when it was last seen."""

    at: str = ""
    fields: list[ChangedField] = []
    summary: str = ""


class ObjectDetail(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The page of an object."""

    row: ObjectRow
    api_version: str
    generation: int
    observed_generation: int | None
    conditions: list[ConditionView]
    problems: list[ConditionView]
    references: dict[str, str]
    drift: DriftView | None
    timeline: list[Entry]
    object: JsonObject
    resources: list[Resource] = []
    next_pass: float | None = None
    """Seconds until the object is looked at again."""
    plannable: bool = False
    has_graph: bool = False


def conditions_of(obj: JsonObject, known: KnownKind) -> list[ConditionView]:
    """All conditions; those that say that something is wrong come with their remedy."""
    return [_condition(one, known) for one in dig_list(obj, "status", "conditions") if isinstance(one, dict)]


def _condition(condition: JsonObject, known: KnownKind) -> ConditionView:
    reason, message = _text(condition.get("reason")), _text(condition.get("message"))
    wrong = is_wrong(condition)
    remedy = known.remedies.find(reason, message) if wrong else None
    return ConditionView(
        _text(condition.get("type")),
        _text(condition.get("status")),
        wrong,
        reason,
        message,
        _text(condition.get("lastTransitionTime")),
        **_advice(remedy),
    )


def _advice(remedy: Remedy | None) -> dict[str, str]:
    if remedy is None:
        return {}
    return {"cause": remedy.cause, "action": remedy.action, "waits_for": remedy.waits_for}


def problem_views(obj: JsonObject, known: KnownKind, *, is_left: bool) -> list[ConditionView]:
    """What keeps an object from being ready, with what ends it or what to do. `is_left`: nothing is done about it."""
    views = [
        ConditionView(
            one.source,
            one.status,
            True,
            redact_text(one.reason),
            redact_text(one.message),
            moment(one.since),
            until=moment(one.until),
            **_advice(one.remedy),
        )
        for one in problems_of(obj, known)
    ]
    return [replace(one, waits_for="", until="") for one in views] if is_left else views


def detail_of(
    obj: JsonObject,
    known: KnownKind,
    row: ObjectRow,
    timeline: Sequence[Entry],
    drifted: tuple[str, list[ChangedField]] | None,
    policy: Policy,
) -> ObjectDetail:
    """The page of an object, without what only the process knows. `policy` is that of objects without one of their own."""
    generation, observed = dig(obj, "metadata", "generation"), dig(obj, "status", "observedGeneration")
    references = {name: redact_text(value) for name, value in known.details(obj).references}
    return ObjectDetail(
        row,
        known.kind.api_version,
        generation if isinstance(generation, int) else 0,
        observed if isinstance(observed, int) else None,
        conditions_of(obj, known),
        problem_views(obj, known, is_left=is_left_drifted(obj, row.state, policy)),
        references,
        _drift(row, drifted),
        list(timeline),
        shown_object(obj),
    )


def _drift(row: ObjectRow, drifted: tuple[str, list[ChangedField]] | None) -> DriftView | None:
    if drifted is None:
        return DriftView(summary=row.drift) if row.drift else None
    at, fields = drifted
    return DriftView(at, fields, row.drift)


def shown_object(obj: JsonObject) -> JsonObject:
    """The object, redacted, without what is of no use to people."""
    metadata = {name: value for name, value in dig_object(obj, "metadata").items() if name != "managedFields"}
    annotations = {
        name: value
        for name, value in dig_object(obj, "metadata", "annotations").items()
        if name not in _HIDDEN_ANNOTATIONS
    }
    if "annotations" in metadata:
        metadata["annotations"] = annotations
    shown: JsonObject = redact({**obj, "metadata": metadata})
    return shown


def _text(value: Any) -> str:
    return redact_text(value) if isinstance(value, str) else ""
