"""Applies own writes to the mirror, if there is one, so that the next pass reads them."""

from __future__ import annotations

from typing import Generic, TypeVar

from edgekeeper.cloud.mirror import Mirror

V = TypeVar("V")


class Echo(Generic[V]):
    """Called by an adapter after a write. The mirror is set on its first use."""

    def __init__(self) -> None:
        self.mirror: Mirror[str, V] | None = None

    def put(self, id_: str, value: V) -> V:
        if self.mirror is not None:
            self.mirror.put(id_, value)
        return value

    def remove(self, id_: str) -> None:
        if self.mirror is not None:
            self.mirror.remove(id_)
