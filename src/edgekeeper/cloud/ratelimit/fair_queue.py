"""A queue in which user changes go before sweeps, and namespaces take turns.

    USER     team-a: ① ④ ⑥ …      team-b: ② ⑤      team-c: ③
    SWEEP    (no namespace): …

Within a priority namespaces are served in turn, however many calls each has waiting, and each namespace in the order of
its calls. While both priorities wait, every tenth call is a sweep, because changes depend on up-to-date mirrors.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from edgekeeper.cloud.call_context import Priority

T = TypeVar("T")

SWEEP_TURN = 10
"""While both priorities wait, one call in this many is a sweep."""


class FairQueue(Generic[T]):
    """A queue of items with the order described above. Each item is pushed once."""

    def __init__(self) -> None:
        self._lines: dict[Priority, dict[str, dict[T, int]]] = {priority: {} for priority in Priority}
        """By priority and namespace, the items in order, each with its cost. The first namespace is next."""
        self._turns_since_sweep = 0
        """Turns of users since the last sweep, while sweeps were waiting."""

    def __bool__(self) -> bool:
        return any(self._lines.values())

    def push(self, item: T, cost: int, priority: Priority, namespace: str) -> None:
        self._lines[priority].setdefault(namespace, {})[item] = cost

    def head(self) -> tuple[T, int]:
        """The next item and its cost. It may change when an item is pushed."""
        namespaces = self._lines[self._served()]
        return next(iter(next(iter(namespaces.values())).items()))

    def pop(self) -> T:
        """Remove the head, and move its namespace behind the others."""
        served = self._served()
        namespaces = self._lines[served]
        namespace, line = next(iter(namespaces.items()))
        item = next(iter(line))
        del line[item], namespaces[namespace]
        if line:
            namespaces[namespace] = line
        is_sweep_waiting = served is Priority.USER and bool(self._lines[Priority.SWEEP])
        self._turns_since_sweep = self._turns_since_sweep + 1 if is_sweep_waiting else 0
        return item

    def remove(self, item: T, priority: Priority, namespace: str) -> None:
        """Remove an item that was cancelled."""
        line = self._lines[priority].get(namespace, {})
        line.pop(item, None)
        if not line:
            self._lines[priority].pop(namespace, None)

    def ahead(self, priority: Priority, namespace: str) -> int:
        """The approximate total cost ahead of an item that is pushed now."""
        costs = {name: sum(line.values()) for name, line in self._lines[priority].items()}
        mine = costs.pop(namespace, 0)
        others = sum(min(cost, mine + 1) for cost in costs.values())
        if priority is Priority.USER:
            return mine + others
        users = sum(sum(line.values()) for line in self._lines[Priority.USER].values())
        return mine + others + min(users, (mine + others + 1) * (SWEEP_TURN - 1))

    def _served(self) -> Priority:
        """The priority that is served next."""
        if not self._lines[Priority.SWEEP]:
            return Priority.USER
        is_due = self._turns_since_sweep >= SWEEP_TURN - 1 or not self._lines[Priority.USER]
        return Priority.SWEEP if is_due else Priority.USER
