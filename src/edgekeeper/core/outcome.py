"""What a pass comes to: one value that says everything the runtime has to do.

A reconciler returns an `Outcome`; it never writes its object itself. There is room for one write and no more, so two
writes of the reconciled object in one pass are impossible by construction:

    StatusWrite       the status as it should be; dropped when it is that already
    MetadataWrite     finalizers, labels and annotations to add or remove
    ApplyWrite        server-side apply of fields that a field manager of ours owns, of spec say

    done()                 nothing left to do; a change or an event brings the object back
    requeue(after, …)      look again after that time at the latest
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from edgekeeper.core.json import JsonObject


@dataclass(frozen=True, slots=True)
class Event:
    """A fact for people, shown by `kubectl describe`. The recorder aggregates repetitions."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    action: str = "Reconcile"


@dataclass(frozen=True, slots=True)
class StatusWrite:
    """Replace the status."""

    status: JsonObject


@dataclass(frozen=True, slots=True)
class MetadataWrite:
    """Change what metadata says about the object. A label or annotation of None is removed."""

    add_finalizers: tuple[str, ...] = ()
    remove_finalizers: tuple[str, ...] = ()
    labels: Mapping[str, str | None] = field(default_factory=dict)
    annotations: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApplyWrite:
    """Own some fields of the object by server-side apply, under a field manager of this purpose alone."""

    fields: JsonObject
    """The applied configuration without apiVersion, kind and metadata identity, such as `{"spec": {…}}`."""
    manager: str
    force: bool = True


Write: TypeAlias = StatusWrite | MetadataWrite | ApplyWrite


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a pass."""

    requeue_after: timedelta | None = None
    write: Write | None = None
    events: tuple[Event, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the log line of the pass should say beside the object, such as what changed."""

    def writing(self, write: Write) -> Outcome:
        """The same outcome with its one write. A second one is a mistake of the reconciler, and refused."""
        if self.write is not None:
            raise ValueError("a pass writes its object at most once")
        return replace(self, write=write)

    def saying(self, *events: Event) -> Outcome:
        return replace(self, events=(*self.events, *events))


def done() -> Outcome:
    """Nothing is left to do until something changes."""
    return Outcome()


def requeue(after: timedelta) -> Outcome:
    """Something is unfinished or will need a look: come back after `after` at the latest."""
    return Outcome(requeue_after=after)
