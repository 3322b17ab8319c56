"""Metrics of the bridge.

    bridge_reconcile_total{kind,result}                     passes, with the results of controller_runtime_reconcile_total
    bridge_reconcile_duration_seconds{kind}
    bridge_reconcile_errors_total{kind,error_type}          once per error, not once per retry
    bridge_drift_detected_total{kind}

`bridge_aws_calls_total` is counted where calls are made (`cloud.metrics`).
"""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram

from edgekeeper.lifecycle.module import Process
from edgekeeper.runtime.contract import ControllerMetrics, Result, RuntimeMetrics


class BridgeMetrics:
    """The metrics of both kinds. Made once for each registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.passes = Counter(
            "bridge_reconcile_total", "Reconciliations, by result.", ("kind", "result"), registry=registry
        )
        self.durations = Histogram(
            "bridge_reconcile_duration_seconds", "Duration of reconciliations.", ("kind",), registry=registry
        )
        self.errors = Counter(
            "bridge_reconcile_errors_total",
            "Errors of reconciliations, by type.",
            ("kind", "error_type"),
            registry=registry,
        )
        self.drift = Counter(
            "bridge_drift_detected_total",
            "Reconciliations that found something changed outside the operator.",
            ("kind",),
            registry=registry,
        )


def bridge_metrics(process: Process) -> BridgeMetrics:
    """The metrics that the kinds of a process share."""
    return BridgeMetrics(process.registry)


@dataclass(frozen=True)
class BridgeKindMetrics:
    """The metrics of one kind, as the lifecycle counts them."""

    shared: BridgeMetrics
    kind: str

    def error(self, error_type: str) -> None:
        self.shared.errors.labels(self.kind, error_type).inc()

    def drift_detected(self) -> None:
        self.shared.drift.labels(self.kind).inc()


@dataclass(frozen=True)
class CountingMetrics:
    """The metrics of the runtime, which also count passes as the bridge's."""

    runtime: RuntimeMetrics
    shared: BridgeMetrics
    kind: str

    def controller(self, name: str, max_concurrent: int) -> ControllerMetrics:
        return _CountingPasses(self.runtime.controller(name, max_concurrent), self.shared, self.kind)

    def forget_controller(self, name: str) -> None:
        self.runtime.forget_controller(name)

    def loop_lag(self, seconds: float) -> None:
        self.runtime.loop_lag(seconds)


class _CountingPasses:
    """The metrics of a controller and its queue, with the end of each pass counted a second time."""

    def __init__(self, controller: ControllerMetrics, shared: BridgeMetrics, kind: str) -> None:
        self._controller = controller
        self._shared = shared
        self._kind = kind
        self.watch, self.added, self.retried = controller.watch, controller.added, controller.retried
        self.depth, self.taken, self.finished = controller.depth, controller.taken, controller.finished
        self.pass_started, self.failed = controller.pass_started, controller.failed
        self.stalled, self.panicked = controller.stalled, controller.panicked

    def pass_ended(self, result: Result | None, seconds: float) -> None:
        self._controller.pass_ended(result, seconds)
        if result is not None:
            self._shared.passes.labels(self._kind, str(result)).inc()
            self._shared.durations.labels(self._kind).observe(seconds)
