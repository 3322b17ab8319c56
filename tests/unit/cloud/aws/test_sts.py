"""Assumed roles: one session for all who use it, renewed in time, and refused without a storm."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from edgekeeper.cloud.aws.roles import OWN, Role
from edgekeeper.core.errors import PassError, Retry, Stall
from kubesim.aws import faults, identity
from tests.unit.cloud.aws.world import World, both_ways, in_virtual_time

ARN = "arn:aws:iam::222222222222:role/edgekeeper-dns"
DNS = Role(ARN, "edge-42")


def _lend(world: World) -> None:
    world.cloud.world.identities.add_role(identity.Role(ARN, external_id="edge-42"))


async def _zones(world: World, role: Role) -> int:
    return sum([len(page) async for page in world.route53(role).zones()])


@both_ways
async def test_role_is_assumed_once_for_many_calls(world: World) -> None:
    _lend(world)
    world.cloud.account("222222222222").route53.add_zone("example.org")
    assert await asyncio.gather(*(_zones(world, DNS) for _ in range(5))) == [1] * 5
    assert world.counts["AssumeRole"] == 1
    assert {call.account for call in world.cloud.journal.calls("ListHostedZones")} == {"222222222222"}


@in_virtual_time
async def test_session_is_renewed_before_it_ends(world: World) -> None:
    _lend(world)
    for _ in range(40):
        await _zones(world, DNS)
        await asyncio.sleep(300)
    assert world.cloud.journal.codes == {}
    assert 4 <= world.counts["AssumeRole"] <= 5


@in_virtual_time
async def test_session_lasts_while_its_renewal_fails(world: World) -> None:
    _lend(world)
    await _zones(world, DNS)
    world.cloud.faults.add(faults.error("ServiceUnavailable", status=503), operation="AssumeRole", times=None)
    await asyncio.sleep(48 * 60)
    assert await _zones(world, DNS) == 0
    await asyncio.sleep(11 * 60)
    with pytest.raises(PassError):
        await _zones(world, DNS)
    world.cloud.faults.clear()
    await asyncio.sleep(120)
    assert await _zones(world, DNS) == 0


@both_ways
async def test_role_that_is_not_lent_to_us_stalls(world: World) -> None:
    _lend(world)
    with pytest.raises(Stall) as stranger:
        await _zones(world, Role("arn:aws:iam::222222222222:role/other"))
    assert (stranger.value.reason, stranger.value.error_type) == ("DNSError", "dns_access_denied")
    with pytest.raises(Stall):
        await _zones(world, Role(ARN, "wrong"))
    assert "ListHostedZones" not in world.counts


@in_virtual_time
async def test_refusal_is_remembered_for_some_minutes(world: World) -> None:
    wrong = Role("arn:aws:iam::222222222222:role/other")
    results = await asyncio.gather(*(_zones(world, wrong) for _ in range(100)), return_exceptions=True)
    assert all(isinstance(result, Stall) for result in results)
    assert world.counts == {"AssumeRole": 1}
    await asyncio.sleep(239)
    with pytest.raises(Stall):
        await _zones(world, wrong)
    assert world.counts == {"AssumeRole": 1}
    await asyncio.sleep(1)
    with pytest.raises(Stall):
        await _zones(world, wrong)
    assert world.counts == {"AssumeRole": 2}


@in_virtual_time
async def test_failure_is_remembered_for_a_moment(world: World) -> None:
    _lend(world)
    world.cloud.faults.add(faults.error("ServiceUnavailable", status=503), operation="AssumeRole", times=None)
    with pytest.raises(Retry):
        await _zones(world, DNS)
    world.cloud.faults.clear()
    with pytest.raises(Retry):
        await _zones(world, DNS)
    await asyncio.sleep(10)
    assert await _zones(world, DNS) == 0


@both_ways
async def test_account_is_learnt_and_shares_its_budget_with_roles_in_it(world: World) -> None:
    assert world.access.credential(OWN) == "aws"
    assert await world.access.identify() == "111122223333"
    inner = Role("arn:aws:iam::111122223333:role/dns")
    assert world.access.credential(OWN) == world.access.credential(inner) == "aws:111122223333"
    assert world.access.credential(DNS) == "aws:222222222222"


@both_ways
async def test_secrets_of_a_session_are_not_in_its_text(world: World) -> None:
    _lend(world)
    session = await world.access._assume(DNS)
    assert session.secret_key not in repr(session)
    assert session.token not in str(session)
    assert session.expires > world.clock.now() + timedelta(minutes=50)


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:iam::123:role/x",
        "arn:aws:iam::222222222222:user/x",
        "arn:aws:iam::222222222222:role/",
        "arn:aws:iam::222222222222:role/x y",
        "arn:aws:iam::222222222222:role/x\nHost: evil",
        "role/x",
    ],
)
def test_role_must_be_one(arn: str) -> None:
    with pytest.raises(ValueError, match="not the ARN of a role"):
        Role(arn)


def test_external_id_must_be_one() -> None:
    with pytest.raises(ValueError, match="external id"):
        Role(ARN, "a b")
