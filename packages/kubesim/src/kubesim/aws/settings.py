"""How long things take, how many there may be, and how fast one may ask: the numbers of the simulated cloud.

All of them are what AWS publishes or what was measured there, and all can be changed while the cloud runs: they are
plain attributes of plain objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta


@dataclass
class Timings:
    """How long AWS takes over what it does not do at once."""

    tenant_deployment: timedelta = timedelta(minutes=2)
    group_deployment: timedelta = timedelta(minutes=1)
    distribution_deployment: timedelta = timedelta(minutes=4)
    record_propagation: timedelta = timedelta(seconds=60)
    """PENDING to INSYNC."""
    validation_record: timedelta = timedelta(seconds=5)
    """How long after the request for a certificate its validation records are unknown."""
    certificate_issuance: timedelta = timedelta(minutes=2)
    """From the moment at which every domain is validated."""
    certificate_timeout: timedelta = timedelta(hours=72)
    certificate_lifetime: timedelta = timedelta(days=395)
    domain_update: timedelta = timedelta(seconds=30)
    """An API Gateway domain is UPDATING for that long."""


@dataclass
class Quotas:
    """How many there may be. Per account, or per the thing that the name says."""

    distribution_tenants: int = 10_000
    connection_groups: int = 100
    domains_per_tenant: int = 100
    tags_per_resource: int = 50
    hosted_zones: int = 500
    records_per_zone: int = 10_000
    certificates: int = 2_500
    names_per_certificate: int = 10
    api_domains: int = 120
    mappings_per_domain: int = 200
    rules_per_domain: int = 50
    policy_bytes: int = 20_480


@dataclass(frozen=True)
class Rate:
    """A token bucket: how many at once, and how many a second in the long run."""

    burst: float
    per_second: float


Rates = Mapping[str, Rate]
"""By lane. A lane without a rate is not limited."""

UNLIMITED: Rates = {}

PUBLISHED: Rates = {
    # CloudFront publishes nothing; these are what people report.
    "cloudfront-read": Rate(40, 10),
    "cloudfront-write": Rate(20, 2),
    "route53": Rate(50, 10),
    "route53-changes": Rate(1500, 100),
    "acm-RequestCertificate": Rate(5, 5),
    "acm-ListCertificates": Rate(8, 1),
    "acm": Rate(10, 10),
    "apigateway": Rate(40, 10),
    "apigateway-domains": Rate(1, 1 / 30),
    "lambda": Rate(15, 15),
    "lambda-GetFunction": Rate(100, 100),
    "lambda-GetPolicy": Rate(15, 15),
    "sts": Rate(600, 600),
}
"""What AWS publishes for a new account; API Gateway's single domain call per 30 seconds cannot be raised."""


@dataclass
class Behaviour:
    """Where the documentation leaves room, or different callers see different things."""

    attach_managed_certificate: bool = False
    """CloudFront puts an issued managed certificate into the tenant by itself. Otherwise the caller has to."""
    tokens_of_issued: bool = True
    """The details of a managed certificate have its validation tokens even after it is issued."""
    read_lag: timedelta = timedelta()
    """How old the state is that reads show: 404 after a create, yesterday's values after an update."""
    page_size: int = 100
    """The most items on one page of a CloudFront listing."""
