"""Certificates over the wire: requested once, proved by DNS, found by what they cover."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from edgekeeper.cloud.aws.acm import CertificateSummary, best_certificate, idempotency_token
from edgekeeper.cloud.aws.dns.changes import Action, Change
from edgekeeper.core.errors import PassError, Stall, Wait
from kubesim.aws import faults
from tests.unit.cloud.aws.world import World, both_ways, in_virtual_time

DOMAINS = ("shop.example.com", "example.com", "*.example.com")
TAGS = {"edgekeeper.io/uid": "6f1c"}


@both_ways
async def test_certificate_is_issued_when_its_records_are_there(world: World) -> None:
    zone = world.cloud.route53.add_zone("example.com")
    arn = await world.acm.request(DOMAINS, owner="6f1c", tags=TAGS)
    fresh = await world.acm.find(arn)
    assert fresh is not None
    assert fresh.pending
    assert fresh.validation_records == ()

    world.pass_time(timedelta(seconds=10))
    pending = await world.acm.find(arn)
    assert pending is not None
    assert pending.names == tuple(sorted(DOMAINS))
    assert len(pending.validation_records) == 2  # a domain and its wildcard share theirs
    changes = [Change(Action.CREATE, record) for record in pending.validation_records]
    await world.route53().change(zone.id, changes)

    for _ in range(3):
        world.pass_time(timedelta(minutes=5))
        issued = await world.acm.find(arn)
    assert issued is not None
    assert issued.issued
    assert all(validation.status == "SUCCESS" for validation in issued.validations)


@both_ways
async def test_certificate_without_its_records_stays_pending(world: World) -> None:
    world.cloud.route53.add_zone("example.com")
    arn = await world.acm.request(DOMAINS, owner="6f1c", tags={})
    world.pass_time(timedelta(hours=1))
    pending = await world.acm.find(arn)
    assert pending is not None
    assert pending.pending


@both_ways
async def test_request_that_is_repeated_gives_the_same_certificate(world: World) -> None:
    first = await world.acm.request(["a.example.com", "b.example.com"], owner="6f1c", tags=TAGS)
    assert await world.acm.request(["a.example.com", "b.example.com"], owner="6f1c", tags=TAGS) == first
    assert await world.acm.request(["a.example.com", "b.example.com"], owner="7a2d", tags=TAGS) != first
    assert await world.acm.request(["a.example.com"], owner="6f1c", tags=TAGS) != first


@in_virtual_time
async def test_request_whose_answer_is_lost_is_repeated_without_harm(world: World) -> None:
    world.cloud.faults.add(faults.lost_response(), operation="RequestCertificate")
    arn = await world.acm.request(["a.example.com"], owner="6f1c", tags={})
    listed = [one async for page in world.acm.certificates() for one in page]
    assert listed == [arn]


@both_ways
async def test_certificates_are_listed_as_they_are_described(world: World) -> None:
    store = world.cloud.account().certificates("us-east-1")
    issued = store.add_issued("example.com", "*.example.com")
    pending = await world.acm.request(["other.example.com"], owner="6f1c", tags={})
    (page,) = [page async for page in world.acm.certificates()]
    assert set(page) == {issued.arn, pending}
    described = await world.acm.find(issued.arn)
    assert described is not None
    assert page[issued.arn] == described.summary
    (page,) = [page async for page in world.acm.certificates(statuses=["ISSUED"])]
    assert set(page) == {issued.arn}


@both_ways
async def test_certificate_that_is_not_there_is_an_answer(world: World) -> None:
    arn = "arn:aws:acm:us-east-1:111122223333:certificate/11111111-1111-1111-1111-111111111111"
    assert await world.acm.find(arn) is None
    assert not await world.acm.delete(arn)
    assert [page async for page in world.acm.certificates()] == [{}]


@both_ways
async def test_certificate_is_deleted(world: World) -> None:
    arn = await world.acm.request(["a.example.com"], owner="6f1c", tags={})
    assert await world.acm.delete(arn)
    assert await world.acm.find(arn) is None


@both_ways
async def test_quota_is_waited_for(world: World) -> None:
    world.cloud.world.quotas.certificates = 0
    with pytest.raises(Wait) as full:
        await world.acm.request(["a.example.com"], owner="6f1c", tags={})
    assert (full.value.error_type, full.value.after) == ("quota", timedelta(minutes=30))


@both_ways
async def test_arn_that_is_none_stalls(world: World) -> None:
    with pytest.raises(Stall) as invalid:
        await world.acm.find("arn:aws:acm:us-east-1:111122223333:certificate")
    assert invalid.value.error_type == "invalid_spec"


@in_virtual_time
async def test_listing_without_its_list_is_not_an_empty_one(world: World) -> None:
    world.cloud.account().certificates("us-east-1").add_issued("example.com")
    world.cloud.faults.add(faults.html(200), operation="ListCertificates", times=None)
    with pytest.raises(PassError):
        [page async for page in world.acm.certificates()]


def test_token_does_not_depend_on_order_and_fits() -> None:
    token = idempotency_token("6f1c", ["a.example.com", "b.example.com"])
    assert token == idempotency_token("6f1c", ["b.example.com", "a.example.com"])
    assert len(token) == 32
    assert token.isalnum()


def _summary(arn: str, *names: str, status: str = "ISSUED", days: int = 100) -> CertificateSummary:
    expires = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=days)
    return CertificateSummary(arn, names[0], names, False, status, "", expires)


@pytest.mark.parametrize(
    ("certificates", "chosen"),
    [
        pytest.param([], None, id="none there"),
        pytest.param([_summary("a", "example.org")], None, id="none that covers"),
        pytest.param([_summary("a", "*.example.com", status="EXPIRED")], None, id="none that is issued"),
        pytest.param([_summary("a", "shop.example.com")], None, id="not all domains"),
        pytest.param(
            [_summary("a", "*.example.com"), _summary("b", "*.example.com", days=300)], "b", id="lasts longer"
        ),
        pytest.param(
            [_summary("b", "*.example.com"), _summary("a", "*.example.com")], "b", id="always the same one"
        ),
    ],
)
def test_best_certificate_covers_all_and_lasts_longest(
    certificates: list[CertificateSummary], chosen: str | None
) -> None:
    best = best_certificate(certificates, ["shop.example.com", "a.example.com"])
    assert (best.arn if best else None) == chosen
