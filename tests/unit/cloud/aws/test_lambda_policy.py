"""Permissions of functions: the same twice is once, and nobody else's statement is touched."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgekeeper.cloud.aws.lambda_policy import (
    FunctionPolicy,
    PolicyChange,
    Statement,
    plan_policy,
    statement_id,
)
from edgekeeper.core.errors import Conflict, PassError, Retry, Stall
from kubesim.aws import faults
from tests.unit.cloud.aws.world import REGION, World, both_ways, in_virtual_time

GATEWAY = "apigateway.amazonaws.com"
ONE = Statement("one", GATEWAY, "arn:aws:execute-api:eu-west-1:111122223333:abc/*/*")
TWO = Statement("two", GATEWAY, "arn:aws:execute-api:eu-west-1:111122223333:def/*/*", "111122223333")


def _function(world: World) -> str:
    return world.cloud.account().functions(REGION).add("shop").name


@both_ways
async def test_statements_are_read_as_they_were_written(world: World) -> None:
    function = _function(world)
    assert await world.policies.read(function) == FunctionPolicy()
    policy = await world.policies.apply(function, [ONE, TWO])
    assert policy.statements == {"one": ONE, "two": TWO}
    assert policy.revision_id
    assert await world.policies.read(function) == policy


@both_ways
async def test_same_statements_again_cost_one_read(world: World) -> None:
    function = _function(world)
    await world.policies.apply(function, [ONE, TWO])
    assert world.counts == {"GetPolicy": 2, "AddPermission": 2}
    await world.policies.apply(function, [ONE, TWO], owned=["one", "two"])
    assert world.counts == {"GetPolicy": 3, "AddPermission": 2}


@both_ways
async def test_changed_statement_is_replaced_and_an_obsolete_one_goes(world: World) -> None:
    function = _function(world)
    await world.policies.apply(function, [ONE, TWO])
    changed = replace(ONE, source_arn="arn:aws:execute-api:eu-west-1:111122223333:new/*/*")
    policy = await world.policies.apply(function, [changed], owned=["one", "two"])
    assert policy.statements == {"one": changed}


@both_ways
async def test_statements_of_others_stay(world: World) -> None:
    function = _function(world)
    theirs = Statement("theirs", "s3.amazonaws.com", "arn:aws:s3:::bucket")
    await world.policies.add(function, theirs)
    await world.policies.apply(function, [ONE])
    policy = await world.policies.apply(function, [], owned=["one"])
    assert policy.statements == {"theirs": theirs}
    with pytest.raises(Stall) as taken:
        await world.policies.apply(function, [replace(ONE, id="theirs")])
    assert taken.value.reason == "NameConflict"


@both_ways
async def test_policy_without_statements_is_none(world: World) -> None:
    function = _function(world)
    await world.policies.apply(function, [ONE])
    assert await world.policies.remove(function, "one")
    assert not await world.policies.remove(function, "one")
    assert await world.policies.read(function) == FunctionPolicy()


@both_ways
async def test_missing_function_is_not_an_empty_policy(world: World) -> None:
    with pytest.raises(Retry) as missing:
        await world.policies.read("nobody")
    assert missing.value.reason == "NotFound"


@both_ways
async def test_stale_revision_is_a_conflict(world: World) -> None:
    function = _function(world)
    policy = await world.policies.apply(function, [ONE])
    await world.policies.add(function, TWO, revision_id=policy.revision_id)
    with pytest.raises(Conflict):
        await world.policies.add(function, replace(TWO, id="three"), revision_id=policy.revision_id)
    with pytest.raises(Conflict):
        await world.policies.add(function, TWO)


@both_ways
async def test_full_policy_stalls(world: World) -> None:
    function = _function(world)
    world.cloud.world.quotas.policy_bytes = 500
    with pytest.raises(Stall) as full:
        await world.policies.apply(function, [ONE, TWO])
    assert full.value.reason == "PolicyLengthExceeded"


@in_virtual_time
async def test_lost_answer_is_healed_by_doing_the_same_again(world: World) -> None:
    function = _function(world)
    world.cloud.faults.add(faults.lost_response(), operation="AddPermission")
    with pytest.raises(PassError):
        await world.policies.apply(function, [ONE, TWO])
    policy = await world.policies.apply(function, [ONE, TWO])
    assert policy.statements == {"one": ONE, "two": TWO}


def _policy(*statements: Statement, foreign: frozenset[str] = frozenset()) -> FunctionPolicy:
    return FunctionPolicy("r1", {statement.id: statement for statement in statements}, foreign)


@pytest.mark.parametrize(
    ("policy", "wanted", "owned", "change"),
    [
        pytest.param(_policy(), [ONE], [], PolicyChange((), (ONE,)), id="added"),
        pytest.param(_policy(ONE), [ONE], [], PolicyChange(), id="there already"),
        pytest.param(_policy(ONE), [], ["one"], PolicyChange(("one",)), id="removed"),
        pytest.param(_policy(ONE), [], [], PolicyChange(), id="not ours: stays"),
        pytest.param(_policy(), [], ["one"], PolicyChange(), id="gone already"),
        pytest.param(
            _policy(replace(TWO, id="one")),
            [ONE],
            ["one"],
            PolicyChange(("one",), (ONE,)),
            id="ours: replaced",
        ),
        pytest.param(
            _policy(foreign=frozenset({"one"})),
            [ONE],
            ["one"],
            PolicyChange(("one",), (ONE,)),
            id="ours, edited",
        ),
        pytest.param(
            _policy(Statement("acct", "111122223333")),
            [Statement("acct", "arn:aws:iam::111122223333:root")],
            [],
            PolicyChange(),
            id="an account is an account",
        ),
    ],
)
def test_policy_changes_by_what_is_wanted_and_ours(
    policy: FunctionPolicy, wanted: list[Statement], owned: list[str], change: PolicyChange
) -> None:
    assert plan_policy(policy, wanted, owned) == change


def test_ids_of_statements_are_always_the_same_and_fit() -> None:
    assert statement_id("shop", "web") == statement_id("shop", "web")
    assert statement_id("a-b", "c") != statement_id("a", "b-c")
    assert len(statement_id("x" * 300)) <= 100


@both_ways
async def test_further_conditions_are_read_as_they_were_written(world: World) -> None:
    function = _function(world)
    url = Statement("url", "*", "", "", "o-abcdefghij", "AWS_IAM", action="lambda:InvokeFunctionUrl")
    policy = await world.policies.apply(function, [url])
    assert policy.statements == {"url": url}
    assert policy.resource.endswith(":function:shop")
    assert policy.statements["url"].fingerprint == url.fingerprint


def test_fingerprints_differ_with_the_content_and_not_with_its_spelling() -> None:
    account, root = Statement("one", "111122223333"), Statement("one", "arn:aws:iam::111122223333:root")
    assert account.fingerprint == root.fingerprint
    others = [
        replace(ONE, source_arn="x"),
        replace(ONE, source_account="x"),
        replace(ONE, principal_org_id="x"),
    ]
    assert len({one.fingerprint for one in (ONE, *others)}) == 4


@both_ways
async def test_function_is_found_by_its_name(world: World) -> None:
    function = _function(world)
    assert (
        await world.policies.find_function(function) == f"arn:aws:lambda:{REGION}:111122223333:function:shop"
    )
    assert await world.policies.find_function("nobody") is None
