"""Ten laws that every status obeys after every write, and a check that describes violations.

     1  a negative condition is not True while Ready is True
     2  Ready is there as soon as there is any condition or an observedGeneration
     3  no observedGeneration is above the generation
     4  no two conditions have the same type
     5  lastTransitionTime moves only together with the status
     6  lastTransitionTime is a time, and not in the future
     7  a condition is well formed: a type, True, False or Unknown, a CamelCase reason, a message within bounds
     8  Ready is True only for the present generation, with all required conditions True for it as well
     9  no observedGeneration goes back
    10  no message holds what looks like a secret

The runtime does not use the check; tests and simulations do. Some laws need more than the object: laws 5 and 9 need the
object before the write, law 6 needs the time, and laws 1, 7 and 8 use the declaration to know which conditions belong to
the controller and what they mean. Without that these laws, or parts of them, are not checked.

Assumption: the status of an object is written by its controller only. A user's edit raises the generation, which does
not make the status wrong; so law 8 requires the present generation only if the status was written, that is, differs
from that of the object before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from edgekeeper.core.clock import parse_timestamp
from edgekeeper.core.declaration import LONGEST_MESSAGE, READY, Declaration, is_reason
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.core.redaction import redact_text

USUAL_NEGATIVES = ("Degraded", "Stalled")
"""The negative conditions if there is no declaration."""


def status_violations(
    obj: JsonObject,
    previous: JsonObject | None = None,
    *,
    declaration: Declaration | None = None,
    now: datetime | None = None,
) -> list[str]:
    """The laws that the object's status breaks, each as `law <number>: <what is wrong>`. Empty when all hold."""
    before = previous if previous is not None and _same_object(obj, previous) else None
    case = _Case(obj, before, declaration, now)
    return [f"law {number}: {fault}" for number, law in enumerate(_LAWS, start=1) for fault in law(case)]


@dataclass(frozen=True)
class _Case:
    """The arguments of one check."""

    obj: JsonObject
    previous: JsonObject | None
    declaration: Declaration | None
    now: datetime | None

    @property
    def generation(self) -> int | None:
        value = dig(self.obj, "metadata", "generation")
        return value if isinstance(value, int) else None

    @property
    def conditions(self) -> list[JsonObject]:
        return _conditions(self.obj)

    @property
    def ours(self) -> list[JsonObject]:
        """The conditions of the controller: all, unless there is a declaration."""
        if self.declaration is None:
            return self.conditions
        types = {READY, *self.declaration.types}
        return [condition for condition in self.conditions if condition.get("type") in types]

    @property
    def ready(self) -> JsonObject | None:
        return _by_type(self.obj).get(READY)

    @property
    def is_ready(self) -> bool:
        return self.ready is not None and self.ready.get("status") == "True"

    @property
    def status_was_written(self) -> bool:
        return self.previous is None or self.previous.get("status") != self.obj.get("status")


def _no_negative_while_ready(case: _Case) -> Iterator[str]:
    negative = case.declaration.negative if case.declaration else USUAL_NEGATIVES
    for condition in case.conditions:
        if case.is_ready and condition.get("type") in negative and condition.get("status") == "True":
            yield f"{condition['type']} is True while Ready is True"


def _ready_is_there(case: _Case) -> Iterator[str]:
    reported = bool(case.conditions) or "observedGeneration" in dig_object(case.obj, "status")
    if reported and case.ready is None:
        yield "the condition Ready is missing"


def _not_ahead_of_generation(case: _Case) -> Iterator[str]:
    for where, observed in _observed_generations(case.obj).items():
        if case.generation is not None and observed > case.generation:
            yield f"{where} has observed generation {observed} of {case.generation}"


def _no_duplicates(case: _Case) -> Iterator[str]:
    counted = Counter(str(condition.get("type")) for condition in case.conditions)
    for type_, count in counted.items():
        if count > 1:
            yield f"{type_} is there {count} times"


def _time_moves_with_status(case: _Case) -> Iterator[str]:
    before = _by_type(case.previous)
    for type_, new in _by_type(case.obj).items():
        old = before.get(type_)
        if old is None or old.get("status") != new.get("status"):
            continue
        if old.get("lastTransitionTime") != new.get("lastTransitionTime"):
            yield f"the lastTransitionTime of {type_} moved while it stayed {new.get('status')}"


def _time_is_past(case: _Case) -> Iterator[str]:
    for condition in case.ours:
        text = condition.get("lastTransitionTime")
        try:
            moment = parse_timestamp(str(text))
        except ValueError:
            yield f"the lastTransitionTime of {condition.get('type')} is not a time: {text!r}"
            continue
        if case.now is not None and moment > case.now:
            yield f"the lastTransitionTime of {condition.get('type')} is in the future: {text}"


def _well_formed(case: _Case) -> Iterator[str]:
    for entry in dig_list(case.obj, "status", "conditions"):
        if not isinstance(entry, dict):
            yield f"a condition is not an object: {entry!r}"
    for condition in case.ours:
        name = condition.get("type") or "a condition"
        yield from (f"{name} has {fault}" for fault in _malformed(condition))


def _malformed(condition: JsonObject) -> Iterator[str]:
    type_, reason, message = (condition.get(name) for name in ("type", "reason", "message"))
    if not isinstance(type_, str) or not type_:
        yield "no type"
    if condition.get("status") not in ("True", "False", "Unknown"):
        yield f"the status {condition.get('status')!r}"
    if not isinstance(reason, str) or not is_reason(reason):
        yield f"a reason that is not CamelCase: {reason!r}"
    if not isinstance(message, str) or len(message) > LONGEST_MESSAGE:
        yield f"a message that is no text of at most {LONGEST_MESSAGE} characters"


def _ready_is_current(case: _Case) -> Iterator[str]:
    if not case.is_ready:
        return
    observed = _observed_generations(case.obj)
    ready = observed.get(READY)
    if case.status_was_written and ready != case.generation:
        yield f"Ready is True for generation {ready}, but the generation is {case.generation}"
    if (whole := observed.get("status", ready)) != ready:
        yield f"Ready is True for generation {ready}, but status has observed generation {whole}"
    conditions = _by_type(case.obj)
    for type_ in _required(case.declaration):
        status = conditions.get(type_, {}).get("status")
        if status != "True" or observed.get(type_) != ready:
            yield f"Ready is True for generation {ready}, but {type_} is {status} for {observed.get(type_)}"


def _generations_only_grow(case: _Case) -> Iterator[str]:
    before = _observed_generations(case.previous)
    for where, observed in _observed_generations(case.obj).items():
        if observed < before.get(where, observed):
            yield f"the observed generation of {where} went back from {before[where]} to {observed}"


def _no_secrets(case: _Case) -> Iterator[str]:
    for condition in case.conditions:
        message = str(condition.get("message", ""))[:LONGEST_MESSAGE]
        if redact_text(message) != message:
            yield f"the message of {condition.get('type')} looks as if it held a secret"


_LAWS = (
    _no_negative_while_ready,
    _ready_is_there,
    _not_ahead_of_generation,
    _no_duplicates,
    _time_moves_with_status,
    _time_is_past,
    _well_formed,
    _ready_is_current,
    _generations_only_grow,
    _no_secrets,
)


def _same_object(left: JsonObject, right: JsonObject) -> bool:
    return bool(dig(left, "metadata", "uid") == dig(right, "metadata", "uid"))


def _required(declaration: Declaration | None) -> list[str]:
    if declaration is None:
        return []
    return [type_ for type_ in declaration.required if type_ in declaration.published]


def _conditions(obj: JsonObject | None) -> list[JsonObject]:
    return [entry for entry in dig_list(obj, "status", "conditions") if isinstance(entry, dict)]


def _by_type(obj: JsonObject | None) -> dict[str, JsonObject]:
    """The conditions by type. Of duplicates, which violate law 4, the first is used."""
    conditions: dict[str, JsonObject] = {}
    for condition in _conditions(obj):
        conditions.setdefault(str(condition.get("type")), condition)
    return conditions


def _observed_generations(obj: JsonObject | None) -> dict[str, int]:
    """All observedGenerations: that of the status under `status`, those of conditions under their types."""
    places: dict[str, Any] = {"status": dig(obj, "status"), **_by_type(obj)}
    values = ((where, dig(place, "observedGeneration")) for where, place in places.items())
    return {where: value for where, value in values if isinstance(value, int)}
