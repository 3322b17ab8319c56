"""Metrics of the cloudflare-worker.

edgekeeper_zerotrust_task_errors_total{error_type}      once per error, not once per retry
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter


class TaskMetrics:
    """What is counted about tasks."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._errors = Counter(
            "edgekeeper_zerotrust_task_errors_total",
            "Errors while tasks are carried out, by type.",
            ("error_type",),
            registry=registry,
        )

    def error(self, error_type: str) -> None:
        self._errors.labels(error_type).inc()

    def drift_detected(self) -> None:
        """Drift is found before there is a task: see `drift`."""
