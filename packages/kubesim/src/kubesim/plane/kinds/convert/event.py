"""Events under their two names: `v1` (stored) and `events.k8s.io/v1`, which renamed most fields.

The newer API has a microsecond `eventTime` and calls the older timestamps and counters deprecated, but the objects
are the same ones.
"""

from __future__ import annotations

from edgekeeper.core.json import JsonObject

CORE_VERSION = "v1"
EVENTS_VERSION = "events.k8s.io/v1"

_CORE_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_EVENTS_NAMES = {core: events for events, core in _CORE_NAMES.items()}
_ALWAYS_IN_CORE = ("reportingComponent", "reportingInstance")


def to_core(event: JsonObject) -> JsonObject:
    """Return an `events.k8s.io/v1` event as `v1`."""
    renamed = {_CORE_NAMES.get(key, key): value for key, value in event.items()}
    for key in _ALWAYS_IN_CORE:
        renamed.setdefault(key, "")
    if "apiVersion" in renamed:
        renamed["apiVersion"] = CORE_VERSION
    return renamed


def from_core(event: JsonObject) -> JsonObject:
    """Return a `v1` event as `events.k8s.io/v1`."""
    renamed = {
        _EVENTS_NAMES.get(key, key): value
        for key, value in event.items()
        if value != "" or key not in _ALWAYS_IN_CORE
    }
    if "apiVersion" in renamed:
        renamed["apiVersion"] = EVENTS_VERSION
    return renamed
