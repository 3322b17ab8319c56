"""Metrics of DistributionTenants, under the names of cloudfront-tenant-operator (`lifecycle.metrics`)."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry

from edgekeeper.lifecycle.metrics import ExternalMetrics, MetricNames

ERROR_TYPES: Final = (
    *("domain_conflict", "access_denied", "invalid_spec", "distribution_not_found"),
    *("connection_group_not_found", "name_conflict", "quota", "unknown", "throttling", "retryable"),
    *("domain_validation_pending", "dns_zone_not_found", "dns_access_denied", "dns_invalid_input"),
    *("dns_error", "dns_throttling", "dns_retryable"),
)
_NAMES: Final = MetricNames("cloudfront_tenant_operator", "tenants", "DistributionTenant", ERROR_TYPES)


class TenantMetrics(ExternalMetrics):
    """The metrics of the kind."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry, _NAMES)
