"""The metrics of the cloud layer on `/metrics`.

    cloudfront_tenant_operator_aws_api_call_duration_seconds{operation}       CloudFront, Route 53, ACM
    edgekeeper_cloud_api_call_duration_seconds{provider,operation}            all clouds
    edgekeeper_cloud_api_errors_total{provider,operation,error_type}
    bridge_aws_calls_total{service,operation,result}                          API Gateway, Lambda, ACM, Route 53
    edgekeeper_cloud_budget_wait_seconds{lane}                                time that calls waited for the rate limit
    edgekeeper_cloud_available{provider,service}                              1, or 0 during an outage
    edgekeeper_cloud_circuit_state{provider,service,region}                   0 closed, 1 half open, 2 open
    edgekeeper_cloud_mirror_age_seconds{mirror}                               since the last complete listing began
    edgekeeper_cloud_mirror_objects{mirror}
    edgekeeper_cloud_mirror_doubted_objects{mirror}                           missing from a listing, not confirmed yet
    edgekeeper_cloud_mirror_listings_total{mirror,result}

The first metric is compatible with dashboards of cloudfront-tenant-operator. Labels are operations, lanes and mirrors,
which are few; never objects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import timedelta
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric

from edgekeeper.cloud.operation import Operation

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_WAIT_BUCKETS = (0.001, 0.01, 0.1, 1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0)

_PREFIXES = {"cloudfront": "", "route53": "Route53", "acm": "ACM"}
"""The services of the first histogram, with the prefix of their operations."""
_BRIDGE_SERVICES = frozenset({"apigateway", "lambda", "acm", "route53"})
_LISTING_RESULTS = ("complete", "failed", "doubted")
_KNOWN_OPERATIONS = (
    *("CreateDistributionTenant", "GetDistributionTenant", "UpdateDistributionTenant"),
    *("DeleteDistributionTenant", "GetDistribution", "GetManagedCertificateDetails"),
    *("GetConnectionGroup", "ListConnectionGroups"),
    *("Route53ChangeResourceRecordSets", "Route53GetChange", "ACMDescribeCertificate"),
)
"""Exported as zero from the start, so that alerts and rates work before the first call."""


class MirrorFigures(Protocol):
    """The figures of a mirror."""

    @property
    def count(self) -> int: ...

    @property
    def age(self) -> timedelta: ...

    @property
    def doubted(self) -> Collection[object]: ...


class CloudMetrics:
    """The metrics of all clouds of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._tenant_calls = Histogram(
            "cloudfront_tenant_operator_aws_api_call_duration_seconds",
            "Duration of calls to the AWS API, including failed ones.",
            ("operation",),
            registry=registry,
            buckets=_BUCKETS,
        )
        self._calls = Histogram(
            "edgekeeper_cloud_api_call_duration_seconds",
            "Duration of calls to the API of a cloud, including failed ones.",
            ("provider", "operation"),
            registry=registry,
            buckets=_BUCKETS,
        )
        self._errors = Counter(
            "edgekeeper_cloud_api_errors_total",
            "Failed calls to the API of a cloud.",
            ("provider", "operation", "error_type"),
            registry=registry,
        )
        self._bridge_calls = Counter(
            "bridge_aws_calls_total",
            "Calls to those AWS services that the bridge uses, by result: success, or the type of the error.",
            ("service", "operation", "result"),
            registry=registry,
        )
        self._waits = Histogram(
            "edgekeeper_cloud_budget_wait_seconds",
            "Time that calls waited for the rate limit.",
            ("lane",),
            registry=registry,
            buckets=_WAIT_BUCKETS,
        )
        self._listings = Counter(
            "edgekeeper_cloud_mirror_listings_total",
            "Listings of a remote collection: complete, failed, or doubted because too many objects were missing.",
            ("mirror", "result"),
            registry=registry,
        )
        self._availability: list[Callable[[], Mapping[tuple[str, str], bool]]] = []
        self._circuits: dict[tuple[str, str, str], Callable[[], int]] = {}
        self._mirrors: dict[str, MirrorFigures] = {}
        for operation in _KNOWN_OPERATIONS:
            self._tenant_calls.labels(operation)
        registry.register(_Collector(self._gauges))

    def observe_call(self, operation: Operation, seconds: float, error_type: str = "") -> None:
        """Observe the duration of a call. `error_type` is empty for one that succeeded."""
        if operation.service in _BRIDGE_SERVICES:
            self._bridge_calls.labels(operation.service, operation.name, error_type or "success").inc()
        self._calls.labels(operation.provider, operation.name).observe(seconds)
        if (prefix := _PREFIXES.get(operation.service)) is not None:
            self._tenant_calls.labels(prefix + operation.name).observe(seconds)

    def count_error(self, operation: Operation, error_type: str) -> None:
        """Count a failed call."""
        self._errors.labels(operation.provider, operation.name, error_type).inc()

    def observe_wait(self, lane: str, seconds: float) -> None:
        """Observe how long a call waited for the rate limit."""
        self._waits.labels(lane).observe(seconds)

    def count_listing(self, mirror: str, result: str) -> None:
        """Count a listing. `result` is `complete`, `failed` or `doubted`."""
        self._listings.labels(mirror, result).inc()

    def watch_availability(self, figures: Callable[[], Mapping[tuple[str, str], bool]]) -> None:
        """Export whether services can be used, by provider and service."""
        self._availability.append(figures)

    def watch_circuit(self, where: tuple[str, str, str], state: Callable[[], int]) -> None:
        """Export the state of a circuit. `where` is its provider, service and region."""
        self._circuits[where] = state

    def watch_mirror(self, name: str, figures: MirrorFigures) -> None:
        """Export the figures of a mirror until `forget_mirror`."""
        self._mirrors[name] = figures
        for result in _LISTING_RESULTS:
            self._listings.labels(name, result)

    def forget_mirror(self, name: str, figures: MirrorFigures) -> None:
        """Remove the series of a mirror."""
        if self._mirrors.get(name) is figures:  # unless another one has replaced it
            del self._mirrors[name]
            for result in _LISTING_RESULTS:
                self._listings.remove(name, result)

    def _gauges(self) -> Iterator[Metric]:
        available = GaugeMetricFamily(
            "edgekeeper_cloud_available",
            "1 if a service can be used, 0 if it does not respond, throttles all calls or refuses the credentials.",
            labels=("provider", "service"),
        )
        for figures in self._availability:
            for place, is_available in figures().items():
                available.add_metric(place, is_available)
        yield available
        circuits = GaugeMetricFamily(
            "edgekeeper_cloud_circuit_state",
            "State of the circuit breaker: 0 closed, 1 half open, 2 open.",
            labels=("provider", "service", "region"),
        )
        for where, state in self._circuits.items():
            circuits.add_metric(where, state())
        yield circuits
        yield self._of_mirrors(
            "edgekeeper_cloud_mirror_age_seconds",
            "Time since the start of the last complete listing.",
            lambda mirror: mirror.age.total_seconds(),
        )
        yield self._of_mirrors(
            "edgekeeper_cloud_mirror_objects", "Objects in the mirror.", lambda mirror: mirror.count
        )
        yield self._of_mirrors(
            "edgekeeper_cloud_mirror_doubted_objects",
            "Objects missing from the last listing, and kept until their absence is confirmed.",
            lambda mirror: len(mirror.doubted),
        )

    def _of_mirrors(self, name: str, about: str, figure: Callable[[MirrorFigures], float]) -> Metric:
        family = GaugeMetricFamily(name, about, labels=("mirror",))
        for mirror, figures in self._mirrors.items():
            family.add_metric((mirror,), figure(figures))
        return family


class _Collector:
    """Adapts a function to the collector interface of a registry."""

    def __init__(self, collect: Callable[[], Iterator[Metric]]) -> None:
        self.collect = collect
