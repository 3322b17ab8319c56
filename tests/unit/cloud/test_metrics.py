"""What the cloud side tells about itself."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from edgekeeper.cloud.budget import LaneRate
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.core.errors import PassError
from kubesim.virtual import virtual_time
from tests.unit.cloud.provider import CREATE, GET, LANE, PUT, RefusedError, UnavailableError, World

TENANTS = "cloudfront_tenant_operator_aws_api_call_duration_seconds"
CALLS = "edgekeeper_cloud_api_call_duration_seconds"
ERRORS = "edgekeeper_cloud_api_errors_total"


@virtual_time
async def test_metrics_measure_calls_that_succeed_and_calls_that_fail() -> None:
    world = World(timedelta(seconds=2), RefusedError("no"))
    await world.call(GET)
    with pytest.raises(PassError):
        await world.call(GET)
    assert world.sample(f"{CALLS}_count", provider="aws", operation="GetThing") == 2
    assert world.sample(f"{CALLS}_sum", provider="aws", operation="GetThing") == pytest.approx(2)
    assert world.sample(f"{TENANTS}_count", operation="GetThing") == 2


@pytest.mark.parametrize(
    ("service", "operation", "label"),
    [
        ("cloudfront", "CreateDistributionTenant", "CreateDistributionTenant"),
        ("route53", "ChangeResourceRecordSets", "Route53ChangeResourceRecordSets"),
        ("acm", "DescribeCertificate", "ACMDescribeCertificate"),
    ],
)
def test_metrics_keep_the_names_that_dashboards_know(service: str, operation: str, label: str) -> None:
    registry = CollectorRegistry()
    metrics = CloudMetrics(registry)
    assert registry.get_sample_value(f"{TENANTS}_count", {"operation": label}) == 0
    metrics.observe_call(replace(GET, service=service, name=operation), 0.3)
    assert registry.get_sample_value(f"{TENANTS}_count", {"operation": label}) == 1
    assert registry.get_sample_value(f"{TENANTS}_bucket", {"operation": label, "le": "0.25"}) == 0
    assert registry.get_sample_value(f"{TENANTS}_bucket", {"operation": label, "le": "0.5"}) == 1


def test_metrics_keep_the_buckets_that_dashboards_know() -> None:
    registry = CollectorRegistry()
    CloudMetrics(registry)
    (family,) = (one for one in registry.collect() if one.name == TENANTS)
    bounds = {float(one.labels["le"]) for one in family.samples if one.name.endswith("_bucket")}
    assert bounds == {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, float("inf")}


@pytest.mark.parametrize("service", ["apigateway", "lambda", "cloudflare"])
def test_metrics_of_tenants_do_not_show_what_has_nothing_to_do_with_them(service: str) -> None:
    registry = CollectorRegistry()
    CloudMetrics(registry).observe_call(replace(GET, service=service), 0.3)
    assert registry.get_sample_value(f"{TENANTS}_count", {"operation": "GetThing"}) is None


@virtual_time
async def test_metrics_count_errors_by_type_each_attempt_once() -> None:
    world = World(UnavailableError("oops"), UnavailableError("oops"), None)
    await world.call(PUT)
    assert world.sample(ERRORS, provider="aws", operation="PutThing", error_type="retryable") == 2


@virtual_time
async def test_metrics_show_how_long_calls_wait_for_their_turn() -> None:
    world = World(rate=LaneRate(1))
    await asyncio.gather(*(world.call(GET) for _ in range(3)))
    assert world.sample("edgekeeper_cloud_budget_wait_seconds_sum", lane=LANE) == pytest.approx(3)
    assert world.sample("edgekeeper_cloud_budget_wait_seconds_count", lane=LANE) == 3


@virtual_time
async def test_metrics_show_the_state_of_circuits() -> None:
    world = World(*[UnavailableError("oops")] * 5, None)
    where = {"provider": "aws", "service": "cloudfront", "region": "eu-west-1"}
    for _ in range(5):
        with pytest.raises(PassError):
            await world.call(CREATE, region="eu-west-1")
    states = [world.sample("edgekeeper_cloud_circuit_state", **where)]
    await asyncio.sleep(10)
    states.append(world.sample("edgekeeper_cloud_circuit_state", **where))
    await world.call(CREATE, region="eu-west-1")
    states.append(world.sample("edgekeeper_cloud_circuit_state", **where))
    assert states == [2, 1, 0]


def test_metrics_can_be_scraped_before_anything_happens() -> None:
    registry = CollectorRegistry()
    CloudMetrics(registry)
    text = generate_latest(registry).decode()
    assert f'{TENANTS}_count{{operation="CreateDistributionTenant"}} 0.0' in text


def test_metrics_of_two_processes_do_not_meet() -> None:
    CloudMetrics(CollectorRegistry())
    CloudMetrics(CollectorRegistry())
