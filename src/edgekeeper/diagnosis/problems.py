"""What an object itself says about not being ready: its conditions, or the annotations of a route. Pure.

A condition says that something is wrong if it is not True, or, for those in `NEGATIVE`, if it is. Ready comes first; others
are listed if they say something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.diagnosis.catalog import TERMINATING, KnownKind
from edgekeeper.lifecycle.remedies import Remedies, Remedy

READY: Final = "Ready"
NEGATIVE: Final = frozenset(
    {"Paused", "Degraded", "DeletionBlocked", "ACK.Terminal", "ACK.Recoverable", "Failed", "ReplicaFailure"}
)
"""Conditions that are True when something is wrong."""
_NOTHING: Final = Remedies(())
_BEGINNINGS: Final = {"Pending": "creationTimestamp", TERMINATING: "deletionTimestamp"}
"""Since when an object without conditions is as it is, for the reasons of which that is known."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is not as it should be."""

    reason: str
    message: str
    source: str = ""
    """The condition that says so; empty if it is no condition."""
    status: str = ""
    since: datetime | None = None
    remedy: Remedy | None = None

    @property
    def until(self) -> datetime | None:
        """When it should be over by itself; None if a person must act, or it is not known."""
        if self.remedy is None or self.remedy.within is None or self.since is None:
            return None
        return self.since + self.remedy.within


def problems_of(obj: JsonObject, known: KnownKind | None) -> list[Problem]:
    """What is wrong with an object, the most telling first; empty if it is ready."""
    remedies = known.remedies if known is not None else _NOTHING
    told = [
        _problem(condition, remedies)
        for condition in dig_list(obj, "status", "conditions")
        if is_wrong(condition)
    ]
    told.sort(key=lambda problem: problem.source != READY)
    if known is None:
        return list(_distinct(told))
    readiness = known.readiness(obj)
    if readiness.ready:
        return list(_distinct(problem for problem in told if problem.source != READY))
    if not told:
        remedy = remedies.find(readiness.reason, readiness.message)
        since = _moment(dig(obj, "metadata", _BEGINNINGS.get(readiness.reason, "")))
        told = [Problem(readiness.reason, readiness.message, since=since, remedy=remedy)]
    return list(_distinct(told))


def is_wrong(condition: Any) -> bool:
    """Whether a condition says that something is not as it should be."""
    type_, status = str(dig(condition, "type")), dig(condition, "status")
    if type_ in NEGATIVE:
        return bool(status == "True")
    if type_.startswith("ACK.") and type_ != "ACK.ResourceSynced":
        return False  # means nothing unless it is one of the negative ones
    return status in ("False", "Unknown")


def _problem(condition: Any, remedies: Remedies) -> Problem:
    reason, message = (str(dig(condition, field) or "") for field in ("reason", "message"))
    return Problem(
        reason,
        message,
        str(dig(condition, "type")),
        str(dig(condition, "status")),
        _moment(dig(condition, "lastTransitionTime")),
        remedies.find(reason, message),
    )


def _distinct(problems: Any) -> Iterator[Problem]:
    """Without those that repeat a reason and message."""
    seen: set[tuple[str, str]] = set()
    for problem in problems:
        if (problem.reason, problem.message) not in seen:
            seen.add((problem.reason, problem.message))
            yield problem


def _moment(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
