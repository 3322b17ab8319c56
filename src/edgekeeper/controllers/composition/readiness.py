"""What an object says about itself, for messages: why it is not ready, and why it does not go away."""

from __future__ import annotations

from typing import Any, Final

from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import Key, Kind

_POSITIVE: Final = ("Ready", "Available", "Complete", "Synced", "Established")
_NEGATIVE: Final = ("Failed", "ReplicaFailure", "Stalled", "Degraded", "ACK.Terminal", "ACK.Recoverable")
_LONGEST: Final = 500


def own_message(obj: JsonObject) -> str:
    """The message of the condition that says best why an object is not ready; empty if none does."""
    conditions = [entry for entry in dig_list(obj, "status", "conditions") if isinstance(entry, dict)]
    for types, bad in ((_NEGATIVE, "True"), (_POSITIVE, "False"), (_POSITIVE, "Unknown")):
        for type_ in types:
            for entry in conditions:
                if entry.get("type") == type_ and entry.get("status") == bad:
                    return _said(entry)
    return ""


def _said(entry: JsonObject) -> str:
    parts = [str(entry[name]) for name in ("reason", "message") if entry.get(name)]
    return ": ".join(parts)[:_LONGEST]


def shown(kind: Kind, key: Key) -> str:
    """An object as messages name it."""
    return f"{kind.kind} {key}"


def blocked_by(kind: Kind, key: Key, obj: JsonObject) -> str:
    """Why an object that is being deleted is still there."""
    finalizers = [str(entry) for entry in dig_list(obj, "metadata", "finalizers")]
    held = f" is held by {', '.join(finalizers)}" if finalizers else " is being deleted"
    message = own_message(obj)
    return f"{shown(kind, key)}{held}{f', and says: {message}' if message else ''}"


def is_terminating(obj: Any) -> bool:
    return dig(obj, "metadata", "deletionTimestamp") is not None
