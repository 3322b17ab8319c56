"""Rules of events, in the names of the API they are written through.

Events of the older kind must live in the namespace of what they are about; newer ones, known by their `eventTime`,
must say who reports what.
"""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.schema.field_error import invalid_value, required
from kubesim.plane.kinds.convert.event import to_core
from kubesim.plane.kinds.rules.check import Errors, conforms, immutable
from kubesim.plane.labels import label_key_problems

_LONGEST = 128
_LONGEST_MESSAGE = 1024
_FIXED = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
)


def core_event(new: JsonObject, _: JsonObject | None) -> Errors:
    yield from _event(new, "reportingComponent")


def new_event(new: JsonObject, old: JsonObject | None) -> Errors:
    event = to_core(new)
    yield from _event(event, "reportingController")
    yield from _series(event)
    if old is None:
        yield from _strict(event)
    else:
        before = to_core(old)
        for field in _FIXED:
            yield from immutable(field, event.get(field), before.get(field))


def _event(event: JsonObject, reporter_field: str) -> Errors:
    namespace, regarded = dig(event, "metadata", "namespace"), dig(event, "involvedObject", "namespace") or ""
    timed = bool(event.get("eventTime"))
    allowed = ("default", "kube-system") if timed else ("default",)
    strays = namespace not in allowed if not regarded else not timed and namespace != regarded
    if strays:
        yield invalid_value("involvedObject.namespace", regarded, "does not match event.namespace")
    if timed:
        yield from _reporter(event, reporter_field)


def _reporter(event: JsonObject, reporter_field: str) -> Errors:
    reporter = event.get("reportingComponent") or ""
    if not reporter:
        yield required(reporter_field)
    yield from conforms(reporter_field, reporter, label_key_problems)
    for field in ("reportingInstance", "action", "reason"):
        text = event.get(field) or ""
        if not text:
            yield required(field)
        if len(text) > _LONGEST:
            yield invalid_value(field, "", f"can have at most {_LONGEST} characters")
    if len(event.get("message") or "") > _LONGEST_MESSAGE:
        yield invalid_value("message", "", f"can have at most {_LONGEST_MESSAGE} characters")


def _series(event: JsonObject) -> Errors:
    series = event.get("series")
    if isinstance(series, dict):
        if (series.get("count") or 0) < 2:
            yield invalid_value("series.count", "", "should be at least 2")
        if not series.get("lastObservedTime"):
            yield required("series.lastObservedTime")


def _strict(event: JsonObject) -> Errors:
    """The newer API neither knows nor accepts the fields it calls deprecated."""
    if not event.get("eventTime"):
        yield required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        yield invalid_value("type", "", f"has invalid value: {event.get('type') or ''}")
    for field in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(field):
            yield invalid_value(field, "", "needs to be unset")
