"""On whose behalf a cloud call is made. It decides who is named in the audit log, and whose turn it is.

    with acting_for(Actor("DistributionTenant", "team-a", "shop", uid, generation)):
        await tenants.create(…)                 every call in here is a change that this object asked for
    with sweeping():
        async for page in lister(): …           and these only keep a mirror fresh: they can wait

The origin travels with the task (a context variable), so that adapters need not hand it on. `Transport.call` takes
explicit arguments too, and they win. Code without an origin acts for nobody, with the priority of a user's change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum


class Priority(IntEnum):
    """Who goes first where not all can go."""

    USER = 0
    """Somebody has changed something and waits for it."""
    SWEEP = 1
    """We look whether everything is still as it was."""


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
class Origin:
    """Who asks, and how urgent it is. A batch is asked for by many, a sweep by nobody."""

    actors: tuple[Actor, ...] = ()
    priority: Priority = Priority.USER

    @property
    def namespace(self) -> str:
        """Whose share of the budget a call takes: that of its namespace; the common one, where there are several."""
        namespaces = {actor.namespace for actor in self.actors}
        return namespaces.pop() if len(namespaces) == 1 else ""


_origin: ContextVar[Origin] = ContextVar("origin of cloud calls", default=Origin())  # noqa: B039 - frozen


def current_origin() -> Origin:
    """The origin of calls that are made here and now."""
    return _origin.get()


@contextmanager
def acting_for(*actors: Actor, priority: Priority = Priority.USER) -> Iterator[None]:
    """Make the calls inside in the name of these objects."""
    token = _origin.set(Origin(actors, priority))
    try:
        yield
    finally:
        _origin.reset(token)


@contextmanager
def sweeping() -> Iterator[None]:
    """Make the calls inside in nobody's name, whenever there is nothing more urgent."""
    with acting_for(priority=Priority.SWEEP):
        yield
