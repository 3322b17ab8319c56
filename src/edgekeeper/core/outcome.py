"""The outcome of a pass: the write, the events and the requeue that the runtime performs for a reconciler.

A reconciler returns an `Outcome`; it never writes its object itself. An outcome has at most one write, so a pass cannot
write its object twice:

    StatusWrite       the desired status; not sent if it is unchanged
    MetadataWrite     finalizers, labels and annotations to add or remove
    ApplyWrite        server-side apply of fields that a field manager of ours owns, for example of the spec

    done()            nothing left to do until the object or something that it depends on changes
    requeue(after)    another pass after that time at the latest
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from edgekeeper.core.json import JsonObject


@dataclass(frozen=True, slots=True)
class Event:
    """A Kubernetes Event, shown by `kubectl describe`. The recorder aggregates repetitions."""

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
    """Change finalizers, labels and annotations. A label or annotation of None is removed."""

    add_finalizers: tuple[str, ...] = ()
    remove_finalizers: tuple[str, ...] = ()
    labels: Mapping[str, str | None] = field(default_factory=dict)
    annotations: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApplyWrite:
    """Own fields of the object by server-side apply, with a field manager that is used for nothing else."""

    fields: JsonObject
    """The applied configuration without apiVersion, kind and metadata identity, such as `{"spec": {…}}`."""
    manager: str
    force: bool = True


Write: TypeAlias = StatusWrite | MetadataWrite | ApplyWrite


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a pass that did not raise."""

    requeue_after: timedelta | None = None
    write: Write | None = None
    events: tuple[Event, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the log line of the pass, such as the changes."""

    def writing(self, write: Write) -> Outcome:
        """The same outcome with a write. Raise ValueError if it has one already."""
        if self.write is not None:
            raise ValueError("a pass writes its object at most once")
        return replace(self, write=write)

    def with_events(self, *events: Event) -> Outcome:
        return replace(self, events=(*self.events, *events))


def done() -> Outcome:
    """Nothing is left to do until something changes. The object is requeued after the resync interval only."""
    return Outcome()


def requeue(after: timedelta) -> Outcome:
    """Requeue the object after `after` at the latest."""
    return Outcome(requeue_after=after)
