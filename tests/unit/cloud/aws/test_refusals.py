"""Reads that AWS denies are not sent again for every object that needs them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from edgekeeper.cloud.aws.dns.records import RecordKey
from edgekeeper.cloud.aws.mirrors import Distributions
from edgekeeper.cloud.aws.refusals import REMEMBERED
from edgekeeper.cloud.cache import SWEEP_INTERVAL
from edgekeeper.core.errors import Conflict, Retry, Stall
from kubesim.aws import faults
from tests.unit.cloud.aws.world import DISTRIBUTION, World, in_virtual_time

ARN = "arn:aws:acm:us-east-1:111122223333:certificate/6f6d0f6c-5a3f-4b0f-8d5e-0d9d4e3c2b1a"
DENIED = faults.error("AccessDenied", "not yours", 403)

READS: dict[str, Callable[[World, str], Awaitable[object]]] = {
    "GetDistribution": lambda world, id_: world.cloudfront.find_distribution(id_),
    "GetDistributionTenant": lambda world, id_: world.cloudfront.find_tenant(id_),
    "GetDistributionTenantByDomain": lambda world, id_: world.cloudfront.find_tenant_by_domain(id_),
    "GetManagedCertificateDetails": lambda world, id_: world.cloudfront.find_managed_certificate(id_),
    "GetConnectionGroup": lambda world, id_: world.cloudfront.find_connection_group(id_),
    "ListTagsForResource": lambda world, id_: world.cloudfront.tags(
        f"arn:aws:cloudfront::111122223333:distribution-tenant/{id_}"
    ),
    "DescribeCertificate": lambda world, id_: world.acm.find(f"{ARN[:-1]}{len(id_)}"),
    "GetHostedZone": lambda world, id_: world.route53().find_zone(id_.upper()),
    "GetChange": lambda world, id_: world.route53().find_change(id_.upper()),
    "ListResourceRecordSets": lambda world, id_: world.route53().find_record(
        "Z1", RecordKey(f"{id_}.example.com", "CNAME")
    ),
}


def _deny(world: World, operation: str) -> None:
    world.cloud.faults.add(DENIED, operation=operation, times=None)


async def _refusal(asking: Awaitable[object]) -> Stall:
    with pytest.raises(Stall, match="not yours") as caught:
        await asking
    return caught.value


@pytest.mark.parametrize("operation", READS)
def test_denied_read_is_sent_once_in_five_minutes(operation: str) -> None:
    @in_virtual_time
    async def scenario(world: World) -> None:
        read = READS[operation]
        _deny(world, operation)
        first = await _refusal(read(world, "one"))
        await asyncio.sleep(100)
        second = await _refusal(read(world, "one"))
        assert world.counts == {operation: 1}
        assert (second.reason, second.message, second.error_type) == (
            first.reason,
            first.message,
            first.error_type,
        )
        assert second.after == REMEMBERED - timedelta(seconds=100), "when it is worth to come back"
        await asyncio.sleep(200)
        await _refusal(read(world, "one"))
        assert world.counts == {operation: 2}

    scenario()


@in_virtual_time
async def test_refusal_of_one_object_says_nothing_about_another(world: World) -> None:
    """Policies may tell them apart."""
    _deny(world, "GetDistributionTenant")
    await _refusal(world.cloudfront.find_tenant("one"))
    await _refusal(world.cloudfront.find_tenant("other"))
    assert world.counts == {"GetDistributionTenant": 2}


@in_virtual_time
async def test_right_that_was_granted_is_used_after_five_minutes(world: World) -> None:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION)
    distributions = Distributions(world.cloudfront, world.clock)
    _deny(world, "GetDistribution")
    results = await asyncio.gather(
        *(distributions.get(DISTRIBUTION) for _ in range(30)), return_exceptions=True
    )
    assert {type(result) for result in results} == {Stall}
    assert world.counts == {"GetDistribution": 1}
    world.cloud.faults.clear()
    await asyncio.sleep(REMEMBERED.total_seconds())
    assert await distributions.get(DISTRIBUTION) is not None


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (faults.error("ServiceUnavailable", status=503), Retry),
        (faults.error("PreconditionFailed", status=412), Conflict),
        (faults.error("InvalidArgument", status=400), Stall),
    ],
    ids=["busy", "stale", "invalid"],
)
def test_other_failures_are_not_remembered(fault: faults.Fault, error: type[Exception]) -> None:
    @in_virtual_time
    async def scenario(world: World) -> None:
        world.cloud.cloudfront.add_distribution(DISTRIBUTION)
        world.cloud.faults.add(fault, operation="GetDistribution", times=None)
        with pytest.raises(error):
            await world.cloudfront.find_distribution(DISTRIBUTION)
        world.cloud.faults.clear()
        await asyncio.sleep(60)  # for the circuit
        assert await world.cloudfront.find_distribution(DISTRIBUTION) is not None

    scenario()


@in_virtual_time
async def test_denied_write_is_sent_each_time(world: World) -> None:
    _deny(world, "DeleteDistributionTenant")
    for _ in range(2):
        await _refusal(world.cloudfront.delete_tenant("dt_1", "E1"))
    assert world.counts == {"DeleteDistributionTenant": 2}


@in_virtual_time
async def test_refusals_of_objects_that_are_gone_are_forgotten(world: World) -> None:
    _deny(world, "GetDistributionTenant")
    for number in range(500):
        await _refusal(world.cloudfront.find_tenant(f"tenant-{number}"))
        await asyncio.sleep(5)
    assert len(world.access.refusals) <= (REMEMBERED + SWEEP_INTERVAL).total_seconds() / 5 + 1
    await asyncio.sleep((REMEMBERED + SWEEP_INTERVAL).total_seconds())
    assert len(world.access.refusals) == 0
