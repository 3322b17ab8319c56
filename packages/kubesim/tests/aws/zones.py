"""A zone and its records, written as callers write them."""

from __future__ import annotations

from typing import Any

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.route53.state import Zone
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock
from packages.kubesim.tests.aws.driver import Clients

EDGE = "d111111abcdef8.cloudfront.net"
CLOUDFRONT_ZONE = "Z2FDTNDATAQYW2"

Change = tuple[str, dict[str, Any]]


def cloud_with_zone() -> tuple[AwsCloud, Zone]:
    cloud = AwsCloud(LoopClock(), rates=UNLIMITED)
    return cloud, cloud.route53.add_zone("example.com")


def cname(name: str, *targets: str, ttl: int = 300) -> dict[str, Any]:
    return record(name, "CNAME", *(targets or (EDGE,)), ttl=ttl)


def record(name: str, type_: str, *values: str, ttl: int = 300, **more: Any) -> dict[str, Any]:
    return {
        "Name": name,
        "Type": type_,
        "TTL": ttl,
        "ResourceRecords": [{"Value": each} for each in values],
        **more,
    }


def alias(name: str, type_: str = "A", target: str = EDGE, zone: str = CLOUDFRONT_ZONE) -> dict[str, Any]:
    return {
        "Name": name,
        "Type": type_,
        "AliasTarget": {"HostedZoneId": zone, "DNSName": target, "EvaluateTargetHealth": False},
    }


async def change(aws: Clients, zone: Zone, *changes: Change) -> Any:
    batch: Any = {"Changes": [{"Action": action, "ResourceRecordSet": shape} for action, shape in changes]}
    answer = await aws.route53.change_resource_record_sets(HostedZoneId=zone.id, ChangeBatch=batch)
    return answer["ChangeInfo"]


def names(zone: Zone) -> set[tuple[str, str]]:
    """What is in a zone beside what every zone has."""
    return {(each.name, each.type) for each in zone.records.values() if each.type not in ("NS", "SOA")}
