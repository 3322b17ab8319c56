"""Metrics of DistributionTenants, under the names of cloudfront-tenant-operator so that its dashboards work.

cloudfront_tenant_operator_reconcile_errors_total{error_type}     once per error, not once per retry
cloudfront_tenant_operator_drift_detected_total                   passes that found drift, under every policy
cloudfront_tenant_operator_tenants_total{namespace,status}        Ready and NotReady, counted at each scrape
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric

from edgekeeper.core.json import dig, dig_list
from edgekeeper.kube.store import Store

ERROR_TYPES: Final = (
    *("domain_conflict", "access_denied", "invalid_spec", "distribution_not_found"),
    *("connection_group_not_found", "name_conflict", "quota", "unknown", "throttling", "retryable"),
    *("domain_validation_pending", "dns_zone_not_found", "dns_access_denied", "dns_invalid_input"),
    *("dns_error", "dns_throttling", "dns_retryable"),
)
"""Exported as zero from the start, so that alerts work before the first error."""


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, gc=False, frozen=True):
    conditions: list[_Condition] = []


class _Tenant(msgspec.Struct, gc=False):
    status: _Status = _Status()


_decode = msgspec.json.Decoder(_Tenant).decode


class TenantMetrics:
    """The metrics of the kind. Registers itself as a collector with the registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._errors = Counter(
            "cloudfront_tenant_operator_reconcile_errors_total",
            "Errors of reconciliations, by type.",
            ("error_type",),
            registry=registry,
        )
        self._drift = Counter(
            "cloudfront_tenant_operator_drift_detected_total",
            "Reconciliations that found a tenant changed outside the operator.",
            registry=registry,
        )
        self._stores: list[Store] = []
        for error_type in ERROR_TYPES:
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
            "cloudfront_tenant_operator_tenants_total",
            "DistributionTenants, by whether they are Ready.",
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
