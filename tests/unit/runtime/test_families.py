"""Numbers become metric families."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric

from edgekeeper.runtime.families import Histogram, counters, gauges, histograms

BOUNDS = (0.1, 1.0, 10.0)


def written(family: Metric) -> list[str]:
    class Collector:
        def collect(self) -> list[Metric]:
            return [family]

    registry = CollectorRegistry()
    registry.register(Collector())
    return generate_latest(registry).decode().splitlines()


@pytest.mark.parametrize(
    ("value", "bucket"),
    [(0.0, 0), (0.1, 0), (0.100001, 1), (1.0, 1), (10.0, 2), (10.1, 3), (1e9, 3)],
)
def test_histogram_counts_a_value_in_the_first_bucket_that_holds_it(value: float, bucket: int) -> None:
    histogram = Histogram(BOUNDS)
    histogram.observe(value)
    assert [count for _, count in histogram.buckets()] == [int(index >= bucket) for index in range(4)]


@given(st.lists(st.floats(min_value=0, max_value=100)))
def test_histogram_buckets_are_cumulative_and_end_with_everything(values: list[float]) -> None:
    histogram = Histogram(BOUNDS)
    for value in values:
        histogram.observe(value)
    counts = [count for _, count in histogram.buckets()]
    assert all(lower <= upper for lower, upper in pairwise(counts))
    assert counts[-1] == histogram.count == len(values)
    assert histogram.total == pytest.approx(sum(values))
    for bound, count in zip(BOUNDS, counts, strict=False):
        assert count == sum(value <= bound for value in values)


@pytest.mark.parametrize(
    ("bound", "text"), [(1.0, "1"), (0.25, "0.25"), (1e-08, "1e-08"), (1000.0, "1000")], ids=str
)
def test_bounds_are_written_as_go_writes_them(bound: float, text: str) -> None:
    assert [name for name, _ in Histogram((bound,)).buckets()] == [text, "+Inf"]


def test_counters_are_written_with_their_labels_in_order() -> None:
    family = counters("made_total", "What was made.", ("what", "by"), [(("chair", "ann"), 2)])
    assert written(family) == [
        "# HELP made_total What was made.",
        "# TYPE made_total counter",
        'made_total{by="ann",what="chair"} 2.0',
    ]


def test_gauges_without_numbers_still_say_what_they_are() -> None:
    assert written(gauges("depth", "How deep.", ("where",), [])) == [
        "# HELP depth How deep.",
        "# TYPE depth gauge",
    ]


def test_histograms_are_written_with_buckets_count_and_sum() -> None:
    histogram = Histogram((0.5, 1.0))
    histogram.observe(0.25)
    histogram.observe(4.0)
    assert written(histograms("time_seconds", "How long.", ("name",), [(("a",), histogram)])) == [
        "# HELP time_seconds How long.",
        "# TYPE time_seconds histogram",
        'time_seconds_bucket{le="0.5",name="a"} 1.0',
        'time_seconds_bucket{le="1",name="a"} 1.0',
        'time_seconds_bucket{le="+Inf",name="a"} 2.0',
        'time_seconds_count{name="a"} 2.0',
        'time_seconds_sum{name="a"} 4.25',
    ]
