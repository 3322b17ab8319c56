"""Conditions: facts about an object that authors mark, and the one conclusion, Ready, that nobody marks.

A kind declares its conditions once. A pass starts from the conditions that the object has, marks the facts that it
found, and hands in the list. Everything else happens here, so that no author can forget it:

    Ready                  the conclusion, drawn as below; marking it by hand is refused
    observedGeneration     on every condition: the generation for which the fact was found
    lastTransitionTime     moves when the status does, and only then
    order                  Ready, then as declared, then foreign conditions as they were
    foreign conditions     kept untouched: other controllers may have their own on our objects
    reason, message        CamelCase or refused; secrets taken out, length bounded

How Ready is drawn: it is the conjunction of the required conditions and the absence of the negative ones. A fact of
an earlier generation counts as unknown, for it speaks of another spec.

    any negative condition True             False      with its reason and message
    else any required condition False       False      with its reason and message
    else any required Unknown or missing    Unknown    with its reason and message, or `Pending`
    else                                    True       with the declared reason

Within a row the order of the declaration decides. A negative condition that was True for an earlier generation and
was not looked at since becomes Unknown: what made the old spec fail must not keep the corrected one from being Ready.

Whether a status keeps to all this can be asked of any object with `status_violations`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from edgekeeper.core.clock import timestamp
from edgekeeper.core.declaration import LONGEST_MESSAGE, PENDING, READY, Declaration, Status, is_reason
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.redaction import redact_text
from edgekeeper.core.statuslaws import status_violations

__all__ = ["PENDING", "READY", "Condition", "Conditions", "Declaration", "Status", "status_violations"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One fact: what is the case, since when, and for which generation that was found."""

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
        """`present` is `status.conditions` as it was read, whatever is in it."""
        self._declaration = declaration
        self._generation = generation
        self._now = timestamp(now)
        self._before: dict[str, Condition] = {}
        self._foreign: list[Any] = []
        self._sort(present)
        self._facts = {type_: one for type_, one in self._before.items() if type_ != READY}
        self._outdate_negatives()

    @classmethod
    def of(cls, declaration: Declaration, obj: JsonObject, now: datetime) -> Conditions:
        """The conditions that an object has."""
        generation = dig(obj, "metadata", "generation")
        present = dig_list(obj, "status", "conditions")
        return cls(declaration, present, generation if isinstance(generation, int) else 0, now)

    def mark(self, type_: str, status: Status | bool, reason: str, message: str = "") -> None:
        """State a fact about the present generation. The last word on a type counts."""
        if type_ not in self._declaration.types:
            raise ValueError(f"the condition {type_} is concluded or not declared, so it cannot be marked")
        if not is_reason(reason):
            raise ValueError(f"not a CamelCase reason: {reason!r}")
        self._facts[type_] = self._condition(type_, _as_status(status), reason, message)

    def forget(self, type_: str) -> None:
        """Drop a fact, as if it had never been found."""
        self._facts.pop(type_, None)

    def get(self, type_: str) -> Condition | None:
        """A declared condition as it stands, or Ready as it follows from them."""
        return self.ready if type_ == READY else self._facts.get(type_)

    def before(self, type_: str) -> Condition | None:
        """A condition as it was when the pass began."""
        return self._before.get(type_)

    def holds(self, type_: str) -> bool:
        """Is it known to be True for the present generation?"""
        return self._status(type_) == "True"

    @property
    def ready(self) -> Condition:
        """What follows from the facts. See the table at the top."""
        return self._condition(READY, *self._conclusion())

    def to_list(self) -> list[Any]:
        """`status.conditions` as it should be."""
        facts = (self._facts[one] for one in self._declaration.published if one in self._facts)
        return [self.ready.to_json(), *(fact.to_json() for fact in facts), *self._foreign]

    def _sort(self, present: Any) -> None:
        """Tell ours from others'. Of duplicates the first counts; those of ours that make no sense are dropped."""
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
        """The status of a condition as far as it says anything about the present generation."""
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


def _shown(message: str) -> str:
    shown = redact_text(message)
    return shown if len(shown) <= LONGEST_MESSAGE else f"{shown[: LONGEST_MESSAGE - 1]}…"


def _parse(type_: str, entry: JsonObject) -> Condition | None:
    """A condition as some controller wrote it, an older one of ours or the one that we replace."""
    status, since, reason = entry.get("status"), entry.get("lastTransitionTime"), entry.get("reason")
    if status not in ("True", "False", "Unknown") or not isinstance(since, str):
        return None
    known_reason = reason if isinstance(reason, str) and is_reason(reason) else PENDING
    message, generation = entry.get("message"), entry.get("observedGeneration")
    return Condition(
        type_,
        status,
        known_reason,
        message if isinstance(message, str) else "",
        generation if isinstance(generation, int) else 0,  # older than any generation there is
        since,
    )
