"""Clients of a simulated cloud: aiobotocore in process, so that everything but the socket is what production runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession, get_session
from botocore.exceptions import ClientError

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.identity import Credentials
from kubesim.aws.session import session_class

if TYPE_CHECKING:
    from types_aiobotocore_acm.client import ACMClient
    from types_aiobotocore_apigatewayv2.client import ApiGatewayV2Client
    from types_aiobotocore_cloudfront.client import CloudFrontClient
    from types_aiobotocore_lambda.client import LambdaClient
    from types_aiobotocore_route53.client import Route53Client
    from types_aiobotocore_sts.client import STSClient

REGION = "eu-central-1"
ANYBODY = Credentials("AKIAANYBODY", "secret")
DISTRIBUTION = "E1XNX8R2GOAABC"


@dataclass(frozen=True)
class Clients:
    """One client per service, all of the same caller."""

    cloudfront: CloudFrontClient
    route53: Route53Client
    acm: ACMClient
    apigateway: ApiGatewayV2Client
    functions: LambdaClient
    sts: STSClient


@cache
def _session() -> AioSession:
    """One for all tests: it remembers the service models, which take long to load."""
    return get_session()


@asynccontextmanager
async def clients(
    cloud: AwsCloud, credentials: Credentials = ANYBODY, region: str = REGION, **config: Any
) -> AsyncIterator[Clients]:
    """Clients that try everything once. Certificates are asked for in CloudFront's region."""
    details: dict[str, Any] = {
        "http_session_cls": session_class(cloud),
        "retries": {"total_max_attempts": 1},
        **config,
    }
    common = {
        "config": AioConfig(**details),
        "aws_access_key_id": credentials.access_key,
        "aws_secret_access_key": credentials.secret_key,
        "aws_session_token": credentials.session_token,
    }
    session: Any = _session()
    async with AsyncExitStack() as stack:

        async def client(service: str, where: str) -> Any:
            made = session.create_client(service, region_name=where, **common)
            return await stack.enter_async_context(made)

        yield Clients(
            await client("cloudfront", "us-east-1"),
            await client("route53", "us-east-1"),
            await client("acm", "us-east-1"),
            await client("apigatewayv2", region),
            await client("lambda", region),
            await client("sts", region),
        )


async def refusal(call: Awaitable[object]) -> tuple[int, str, str]:
    """Status, code and message of a call that is refused."""
    with pytest.raises(ClientError) as caught:
        await call
    response = caught.value.response
    return (
        response["ResponseMetadata"]["HTTPStatusCode"],
        response["Error"]["Code"],
        response["Error"]["Message"],
    )


async def code(call: Awaitable[object]) -> str:
    """The code with which a call is refused."""
    return (await refusal(call))[1]
