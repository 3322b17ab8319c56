"""Metrics of a kind, under the names of the operator that it replaces so that its dashboards work.

PREFIX_reconcile_errors_total{error_type}     once per error, not once per retry
PREFIX_drift_detected_total                   passes that found drift, under every policy
PREFIX_NOUN_total{namespace,status}           objects that are Ready and NotReady, counted at each scrape
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric

from edgekeeper.core.json import dig, dig_list
from edgekeeper.kube.store import Store


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, gc=False, frozen=True):
    conditions: list[_Condition] = []


class _Object(msgspec.Struct, gc=False):
    status: _Status = _Status()


_decode = msgspec.json.Decoder(_Object).decode


@dataclass(frozen=True)
class MetricNames:
    """How the metrics of a kind are called."""

    prefix: str
    noun: str
    """The plural of what an object stands for: `tenants`."""
    kind: str
    error_types: tuple[str, ...]
    """Exported as zero from the start, so that alerts work before the first error."""


class ExternalMetrics:
    """The metrics of a kind. Registers itself as a collector with the registry."""

    def __init__(self, registry: CollectorRegistry, names: MetricNames) -> None:
        self._errors = Counter(
            f"{names.prefix}_reconcile_errors_total",
            "Errors of reconciliations, by type.",
            ("error_type",),
            registry=registry,
        )
        self._drift = Counter(
            f"{names.prefix}_drift_detected_total",
            f"Reconciliations that found a {names.noun.removesuffix('s')} changed outside the operator.",
            registry=registry,
        )
        self._names = names
        self._stores: list[Store] = []
        for error_type in names.error_types:
            self._errors.labels(error_type)
        registry.register(self)

    def error(self, error_type: str) -> None:
        self._errors.labels(error_type).inc()

    def drift_detected(self) -> None:
        self._drift.inc()

    def count(self, stores: Iterable[Store]) -> None:
        """Set the stores whose objects are counted."""
        self._stores = list(stores)

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            f"{self._names.prefix}_{self._names.noun}_total",
            f"{self._names.kind}s, by whether they are Ready.",
            labels=("namespace", "status"),
        )
        tally: Tally[tuple[str, str]] = Tally()
        for store in self._stores:
            for key in store.keys() if store.synced else ():
                raw = store.raw(key)
                if raw is not None:
                    tally[key.namespace, "Ready" if _is_ready(raw) else "NotReady"] += 1
        for labels, number in sorted(tally.items()):
            family.add_metric(labels, number)
        yield family


def _is_ready(raw: bytes) -> bool:
    try:
        conditions = [(condition.type, condition.status) for condition in _decode(raw).status.conditions]
    except msgspec.ValidationError:
        # Another controller may have written conditions of another form. This fallback is slower, and rarely needed.
        entries = dig_list(msgspec.json.decode(raw), "status", "conditions")
        conditions = [(dig(entry, "type"), dig(entry, "status")) for entry in entries]
    return ("Ready", "True") in conditions
