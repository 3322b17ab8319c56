"""Whose turn it is: user changes before sweeps, and namespaces one after the other.

    USER     team-a: ① ④ ⑥ …      team-b: ② ⑤      team-c: ③
    SWEEP    (common): …

Within a priority the namespaces take turns, however many calls each of them has waiting, and each namespace is served
in the order in which its calls came. User changes go first, but not always: where both wait, one turn in ten is a
sweep's, because without fresh mirrors the changes would soon be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Generic, TypeVar

from edgekeeper.cloud.origin import Priority

T = TypeVar("T")

SWEEP_TURN = 10
"""Every how manieth turn is a sweep's where users and sweeps wait."""


class FairQueue(Generic[T]):
    """Items in the order of the module's rules. Items are told apart by identity or hash, and enter once."""

    def __init__(self) -> None:
        self._lines: dict[Priority, dict[str, dict[T, int]]] = {priority: {} for priority in Priority}
        """By priority and namespace, the items in order, each with its cost. The first namespace is next."""
        self._turns = 0

    def __len__(self) -> int:
        return sum(len(line) for lines in self._lines.values() for line in lines.values())

    def __bool__(self) -> bool:
        return any(self._lines.values())

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(line for lines in self._lines.values() for line in lines.values())

    def push(self, item: T, cost: int, priority: Priority, namespace: str) -> None:
        self._lines[priority].setdefault(namespace, {})[item] = cost

    def head(self) -> tuple[T, int]:
        """The item whose turn it is, and its cost. It stays so until it is popped, or somebody more urgent comes."""
        namespaces = self._lines[self._served()]
        return next(iter(next(iter(namespaces.values())).items()))

    def pop(self) -> T:
        """Take the head out, and let its namespace stand behind the others."""
        namespaces = self._lines[self._served()]
        namespace, line = next(iter(namespaces.items()))
        item = next(iter(line))
        del line[item], namespaces[namespace]
        if line:
            namespaces[namespace] = line
        self._turns += 1
        return item

    def remove(self, item: T, priority: Priority, namespace: str) -> None:
        """Take an item out that does not want its turn any more."""
        line = self._lines[priority].get(namespace, {})
        line.pop(item, None)
        if not line:
            self._lines[priority].pop(namespace, None)

    def ahead(self, priority: Priority, namespace: str) -> int:
        """About how much cost is served before an item that is pushed now."""
        mine = sum(self._lines[priority].get(namespace, {}).values())
        others = [sum(line.values()) for name, line in self._lines[priority].items() if name != namespace]
        urgent = [sum(line.values()) for line in self._lines[Priority.USER].values()]
        before = urgent if priority is Priority.SWEEP else []
        return mine + sum(min(other, mine + 1) for other in others) + sum(before)

    def _served(self) -> Priority:
        users, sweeps = (bool(self._lines[priority]) for priority in Priority)
        if users and sweeps:
            return Priority.SWEEP if self._turns % SWEEP_TURN == SWEEP_TURN - 1 else Priority.USER
        return Priority.USER if users else Priority.SWEEP
