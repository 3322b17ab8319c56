"""What the process tells about itself on `/metrics`, under the names that controller-runtime has made a standard.

    metrics = Metrics()
    metrics.controller("widget", 16)        a controller: `controller_runtime_…` and `workqueue_…`
    metrics.webhook("/validate-…")          an admission webhook: `controller_runtime_webhook_…`
    metrics.requests("10.96.0.1:443")       for `KubeClient.observe`: `rest_client_requests_total`
    metrics.leadership("edgekeeper")        for an elector's `on_change`: `leader_election_master_status`
    metrics.loop_lag(seconds)               `edgekeeper_event_loop_lag_seconds`
    metrics.add(collect)                    whatever is counted best when it is asked for
    await metrics.text()                    what a scrape gets

Whatever is registered is there from the start, at zero, so that alerts and rates work before the first event. Labels
name controllers, results, paths and codes, which are few and known; never objects, which are neither.

Dashboards and alerts for controller-runtime work unchanged. The registry belongs to the instance: two managers in one
process, as tests have them, do not meet.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.samples import Sample

from edgekeeper import __version__
from edgekeeper.core.log import get_logger
from edgekeeper.runtime.tallies import ControllerFamilies, ControllerTally, WebhookFamilies, WebhookTally

log = get_logger(__name__)

_LAG_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_LARGE = 50_000
"""Bytes of text that take about five milliseconds to write, which is how long threads leave each other alone."""

_WITH_CREATION = frozenset({"counter", "histogram", "summary"})
"""The types of metrics for which prometheus_client tells when they were made."""

NO_ANSWER = "<error>"
"""The code of requests that were never answered, as client-go writes it."""


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
        self._size = 0
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._controllers = ControllerFamilies(self.registry)
        self._webhooks = WebhookFamilies(self.registry)
        self._requests = Counter(
            "rest_client_requests_total",
            "Requests to the API server, by status code, host and method.",
            ("code", "host", "method"),
            registry=self.registry,
        )
        self._leadership = Gauge(
            "leader_election_master_status",
            "1 where this process holds the lease of that name, 0 where it does not.",
            ("name",),
            registry=self.registry,
        )
        self._lag = Histogram(
            "edgekeeper_event_loop_lag_seconds",
            "By how much timers of the event loop were late.",
            registry=self.registry,
            buckets=_LAG_BUCKETS,
        )
        build = Gauge(
            "edgekeeper_build_info",
            "The version that runs here.",
            ("python_version", "version"),
            registry=self.registry,
        )
        build.labels(platform.python_version(), __version__).set(1)

    def controller(self, name: str, max_concurrent: int) -> ControllerTally:
        """The metrics of a controller."""
        return ControllerTally(self._controllers, name, max_concurrent)

    def forget_controller(self, name: str) -> None:
        """The controller is gone for good, and its metrics with it."""
        self._controllers.forget(name)

    def webhook(self, path: str) -> WebhookTally:
        """The metrics of the webhook at `path`."""
        return WebhookTally(self._webhooks, path)

    def requests(self, host: str) -> Callable[[str, int], None]:
        """Count the requests to an API server: the function is told the method and status of each; 0 is no answer."""

        def observe(method: str, status: int) -> None:
            self._requests.labels(status or NO_ANSWER, host, method).inc()

        return observe

    def leadership(self, name: str) -> Callable[[bool], None]:
        """Tell whether we lead: the function is told whenever that changes. Nobody leads at first."""
        status = self._leadership.labels(name)
        status.set(0)

        def changed(leading: bool) -> None:
            status.set(leading)

        return changed

    def loop_lag(self, seconds: float) -> None:
        """The event loop ran something that much later than asked for."""
        self._lag.observe(seconds)

    def add(self, collect: Callable[[], Iterable[Metric]]) -> None:
        """Ask `collect` on every scrape: on the event loop, so that it may look at stores. It must not take long."""
        self.registry.register(_Guarded(collect))

    async def text(self) -> bytes:
        """Everything, in the text format of Prometheus. What is large is written down in a thread."""
        collected = _Collected([_as_go_writes(family) for family in self.registry.collect()])
        if self._size > _LARGE:
            text = await asyncio.to_thread(generate_latest, collected)
        else:
            text = generate_latest(collected)
        self._size = len(text)
        return text


def _as_go_writes(family: Metric) -> Metric:
    """The family as client libraries in Go write it, so that it adds up with theirs.

    Bounds of buckets are written without ".0", and nothing says when a metric was made.
    """
    if family.type in _WITH_CREATION:
        family.samples = [sample for sample in family.samples if sample.name != f"{family.name}_created"]
    if family.type == "histogram":
        family.samples = [_with_short_bound(sample) for sample in family.samples]
    return family


def _with_short_bound(sample: Sample) -> Sample:
    bound = sample.labels.get("le")
    if bound is None:
        return sample
    return sample._replace(labels={**sample.labels, "le": bound.removesuffix(".0")})
