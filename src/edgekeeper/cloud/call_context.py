"""For whom a cloud call is made: who is named in the audit log, whose share of the budget it takes, and its priority.

    with acting_for(Actor("DistributionTenant", "team-a", "shop", uid, generation)):
        await tenants.create(…)                 a change that this object asked for
    with sweeping():
        async for page in lister(): …           a refresh of a mirror, which can wait

The context is a context variable and so travels with the task; adapters need not pass it on. Arguments of
`Transport.call` take precedence. The default is no actor, with the priority of a user's change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum


class Priority(IntEnum):
    """Which calls go first where not all can go."""

    USER = 0
    """Somebody has changed something and waits for it."""
    SWEEP = 1
    """A periodic listing."""


@dataclass(frozen=True, slots=True)
class Actor:
    """The object whose pass makes a call."""

    kind: str
    namespace: str
    name: str
    uid: str
    generation: int

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name} uid {self.uid} generation {self.generation}"


@dataclass(frozen=True, slots=True)
class CallContext:
    """The objects that a call is made for, and its priority. A batch has several actors, a sweep none."""

    actors: tuple[Actor, ...] = ()
    priority: Priority = Priority.USER

    @property
    def namespace(self) -> str:
        """Whose share of the budget a call takes: its namespace's; empty, the common share, where there are several."""
        namespaces = {actor.namespace for actor in self.actors}
        return namespaces.pop() if len(namespaces) == 1 else ""


_context: ContextVar[CallContext] = ContextVar("context of cloud calls", default=CallContext())  # noqa: B039 - frozen


def current_context() -> CallContext:
    """The context of calls that are made here and now."""
    return _context.get()


@contextmanager
def acting_for(*actors: Actor, priority: Priority = Priority.USER) -> Iterator[None]:
    """Make the calls inside for these objects."""
    token = _context.set(CallContext(actors, priority))
    try:
        yield
    finally:
        _context.reset(token)


@contextmanager
def sweeping() -> Iterator[None]:
    """Make the calls inside for no object, with the lowest priority."""
    with acting_for(priority=Priority.SWEEP):
        yield
