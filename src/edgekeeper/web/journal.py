"""Recent changes: what passes did, for which objects, why, and with how many calls. A bounded list in memory.

    journal = Journal(tracer, clock)          is itself the tracer of the process, and passes spans on
    journal.entries(limit=50)

It listens where traces do: each pass opens a span, and each call to a cloud and each write to the API server is one within.
Steps, drift and events come as notes (`core.notes`). A pass that only looks and waits leaves no entry. Calls that batches
make for several objects, outside their passes, are entries of their own.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Final, TypeAlias

import msgspec

from edgekeeper.cloud.call_context import Actor, current_context
from edgekeeper.core.calls import CallRecord
from edgekeeper.core.clock import Clock, timestamp
from edgekeeper.core.delta import ABSENT, Difference, shown_value
from edgekeeper.core.notes import PassNotes, notes, noting
from edgekeeper.core.outcome import Event
from edgekeeper.core.redaction import redact_text
from edgekeeper.core.tracing import Span, Tracer
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.web.directory import SpecChange

MOST_ENTRIES: Final = 1_000
MOST_DRIFTS: Final = 1_000
MOST_SUBJECTS: Final = 20
MOST_FIELDS: Final = 40
"""How many differences of one change are kept."""
KUBERNETES: Final = "kubernetes"
OWN_SECONDS: Final = 30.0
"""How long after a write of ours a change of the object may be its effect."""
SOMEBODY: Final = "somebody, through the API server"

Subject: TypeAlias = tuple[str, str, str]
"""Kind, namespace and name of an object."""


class ChangedField(msgspec.Struct, frozen=True, omit_defaults=True):
    """A field that was, or would be, changed. A side that is absent is left out."""

    path: str
    before: str | None = None
    after: str | None = None


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a pass did."""

    what: str
    why: str
    fields: list[ChangedField] = []


class Happening(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event about the object."""

    reason: str
    message: str
    warning: bool = False


class CallCount(msgspec.Struct, frozen=True, omit_defaults=True):
    """Calls of one operation."""

    target: str
    operation: str
    count: int = 0
    writes: bool = False


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change."""

    id: int
    at: str
    who: str
    what: str
    subjects: list[Subject]
    steps: list[Step] = []
    drift: list[ChangedField] = []
    events: list[Happening] = []
    calls: list[CallCount] = []
    result: str = ""
    failed: bool = False


class Journal(Tracer):
    """Records what passes do, and passes spans on to another tracer."""

    def __init__(self, inner: Tracer, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock
        self._numbers = count(1)
        self._entries: deque[Entry] = deque(maxlen=MOST_ENTRIES)
        self._drifts: OrderedDict[Subject, tuple[str, list[ChangedField]]] = OrderedDict()
        self._own_writes: OrderedDict[tuple[str, str], float] = OrderedDict()
        """When the operator last wrote an object: its resource, and its name as calls have it."""
        self.on_entry: Callable[[Entry], None] = _ignore

    # Reading

    def entries(self, subject: Subject | None = None, limit: int = 100, before: int = 0) -> list[Entry]:
        """The newest first: of one object, or of all; those with a smaller id than `before`, if that is given."""
        found: list[Entry] = []
        for entry in reversed(self._entries):
            if before and entry.id >= before:
                continue
            if subject is None or subject in entry.subjects:
                found.append(entry)
            if len(found) == limit:
                break
        return found

    def drift_of(self, subject: Subject) -> tuple[str, list[ChangedField]] | None:
        """When drift of an object was last seen, and in which fields."""
        return self._drifts.get(subject)

    # Listening

    @contextmanager
    def reconciliation(
        self, controller: str, kind: str, namespace: str, name: str, id_: str
    ) -> Iterator[Span]:
        record = _PassRecord((kind, namespace, name))
        with (
            self._inner.reconciliation(controller, kind, namespace, name, id_) as span,
            noting(record),
        ):
            ended = _EndedSpan(span)
            try:
                yield ended
            finally:
                record.is_open = False
                self._close(controller, record, ended)

    @contextmanager
    def call(self, record: CallRecord) -> Iterator[Span]:
        self._count(record)
        with self._inner.call(record) as span:
            yield span

    async def close(self) -> None:
        await self._inner.close()

    def is_own_write(self, kind: Kind, key: Key) -> bool:
        """Whether a change of an object that was just seen is a write of the operator. Each write counts once."""
        wrote_at = self._own_writes.pop((kind.plural, str(key)), None)
        return wrote_at is not None and self._clock.monotonic() - wrote_at < OWN_SECONDS

    def spec_changed(self, change: SpecChange) -> None:
        """Somebody else has created, changed or deleted an object."""
        subject = (change.kind.kind, change.key.namespace, change.key.name)
        steps = [Step("spec", "", changed_fields(change.differences))] if change.differences else []
        self._add(SOMEBODY, change.verb, [subject], steps=steps)

    def _count(self, record: CallRecord) -> None:
        """Count a call for the pass that makes it, or as one of a batch. Listings are nobody's."""
        if record.target == KUBERNETES and record.mutating:
            resource = record.operation.rpartition(" ")[2]
            self._own_writes[resource, record.subject] = self._clock.monotonic()
            self._own_writes.move_to_end((resource, record.subject))
            while len(self._own_writes) > MOST_ENTRIES:
                self._own_writes.popitem(last=False)
        current, actors = notes(), current_context().actors
        if isinstance(current, _PassRecord) and current.is_open and current.makes_calls_for(actors):
            current.calls[record.target, record.operation, record.mutating] += 1
        elif actors and record.mutating:
            calls = [CallCount(record.target, record.operation, 1, True)]
            self._add("a batch", f"{record.operation} {record.subject}", _subjects(actors), calls=calls)

    def _close(self, controller: str, record: _PassRecord, span: _EndedSpan) -> None:
        if record.drifted:
            self._drifts[record.subject] = (self._now(), record.drifted)
            self._drifts.move_to_end(record.subject)
            while len(self._drifts) > MOST_DRIFTS:
                self._drifts.popitem(last=False)
        if not record.is_worth_telling:
            return
        self._add(
            f"{controller} controller",
            record.title,
            [record.subject],
            steps=record.steps,
            drift=record.drifted,
            events=record.events,
            calls=record.counted,
            result=span.result,
            failed=span.failed,
        )

    def _add(self, who: str, what: str, subjects: list[Subject], **rest: object) -> None:
        entry = msgspec.convert(
            {
                "id": next(self._numbers),
                "at": self._now(),
                "who": who,
                "what": redact_text(what),
                "subjects": subjects,
                **rest,
            },
            Entry,
        )
        self._entries.append(entry)
        self.on_entry(entry)

    def _now(self) -> str:
        return timestamp(self._clock.now())


class _PassRecord(PassNotes):
    """What one pass did so far."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.is_open = True
        self.steps: list[Step] = []
        self.drifted: list[ChangedField] = []
        self.events: list[Happening] = []
        self.calls: Counter[tuple[str, str, bool]] = Counter()

    def makes_calls_for(self, actors: Sequence[Actor]) -> bool:
        """Whether a call for these objects is one of the pass, and not of a batch that the pass has started."""
        return not actors or [(one.namespace, one.name) for one in actors] == [self.subject[1:]]

    @property
    def is_worth_telling(self) -> bool:
        mutates_cloud = any(writes and target != KUBERNETES for target, _, writes in self.calls)
        return bool(self.steps or self.events or mutates_cloud)

    @property
    def counted(self) -> list[CallCount]:
        return [
            CallCount(target, operation, number, writes)
            for (target, operation, writes), number in self.calls.items()
        ]

    @property
    def title(self) -> str:
        if self.steps:
            return self.steps[0].what
        return self.events[0].reason if self.events else "change"

    def step(self, step: str, reason: str, changes: Sequence[Difference]) -> None:
        self.steps.append(Step(redact_text(step), redact_text(reason), changed_fields(changes)))

    def drift(self, differences: Sequence[Difference]) -> None:
        self.drifted = changed_fields(differences)

    def event(self, event: Event) -> None:
        message = redact_text(event.message)
        self.events.append(Happening(event.reason, message, event.type == "Warning"))


class _EndedSpan(Span):
    """A span that remembers how it ended."""

    def __init__(self, inner: Span) -> None:
        self._inner = inner
        self.result = ""
        self.failed = False

    def end(self, result: str, *, failed: bool = False) -> None:
        self.result, self.failed = str(result), failed
        self._inner.end(result, failed=failed)


def changed_fields(differences: Sequence[Difference]) -> list[ChangedField]:
    """Differences for display, redacted."""
    return [
        ChangedField(one.path, **{side: value for side, value in _sides(one).items() if value is not None})
        for one in differences[:MOST_FIELDS]
    ]


def _sides(difference: Difference) -> dict[str, str | None]:
    """Both values; None for one that is absent."""
    values = {"before": difference.before, "after": difference.after}
    return {
        side: None if value is ABSENT else shown_value(difference, value) for side, value in values.items()
    }


def _subjects(actors: Sequence[Actor]) -> list[Subject]:
    return [(actor.kind, actor.namespace, actor.name) for actor in actors[:MOST_SUBJECTS]]


def _ignore(_: Entry) -> None:
    return
