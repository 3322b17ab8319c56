"""The metrics of controllers and their queues, and of admission webhooks.

The names, labels and buckets are controller-runtime's, so that its dashboards and alerts work here unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, repeat
from operator import mul

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from edgekeeper.runtime.contract import Result

_PASS_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0),
    *(10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
_QUEUE_BUCKETS = tuple(accumulate(repeat(10.0, 11), mul, initial=1e-08))
"""Ten nanoseconds to a thousand seconds, with Go's rounding errors: buckets add up over operators only if all agree."""
_REVIEW_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_CONTROLLER = ("controller",)
_QUEUE = ("controller", "name")
_WEBHOOK = ("webhook",)


class ControllerFamilies:
    """The metrics of all controllers of a process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.passes = PassFamilies(registry)
        self.queues = QueueFamilies(registry)

    def forget(self, controller: str) -> None:
        """Remove every series of a controller."""
        for family in (*vars(self.passes).values(), *vars(self.queues).values()):
            family.remove_by_labels({"controller": controller})


class PassFamilies:
    """`controller_runtime_…`, by controller."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.results = Counter(
            "controller_runtime_reconcile_total",
            "Passes of a controller, by result.",
            ("controller", "result"),
            registry=registry,
        )
        self.errors = Counter(
            "controller_runtime_reconcile_errors_total",
            "Passes that failed and are tried again.",
            _CONTROLLER,
            registry=registry,
        )
        self.terminal_errors = Counter(
            "controller_runtime_terminal_reconcile_errors_total",
            "Passes that found something which a person has to change.",
            _CONTROLLER,
            registry=registry,
        )
        self.panics = Counter(
            "controller_runtime_reconcile_panics_total",
            "Unexpected exceptions in reconciliations.",
            _CONTROLLER,
            registry=registry,
        )
        self.time = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "How long passes take.",
            _CONTROLLER,
            registry=registry,
            buckets=_PASS_BUCKETS,
        )
        self.max_concurrent = Gauge(
            "controller_runtime_max_concurrent_reconciles",
            "How many passes may run at once.",
            _CONTROLLER,
            registry=registry,
        )
        self.active = Gauge(
            "controller_runtime_active_workers",
            "How many passes are running.",
            _CONTROLLER,
            registry=registry,
        )


class QueueFamilies:
    """`workqueue_…`, by controller."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.depth = Gauge("workqueue_depth", "Keys that wait for a worker.", _QUEUE, registry=registry)
        self.adds = Counter(
            "workqueue_adds_total", "How often a pass was asked for.", _QUEUE, registry=registry
        )
        self.queue_time = Histogram(
            "workqueue_queue_duration_seconds",
            "How long keys wait for a worker.",
            _QUEUE,
            registry=registry,
            buckets=_QUEUE_BUCKETS,
        )
        self.work_time = Histogram(
            "workqueue_work_duration_seconds",
            "How long workers hold a key.",
            _QUEUE,
            registry=registry,
            buckets=_QUEUE_BUCKETS,
        )
        self.unfinished = Gauge(
            "workqueue_unfinished_work_seconds",
            "For how long the present passes have been running, all together. It rises steadily where one hangs.",
            _QUEUE,
            registry=registry,
        )
        self.longest = Gauge(
            "workqueue_longest_running_processor_seconds",
            "For how long the longest of the present passes has been running.",
            _QUEUE,
            registry=registry,
        )
        self.retries = Counter(
            "workqueue_retries_total",
            "How often a pass was asked for because the one before had failed.",
            _QUEUE,
            registry=registry,
        )


class ControllerTally:
    """The metrics of one controller and its queue: `contract.ControllerMetrics`.

    The metrics of its labels are kept, since looking them up costs three times as much as counting.
    """

    def __init__(self, families: ControllerFamilies, name: str, max_concurrent: int) -> None:
        passes, queues = families.passes, families.queues
        passes.max_concurrent.labels(name).set(max_concurrent)
        self._results = {result: passes.results.labels(name, result.value) for result in Result}
        self._errors = passes.errors.labels(name)
        self._terminal_errors = passes.terminal_errors.labels(name)
        self._panics = passes.panics.labels(name)
        self._pass_time = passes.time.labels(name)
        self._active = passes.active.labels(name)
        self._depth = queues.depth.labels(name, name)
        self._adds = queues.adds.labels(name, name)
        self._retries = queues.retries.labels(name, name)
        self._queue_time = queues.queue_time.labels(name, name)
        self._work_time = queues.work_time.labels(name, name)
        self._unfinished = queues.unfinished.labels(name, name)
        self._longest = queues.longest.labels(name, name)

    def pass_started(self) -> None:
        self._active.inc()

    def pass_ended(self, result: Result | None, seconds: float) -> None:
        self._active.dec()
        if result is not None:
            self._results[result].inc()
            self._pass_time.observe(seconds)

    def failed(self) -> None:
        self._errors.inc()

    def stalled(self) -> None:
        self._terminal_errors.inc()

    def panicked(self) -> None:
        self._panics.inc()

    def watch(self, running: Callable[[], list[float]]) -> None:
        self._unfinished.set_function(lambda: sum(running()))
        self._longest.set_function(lambda: max(running(), default=0.0))

    def added(self) -> None:
        self._adds.inc()

    def retried(self) -> None:
        self._retries.inc()

    def depth(self, ready: int) -> None:
        self._depth.set(ready)

    def taken(self, waited: float) -> None:
        self._queue_time.observe(waited)

    def finished(self, worked: float) -> None:
        self._work_time.observe(worked)


class WebhookFamilies:
    """`controller_runtime_webhook_…`, by path."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.codes = Counter(
            "controller_runtime_webhook_requests_total",
            "Admission requests, by HTTP status code.",
            ("code", "webhook"),
            registry=registry,
        )
        self.time = Histogram(
            "controller_runtime_webhook_latency_seconds",
            "How long admission requests take.",
            _WEBHOOK,
            registry=registry,
            buckets=_REVIEW_BUCKETS,
        )
        self.in_flight = Gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Admission requests that are being answered.",
            _WEBHOOK,
            registry=registry,
        )
        self.panics = Counter(
            "controller_runtime_webhook_panics_total",
            "Admission requests whose webhook raised an unexpected exception.",
            registry=registry,
        )


class WebhookTally:
    """The metrics of one admission webhook."""

    def __init__(self, families: WebhookFamilies, path: str) -> None:
        self._path = path
        self._codes = families.codes
        self._in_flight = families.in_flight.labels(path)
        self._time = families.time.labels(path)
        self._panics = families.panics
        for code in (200, 500):
            self._codes.labels(code, path)

    def review_started(self) -> None:
        self._in_flight.inc()

    def review_ended(self, code: int, seconds: float) -> None:
        self._in_flight.dec()
        self._codes.labels(code, self._path).inc()
        self._time.observe(seconds)

    def panicked(self) -> None:
        self._panics.inc()
