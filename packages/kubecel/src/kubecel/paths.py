"""The way from a variable to a value, as cost estimation follows it.

Paths behave like slices in Go, because the API server's do, and its figures depend on it: a path that is made longer
twice may be the same storage both times, and then the first of the two new paths ends like the second. In
`self.ports.exists(p, p.tags.all(t, t == p.name))` the path of `p.tags` turns into that of `p.name` in this way, by the
time the number of tags is asked for. A rule which an API server accepts on these grounds must be accepted here.
"""

from __future__ import annotations

from typing import Final


class Path:
    """Steps in storage that may be shared with longer paths."""

    __slots__ = ("_length", "_storage")

    def __init__(self, storage: list[str], length: int) -> None:
        self._storage = storage
        self._length = length

    @staticmethod
    def of(*steps: str) -> Path:
        return Path(list(steps), len(steps))

    def __bool__(self) -> bool:
        return self._length > 0

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(self._storage[: self._length])

    def then(self, step: str) -> Path:
        """A path that goes one step further. It takes the place behind this path if there is one."""
        storage = self._storage
        if self._length == len(storage):
            storage = storage + [""] * max(self._length, 1)
        storage[self._length] = step
        return Path(storage, self._length + 1)

    def element(self) -> Path:
        """The path of the elements of a list, in storage of its own."""
        return Path.of(*self.steps, "@items")


NO_PATH: Final = Path.of()
"""Of values that are not reached from a variable."""
