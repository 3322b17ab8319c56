"""A parent distribution and its tenants, made as callers make them."""

from __future__ import annotations

from typing import Any

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock
from packages.kubesim.tests.aws.driver import DISTRIBUTION, Clients


def cloud_with_parent(**details: Any) -> AwsCloud:
    cloud = AwsCloud(LoopClock(), rates=UNLIMITED)
    cloud.cloudfront.add_distribution(DISTRIBUTION, **details)
    return cloud


def wanted(name: str = "shop", *domains: str, **details: Any) -> dict[str, Any]:
    return {
        "DistributionId": DISTRIBUTION,
        "Name": name,
        "Domains": [{"Domain": domain} for domain in domains or (f"{name}.example.com",)],
        **details,
    }


async def create(aws: Clients, name: str = "shop", *domains: str, **details: Any) -> Any:
    return await aws.cloudfront.create_distribution_tenant(**wanted(name, *domains, **details))


async def read(aws: Clients, identifier: str = "shop") -> Any:
    return await aws.cloudfront.get_distribution_tenant(Identifier=identifier)
