"""What the process tells about itself on `/metrics`, under the names that controller-runtime has made a standard.

    metrics = Metrics()
    metrics.controller("widget", 16, queue.running)     a controller: `controller_runtime_…` and `workqueue_…`
    metrics.webhook("/validate-…")                      an admission webhook: `controller_runtime_webhook_…`
    metrics.requests("10.96.0.1:443")                   for `KubeClient.observe`: `rest_client_requests_total`
    metrics.leadership("edgekeeper")                    for an elector's `on_change`: `leader_election_master_status`
    metrics.loop_lag                                    for `lag.measure_lag`
    metrics.add(collect)                                whatever is counted best when it is asked for
    await metrics.text()                                what a scrape gets

Whatever is registered is there from the start, at zero, so that alerts and rates work before the first event. Labels
name controllers, results, paths and codes, which are few and known; never objects, which are neither.

Dashboards and alerts for controller-runtime work unchanged. The registry belongs to the instance: two managers in one
process, as tests have them, do not meet.
"""

from __future__ import annotations

import asyncio
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import structlog
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import Metric
from prometheus_client.gc_collector import GCCollector

from edgekeeper import __version__
from edgekeeper.runtime.contract import Result
from edgekeeper.runtime.tallies import Histogram, counters, gauges, histograms

log = structlog.get_logger(__name__)

_PASS_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0),
    *(10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
_QUEUE_BUCKETS = (1e-08, 1e-07, 1e-06, 1e-05, 1e-04, 1e-03, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
_REVIEW_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LAG_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_LARGE = 200_000
"""Bytes of text that take about as long to write as one thread may keep the interpreter from another."""

NO_ANSWER = "<error>"
"""The code of requests that were never answered, as client-go writes it."""


class ControllerTally:
    """The numbers of one controller and its queue: `contract.ControllerMetrics`."""

    def __init__(self, name: str, max_concurrent: int, running: Callable[[], list[float]]) -> None:
        self.name = name
        self.max_concurrent = max_concurrent
        self.running = running
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


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A function that collects, as a registry wants it. One that fails leaves its metrics out, and nobody else's."""

    gather: Callable[[], Iterable[Metric]]

    def collect(self) -> Iterable[Metric]:
        try:
            return list(self.gather())
        except Exception:
            log.exception("Metrics cannot be collected", collector=getattr(self.gather, "__qualname__", ""))
            return ()


@dataclass(frozen=True, slots=True)
class _Collected:
    """What was collected a moment ago, for whoever writes it down."""

    families: list[Metric]

    def collect(self) -> Iterable[Metric]:
        return self.families


class Metrics:
    """The metrics of one process: `contract.RuntimeMetrics`, and more."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        """For kinds with counters of their own: `prometheus_client.Counter(…, registry=metrics.registry)`."""
        self.loop_lag = Histogram(_LAG_BUCKETS)
        self._controllers: dict[str, ControllerTally] = {}
        self._webhooks: dict[str, WebhookTally] = {}
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._leadership: dict[str, bool] = {}
        self._size = 0
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.add(self._families)

    def controller(
        self, name: str, max_concurrent: int, running: Callable[[], list[float]]
    ) -> ControllerTally:
        """The numbers of a controller. `running` tells for how many seconds each of its passes has run.

        A controller of the same name that comes later, after the kind was gone for a while, goes on counting.
        """
        tally = self._controllers.get(name)
        if tally is None:
            tally = self._controllers[name] = ControllerTally(name, max_concurrent, running)
        tally.max_concurrent, tally.running = max_concurrent, running
        return tally

    def webhook(self, path: str) -> WebhookTally:
        """The numbers of the webhook at `path`."""
        return self._webhooks.setdefault(path, WebhookTally(path))

    def requests(self, host: str) -> Callable[[str, int], None]:
        """Count the requests to an API server: the function is told the method and status of each; 0 is no answer."""

        def observe(method: str, status: int) -> None:
            self._requests[str(status) if status else NO_ANSWER, host, method] += 1

        return observe

    def leadership(self, name: str) -> Callable[[bool], None]:
        """Tell whether we lead: the function is told whenever that changes. Nobody leads at first."""
        self._leadership[name] = False

        def changed(leading: bool) -> None:
            self._leadership[name] = leading

        return changed

    def add(self, collect: Callable[[], Iterable[Metric]]) -> None:
        """Ask `collect` on every scrape: on the event loop, so that it may look at stores. It must not take long."""
        self.registry.register(_Guarded(collect))

    async def text(self) -> bytes:
        """Everything, in the text format of Prometheus. What is large is written down in a thread."""
        collected = _Collected(list(self.registry.collect()))
        if self._size > _LARGE:
            text = await asyncio.to_thread(generate_latest, collected)
        else:
            text = generate_latest(collected)
        self._size = len(text)
        return text

    def _families(self) -> Iterator[Metric]:
        yield from _pass_families(self._controllers.values())
        yield from _queue_families(self._controllers.values())
        yield from _webhook_families(self._webhooks.values())
        yield counters(
            "rest_client_requests_total",
            "Requests to the API server, by status code, host and method.",
            ("code", "host", "method"),
            self._requests.items(),
        )
        yield gauges(
            "leader_election_master_status",
            "1 where this process holds the lease of that name, 0 where it does not.",
            ("name",),
            [((name,), int(leading)) for name, leading in self._leadership.items()],
        )
        yield histograms(
            "edgekeeper_event_loop_lag_seconds",
            "By how much timers of the event loop were late.",
            (),
            [((), self.loop_lag)],
        )
        yield gauges(
            "edgekeeper_build_info",
            "The version that runs here.",
            ("python_version", "version"),
            [((platform.python_version(), __version__), 1)],
        )


def _pass_families(tallies: Iterable[ControllerTally]) -> Iterator[Metric]:
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


def _queue_families(tallies: Iterable[ControllerTally]) -> Iterator[Metric]:
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


def _webhook_families(tallies: Iterable[WebhookTally]) -> Iterator[Metric]:
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
