"""The context of a cloud call: the objects in the audit log, the namespace for fair queueing, and the priority.

    with acting_for(Actor("DistributionTenant", "team-a", "shop", uid, generation)):
        await tenants.create(…)                 a change for this object
    with sweeping():
        async for page in lister(): …           a listing of a mirror, with low priority

The context is a context variable, so adapters need not pass it on. Arguments of `Transport.call` take precedence. The
default is no actor, with the priority of a user's change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum


class Priority(IntEnum):
    """The priority of a call in the rate limiter."""

    USER = 0
    """A call for a changed object."""
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
        """The namespace for fair queueing; empty if the actors have several."""
        namespaces = {actor.namespace for actor in self.actors}
        return namespaces.pop() if len(namespaces) == 1 else ""


_context: ContextVar[CallContext] = ContextVar("context of cloud calls", default=CallContext())  # noqa: B039 - frozen


def current_context() -> CallContext:
    """The context of the current task."""
    return _context.get()


@contextmanager
def acting_for(*actors: Actor, priority: Priority = Priority.USER) -> Iterator[None]:
    """Attribute the calls in the block to these objects."""
    token = _context.set(CallContext(actors, priority))
    try:
        yield
    finally:
        _context.reset(token)


@contextmanager
def sweeping() -> Iterator[None]:
    """Attribute the calls in the block to no object, with the lowest priority."""
    with acting_for(priority=Priority.SWEEP):
        yield
