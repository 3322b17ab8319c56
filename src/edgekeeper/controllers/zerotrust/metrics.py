"""Metrics of the cloudflare-worker.

edgekeeper_zerotrust_task_errors_total{error_type}      once per error, not once per retry
edgekeeper_zerotrust_drift_detected_total               drift of a route, once for each difference, under every policy
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter


class WorkerMetrics:
    """What is counted about tasks, and about what they have left."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._errors = Counter(
            "edgekeeper_zerotrust_task_errors_total",
            "Errors while tasks are carried out, by type.",
            ("error_type",),
            registry=registry,
        )

        self._drift = Counter(
            "edgekeeper_zerotrust_drift_detected_total",
            "Changes of what was applied for a route, made outside the operator.",
            registry=registry,
        )

    def error(self, error_type: str) -> None:
        self._errors.labels(error_type).inc()

    def drift_detected(self) -> None:
        """Counted when it is found, before there is a task (`drift`)."""
        self._drift.inc()
