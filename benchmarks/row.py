"""One figure, its unit, and the goal it has to meet."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from edgekeeper.core.json import JsonObject

Relation = Literal["≤", "≥", "="]
_COMPARE: dict[Relation, Callable[[Any, Any], bool]] = {
    "≤": operator.le,
    "≥": operator.ge,
    "=": operator.eq,
}
ROUNDS = 3


@dataclass(frozen=True)
class Goal:
    """A bound that a figure must keep: `Goal("≤", 150)`."""

    relation: Relation
    bound: float

    def is_met(self, value: float) -> bool:
        return _COMPARE[self.relation](value, self.bound)

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:,g}"


@dataclass(frozen=True)
class Row:
    """One measured figure. A row without a goal informs, and is always fine."""

    group: str
    name: str
    value: float
    unit: str
    goal: Goal | None = None

    @property
    def ok(self) -> bool:
        return self.goal is None or self.goal.is_met(self.value)

    def to_json(self) -> JsonObject:
        return {
            "group": self.group,
            "name": self.name,
            "value": round(self.value, 4),
            "unit": self.unit,
            "goal": str(self.goal) if self.goal else None,
            "ok": self.ok,
        }


@dataclass(frozen=True)
class Absent:
    """A figure that could not be taken here, and why."""

    group: str
    name: str
    reason: str


def format_value(value: float) -> str:
    """Three digits where they matter, whole numbers where they do not."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}"


def best_of(measure: Callable[[], float], choose: Callable[[list[float]], float]) -> float:
    """Measure a few times and keep the best: `min` for durations and sizes, `max` for rates."""
    return choose([measure() for _ in range(ROUNDS)])
