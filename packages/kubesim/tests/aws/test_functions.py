"""Lambda's resource policies: unique statements, revisions, a limited length, and nothing when empty."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock, virtual_time
from packages.kubesim.tests.aws.driver import REGION, Clients, clients, code, refusal

ARN = f"arn:aws:lambda:{REGION}:111122223333:function:hello"
API = f"arn:aws:execute-api:{REGION}:111122223333:abc123/*/*"


def cloud_with_function() -> AwsCloud:
    cloud = AwsCloud(LoopClock(), rates=UNLIMITED)
    cloud.account().functions(REGION).add("hello")
    return cloud


async def add(aws: Clients, statement: str = "api", **details: Any) -> Any:
    wanted: Any = {
        "FunctionName": "hello",
        "StatementId": statement,
        "Action": "lambda:InvokeFunction",
        "Principal": "apigateway.amazonaws.com",
    }
    return json.loads((await aws.functions.add_permission(**(wanted | details)))["Statement"])


async def policy(aws: Clients, **details: Any) -> Any:
    found = await aws.functions.get_policy(FunctionName="hello", **details)
    return json.loads(found["Policy"])["Statement"]


@virtual_time
async def test_a_statement_says_what_was_asked_for() -> None:
    async with clients(cloud_with_function()) as aws:
        statement = await add(aws, SourceArn=API, SourceAccount="111122223333")
        assert statement == {
            "Sid": "api",
            "Effect": "Allow",
            "Principal": {"Service": "apigateway.amazonaws.com"},
            "Action": "lambda:InvokeFunction",
            "Resource": ARN,
            "Condition": {
                "StringEquals": {"AWS:SourceAccount": "111122223333"},
                "ArnLike": {"AWS:SourceArn": API},
            },
        }
        assert await policy(aws) == [statement]


@pytest.mark.parametrize(
    ("principal", "shown"),
    [
        ("*", "*"),
        ("444455556666", {"AWS": "arn:aws:iam::444455556666:root"}),
        ("arn:aws:iam::444455556666:role/x", {"AWS": "arn:aws:iam::444455556666:role/x"}),
    ],
    ids=["everybody", "account", "role"],
)
@virtual_time
async def test_principals_are_spelled_out(principal: str, shown: Any) -> None:
    async with clients(cloud_with_function()) as aws:
        assert (await add(aws, Principal=principal, PrincipalOrgID="o-abcdefghij"))["Principal"] == shown


@virtual_time
async def test_a_statement_id_is_taken_once() -> None:
    async with clients(cloud_with_function()) as aws:
        await add(aws)
        status, refused, message = await refusal(add(aws))
        assert (status, refused) == (409, "ResourceConflictException")
        assert "statement id (api) provided already exists" in message
        assert len(await policy(aws)) == 1


@virtual_time
async def test_an_empty_policy_does_not_exist() -> None:
    async with clients(cloud_with_function()) as aws:
        assert (await refusal(policy(aws)))[:2] == (404, "ResourceNotFoundException")
        await add(aws)
        await aws.functions.remove_permission(FunctionName="hello", StatementId="api")
        assert await code(policy(aws)) == "ResourceNotFoundException"
        gone = aws.functions.remove_permission(FunctionName="hello", StatementId="api")
        assert await code(gone) == "ResourceNotFoundException"


@virtual_time
async def test_removing_what_is_not_there_is_not_found() -> None:
    async with clients(cloud_with_function()) as aws:
        await add(aws)
        call = aws.functions.remove_permission(FunctionName="hello", StatementId="other")
        assert (await refusal(call))[2] == "Statement other is not found in resource policy."


@virtual_time
async def test_a_write_based_on_an_older_revision_is_refused() -> None:
    async with clients(cloud_with_function()) as aws:
        await add(aws)
        revision = (await aws.functions.get_policy(FunctionName="hello"))["RevisionId"]
        await add(aws, "second", RevisionId=revision)
        assert (await refusal(add(aws, "third", RevisionId=revision)))[:2] == (
            412,
            "PreconditionFailedException",
        )
        stale = aws.functions.remove_permission(FunctionName="hello", StatementId="api", RevisionId=revision)
        assert await code(stale) == "PreconditionFailedException"
        fresh = (await aws.functions.get_policy(FunctionName="hello"))["RevisionId"]
        await aws.functions.remove_permission(FunctionName="hello", StatementId="api", RevisionId=fresh)
        assert [each["Sid"] for each in await policy(aws)] == ["second"]


@virtual_time
async def test_a_policy_has_a_length() -> None:
    cloud = cloud_with_function()
    async with clients(cloud) as aws:
        cloud.world.quotas.policy_bytes = 20_480
        added = 0
        while added < 100:
            try:
                await add(aws, f"statement-{added:03}", SourceArn=API)
            except aws.functions.exceptions.PolicyLengthExceededException:
                break
            added += 1
        assert 50 < added < 100
        assert len(await policy(aws)) == added
        assert (await refusal(add(aws, "statement-more", SourceArn=API)))[:2] == (
            400,
            "PolicyLengthExceededException",
        )


@virtual_time
async def test_each_alias_has_a_policy_of_its_own() -> None:
    async with clients(cloud_with_function()) as aws:
        statement = await add(aws, Qualifier="live")
        assert statement["Resource"] == f"{ARN}:live"
        assert await code(policy(aws)) == "ResourceNotFoundException"
        assert await policy(aws, Qualifier="live") == [statement]
        by_name = await aws.functions.get_policy(FunctionName="hello:live")
        assert json.loads(by_name["Policy"])["Statement"] == [statement]


@pytest.mark.parametrize("name", ["hello", ARN, "111122223333:function:hello", "function:hello"])
@virtual_time
async def test_a_function_is_found_by_name_and_arn(name: str) -> None:
    async with clients(cloud_with_function()) as aws:
        found = await aws.functions.get_function(FunctionName=name)
        assert found["Configuration"]["FunctionArn"] == ARN


@pytest.mark.parametrize(
    "name", ["other", ARN.replace("111122223333", "444455556666"), ARN.replace(REGION, "eu-west-1")]
)
@virtual_time
async def test_a_function_elsewhere_is_not_found(name: str) -> None:
    async with clients(cloud_with_function()) as aws:
        assert (await refusal(add(aws, FunctionName=name)))[:2] == (404, "ResourceNotFoundException")


@virtual_time
async def test_a_statement_id_with_other_characters_is_not_valid() -> None:
    async with clients(cloud_with_function()) as aws:
        assert (await refusal(add(aws, "a b")))[:2] == (400, "ValidationException")
