"""Steps that are performed again and again without an effect, kept from becoming an endless loop.

Where Cloudflare stores something else than what was written, or somebody undoes every change at once, the same step would
follow itself without a pause. After a few times in a row the task says so, and the step is tried once in a while.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from edgekeeper.controllers.zerotrust.snapshot import Subject
from edgekeeper.core.errors import Stall
from edgekeeper.core.steps import Effect, Step

AT_ONCE: Final = 4
"""How many times in a row the same step may be performed."""
NOT_CONVERGING: Final = "NotConverging"


@dataclass(frozen=True, slots=True)
class _Last:
    generation: int
    words: str
    count: int


class Repetitions:
    """The last step of each task, and how many times in a row it was performed. Memory only."""

    def __init__(self) -> None:
        self._last: dict[str, _Last] = {}

    def __len__(self) -> int:
        return len(self._last)

    def check(self, subject: Subject, step: Step) -> None:
        """Raise Stall where the step was performed too often. It may be tried once more after that."""
        last = self._last.get(subject.uid)
        if last is None or not _is_same(last, subject, step) or last.count < AT_ONCE:
            return
        self._last[subject.uid] = _Last(last.generation, last.words, AT_ONCE - 1)
        raise Stall(
            NOT_CONVERGING, f"it was done {AT_ONCE} times, and is still not so: {step}: {step.reason}"
        )

    def note(self, subject: Subject, step: Step) -> None:
        """A step was performed."""
        if step.effect is Effect.WAIT:
            return
        last = self._last.get(subject.uid)
        count = last.count + 1 if last is not None and _is_same(last, subject, step) else 1
        self._last[subject.uid] = _Last(subject.generation, str(step), count)

    def forget(self, uid: str) -> None:
        self._last.pop(uid, None)


def _is_same(last: _Last, subject: Subject, step: Step) -> bool:
    return (last.generation, last.words) == (subject.generation, str(step))
