"""Conditions of an object: a pass marks those that the kind declares, and Ready is computed from them.

A kind declares its conditions once. A pass starts from the conditions that the object has, marks what it has observed,
and writes the resulting list. The rest is done here for all kinds:

    Ready                  computed as below; marking it is refused
    observedGeneration     on every condition: the generation for which it was marked
    lastTransitionTime     changes when the status does, and only then
    order                  Ready, then as declared, then foreign conditions as they were
    foreign conditions     kept unchanged: other controllers may have their own on our objects
    reason, message        a reason that is not CamelCase is refused; secrets are redacted, the length is bounded

Ready requires that all required conditions are True and no negative one is. A condition of an earlier generation
counts as Unknown, because it is about another spec.

    any negative condition True             False      with its reason and message
    else any required condition False       False      with its reason and message
    else any required Unknown or missing    Unknown    with its reason and message, or `Pending`
    else                                    True       with the declared reason

Within a row the order of the declaration decides. A negative condition that was True for an earlier generation and was
not marked since becomes Unknown: a failure of the old spec must not prevent the corrected one from being Ready.

`status_violations` checks these rules for any object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from edgekeeper.core.clock import timestamp
from edgekeeper.core.declaration import LONGEST_MESSAGE, PENDING, READY, Declaration, Status, is_reason
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.redaction import redact_text
from edgekeeper.core.statuslaws import status_violations

__all__ = ["PENDING", "READY", "Condition", "Conditions", "Declaration", "Status", "status_violations"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of `status.conditions`."""

    type: str
    status: Status
    reason: str
    message: str
    observed_generation: int
    last_transition_time: str

    def to_json(self) -> JsonObject:
        return {
            "type": self.type,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "observedGeneration": self.observed_generation,
            "lastTransitionTime": self.last_transition_time,
        }


class Conditions:
    """The conditions of one object during one pass."""

    def __init__(self, declaration: Declaration, present: Any, generation: int, now: datetime) -> None:
        """`present` is `status.conditions` as it was read; it may have any content."""
        self._declaration = declaration
        self._generation = generation
        self._now = timestamp(now)
        self._before: dict[str, Condition] = {}
        self._foreign: list[Any] = []
        self._sort(present)
        self._facts = {type_: condition for type_, condition in self._before.items() if type_ != READY}
        self._outdate_negatives()

    @classmethod
    def of(cls, declaration: Declaration, obj: JsonObject, now: datetime) -> Conditions:
        """The conditions that an object has."""
        generation = dig(obj, "metadata", "generation")
        present = dig_list(obj, "status", "conditions")
        return cls(declaration, present, generation if isinstance(generation, int) else 0, now)

    def mark(self, type_: str, status: Status | bool, reason: str, message: str = "") -> None:
        """Set a condition for the present generation. The last call for a type counts."""
        if type_ not in self._declaration.types:
            raise ValueError(f"the condition {type_} is concluded or not declared, so it cannot be marked")
        if not is_reason(reason):
            raise ValueError(f"not a CamelCase reason: {reason!r}")
        self._facts[type_] = self._condition(type_, _as_status(status), reason, message)

    def forget(self, type_: str) -> None:
        """Remove a condition, as if it had never been marked."""
        self._facts.pop(type_, None)

    def get(self, type_: str) -> Condition | None:
        """A declared condition as marked so far, or Ready as computed from them."""
        return self.ready if type_ == READY else self._facts.get(type_)

    def before(self, type_: str) -> Condition | None:
        """A condition as it was when the pass began."""
        return self._before.get(type_)

    def holds(self, type_: str) -> bool:
        """Whether a condition is True for the present generation."""
        return self._status(type_) == "True"

    @property
    def ready(self) -> Condition:
        """Ready, computed by the table at the top of the module."""
        return self._condition(READY, *self._conclusion())

    def to_list(self) -> list[Any]:
        """`status.conditions` as it should be written."""
        facts = (self._facts[type_] for type_ in self._declaration.published if type_ in self._facts)
        return [self.ready.to_json(), *(fact.to_json() for fact in facts), *self._foreign]

    def _sort(self, present: Any) -> None:
        """Separate our conditions from foreign ones. Of duplicates the first counts; malformed ones are dropped."""
        ours = {READY, *self._declaration.published}
        for entry in present if isinstance(present, list) else []:
            type_ = entry.get("type") if isinstance(entry, dict) else None
            if not isinstance(type_, str) or type_ not in ours:
                self._foreign.append(entry)
            elif type_ not in self._before and (condition := _parse(type_, entry)) is not None:
                self._before[type_] = condition

    def _outdate_negatives(self) -> None:
        for type_ in self._declaration.negative:
            fact = self._facts.get(type_)
            if fact is not None and fact.status == "True" and self._is_old(fact):
                message = f"{type_} was True for generation {fact.observed_generation}: {fact.message}"
                self._facts[type_] = self._condition(type_, "Unknown", PENDING, message)

    def _condition(self, type_: str, status: Status, reason: str, message: str) -> Condition:
        before = self._before.get(type_)
        since = before.last_transition_time if before is not None and before.status == status else self._now
        return Condition(type_, status, reason, _shown(message), self._generation, since)

    def _conclusion(self) -> tuple[Status, str, str]:
        for fact in self._with_status(self._declaration.negative, "True"):
            return "False", fact.reason, fact.message or f"{fact.type} is True"
        for fact in self._with_status(self._declaration.required, "False"):
            return "False", fact.reason, fact.message or f"{fact.type} is False"
        for type_ in self._declaration.required:
            if not self.holds(type_):
                return "Unknown", *self._why_unknown(type_)
        return "True", self._declaration.ready_reason, self._declaration.ready_message

    def _with_status(self, types: tuple[str, ...], status: Status) -> Iterator[Condition]:
        return (self._facts[type_] for type_ in types if self._status(type_) == status)

    def _why_unknown(self, type_: str) -> tuple[str, str]:
        fact = self._facts.get(type_)
        if fact is None:
            return PENDING, f"{type_} is not known yet"
        if self._is_old(fact):
            return PENDING, f"{type_} is not known yet for generation {self._generation}"
        return fact.reason, fact.message or f"{type_} is Unknown"

    def _status(self, type_: str) -> Status:
        """The status of a condition for the present generation."""
        fact = self._facts.get(type_)
        return "Unknown" if fact is None or self._is_old(fact) else fact.status

    def _is_old(self, fact: Condition) -> bool:
        return fact.observed_generation != self._generation


def _as_status(status: Status | bool) -> Status:
    if isinstance(status, bool):
        return "True" if status else "False"
    if status not in ("True", "False", "Unknown"):
        raise ValueError(f"not a condition status: {status!r}")
    return status


@lru_cache(maxsize=1024)
def _shown(message: str) -> str:
    """The message as it may be written. Cached, because a status is declared again in every pass."""
    shown = redact_text(message)
    return shown if len(shown) <= LONGEST_MESSAGE else f"{shown[: LONGEST_MESSAGE - 1]}…"


def _parse(type_: str, entry: JsonObject) -> Condition | None:
    """A condition as an earlier version of the controller, or the one that it replaces, wrote it; None if malformed."""
    status, since, reason = entry.get("status"), entry.get("lastTransitionTime"), entry.get("reason")
    if status not in ("True", "False", "Unknown") or not isinstance(since, str):
        return None
    valid_reason = reason if isinstance(reason, str) and is_reason(reason) else PENDING
    message, generation = entry.get("message"), entry.get("observedGeneration")
    return Condition(
        type_,
        status,
        valid_reason,
        message if isinstance(message, str) else "",
        generation if isinstance(generation, int) else 0,  # lower than any generation
        since,
    )
