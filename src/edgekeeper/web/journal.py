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
from edgekeeper.core.delta import ChangedField, Difference, changed_fields
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
    generation: int = 0
    """Of the object, as the pass has seen it; 0 if several objects are concerned, or it has none."""
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
        self._behalf: OrderedDict[Subject, Subject] = OrderedDict()
        """The objects that internal ones are for."""
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
        record = _PassRecord((kind, namespace, name), self._remember_behalf)
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
        written = _written(record)
        if written is not None:
            self._remember_write(written)
        with self._inner.call(record) as span:
            ended = _EndedSpan(span)
            try:
                yield ended
            finally:
                if written is not None and (ended.failed or not ended.result):
                    self._own_writes.pop(
                        written, None
                    )  # nothing was written, so the next change is somebody else's

    async def close(self) -> None:
        await self._inner.close()

    def is_own_write(self, kind: Kind, key: Key) -> bool:
        """Whether a change of an object that was just seen is a write of the operator. Each write counts once."""
        wrote_at = self._own_writes.pop((kind.plural, str(key)), None)
        return wrote_at is not None and self._clock.monotonic() - wrote_at < OWN_SECONDS

    def spec_changed(self, change: SpecChange) -> None:
        """Somebody else has created, changed or deleted an object."""
        subject = (change.kind.kind, change.key.namespace, change.key.name)
        fields = changed_fields(change.differences, MOST_FIELDS)
        steps = [Step(change.verb, "", fields)] if fields else []
        self._add(change.who or SOMEBODY, change.verb, [subject], generation=change.generation, steps=steps)

    def _count(self, record: CallRecord) -> None:
        """Count a call for the pass that makes it, or as one of a batch. Listings are nobody's."""
        current, actors = notes(), current_context().actors
        if isinstance(current, _PassRecord) and current.is_open and current.makes_calls_for(actors):
            current.calls[record.target, record.operation, record.mutating] += 1
        elif actors and record.mutating:
            self._add_batch(record, actors)

    def _remember_write(self, written: tuple[str, str]) -> None:
        """Before it is made, since the watch may tell of it before the answer is here."""
        self._own_writes[written] = self._clock.monotonic()
        self._own_writes.move_to_end(written)
        while len(self._own_writes) > MOST_ENTRIES:
            self._own_writes.popitem(last=False)

    def _add_batch(self, record: CallRecord, actors: Sequence[Actor]) -> None:
        subjects = [(actor.kind, actor.namespace, actor.name) for actor in actors]
        shown = list(dict.fromkeys(self._behalf.get(one, one) for one in subjects))
        number = "1 object" if len(shown) == 1 else f"{len(shown)} objects"
        step = Step(
            redact_text(f"{record.operation} {record.subject}"), f"the changes of {number}, in one call"
        )
        calls = [CallCount(record.target, record.operation, 1, True)]
        title = (
            record.operation if record.subject.startswith("/") else step.what
        )  # a path says little in a title
        self._add("a batch writer", title, shown[:MOST_SUBJECTS], steps=[step], calls=calls)

    def _remember_behalf(self, internal: Subject, known: Subject) -> None:
        self._behalf[internal] = known
        self._behalf.move_to_end(internal)
        while len(self._behalf) > MOST_ENTRIES:
            self._behalf.popitem(last=False)

    def _close(self, controller: str, record: _PassRecord, span: _EndedSpan) -> None:
        if record.drifted:
            self._drifts[record.shown] = (self._now(), record.drifted)
            self._drifts.move_to_end(record.shown)
            while len(self._drifts) > MOST_DRIFTS:
                self._drifts.popitem(last=False)
        if not record.is_worth_telling:
            return
        self._add(
            f"{controller} controller",
            record.title,
            [record.shown],
            generation=record.generation,
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

    def __init__(self, subject: Subject, remember_behalf: Callable[[Subject, Subject], None]) -> None:
        self.subject = subject
        self.shown = subject
        """The object that people know: another one for the pass of an internal object."""
        self.generation = 0
        self.is_open = True
        self._remember_behalf = remember_behalf
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
            more = len(self.steps) - 1
            return f"{self.steps[0].what}{f', and {more} more' if more else ''}"
        return self.events[0].reason if self.events else "change"

    def about(self, generation: int) -> None:
        self.generation = generation

    def on_behalf_of(self, kind: str, namespace: str, name: str) -> None:
        self.shown, self.generation = (kind, namespace, name), 0
        self._remember_behalf(self.subject, self.shown)

    def step(self, step: str, reason: str, changes: Sequence[Difference]) -> None:
        fields = changed_fields(changes, MOST_FIELDS)
        self.steps.append(Step(redact_text(step), redact_text(reason), fields))

    def drift(self, differences: Sequence[Difference]) -> None:
        self.drifted = changed_fields(differences, MOST_FIELDS)

    def recorded_drift(self, fields: Sequence[ChangedField]) -> None:
        self.drifted = list(fields[:MOST_FIELDS])

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


def _written(record: CallRecord) -> tuple[str, str] | None:
    """The resource and name of the object that a call writes to the API server, if it does."""
    if record.target != KUBERNETES or not record.mutating:
        return None
    return record.operation.rpartition(" ")[2], record.subject


def _ignore(_: Entry) -> None:
    return
