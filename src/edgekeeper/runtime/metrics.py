"""The metrics of the process, under the names of controller-runtime where it has them.

    metrics = Metrics()
    metrics.controller("widget", 16)        a controller: `controller_runtime_…` and `workqueue_…`
    metrics.webhook("/validate-…")          an admission webhook: `controller_runtime_webhook_…`
    metrics.requests("10.96.0.1:443")       for `KubeClient.observe`: `rest_client_requests_total`
    metrics.leadership("edgekeeper")        for an elector's `on_change`: `leader_election_master_status`
    metrics.loop_lag(seconds)               `edgekeeper_event_loop_lag_seconds`
    metrics.add(collect)                    metrics that are computed on each scrape
    await metrics.text()                    the response to a scrape

All series exist from the start, at zero, so that alerts and rates work before the first event. Labels are controllers,
results, paths and codes, whose number is bounded; never objects.

Dashboards and alerts for controller-runtime work unchanged. Each instance has a registry of its own, so that several
managers in one process, as in tests, are independent.
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
"""Above so many bytes the text, which takes about five milliseconds to render then, is rendered in a thread."""

_WITH_CREATION = frozenset({"counter", "histogram", "summary"})
"""The types of metrics for which prometheus_client adds a `_created` series."""

NO_ANSWER = "<error>"
"""The code of requests without a response, as in client-go."""


@dataclass(frozen=True, slots=True)
class _Guarded:
    """Adapts a function to a collector. If it raises, its metrics are missing, and all others are still collected."""

    gather: Callable[[], Iterable[Metric]]

    def collect(self) -> Iterable[Metric]:
        try:
            return list(self.gather())
        except Exception:
            log.exception("Metrics cannot be collected", collector=getattr(self.gather, "__qualname__", ""))
            return ()


@dataclass(frozen=True, slots=True)
class _Collected:
    """A collector of metrics that are already collected, for rendering."""

    families: list[Metric]

    def collect(self) -> Iterable[Metric]:
        return self.families


class Metrics:
    """The metrics of one process: `contract.RuntimeMetrics`, and more."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        """The registry, for metrics of kinds: `prometheus_client.Counter(…, registry=metrics.registry)`."""
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
        """Remove the metrics of a controller that was removed."""
        self._controllers.forget(name)

    def webhook(self, path: str) -> WebhookTally:
        """The metrics of the webhook at `path`."""
        return WebhookTally(self._webhooks, path)

    def requests(self, host: str) -> Callable[[str, int], None]:
        """A function that counts requests to an API server by method and status; 0 stands for no response."""

        def observe(method: str, status: int) -> None:
            self._requests.labels(status or NO_ANSWER, host, method).inc()

        return observe

    def leadership(self, name: str) -> Callable[[bool], None]:
        """A function that sets whether this process leads; at first it does not."""
        status = self._leadership.labels(name)
        status.set(0)

        def changed(leading: bool) -> None:
            status.set(leading)

        return changed

    def loop_lag(self, seconds: float) -> None:
        """Observe how much later than scheduled a timer of the event loop fired."""
        self._lag.observe(seconds)

    def add(self, collect: Callable[[], Iterable[Metric]]) -> None:
        """Call `collect` on every scrape. It runs on the event loop, so it may read stores and must be fast."""
        self.registry.register(_Guarded(collect))

    async def text(self) -> bytes:
        """All metrics in the text format of Prometheus. Large texts are rendered in a thread."""
        collected = _Collected([_as_go_writes(family) for family in self.registry.collect()])
        if self._size > _LARGE:
            text = await asyncio.to_thread(generate_latest, collected)
        else:
            text = generate_latest(collected)
        self._size = len(text)
        return text


def _as_go_writes(family: Metric) -> Metric:
    """The family as Go client libraries render it, so that it can be aggregated with theirs.

    Bounds of buckets have no ".0", and there are no `_created` series.
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
