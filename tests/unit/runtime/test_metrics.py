"""What a scrape gets to see."""

from __future__ import annotations

import asyncio
import threading
import timeit
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from prometheus_client import Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from edgekeeper.runtime import metrics as module
from edgekeeper.runtime.contract import Result, RuntimeMetrics
from edgekeeper.runtime.metrics import Metrics

AT_ZERO = (Path(__file__).parent / "metrics_at_zero.txt").read_text()
PAGE = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text()
OUR_OWN = ("controller_runtime_", "workqueue_", "leader_election_", "rest_client_", "edgekeeper_event_loop_")


async def lines(metrics: Metrics, *prefixes: str) -> list[str]:
    """The lines of a scrape that tell of the named metrics."""
    text = (await metrics.text()).decode()
    return [
        line
        for line in text.splitlines()
        if line.removeprefix("# HELP ").removeprefix("# TYPE ").startswith(prefixes)
    ]


async def value(metrics: Metrics, sample: str) -> float:
    """The number of one sample, by its exact name and labels."""
    found = [line for line in (await metrics.text()).decode().splitlines() if line.startswith(f"{sample} ")]
    assert len(found) == 1, sample
    return float(found[0].rpartition(" ")[2])


def test_metrics_are_what_the_runtime_expects() -> None:
    metrics: RuntimeMetrics = Metrics()
    assert metrics.controller("widget", 16) is not None


async def test_everything_registered_is_there_at_zero_from_the_start() -> None:
    metrics = Metrics()
    metrics.controller("widget", 16)
    metrics.webhook("/validate-example-com-v1-widget")
    metrics.leadership("edgekeeper")
    assert await lines(metrics, *OUR_OWN) == AT_ZERO.splitlines()


async def test_text_is_understood_by_parsers_of_prometheus() -> None:
    metrics = Metrics()
    metrics.controller("widget", 16).pass_ended(Result.SUCCESS, 0.3)
    families = {family.name for family in text_string_to_metric_families((await metrics.text()).decode())}
    assert {"controller_runtime_reconcile", "workqueue_depth", "process_cpu_seconds"} <= families


@pytest.mark.parametrize("result", Result)
async def test_pass_is_counted_under_its_result(result: Result) -> None:
    metrics = Metrics()
    tally = metrics.controller("widget", 16)
    tally.pass_started()
    assert await value(metrics, 'controller_runtime_active_workers{controller="widget"}') == 1
    tally.pass_ended(result, 0.25)
    assert await value(metrics, 'controller_runtime_active_workers{controller="widget"}') == 0
    sample = f'controller_runtime_reconcile_total{{controller="widget",result="{result.value}"}}'
    assert await value(metrics, sample) == 1
    assert await value(metrics, 'controller_runtime_reconcile_time_seconds_sum{controller="widget"}') == 0.25


async def test_cancelled_pass_is_not_counted() -> None:
    metrics = Metrics()
    tally = metrics.controller("widget", 16)
    tally.pass_started()
    tally.pass_ended(None, 3.0)
    assert await value(metrics, 'controller_runtime_active_workers{controller="widget"}') == 0
    assert await value(metrics, 'controller_runtime_reconcile_time_seconds_count{controller="widget"}') == 0
    assert all(line.endswith(" 0.0") for line in await lines(metrics, "controller_runtime_reconcile_total{"))


async def test_troubles_of_a_controller_are_counted_apart() -> None:
    metrics = Metrics()
    tally = metrics.controller("widget", 16)
    tally.failed()
    tally.failed()
    tally.stalled()
    tally.panicked()
    assert await value(metrics, 'controller_runtime_reconcile_errors_total{controller="widget"}') == 2
    assert (
        await value(metrics, 'controller_runtime_terminal_reconcile_errors_total{controller="widget"}') == 1
    )
    assert await value(metrics, 'controller_runtime_reconcile_panics_total{controller="widget"}') == 1


async def test_queue_tells_what_happens_to_its_keys() -> None:
    metrics = Metrics()
    tally = metrics.controller("widget", 16)
    tally.added()
    tally.added()
    tally.retried()
    tally.depth(2)
    tally.taken(0.5)
    tally.finished(2.0)
    labels = '{controller="widget",name="widget"}'
    assert await value(metrics, f"workqueue_adds_total{labels}") == 2
    assert await value(metrics, f"workqueue_retries_total{labels}") == 1
    assert await value(metrics, f"workqueue_depth{labels}") == 2
    assert await value(metrics, f"workqueue_queue_duration_seconds_sum{labels}") == 0.5
    assert await value(metrics, f"workqueue_work_duration_seconds_sum{labels}") == 2.0


async def test_running_passes_are_looked_at_when_somebody_asks() -> None:
    metrics = Metrics()
    ages = [1.5, 4.0]
    metrics.controller("widget", 16).watch(lambda: ages)
    labels = '{controller="widget",name="widget"}'
    assert await value(metrics, f"workqueue_unfinished_work_seconds{labels}") == 5.5
    assert await value(metrics, f"workqueue_longest_running_processor_seconds{labels}") == 4.0
    ages.clear()
    assert await value(metrics, f"workqueue_longest_running_processor_seconds{labels}") == 0


async def test_controller_that_comes_back_goes_on_counting() -> None:
    metrics = Metrics()
    metrics.controller("widget", 16).failed()
    metrics.controller("widget", 4).failed()
    assert await value(metrics, 'controller_runtime_reconcile_errors_total{controller="widget"}') == 2
    assert await value(metrics, 'controller_runtime_max_concurrent_reconciles{controller="widget"}') == 4


async def test_requests_are_counted_by_code_host_and_method() -> None:
    metrics = Metrics()
    observe = metrics.requests("10.96.0.1:443")
    observe("GET", 200)
    observe("GET", 200)
    observe("PATCH", 409)
    observe("GET", 0)
    assert await lines(metrics, "rest_client_requests_total{") == [
        'rest_client_requests_total{code="200",host="10.96.0.1:443",method="GET"} 2.0',
        'rest_client_requests_total{code="409",host="10.96.0.1:443",method="PATCH"} 1.0',
        'rest_client_requests_total{code="<error>",host="10.96.0.1:443",method="GET"} 1.0',
    ]


async def test_leadership_is_told_as_it_changes() -> None:
    metrics = Metrics()
    changed = metrics.leadership("edgekeeper")
    sample = 'leader_election_master_status{name="edgekeeper"}'
    changed(True)
    assert await value(metrics, sample) == 1
    changed(False)
    assert await value(metrics, sample) == 0


async def test_loop_lag_is_a_histogram() -> None:
    metrics = Metrics()
    metrics.loop_lag(0.02)
    assert await value(metrics, 'edgekeeper_event_loop_lag_seconds_bucket{le="0.01"}') == 0
    assert await value(metrics, 'edgekeeper_event_loop_lag_seconds_bucket{le="0.025"}') == 1


async def test_webhook_counts_codes_time_and_what_is_in_flight() -> None:
    metrics = Metrics()
    tally = metrics.webhook("/validate")
    tally.review_started()
    assert await value(metrics, 'controller_runtime_webhook_requests_in_flight{webhook="/validate"}') == 1
    tally.review_ended(413, 0.5)
    assert await value(metrics, 'controller_runtime_webhook_requests_in_flight{webhook="/validate"}') == 0
    assert (
        await value(metrics, 'controller_runtime_webhook_requests_total{code="413",webhook="/validate"}') == 1
    )
    assert await value(metrics, 'controller_runtime_webhook_latency_seconds_sum{webhook="/validate"}') == 0.5


async def test_added_collectors_are_asked_on_every_scrape_and_not_before() -> None:
    metrics = Metrics()
    asked: list[int] = []

    def collect() -> Iterable[Metric]:
        asked.append(len(asked))
        yield GaugeMetricFamily("edgekeeper_widgets", "How many.", value=len(asked))

    metrics.add(collect)
    assert asked == []
    assert await value(metrics, "edgekeeper_widgets") == 1
    assert await value(metrics, "edgekeeper_widgets") == 2


async def test_collector_that_fails_hides_nobody_else() -> None:
    metrics = Metrics()

    def broken() -> Iterable[Metric]:
        raise RuntimeError("no store yet")

    metrics.add(broken)
    metrics.controller("widget", 16)
    assert await value(metrics, 'controller_runtime_active_workers{controller="widget"}') == 0


async def test_counters_of_kinds_do_not_say_when_they_were_made() -> None:
    metrics = Metrics()
    Counter("edgekeeper_drift", "Drift.", registry=metrics.registry).inc()
    assert await lines(metrics, "edgekeeper_drift") == [
        "# HELP edgekeeper_drift_total Drift.",
        "# TYPE edgekeeper_drift_total counter",
        "edgekeeper_drift_total 1.0",
    ]


@pytest.mark.parametrize(
    ("bound", "text"), [(1.0, "1"), (0.25, "0.25"), (1e-08, "1e-08"), (1000.0, "1000")], ids=str
)
async def test_bounds_are_written_as_go_writes_them(bound: float, text: str) -> None:
    metrics = Metrics()
    Histogram("sizes", "Sizes.", registry=metrics.registry, buckets=(bound,)).observe(bound)
    assert await lines(metrics, "sizes_") == [
        f'sizes_bucket{{le="{text}"}} 1.0',
        'sizes_bucket{le="+Inf"} 1.0',
        "sizes_count 1.0",
        f"sizes_sum {bound}",
    ]


@pytest.mark.parametrize("name", ["water_bucket", "widgets_created"])
async def test_gauge_is_written_as_it_is_whatever_its_name(name: str) -> None:
    metrics = Metrics()
    metrics.add(lambda: [GaugeMetricFamily(name, "Some.", value=3)])
    assert await value(metrics, name) == 3


async def test_two_instances_do_not_meet() -> None:
    one, other = Metrics(), Metrics()
    one.controller("widget", 16)
    assert await lines(other, "controller_runtime_reconcile_total{") == []


async def test_large_text_is_written_in_a_thread_and_collected_on_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    metrics = Metrics()
    writers: list[int] = []
    collectors: list[int] = []

    def collect() -> Iterable[Metric]:
        collectors.append(threading.get_ident())
        family = GaugeMetricFamily("padding", "Large.", labels=("n",))
        for n in range(5000):
            family.add_metric((str(n),), 0)
        return [family]

    def spy(collected: Collector) -> bytes:
        writers.append(threading.get_ident())
        return generate_latest(collected)

    metrics.add(collect)
    monkeypatch.setattr(module, "generate_latest", spy)
    small, large = await metrics.text(), await metrics.text()
    here = threading.get_ident()
    assert small.splitlines()[-1] == large.splitlines()[-1]
    assert writers[0] == here
    assert writers[1] != here
    assert collectors == [here, here]


@pytest.mark.parametrize(
    ("what", "observations"),
    [("pass_started", 1), ("pass_ended", 3), ("added", 1), ("depth", 1), ("taken", 1), ("requests", 1)],
    ids=str,
)
def test_observation_costs_less_than_five_microseconds(what: str, observations: int) -> None:
    metrics = Metrics()
    tally, observe = metrics.controller("widget", 16), metrics.requests("10.96.0.1:443")
    calls: dict[str, Callable[[], None]] = {
        "pass_started": tally.pass_started,
        "pass_ended": lambda: tally.pass_ended(Result.REQUEUE_AFTER, 55.0),
        "added": tally.added,
        "depth": lambda: tally.depth(3),
        "taken": lambda: tally.taken(0.01),
        "requests": lambda: observe("PATCH", 200),
    }
    rounds = 500
    seconds = min(timeit.repeat(calls[what], number=rounds, repeat=50)) / rounds
    assert seconds / observations < 5e-6


async def test_scrapes_at_once_do_not_disturb_each_other() -> None:
    metrics = Metrics()
    metrics.controller("widget", 16)
    texts = await asyncio.gather(*(metrics.text() for _ in range(8)))
    assert len({text.count(b"\n") for text in texts}) == 1


async def test_every_metric_is_documented_with_its_type() -> None:
    text = (await Metrics().text()).decode()
    told = [line.split()[2:] for line in text.splitlines() if line.startswith("# TYPE ")]
    ours = [(name, kind) for name, kind in told if not name.startswith(("process_", "python_"))]
    missing = [name for name, kind in ours if f"| `{name}` | {kind} |" not in PAGE]
    assert len(ours) > 15
    assert missing == []
