"""The step: one thing that is left to do for an object, as a value.

`decide` returns steps in order, the first one is performed, the status and the events tell of it, and `edgekeeper plan`
prints them all. What all of these need to know about a step is declared on its class, so that a new step is one class
and the code that performs it.

    @dataclass(frozen=True, slots=True)
    class DisableThing(Step):
        effect: ClassVar = Effect.CHANGE
        needs: ClassVar = Sight.LIVE
        thing: Thing

        def __str__(self) -> str:
            return f"disable {self.thing.id}"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import ClassVar, Generic, TypeVar

from edgekeeper.core.delta import Difference
from edgekeeper.core.drift import Change, Decision
from edgekeeper.core.errors import Stall
from edgekeeper.core.outcome import Event


class Effect(Enum):
    """What performing a step does."""

    RECORD = "record"
    """Something is written into the object itself; the cloud stays as it is."""
    CHANGE = "change"
    """The cloud is changed."""
    WAIT = "wait"
    """Nothing: somebody else has to act."""


class Sight(IntEnum):
    """How well the external object was seen, and how well it must be seen before a step may be performed."""

    CACHED = 0
    """By a listing, or by what the status says."""
    READ = 1
    """With all details, which may come from a cache; or it is known to be absent."""
    LIVE = 2
    """Read in this very pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The base of all steps. `str()` says what is done, in the imperative."""

    effect: ClassVar[Effect]
    needs: ClassVar[Sight] = Sight.CACHED
    at_once: ClassVar[bool] = False
    """Does the next step follow without waiting for anybody?"""
    answered: ClassVar[bool] = True
    """Does performing it bring an answer of the cloud? Not what is only written down, or handed to an outbox."""
    pushes: ClassVar[bool] = False
    """Is it part of carrying out the spec? Until such a step is done, the generation does not count as observed."""

    reason: str
    """Why, for people."""

    def changes(self) -> tuple[Difference, ...]:
        """Every field that the step changes, for `edgekeeper plan`. None where it waits, or only takes a note."""
        return ()

    def event(self) -> Event | None:
        """What is told once the step has been performed."""
        return None


StepT = TypeVar("StepT", bound=Step)

UNCHANGED = Decision(Change.NO_CHANGE)


@dataclass(frozen=True, slots=True)
class Plan(Generic[StepT]):
    """What a pass comes to."""

    steps: Sequence[StepT]
    drift: Decision = UNCHANGED
    differences: tuple[Difference, ...] = ()
    refusal: Stall | None = None
    """Why nothing but these steps may be done: a person must act."""

    @property
    def next(self) -> StepT | None:
        return self.steps[0] if self.steps else None
