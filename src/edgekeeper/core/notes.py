"""What a pass finds and does, for whoever shows it to people.

    with noting(record):            by whoever listens, around a pass
        …
    notes().step("disable dt_1", "the object is being deleted", ())

The code of a pass calls `notes` in any case. Where nobody listens, that is a lookup and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from edgekeeper.core.delta import ChangedField, Difference
from edgekeeper.core.outcome import Event


class PassNotes:
    """Receives what a pass says about itself. This one forgets it."""

    def step(self, step: str, reason: str, changes: Sequence[Difference]) -> None:
        """A step was performed that does more than wait."""

    def about(self, generation: int) -> None:
        """Which generation of the object the pass is about."""

    def on_behalf_of(self, kind: str, namespace: str, name: str) -> None:
        """The object is internal: what the pass does is done for this one, which people know."""

    def drift(self, differences: Sequence[Difference]) -> None:
        """What is outside the cluster was changed by others, in these fields."""

    def recorded_drift(self, fields: Sequence[ChangedField]) -> None:
        """The same, as another controller has found and recorded it."""

    def event(self, event: Event) -> None:
        """An event was recorded about the object."""


_FORGOTTEN: Final = PassNotes()
_notes: ContextVar[PassNotes] = ContextVar("notes of the current pass", default=_FORGOTTEN)


def notes() -> PassNotes:
    """Those of the current pass."""
    return _notes.get()


@contextmanager
def noting(listener: PassNotes) -> Iterator[None]:
    """Let `listener` receive the notes of the block, and of the tasks that it starts."""
    token = _notes.set(listener)
    try:
        yield
    finally:
        _notes.reset(token)
