"""Steps: what is left to do for an object, as values.

`decide` returns steps in order; a pass performs the first one and reports it in the status and in events, and
`edgekeeper plan` prints them all. The class of a step declares what all of these need, so that a new step is one class
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
from datetime import timedelta
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
    """Nothing is done: the pass waits for something else."""


class Sight(IntEnum):
    """How recently and completely the external object was read, and how it must be read before a step is performed."""

    CACHED = 0
    """From a listing, or from the status."""
    READ = 1
    """With all details, which may come from a cache; or it is known to be absent."""
    LIVE = 2
    """Read from the cloud in this pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The base of all steps. `str()` describes what is done, in the imperative."""

    effect: ClassVar[Effect]
    needs: ClassVar[Sight] = Sight.CACHED
    at_once: ClassVar[bool] = False
    """Whether the object is requeued at once for the next step."""
    answered: ClassVar[bool] = True
    """Whether performing it gets a response of the cloud. False for steps that only record, or submit to an outbox."""
    pushes: ClassVar[bool] = False
    """Whether it is part of applying the spec. Until such a step is done, the generation does not count as observed."""

    poll: ClassVar[timedelta | None] = None
    """When to look again after it, where that is sooner than usual."""

    reason: str
    """Why the step is needed, for display."""

    def changes(self) -> tuple[Difference, ...]:
        """The fields that the step changes, for `edgekeeper plan`. Empty if it waits, or only records something."""
        return ()

    def event(self) -> Event | None:
        """The event to record once the step has been performed, if any."""
        return None


StepT = TypeVar("StepT", bound=Step)

UNCHANGED = Decision(Change.NO_CHANGE)


@dataclass(frozen=True, slots=True)
class Plan(Generic[StepT]):
    """The decision of a pass: the steps to perform, and what was found about drift."""

    steps: Sequence[StepT]
    drift: Decision = UNCHANGED
    differences: tuple[Difference, ...] = ()
    refusal: Stall | None = None
    """Why nothing but these steps may be done: the user must act."""

    @property
    def next(self) -> StepT | None:
        return self.steps[0] if self.steps else None
