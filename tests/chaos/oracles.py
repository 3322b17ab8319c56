"""Oracles that know nothing of any kind: the laws of a status, rest, events, secrets, and what a process remembers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from edgekeeper.core.conditions import status_violations
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import Kind
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from tests.chaos.kind import Judge
from tests.chaos.violation import Violation
from tests.chaos.world import World
from tests.crash.faults import TracedCall
from tests.crash.oracles import cluster_state

EVENTS = GroupResource("", "events")
"""Where the server keeps the events of both groups."""
MOST_EVENTS, EVENTS_PER_OPERATION = 30, 4
"""What may be told of one object: so much, and so much more with every operation of the run."""
PANIC = "unexpected exception"


class StatusWatch:
    """Judges every commit of an object, at the moment when it happens."""

    def __init__(self, world: World[Any]) -> None:
        self.found: list[Violation] = []
        self.uids: set[str] = set()
        """Of all objects that ever were."""
        self._world = world
        system = world.stage.system
        self._kinds = {GroupResource(kind.group, kind.plural): kind for kind in system.declarations}
        world.stage.plane.store.listen(self._observe)

    def _observe(self, resource: GroupResource, event: Event) -> None:
        if self._world.stage.system.canary.encode() in event.item.body:
            self.found.append(Violation("secret", f"the secret is in {resource} {event.item.key}"))
        kind = self._kinds.get(resource)
        if kind is None or event.type == "DELETED":
            return
        obj = event.item.decode()
        self.uids.add(obj["metadata"]["uid"])
        before = event.previous.decode() if event.previous is not None else None
        if before is None or before.get("status") != obj.get("status"):
            self._judge(kind, obj, before)

    def _judge(self, kind: Kind, obj: JsonObject, before: JsonObject | None) -> None:
        declaration = self._world.stage.system.declarations[kind]
        now = self._world.latest_time()
        for law in status_violations(obj, before, declaration=declaration, now=now):
            self.found.append(Violation("status", f"{kind.kind} {obj['metadata']['name']}: {law}"))


class EventCount:
    """Counts what is told about each object, repetitions included."""

    def __init__(self, world: World[Any]) -> None:
        self._told: dict[str, tuple[str, str, int]] = {}
        """By event: about which object, the reason, and how often."""
        world.stage.plane.store.listen(self._observe)

    def _observe(self, resource: GroupResource, event: Event) -> None:
        if resource == EVENTS and event.type != "DELETED":
            body = event.item.decode()
            times = dig(body, "series", "count") or 1
            about = body["involvedObject"]
            self._told[body["metadata"]["uid"]] = (
                f"{about['name']} {about.get('uid')}",
                body["reason"],
                times,
            )

    def total(self) -> int:
        return sum(times for _, _, times in self._told.values())

    def excesses(self, operations: int) -> Iterator[Violation]:
        """Objects of which too much is told."""
        most = MOST_EVENTS + EVENTS_PER_OPERATION * operations
        counts: Counter[str] = Counter()
        reasons: dict[str, Counter[str]] = {}
        for about, reason, times in self._told.values():
            counts[about] += times
            reasons.setdefault(about, Counter())[reason] += times
        for about, count in counts.items():
            if count > most:
                often = ", ".join(f"{reason} ×{times}" for reason, times in reasons[about].most_common(4))
                yield Violation("events", f"{count} events about {about}: {often}")


class Rest:
    """What still happens after everything has settled."""

    def __init__(self, world: World[Any], events: EventCount) -> None:
        self._world = world
        self._events = events
        self._calls = len(world.stage.trace.calls)
        self._writes = world.outside.writes
        self._told = events.total()
        self._state = cluster_state(world.stage), world.outside.state()

    def disturbances(self, judge: Judge, minutes: float) -> Iterator[Violation]:
        stage = self._world.stage
        late = [
            call for call in stage.trace.calls[self._calls :] if call.mutating and not _is_of_election(call)
        ]
        for call in [call for call in late if call.target == "kubernetes"][:3]:
            yield Violation("unrest", f"written at rest: {call.operation} {call.subject}")
        if self._world.outside.writes > self._writes:
            done = ", ".join(
                f"{call.operation} {call.subject}" for call in late if call.target != "kubernetes"
            )
            yield Violation("unrest", f"changed outside at rest: {done}")
        tried, most = sum(call.target != "kubernetes" for call in late), judge.tolerated_refusals(minutes)
        if tried > most:
            which = Counter(call.operation for call in late if call.target != "kubernetes")
            yield Violation("unrest", f"{tried} changes tried at rest, not {most}: {dict(which)}")
        if self._events.total() > self._told:
            yield Violation("unrest", f"{self._events.total() - self._told} events told at rest")
        if (cluster_state(stage), self._world.outside.state()) != self._state:
            yield Violation("unrest", "something is different after a while")


def _is_of_election(call: TracedCall) -> bool:
    return call.target == "kubernetes" and "leases" in f"{call.operation} {call.subject}"


def told_in_logs(text: str, canary: str) -> Iterator[Violation]:
    """What must not be in the log: a secret, and exceptions that nobody expected."""
    if canary in text:
        yield Violation("secret", "the secret is in the logs")
    for line in [line for line in text.splitlines() if PANIC in line][:2]:
        said = msgspec.json.decode(line)
        place = said.get("stack", "").rstrip().splitlines()[-4:]
        yield Violation("panic", f"{said['msg']}: {said.get('error')}, {' '.join(map(str.strip, place))}")


# Memory

_BOUNDED = ("Recorder", "Ledger", "MirrorState", "Metrics", "CloudMetrics", "TenantMetrics", "Audit")
"""Classes that remember what is gone, up to a fixed number, or count without names."""


def remembered(roots: Any, needles: set[str]) -> Iterator[Violation]:
    """Where a process still knows of objects that are gone: a path to every container that mentions one of the needles.

    It is looked for in what the program has made: containers, and attributes of its own classes.
    """
    queue: deque[tuple[Any, str]] = deque([(roots, "controllers")])
    seen: set[int] = set()
    while queue:
        value, path = queue.popleft()
        if isinstance(value, str):
            if value in needles:
                yield Violation("memory", f"{path} still knows of {value}")
            continue
        if id(value) in seen or isinstance(value, bytes | int | float | bool | None | Enum | type):
            continue
        seen.add(id(value))
        queue.extend(_parts(value, path))


def _parts(value: Any, path: str) -> Iterator[tuple[Any, str]]:
    if isinstance(value, WeakValueDictionary):
        return  # keeps nothing
    if isinstance(value, Mapping):
        for key, one in list(value.items()):
            yield key, f"{path} key"
            yield one, f"{path}[…]"
    elif isinstance(value, list | tuple | set | frozenset | deque):
        for one in list(value):
            yield one, f"{path}[…]"
    elif type(value).__module__.startswith("edgekeeper.") and type(value).__name__ not in _BOUNDED:
        for name, one in _attributes(value):
            yield one, f"{path}.{name}"


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    yield from list(getattr(value, "__dict__", {}).items())
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(value, name):
                yield name, getattr(value, name)
