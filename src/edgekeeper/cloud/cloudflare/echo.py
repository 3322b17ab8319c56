"""Own writes told to the mirror of what was written, so that the next pass sees them; where there is such a mirror."""

from __future__ import annotations

from typing import Generic, TypeVar

from edgekeeper.cloud.mirror import Mirror

V = TypeVar("V")


class Echo(Generic[V]):
    """What an adapter calls after a write. Mirrors come later, when somebody first wants one, or never."""

    def __init__(self) -> None:
        self.mirror: Mirror[str, V] | None = None

    def put(self, id_: str, value: V) -> V:
        if self.mirror is not None:
            self.mirror.put(id_, value)
        return value

    def remove(self, id_: str) -> None:
        if self.mirror is not None:
            self.mirror.remove(id_)
