"""Events as facts: what is said about which object, in a form that is safe to show and that the server accepts.

The same fact always has the same name, `<object>.<hash>`. A repetition therefore finds the Event that told it first,
also after a restart, and becomes one more of a series instead of one more object.
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
"""Bytes of a reason, an action and the name of an instance."""
_LONGEST_NAME = 253
_HOME_OF_CLUSTER_SCOPED = "default"
"""Events need a namespace. The server allows this one for subjects that have none."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class Subject(NamedTuple):
    """The object that an event is about. Small, so that waiting events do not keep whole objects alive."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, tree: JsonObject) -> Subject:
        """Raise ValueError for something that has no name or kind, and so cannot be referred to."""
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
    """What was said. Equal facts are one event, told several times."""

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
        """Where the Event is. Other objects of that name, and other kinds, have other hashes."""
        told = "\0".join((*self.subject, self.type, self.reason, self.action, self.note))
        digest = hashlib.sha256(told.encode(errors="replace")).hexdigest()[:16]
        about = self.subject.name[: _LONGEST_NAME - len(digest) - 1].rstrip("-.")
        if not _SUBDOMAIN.fullmatch(about):  # such as the names of roles, which may contain anything
            about = self.subject.kind.lower()
        return Key(self.subject.namespace or _HOME_OF_CLUSTER_SCOPED, f"{about}.{digest}")

    def is_told_by(self, tree: JsonObject) -> bool:
        """Whether an existing Event says this fact, and does not merely have its name."""
        told = (dig(tree, "regarding", "uid") or "", tree.get("reason"), tree.get("note", ""))
        return told == (self.subject.uid, self.reason, self.note)


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who says it: the program, and which process of it."""

    controller: str
    instance: str

    def event(self, fact: Fact, first: datetime, count: int, last: datetime) -> JsonObject:
        """The Event as it is created. Whatever happened more than once is a series from the start."""
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
    """The part of an Event that changes: how often by now, and when last."""
    return {"series": {"count": min(count, 2**31 - 1), "lastObservedTime": micro_timestamp(last)}}


def told_so_far(tree: JsonObject) -> int:
    """How often an existing Event has been told."""
    count = dig(tree, "series", "count")
    return count if isinstance(count, int) and count > 1 else 1


def one_line(text: str) -> str:
    """Text without secrets, line breaks, escape sequences and other control characters."""
    cleaned = " ".join(_CONTROLS.sub(" ", _ESCAPES.sub("", redact_text(str(text)))).split())
    # Once more: what was hidden from the first look by an escape sequence in its midst is whole now.
    return redact_text(cleaned)


def _cut(text: str, longest: int) -> str:
    """The beginning of the text that fits into so many bytes, never half a character."""
    encoded = text.encode()
    if len(encoded) <= longest:
        return text
    return encoded[: longest - len("…".encode())].decode(errors="ignore") + "…"
