"""The numbers of one controller and of one webhook, and the metric families that are made of them.

The names, labels and buckets are controller-runtime's, so that its dashboards and alerts work here unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from itertools import accumulate, repeat
from operator import mul

from prometheus_client.core import Metric

from edgekeeper.runtime.contract import Result
from edgekeeper.runtime.families import Histogram, counters, gauges, histograms

_PASS_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0),
    *(10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
_QUEUE_BUCKETS = tuple(accumulate(repeat(10.0, 11), mul, initial=1e-08))
"""Ten nanoseconds to a thousand seconds, with Go's rounding errors: buckets add up over operators only if all agree."""
_REVIEW_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ControllerTally:
    """The numbers of one controller and its queue: `contract.ControllerMetrics`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.max_concurrent = 0
        self.running: Callable[[], list[float]] = list
        self.results = dict.fromkeys(Result, 0)
        self.errors = 0
        self.terminal_errors = 0
        self.panics = 0
        self.active = 0
        self.pass_time = Histogram(_PASS_BUCKETS)
        self.adds = 0
        self.retries = 0
        self.ready = 0
        self.queue_time = Histogram(_QUEUE_BUCKETS)
        self.work_time = Histogram(_QUEUE_BUCKETS)

    def pass_started(self) -> None:
        self.active += 1

    def pass_ended(self, result: Result | None, seconds: float) -> None:
        self.active -= 1
        if result is not None:
            self.results[result] += 1
            self.pass_time.observe(seconds)

    def failed(self) -> None:
        self.errors += 1

    def stalled(self) -> None:
        self.terminal_errors += 1

    def panicked(self) -> None:
        self.panics += 1

    def watch(self, running: Callable[[], list[float]]) -> None:
        self.running = running

    def added(self) -> None:
        self.adds += 1

    def retried(self) -> None:
        self.retries += 1

    def depth(self, ready: int) -> None:
        self.ready = ready

    def taken(self, waited: float) -> None:
        self.queue_time.observe(waited)

    def finished(self, worked: float) -> None:
        self.work_time.observe(worked)


class WebhookTally:
    """The numbers of one admission webhook."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.in_flight = 0
        self.panics = 0
        self.codes = Counter({200: 0, 500: 0})
        self.time = Histogram(_REVIEW_BUCKETS)

    def review_started(self) -> None:
        self.in_flight += 1

    def review_ended(self, code: int, seconds: float) -> None:
        self.in_flight -= 1
        self.codes[code] += 1
        self.time.observe(seconds)

    def panicked(self) -> None:
        self.panics += 1


def pass_families(tallies: Collection[ControllerTally]) -> Iterator[Metric]:
    label = ("controller",)
    yield counters(
        "controller_runtime_reconcile_total",
        "Passes of a controller, by result.",
        ("controller", "result"),
        [((each.name, result), count) for each in tallies for result, count in each.results.items()],
    )
    yield counters(
        "controller_runtime_reconcile_errors_total",
        "Passes that failed and are tried again.",
        label,
        [((each.name,), each.errors) for each in tallies],
    )
    yield counters(
        "controller_runtime_terminal_reconcile_errors_total",
        "Passes that found something which a person has to change.",
        label,
        [((each.name,), each.terminal_errors) for each in tallies],
    )
    yield counters(
        "controller_runtime_reconcile_panics_total",
        "Exceptions that nobody had thought of.",
        label,
        [((each.name,), each.panics) for each in tallies],
    )
    yield histograms(
        "controller_runtime_reconcile_time_seconds",
        "How long passes take.",
        label,
        [((each.name,), each.pass_time) for each in tallies],
    )
    yield gauges(
        "controller_runtime_max_concurrent_reconciles",
        "How many passes may run at once.",
        label,
        [((each.name,), each.max_concurrent) for each in tallies],
    )
    yield gauges(
        "controller_runtime_active_workers",
        "How many passes are running.",
        label,
        [((each.name,), each.active) for each in tallies],
    )


def queue_families(tallies: Collection[ControllerTally]) -> Iterator[Metric]:
    labels = ("controller", "name")
    names = {each: (each.name, each.name) for each in tallies}
    yield gauges(
        "workqueue_depth",
        "Keys that wait for a worker.",
        labels,
        [(names[each], each.ready) for each in tallies],
    )
    yield counters(
        "workqueue_adds_total",
        "How often a pass was asked for.",
        labels,
        [(names[each], each.adds) for each in tallies],
    )
    yield histograms(
        "workqueue_queue_duration_seconds",
        "How long keys wait for a worker.",
        labels,
        [(names[each], each.queue_time) for each in tallies],
    )
    yield histograms(
        "workqueue_work_duration_seconds",
        "How long workers hold a key.",
        labels,
        [(names[each], each.work_time) for each in tallies],
    )
    running = {each: each.running() for each in tallies}
    yield gauges(
        "workqueue_unfinished_work_seconds",
        "For how long the present passes have been running, all together. It rises steadily where one hangs.",
        labels,
        [(names[each], sum(running[each])) for each in tallies],
    )
    yield gauges(
        "workqueue_longest_running_processor_seconds",
        "For how long the longest of the present passes has been running.",
        labels,
        [(names[each], max(running[each], default=0.0)) for each in tallies],
    )
    yield counters(
        "workqueue_retries_total",
        "How often a pass was asked for because the one before had failed.",
        labels,
        [(names[each], each.retries) for each in tallies],
    )


def webhook_families(tallies: Collection[WebhookTally]) -> Iterator[Metric]:
    yield counters(
        "controller_runtime_webhook_requests_total",
        "Admission requests, by HTTP status code.",
        ("code", "webhook"),
        [((str(code), each.path), count) for each in tallies for code, count in each.codes.items()],
    )
    yield histograms(
        "controller_runtime_webhook_latency_seconds",
        "How long admission requests take.",
        ("webhook",),
        [((each.path,), each.time) for each in tallies],
    )
    yield gauges(
        "controller_runtime_webhook_requests_in_flight",
        "Admission requests that are being answered.",
        ("webhook",),
        [((each.path,), each.in_flight) for each in tallies],
    )
    yield counters(
        "controller_runtime_webhook_panics_total",
        "Admission requests whose webhook raised something that nobody had thought of.",
        (),
        [((), sum(each.panics for each in tallies))],
    )
