"""Directed graphs without cycles: who needs whom, and in which order that can be.

The order is the one of the definition as far as dependencies allow: of all that is free to come next, the first in the
definition comes first. Waves for deletion count from the end: what nobody depends on is in the last wave, whatever
else it depends on.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeAlias

from edgekeeper.controllers.composition.rejection import RejectedError

Dependencies: TypeAlias = Mapping[str, Collection[str]]
"""By name, what each one depends on."""


def check_acyclic(dependencies: Dependencies) -> None:
    """Raise RejectedError if something depends on itself, directly or through others."""
    for name, needed in dependencies.items():
        if name in needed:
            raise RejectedError("self references are not allowed")
    if cycle := find_cycle(dependencies):
        raise RejectedError(f"graph contains a cycle: {' -> '.join(cycle)}")


def find_cycle(dependencies: Dependencies) -> list[str]:
    """A cycle, first name repeated at the end; empty if there is none. No recursion: any depth will do."""
    finished: set[str] = set()
    for start in dependencies:
        path: list[str] = []
        waiting: list[tuple[str, bool]] = [(start, False)]
        while waiting:
            name, leaving = waiting.pop()
            if leaving:
                finished.add(path.pop())
            elif name in path:
                return [*path[path.index(name) :], name]
            elif name not in finished:
                path.append(name)
                waiting.append((name, True))
                waiting.extend((needed, False) for needed in sorted(dependencies[name], reverse=True))
    return []


def topological_order(dependencies: Dependencies) -> list[str]:
    """All names, each after what it depends on; among those that are free, the order of the mapping.

    Raise RejectedError if there is a cycle.
    """
    check_acyclic(dependencies)
    places: Final = {name: place for place, name in enumerate(dependencies)}
    missing = {name: len(set(needed)) for name, needed in dependencies.items()}
    dependents = invert(dependencies)
    free = [(places[name], name) for name, count in missing.items() if count == 0]
    heapq.heapify(free)
    order: list[str] = []
    while free:
        _, name = heapq.heappop(free)
        order.append(name)
        for dependent in dependents[name]:
            missing[dependent] -= 1
            if missing[dependent] == 0:
                heapq.heappush(free, (places[dependent], dependent))
    return order


def invert(dependencies: Dependencies) -> dict[str, list[str]]:
    """By name, who depends on it."""
    dependents: dict[str, list[str]] = {name: [] for name in dependencies}
    for name, needed in dependencies.items():
        for one in set(needed):
            dependents[one].append(name)
    return dependents


def apply_orders(dependencies: Dependencies, order: Sequence[str]) -> dict[str, int]:
    """By name, the wave it belongs to, counted from one: dependents are in higher waves, and deleted first."""
    dependents = invert(dependencies)
    layers: dict[str, int] = {}
    for name in reversed(order):
        layers[name] = 1 + max((layers[dependent] for dependent in dependents[name]), default=-1)
    most = 1 + max(layers.values(), default=-1)
    return {name: most - layers[name] for name in order}
