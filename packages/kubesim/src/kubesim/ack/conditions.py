"""How ACK tells how an object is: its conditions."""

from __future__ import annotations

from typing import Any

SYNCED, TERMINAL, RECOVERABLE, READY = "ACK.ResourceSynced", "ACK.Terminal", "ACK.Recoverable", "Ready"


def conditions(
    present: list[dict[str, Any]], now: str, *, terminal: str = "", recoverable: str = ""
) -> list[dict[str, Any]]:
    """The conditions of an object: synced, unless it is terminal or recoverable with a message."""
    trouble = terminal or recoverable
    wanted = {
        SYNCED: ("False" if trouble else "True", trouble or "Resource synced successfully"),
        READY: ("False" if trouble else "True", trouble),
    }
    if terminal:
        wanted[TERMINAL] = ("True", terminal)
    if recoverable:
        wanted[RECOVERABLE] = ("True", recoverable)
    before = {one["type"]: one for one in present}
    return [_condition(before.get(type_), type_, *told, now) for type_, told in wanted.items()]


def _condition(
    before: dict[str, Any] | None, type_: str, status: str, message: str, now: str
) -> dict[str, Any]:
    is_same = before is not None and before.get("status") == status
    since = before.get("lastTransitionTime", now) if before is not None and is_same else now
    return {"type": type_, "status": status, "message": message, "lastTransitionTime": since}
