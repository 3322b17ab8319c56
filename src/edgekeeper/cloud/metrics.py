"""The metrics of the cloud layer on `/metrics`.

    cloudfront_tenant_operator_aws_api_call_duration_seconds{operation}       CloudFront, Route 53, ACM
    edgekeeper_cloud_api_call_duration_seconds{provider,operation}            all clouds
    edgekeeper_cloud_api_errors_total{provider,operation,error_type}
    edgekeeper_cloud_budget_wait_seconds{lane}                                how long calls waited for the budget
    edgekeeper_cloud_available{provider,service}                              1, or 0 during an outage
    edgekeeper_cloud_circuit_state{provider,service,region}                   0 closed, 1 half open, 2 open
    edgekeeper_cloud_mirror_age_seconds{mirror}                               since the last complete listing began
    edgekeeper_cloud_mirror_objects{mirror}
    edgekeeper_cloud_mirror_doubted_objects{mirror}                           missing from a listing that is not believed
    edgekeeper_cloud_mirror_listings_total{mirror,result}

The first name, its buckets and its values of `operation` are those that dashboards of CloudFront tenants use already.
Labels are operations, lanes and mirrors, which are few; never objects.
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
"""The services of the first histogram, and how their operations begin there."""
_LISTING_RESULTS = ("complete", "failed", "doubted")
_KNOWN_OPERATIONS = (
    *("CreateDistributionTenant", "GetDistributionTenant", "UpdateDistributionTenant"),
    *("DeleteDistributionTenant", "GetDistribution", "GetManagedCertificateDetails"),
    *("GetConnectionGroup", "ListConnectionGroups"),
    *("Route53ChangeResourceRecordSets", "Route53GetChange", "ACMDescribeCertificate"),
)
"""Shown at zero from the start, so that alerts and rates work before the first call."""


class MirrorFigures(Protocol):
    """What is shown of a mirror."""

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
            "How long calls of the AWS API took, failed ones as well.",
            ("operation",),
            registry=registry,
            buckets=_BUCKETS,
        )
        self._calls = Histogram(
            "edgekeeper_cloud_api_call_duration_seconds",
            "How long calls of a cloud's API took, failed ones as well.",
            ("provider", "operation"),
            registry=registry,
            buckets=_BUCKETS,
        )
        self._errors = Counter(
            "edgekeeper_cloud_api_errors_total",
            "Calls of a cloud's API that failed.",
            ("provider", "operation", "error_type"),
            registry=registry,
        )
        self._waits = Histogram(
            "edgekeeper_cloud_budget_wait_seconds",
            "How long calls waited for their turn in the budget.",
            ("lane",),
            registry=registry,
            buckets=_WAIT_BUCKETS,
        )
        self._listings = Counter(
            "edgekeeper_cloud_mirror_listings_total",
            "Listings of a remote collection: complete, failed, or doubted because too much was missing.",
            ("mirror", "result"),
            registry=registry,
        )
        self._availability: list[Callable[[], Mapping[tuple[str, str], bool]]] = []
        self._circuits: dict[tuple[str, str, str], Callable[[], int]] = {}
        self._mirrors: dict[str, MirrorFigures] = {}
        for operation in _KNOWN_OPERATIONS:
            self._tenant_calls.labels(operation)
        registry.register(_Collector(self._gauges))

    def observe_call(self, operation: Operation, seconds: float) -> None:
        """A call was sent, and took this long."""
        self._calls.labels(operation.provider, operation.name).observe(seconds)
        if (prefix := _PREFIXES.get(operation.service)) is not None:
            self._tenant_calls.labels(prefix + operation.name).observe(seconds)

    def count_error(self, operation: Operation, error_type: str) -> None:
        """A call failed."""
        self._errors.labels(operation.provider, operation.name, error_type).inc()

    def observe_wait(self, lane: str, seconds: float) -> None:
        """A call waited this long for its turn."""
        self._waits.labels(lane).observe(seconds)

    def count_listing(self, mirror: str, result: str) -> None:
        """A listing is `complete`, has `failed`, or is `doubted`."""
        self._listings.labels(mirror, result).inc()

    def watch_availability(self, figures: Callable[[], Mapping[tuple[str, str], bool]]) -> None:
        """Show whether services can be used, by provider and service."""
        self._availability.append(figures)

    def watch_circuit(self, where: tuple[str, str, str], state: Callable[[], int]) -> None:
        """Show a circuit: its provider, service and region, and how to ask for its state."""
        self._circuits[where] = state

    def watch_mirror(self, name: str, figures: MirrorFigures) -> None:
        """Show a mirror until it is forgotten."""
        self._mirrors[name] = figures
        for result in _LISTING_RESULTS:
            self._listings.labels(name, result)

    def forget_mirror(self, name: str, figures: MirrorFigures) -> None:
        """Stop showing a mirror, and remove its labels."""
        if self._mirrors.get(name) is figures:  # and not another one that has taken its place
            del self._mirrors[name]
            for result in _LISTING_RESULTS:
                self._listings.remove(name, result)

    def _gauges(self) -> Iterator[Metric]:
        available = GaugeMetricFamily(
            "edgekeeper_cloud_available",
            "1 where a service can be used, 0 where it does not answer, throttles us or refuses our credentials.",
            labels=("provider", "service"),
        )
        for figures in self._availability:
            for place, is_available in figures().items():
                available.add_metric(place, is_available)
        yield available
        circuits = GaugeMetricFamily(
            "edgekeeper_cloud_circuit_state",
            "0 where calls pass, 1 where one may pass to see, 2 where the provider is left alone.",
            labels=("provider", "service", "region"),
        )
        for where, state in self._circuits.items():
            circuits.add_metric(where, state())
        yield circuits
        yield self._of_mirrors(
            "edgekeeper_cloud_mirror_age_seconds",
            "Time since the last complete listing began.",
            lambda mirror: mirror.age.total_seconds(),
        )
        yield self._of_mirrors(
            "edgekeeper_cloud_mirror_objects", "Remote objects known.", lambda mirror: mirror.count
        )
        yield self._of_mirrors(
            "edgekeeper_cloud_mirror_doubted_objects",
            "Objects missing from a listing that is not believed, because too many were missing.",
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
