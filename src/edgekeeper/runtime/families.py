"""Numbers that are counted while work is done, and become metrics only when somebody asks.

Everything that counts runs on the event loop, so a counter is a plain attribute without a lock: it costs a tenth of a
microsecond, a histogram a quarter. Metric families are made of them when `/metrics` is read, on the loop as well, so
nobody ever sees half of a change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

Numbers: TypeAlias = Iterable[tuple[Sequence[str], float]]
"""Values of labels, and the number that belongs to them."""


class Histogram:
    """How often a value was how large."""

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self._counts)

    def buckets(self) -> list[tuple[str, float]]:
        """How many values were at most as large as each bound, as Go writes it; the last one is infinity."""
        bounds = [*(repr(bound).removesuffix(".0") for bound in self._bounds), "+Inf"]
        return list(zip(bounds, accumulate(self._counts), strict=True))


def counters(name: str, about: str, labels: Sequence[str], numbers: Numbers) -> Metric:
    """A family of numbers that only rise."""
    family = CounterMetricFamily(name, about, labels=labels)
    for values, number in numbers:
        family.add_metric(values, number)
    return family


def gauges(name: str, about: str, labels: Sequence[str], numbers: Numbers) -> Metric:
    """A family of numbers that rise and fall."""
    family = GaugeMetricFamily(name, about, labels=labels)
    for values, number in numbers:
        family.add_metric(values, number)
    return family


def histograms(
    name: str, about: str, labels: Sequence[str], found: Iterable[tuple[Sequence[str], Histogram]]
) -> Metric:
    """A family of histograms."""
    family = HistogramMetricFamily(name, about, labels=labels)
    for values, histogram in found:
        family.add_metric(values, histogram.buckets(), histogram.total)
    return family
