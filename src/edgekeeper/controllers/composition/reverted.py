"""Holds back children that others revert whenever they are applied, with the limits of `lifecycle.corrections`.

The same content of a child is applied a few times at once, and then at most once in an interval. Other content, because a
user has changed something, is applied without delay. Kept in memory only: a restart starts anew.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from edgekeeper.controllers.composition.instance_plan import Address, Desired
from edgekeeper.controllers.composition.labels import CHILD_MANAGER
from edgekeeper.core.clock import Clock, timestamp
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.lifecycle.corrections import Corrections

REVERTED: Final = "RevertedByOthers"
"""The reason in conditions."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a child is not applied now, and when it will be."""

    message: str
    until: datetime


class Reverted:
    """What was applied lately, by the hash of its content."""

    def __init__(self, clock: Clock, read: Callable[[Address], Awaitable[JsonObject | None]]) -> None:
        self._clock = clock
        self._read = read
        self._applied = Corrections(clock)
        self._holds: dict[str, Hold] = {}

    def note(self, desired: Desired) -> None:
        """An object was applied."""
        self._applied.note(desired.hash)

    async def hold(self, desired: Desired) -> Hold | None:
        """Why an object must not be applied now; None if it may be. Raise ApiError."""
        left = self._applied.time_left(desired.hash)
        now = self._clock.now()
        if not left:
            self._holds.pop(desired.hash, None)
            return None
        if desired.hash not in self._holds:
            self._holds = {digest: hold for digest, hold in self._holds.items() if hold.until > now}
            until = now + left
            change = reverted_by(desired, await self._read(desired.address))
            message = f"{desired.address} {change} whenever it is applied: it is applied again at {timestamp(until)}"
            self._holds[desired.hash] = Hold(message, until)
        return self._holds[desired.hash]


def reverted_by(desired: Desired, live: JsonObject | None) -> str:
    """What others do to an object, and who they are, by the field managers that own what we apply."""
    if live is None:
        return "is deleted by others"
    managers = {
        str(dig(entry, "manager"))
        for entry in dig_list(live, "metadata", "managedFields")
        if dig(entry, "manager") != CHILD_MANAGER
        and _overlap(dig_object({"": entry}, "", "fieldsV1"), desired.object)
    }
    return f"is changed by {', '.join(sorted(managers)) or 'others'}"


def _overlap(fields: JsonObject, wanted: Any) -> bool:
    """Whether a set of owned fields, in the form of managedFields, has one of an object."""
    if not isinstance(wanted, dict):
        return True
    return any(
        _overlap(dig_object(fields, name), wanted[name.removeprefix("f:")])
        for name in fields
        if name.startswith("f:") and name.removeprefix("f:") in wanted
    )
