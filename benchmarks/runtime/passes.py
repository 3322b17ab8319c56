"""How many passes an operator has made, read from its own metrics as cheaply as can be."""

from __future__ import annotations

from prometheus_client import CollectorRegistry
from prometheus_client.registry import Collector

_ENDED = ("controller_runtime_reconcile_total",)
_TROUBLES = ("controller_runtime_reconcile_errors_total", "controller_runtime_reconcile_panics_total")


class Passes:
    """The passes of all controllers whose metrics are in `registry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._ended = registry.restricted_registry(_ENDED)
        self._troubles = registry.restricted_registry(_TROUBLES)

    @property
    def ended(self) -> float:
        return _sum(self._ended)

    @property
    def troubles(self) -> float:
        """Those that failed, and exceptions that nobody had thought of."""
        return _sum(self._troubles)


def _sum(counters: Collector) -> float:
    samples = (sample for family in counters.collect() for sample in family.samples)
    return sum(sample.value for sample in samples if sample.name.endswith("_total"))
