"""Whether an object is ready, as a person sees it: the result, and the usual way to find it, by a condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from edgekeeper.core.json import JsonObject, dig, dig_list


@dataclass(frozen=True)
class Readiness:
    """Whether an object is ready, with the reason in one CamelCase word and, if known, a sentence."""

    ready: bool
    reason: str
    message: str = ""


PENDING: Final = Readiness(False, "Pending")


def find_condition(obj: JsonObject, type_: str) -> JsonObject | None:
    """A condition of an object, whoever wrote it."""
    return next((item for item in dig_list(obj, "status", "conditions") if dig(item, "type") == type_), None)


def condition_readiness(obj: JsonObject, type_: str, otherwise: Readiness = PENDING) -> Readiness:
    """Ready when a condition is True; `otherwise` if the object does not have that condition."""
    condition = find_condition(obj, type_)
    if condition is None:
        return otherwise
    ready = condition.get("status") == "True"
    reason = str(condition.get("reason") or (condition["type"] if ready else otherwise.reason))
    return Readiness(ready, reason, str(condition.get("message") or ""))
