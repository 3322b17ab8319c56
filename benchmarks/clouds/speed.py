"""How many calls a second the simulated AWS answers on one core: at its handler, and through aiobotocore in process."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.request import Request
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock, run_virtual
from tests.unit.cloud.aws.world import in_process

T = TypeVar("T")

DISTRIBUTION = "E1XNX8R2GOAABC"
CALLS = 2_000
_SIGNED = {
    "authorization": "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/cloudfront/aws4_request, "
    "SignedHeaders=host, Signature=none"
}
_BODY = (
    '<CreateDistributionTenantRequest xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/">'
    f"<DistributionId>{DISTRIBUTION}</DistributionId><Name>tenant-{{0}}</Name>"
    "<Domains><member><Domain>n{0}.example.com</Domain></member></Domains>"
    "</CreateDistributionTenantRequest>"
)


def at_the_handler() -> float:
    """Creates and reads of tenants, half each, without a client."""

    async def main() -> float:
        cloud = AwsCloud(LoopClock(), rates=UNLIMITED)
        cloud.cloudfront.add_distribution(DISTRIBUTION)
        creates = [
            Request("POST", "/2020-05-31/distribution-tenant", {}, _SIGNED, _BODY.format(n).encode())
            for n in range(CALLS // 2)
        ]
        reads = [
            Request("GET", f"/2020-05-31/distribution-tenant/tenant-{n}", {}, _SIGNED)
            for n in range(CALLS // 2)
        ]

        async def answer(request: Request) -> None:
            answer = await cloud.handle(request)
            if answer.status >= 300:
                raise RuntimeError(f"the simulated AWS answered {answer.status}")

        return await _rate(answer, [*creates, *reads])

    return run_virtual(main)


def through_aiobotocore() -> float:
    """Reads of one tenant through everything that production puts before AWS, but a socket."""

    async def main() -> float:
        async with in_process(rates=UNLIMITED) as world:
            world.cloud.cloudfront.add_distribution(DISTRIBUTION)
            client: Any = await world.access.clients.get("cloudfront", "")
            await client.create_distribution_tenant(
                DistributionId=DISTRIBUTION, Name="shop", Domains=[{"Domain": "shop.example.com"}]
            )

            async def read(_: int) -> None:
                await client.get_distribution_tenant(Identifier="shop")

            return await _rate(read, list(range(CALLS // 4)))

    return run_virtual(main)


async def _rate(call: Callable[[T], Awaitable[None]], arguments: list[T]) -> float:
    """Calls per second of processor time: virtual time does not pass while we work."""
    began = time.process_time()
    for argument in arguments:
        await call(argument)
    return len(arguments) / (time.process_time() - began)
