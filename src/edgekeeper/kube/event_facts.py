"""Facts: the content of Events, without secrets and within the limits of the server.

The Event of a fact is named `<object>.<hash of the fact>`. A repetition therefore finds the existing Event, also after
a restart, and increases the count of its series instead of creating another Event.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from edgekeeper.core.clock import micro_timestamp
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.outcome import Event
from edgekeeper.core.redaction import redact_text
from edgekeeper.kube.kinds import EVENT, Key

LONGEST_NOTE = 1024
LONGEST_WORD = 128
"""The maximum length in bytes of a reason, an action and the name of an instance."""
_LONGEST_NAME = 253
_NAMESPACE_OF_CLUSTER_SCOPED = "default"
"""The namespace of Events about cluster-scoped objects: the server accepts no other."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class Subject(NamedTuple):
    """A reference to the object that an event is about, so that queued events do not hold whole objects in memory."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, tree: JsonObject) -> Subject:
        """The reference to an object. Raise ValueError if it has no apiVersion, kind or name."""
        paths = (
            ("apiVersion",),
            ("kind",),
            ("metadata", "namespace"),
            ("metadata", "name"),
            ("metadata", "uid"),
        )
        subject = cls(*(value if isinstance(value := dig(tree, *path), str) else "" for path in paths))
        if not (subject.name and subject.kind and subject.api_version):
            raise ValueError("the subject of an event has no apiVersion, kind or name")
        return subject


@dataclass(frozen=True, slots=True)
class Fact:
    """The content of an event. Equal facts are occurrences of one Event."""

    subject: Subject
    type: str
    reason: str
    action: str
    note: str

    @classmethod
    def of(cls, subject: Subject, event: Event) -> Fact:
        return cls(
            subject=subject,
            type="Warning" if event.type == "Warning" else "Normal",
            reason=_cut(one_line(event.reason), LONGEST_WORD) or "Unknown",
            action=_cut(one_line(event.action), LONGEST_WORD) or "Reconcile",
            note=_cut(one_line(event.message), LONGEST_NOTE),
        )

    @property
    def key(self) -> Key:
        """The namespace and name of the Event. The hash also covers the kind and uid of the subject."""
        content = "\0".join((*self.subject, self.type, self.reason, self.action, self.note))
        digest = hashlib.sha256(content.encode(errors="replace")).hexdigest()[:16]
        about = self.subject.name[: _LONGEST_NAME - len(digest) - 1].rstrip("-.")
        if not _SUBDOMAIN.fullmatch(about):  # such as the names of roles, which may contain anything
            about = self.subject.kind.lower()
        return Key(self.subject.namespace or _NAMESPACE_OF_CLUSTER_SCOPED, f"{about}.{digest}")

    def is_reported_by(self, tree: JsonObject) -> bool:
        """Whether an existing Event reports this fact, and does not merely have the same name."""
        content = (dig(tree, "regarding", "uid") or "", tree.get("reason"), tree.get("note", ""))
        return content == (self.subject.uid, self.reason, self.note)


@dataclass(frozen=True, slots=True)
class Reporter:
    """The controller that reports events, and the instance (process) of it."""

    controller: str
    instance: str

    def event(self, fact: Fact, first: datetime, count: int, last: datetime) -> JsonObject:
        """The Event to create, with a series if the fact has occurred more than once."""
        subject, key = fact.subject, fact.key
        regarding = {
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
        }
        tree: JsonObject = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {"name": key.name, "namespace": key.namespace},
            "eventTime": micro_timestamp(first),
            "type": fact.type,
            "reason": fact.reason,
            "action": fact.action,
            "note": fact.note,
            "regarding": {name: value for name, value in regarding.items() if value},
            "reportingController": self.controller,
            "reportingInstance": _cut(one_line(self.instance), LONGEST_WORD) or self.controller,
        }
        return tree | series(count, last) if count > 1 else tree


def series(count: int, last: datetime) -> JsonObject:
    """The merge patch that sets the count and the last time of an Event's series."""
    return {"series": {"count": min(count, 2**31 - 1), "lastObservedTime": micro_timestamp(last)}}


def occurrences(tree: JsonObject) -> int:
    """How often the fact of an existing Event has occurred."""
    count = dig(tree, "series", "count")
    return count if isinstance(count, int) and count > 1 else 1


def one_line(text: str) -> str:
    """Text without secrets, line breaks, escape sequences and other control characters."""
    cleaned = " ".join(_CONTROLS.sub(" ", _ESCAPES.sub("", redact_text(str(text)))).split())
    # Redact again: a secret that was split by an escape sequence is recognisable only now.
    return redact_text(cleaned)


def _cut(text: str, longest: int) -> str:
    """The text, cut to at most `longest` bytes of UTF-8 without splitting a character."""
    encoded = text.encode()
    if len(encoded) <= longest:
        return text
    return encoded[: longest - len("…".encode())].decode(errors="ignore") + "…"
