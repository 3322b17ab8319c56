"""Zones and their listings: pages, order, and the spelling of names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.route53.names import escaped, normal, order, within
from kubesim.aws.route53.records import Record
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock, virtual_time
from packages.kubesim.tests.aws.driver import clients, code, refusal
from packages.kubesim.tests.aws.zones import EDGE, alias, change, cloud_with_zone, cname, record


@virtual_time
async def test_records_are_listed_by_labels_from_the_right_in_pages() -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        await change(
            aws,
            zone,
            ("CREATE", cname("*.example.com")),
            ("CREATE", cname("b.example.com")),
            ("CREATE", cname("z.a.example.com")),
            ("CREATE", record("c.example.com", "A", "192.0.2.1", SetIdentifier="x", Weight=1)),
            ("CREATE", record("c.example.com", "A", "192.0.2.1", SetIdentifier="y", Weight=1)),
        )
        pages = aws.route53.get_paginator("list_resource_record_sets").paginate(
            HostedZoneId=zone.id, PaginationConfig={"PageSize": 2}
        )
        found = [[each["Name"] for each in page["ResourceRecordSets"]] async for page in pages]
        assert found == [
            ["example.com.", "example.com."],
            ["\\052.example.com.", "z.a.example.com."],
            ["b.example.com.", "c.example.com."],
            ["c.example.com."],
        ]


@virtual_time
async def test_a_page_has_300_records_at_most_and_says_where_to_go_on() -> None:
    cloud, zone = cloud_with_zone()
    for number in range(400):
        zone.put(Record(f"n{number:03}.example.com.", "CNAME", 300, (EDGE,)))
    async with clients(cloud) as aws:
        page = await aws.route53.list_resource_record_sets(HostedZoneId=zone.id, MaxItems="1000")
        assert len(page["ResourceRecordSets"]) == 300
        assert (page["IsTruncated"], page["NextRecordName"], page["NextRecordType"]) == (
            True,
            "n298.example.com.",
            "CNAME",
        )


@virtual_time
async def test_records_show_aliases_and_weights() -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        await change(
            aws,
            zone,
            ("CREATE", alias("example.com")),
            ("CREATE", record("w.example.com", "A", "192.0.2.1", SetIdentifier="x", Weight=7)),
        )
        listed = (await aws.route53.list_resource_record_sets(HostedZoneId=zone.id))["ResourceRecordSets"]
        assert dict(listed[0]) == alias("example.com.", target=f"{EDGE}.")
        assert listed[-1] == record("w.example.com.", "A", "192.0.2.1", SetIdentifier="x", Weight=7)


@pytest.mark.parametrize(
    "params",
    [{"StartRecordType": "A"}, {"MaxItems": "0"}, {"MaxItems": "many"}],
    ids=["type-alone", "zero", "text"],
)
@virtual_time
async def test_a_listing_that_makes_no_sense_is_invalid_input(params: Any) -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        assert (
            await code(aws.route53.list_resource_record_sets(HostedZoneId=zone.id, **params))
            == "InvalidInput"
        )


@virtual_time
async def test_zones_are_listed_in_pages_and_by_name() -> None:
    cloud = AwsCloud(LoopClock(), rates=UNLIMITED)
    for name in ("b.com", "a.com", "x.a.com"):
        cloud.route53.add_zone(name)
    cloud.route53.add_zone("internal", private=True)
    async with clients(cloud) as aws:
        pages = aws.route53.get_paginator("list_hosted_zones").paginate(PaginationConfig={"PageSize": 3})
        assert [len(page["HostedZones"]) async for page in pages] == [3, 1]
        by_name = await aws.route53.list_hosted_zones_by_name(DNSName="a.com", MaxItems="2")
        assert [each["Name"] for each in by_name["HostedZones"]] == ["a.com.", "x.a.com."]
        assert by_name["NextDNSName"] == "b.com."
        private = await aws.route53.list_hosted_zones(HostedZoneType="PrivateHostedZone")
        assert [each["Name"] for each in private["HostedZones"]] == ["internal."]


@virtual_time
async def test_a_zone_is_made_once_and_deleted_empty() -> None:
    cloud = AwsCloud(LoopClock(), rates=UNLIMITED)
    cloud.world.quotas.hosted_zones = 1
    async with clients(cloud) as aws:
        made = await aws.route53.create_hosted_zone(Name="example.com", CallerReference="once")
        again = aws.route53.create_hosted_zone(Name="example.com", CallerReference="once")
        assert (await refusal(again))[:2] == (409, "HostedZoneAlreadyExists")
        assert (
            await code(aws.route53.create_hosted_zone(Name="b.com", CallerReference="two"))
            == "TooManyHostedZones"
        )
        zone = cloud.route53.zone(made["HostedZone"]["Id"].rpartition("/")[2])
        await change(aws, zone, ("CREATE", cname("a.example.com")))
        assert await code(aws.route53.delete_hosted_zone(Id=zone.id)) == "HostedZoneNotEmpty"
        await change(aws, zone, ("DELETE", cname("a.example.com")))
        await aws.route53.delete_hosted_zone(Id=zone.id)
        assert cloud.world.dns.target("a.example.com.") is None


# --- Names ----------------------------------------------------------------------------------------------------------

LABELS = st.text("abcxyz019-_*", min_size=1, max_size=8)
NAMES = st.lists(LABELS, min_size=1, max_size=4).map(lambda labels: ".".join(labels) + ".")


@given(NAMES)
def test_escaped_names_are_read_back(name: str) -> None:
    assert normal(escaped(name)) == name
    assert normal(name.upper().rstrip(".")) == name
    assert "*" not in escaped(name)


@given(NAMES, NAMES)
def test_order_keeps_zones_together(name: str, zone: str) -> None:
    assert within(name + zone, zone)
    assert order(name + zone)[: len(order(zone))] == order(zone)
    assert not within(f"x{zone}", f"y{zone}")
