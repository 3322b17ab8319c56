"""One line about an object, for `edgekeeper get`. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from edgekeeper.core.clock import timestamp
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.diagnosis.catalog import KnownKind, created
from edgekeeper.diagnosis.problems import Problem, problems_of
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.relations import Details

PERSON = "you"
"""What an object waits for that does not become ready by itself."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is shown of an object."""

    kind: Kind
    key: Key
    ready: bool
    reason: str
    message: str
    waits_for: str
    """What makes it ready: `you` if a person must act; empty if it is ready, or nothing is known."""
    until: datetime | None
    """When that should have happened; None if it is not known."""
    created: datetime | None
    details: Details

    @property
    def sorted_by(self) -> tuple[str, str, str]:
        return (self.key.namespace, self.kind.kind, self.key.name)


def row_of(obj: JsonObject, known: KnownKind) -> Row:
    """The line about an object as it was read."""
    key = Key(str(dig(obj, "metadata", "namespace") or ""), str(dig(obj, "metadata", "name") or ""))
    readiness = known.readiness(obj)
    first = None if readiness.ready else next(iter(problems_of(obj, known)), None)
    return Row(
        known.kind,
        key,
        readiness.ready,
        first.reason if first is not None and first.reason else readiness.reason,
        first.message if first is not None and first.message else readiness.message,
        _waits_for(first),
        first.until if first is not None else None,
        created(obj),
        known.details(obj),
    )


def _waits_for(problem: Problem | None) -> str:
    if problem is None or problem.remedy is None:
        return ""
    return problem.remedy.waits_for or PERSON


def row_tree(row: Row) -> JsonObject:
    """A line for programs."""
    tree: JsonObject = {
        "apiVersion": row.kind.api_version,
        "kind": row.kind.kind,
        "namespace": row.key.namespace or None,
        "name": row.key.name,
        "ready": row.ready,
        "reason": row.reason,
        "message": row.message or None,
        "waitsFor": row.waits_for or None,
        "until": timestamp(row.until) if row.until is not None else None,
        "created": timestamp(row.created) if row.created is not None else None,
        "hostnames": list(row.details.hostnames) or None,
        "ids": list(row.details.ids) or None,
        "drift": row.details.drift or None,
    }
    return {name: value for name, value in tree.items() if value is not None}
