"""Record batches: atomic, exact, bounded, and true to the rules of DNS."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubesim.virtual import virtual_time
from packages.kubesim.tests.aws.driver import clients, code, refusal
from packages.kubesim.tests.aws.zones import (
    EDGE,
    Change,
    alias,
    change,
    cloud_with_zone,
    cname,
    names,
    record,
)

PROPAGATION = 60


@virtual_time
async def test_a_change_is_pending_until_it_is_everywhere() -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        first = await change(aws, zone, ("CREATE", cname("a.example.com")))
        second = await change(aws, zone, ("CREATE", cname("b.example.com")))
        assert first["Id"] != second["Id"]
        assert first["Status"] == "PENDING"
        await asyncio.sleep(PROPAGATION - 1)
        assert (await aws.route53.get_change(Id=first["Id"]))["ChangeInfo"]["Status"] == "PENDING"
        await asyncio.sleep(1)
        assert (await aws.route53.get_change(Id=first["Id"]))["ChangeInfo"]["Status"] == "INSYNC"
        assert (await refusal(aws.route53.get_change(Id="CNONE")))[:2] == (404, "NoSuchChange")


@virtual_time
async def test_a_batch_is_carried_out_whole_or_not_at_all() -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        await change(aws, zone, ("CREATE", cname("taken.example.com")))
        before = names(zone)
        status, refused, message = await refusal(
            change(aws, zone, ("CREATE", cname("new.example.com")), ("CREATE", cname("taken.example.com")))
        )
        assert (status, refused) == (400, "InvalidChangeBatch")
        assert message == (
            "[Tried to create resource record set [name='taken.example.com.', type='CNAME'] but it already exists]"
        )
        assert names(zone) == before


@virtual_time
async def test_every_problem_of_a_batch_is_reported() -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        _, _, message = await refusal(
            change(
                aws,
                zone,
                ("DELETE", cname("missing.example.com")),
                ("CREATE", cname("a.example.org")),
                ("CREATE", cname("example.com")),
            )
        )
        assert message == (
            "[Tried to delete resource record set [name='missing.example.com.', type='CNAME'] but it was not found, "
            "RRSet with DNS name a.example.org. is not permitted in zone example.com., "
            "RRSet of type CNAME with DNS name example.com. is not permitted at apex in zone example.com.]"
        )


REFUSED = [
    pytest.param([("CREATE", cname("old.example.com"))], "already exists", id="create-existing"),
    pytest.param([("DELETE", cname("none.example.com"))], "was not found", id="delete-missing"),
    pytest.param(
        [("DELETE", cname("old.example.com", "other.net"))], "do not match", id="delete-other-value"
    ),
    pytest.param([("DELETE", cname("old.example.com", ttl=60))], "do not match", id="delete-other-ttl"),
    pytest.param([("CREATE", cname("a.example.org"))], "not permitted in zone", id="outside"),
    pytest.param([("CREATE", cname("notexample.com"))], "not permitted in zone", id="outside-by-a-hair"),
    pytest.param([("CREATE", cname("example.com"))], "at apex", id="cname-at-apex"),
    pytest.param(
        [("CREATE", record("old.example.com", "A", "192.0.2.1"))], "conflicts with other", id="a-beside-cname"
    ),
    pytest.param([("CREATE", cname("host.example.com"))], "conflicts with other", id="cname-beside-a"),
    pytest.param(
        [("CREATE", cname("new.example.com")), ("CREATE", record("new.example.com", "TXT", '"x"'))],
        "conflicts with other",
        id="cname-and-txt-in-one-batch",
    ),
    pytest.param(
        [("UPSERT", cname("new.example.com")), ("UPSERT", cname("new.example.com"))],
        "invalid set of changes",
        id="upsert-twice",
    ),
    pytest.param([("CREATE", record("x.example.com", "A", "elsewhere"))], "IllegalIPv4", id="no-ipv4"),
    pytest.param([("CREATE", record("x.example.com", "AAAA", "192.0.2.1"))], "IllegalIPv6", id="no-ipv6"),
    pytest.param([("CREATE", record("x.example.com", "TXT", "bare"))], "quotation marks", id="bare-text"),
    pytest.param([("CREATE", cname("x.example.com", "a.net", "b.net"))], "Multiple CNAME", id="two-cnames"),
    pytest.param(
        [("CREATE", cname("x.example.com", "a b"))], "Invalid Resource Record", id="malformed-target"
    ),
    pytest.param(
        [("CREATE", alias("x.example.com", target="a.example.net"))],
        "does not lie within",
        id="alias-elsewhere",
    ),
    pytest.param([("CREATE", alias("x.example.com", "TXT"))], "does not lie within", id="alias-of-text"),
    pytest.param(
        [("CREATE", record("host.example.com", "A", "192.0.2.9", SetIdentifier="b", Weight=1))],
        "other RRSets exist",
        id="weighted-beside-simple",
    ),
]


@pytest.mark.parametrize(("changes", "text"), REFUSED)
@virtual_time
async def test_what_dns_does_not_allow_is_refused(changes: list[Change], text: str) -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        await change(
            aws,
            zone,
            ("CREATE", cname("old.example.com")),
            ("CREATE", record("host.example.com", "A", "192.0.2.1")),
        )
        before = names(zone)
        status, refused, message = await refusal(change(aws, zone, *changes))
        assert (status, refused) == (400, "InvalidChangeBatch")
        assert text in message
        assert names(zone) == before


@virtual_time
async def test_the_zones_own_records_stay() -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        listed = (await aws.route53.list_resource_record_sets(HostedZoneId=zone.id))["ResourceRecordSets"]
        for own in listed:
            assert await code(change(aws, zone, ("DELETE", dict(own)))) == "InvalidChangeBatch"


ALLOWED = [
    pytest.param(
        [("CREATE", alias("example.com")), ("CREATE", alias("example.com", "AAAA"))], id="aliases-at-apex"
    ),
    pytest.param(
        [("DELETE", cname("old.example.com")), ("CREATE", record("old.example.com", "A", "192.0.2.1"))],
        id="replace-cname-by-a",
    ),
    pytest.param(
        [("DELETE", cname("old.example.com")), ("CREATE", cname("old.example.com", "other.net"))],
        id="replace-cname",
    ),
    pytest.param([("UPSERT", cname("old.example.com", "other.net"))], id="upsert-existing"),
    pytest.param([("UPSERT", cname("new.example.com"))], id="upsert-new"),
    pytest.param(
        [("DELETE", cname("OLD.EXAMPLE.COM.", EDGE.upper() + "."))], id="delete-in-another-spelling"
    ),
    pytest.param(
        [
            ("CREATE", record("w.example.com", "A", "192.0.2.1", SetIdentifier="a", Weight=1)),
            ("CREATE", record("w.example.com", "A", "192.0.2.2", SetIdentifier="b", Weight=2)),
        ],
        id="weighted",
    ),
    pytest.param(
        [
            ("CREATE", record("t.example.com", "A", "192.0.2.1")),
            ("CREATE", record("t.example.com", "AAAA", "2001:db8::1")),
            ("CREATE", record("t.example.com", "TXT", '"a"', '"b"')),
        ],
        id="several-types",
    ),
]


@pytest.mark.parametrize("changes", ALLOWED)
@virtual_time
async def test_what_dns_allows_is_done(changes: list[Change]) -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        await change(aws, zone, ("CREATE", cname("old.example.com")))
        assert (await change(aws, zone, *changes))["Status"] == "PENDING"


@virtual_time
async def test_an_alias_within_a_zone_needs_its_target() -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        inner = ("CREATE", alias("a.example.com", target="host.example.com", zone=zone.id))
        assert "was not found" in (await refusal(change(aws, zone, inner)))[2]
        host = ("CREATE", record("host.example.com", "A", "192.0.2.1"))
        await change(aws, zone, host, inner)
        assert ("a.example.com.", "A") in names(zone)


@virtual_time
async def test_values_are_deleted_in_any_order() -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        await change(aws, zone, ("CREATE", record("a.example.com", "A", "192.0.2.1", "192.0.2.2")))
        await change(aws, zone, ("DELETE", record("a.example.com", "A", "192.0.2.2", "192.0.2.1")))
        assert names(zone) == set()


def many(action: str, count: int, **more: Any) -> list[Change]:
    return [(action, cname(f"n{number}.example.com", **more)) for number in range(count)]


LIMITS = [
    pytest.param(many("CREATE", 1000), None, id="1000-creates"),
    pytest.param(many("CREATE", 1001), "records limit of 1000", id="1001-creates"),
    pytest.param(many("UPSERT", 500), None, id="500-upserts"),
    pytest.param(many("UPSERT", 501), "records limit of 1000", id="501-upserts"),
    pytest.param(
        [("CREATE", record("a.example.com", "A", *(f"192.0.{n // 256}.{n % 256}" for n in range(1001))))],
        "records limit",
        id="values",
    ),
    pytest.param(
        [("CREATE", record(f"t{n}.example.com", "TXT", '"' + "x" * 3198 + '"')) for n in range(10)],
        None,
        id="32000-characters",
    ),
    pytest.param(
        [("CREATE", record(f"t{n}.example.com", "TXT", '"' + "x" * 3199 + '"')) for n in range(10)],
        "characters limit of 32000",
        id="more-characters",
    ),
    pytest.param(
        [("UPSERT", record(f"t{n}.example.com", "TXT", '"' + "x" * 3199 + '"')) for n in range(5)],
        "characters limit of 32000",
        id="upserted-characters",
    ),
]


@pytest.mark.parametrize(("changes", "text"), LIMITS)
@virtual_time
async def test_a_batch_has_its_limits_and_upserts_count_twice(
    changes: list[Change], text: str | None
) -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        if text is None:
            await change(aws, zone, *changes)
            assert len(names(zone)) == len(changes)
        else:
            _, refused, message = await refusal(change(aws, zone, *changes))
            assert refused == "InvalidChangeBatch"
            assert text in message


@virtual_time
async def test_a_zone_holds_so_many_records() -> None:
    cloud, zone = cloud_with_zone()
    cloud.world.quotas.records_per_zone = 4
    async with clients(cloud) as aws:
        await change(aws, zone, *many("CREATE", 2))
        assert await code(change(aws, zone, ("CREATE", cname("more.example.com")))) == "InvalidChangeBatch"
        await change(aws, zone, ("UPSERT", cname("n0.example.com", "other.net")))


MALFORMED = [
    pytest.param({"Name": "a.example.com", "Type": "A", "TTL": 300}, id="neither-values-nor-alias"),
    pytest.param({**alias("a.example.com"), "TTL": 300}, id="alias-with-ttl"),
    pytest.param(
        {**alias("a.example.com"), **record("a.example.com", "A", "192.0.2.1")}, id="alias-and-values"
    ),
    pytest.param(
        {"Name": "a.example.com", "Type": "A", "ResourceRecords": [{"Value": "192.0.2.1"}]},
        id="values-without-ttl",
    ),
    pytest.param(record("a.example.com", "BOGUS", "x"), id="unknown-type"),
]


@pytest.mark.parametrize("shape", MALFORMED)
@virtual_time
async def test_a_record_that_makes_no_sense_is_invalid_input(shape: dict[str, Any]) -> None:
    cloud, zone = cloud_with_zone()
    async with clients(cloud) as aws:
        assert (await refusal(change(aws, zone, ("CREATE", shape))))[:2] == (400, "InvalidInput")


@virtual_time
async def test_a_zone_that_is_not_there_is_said_so() -> None:
    cloud, _ = cloud_with_zone()
    async with clients(cloud) as aws:
        batch: Any = {"Changes": [{"Action": "CREATE", "ResourceRecordSet": cname("a.example.com")}]}
        call = aws.route53.change_resource_record_sets(HostedZoneId="ZNONE", ChangeBatch=batch)
        assert await refusal(call) == (404, "NoSuchHostedZone", "No hosted zone found with ID: ZNONE")


@virtual_time
async def test_zones_of_other_accounts_are_not_seen() -> None:
    cloud, _ = cloud_with_zone()
    foreign = cloud.account("444455556666").route53.add_zone("example.net")
    async with clients(cloud) as aws:
        assert await code(aws.route53.get_hosted_zone(Id=foreign.id)) == "NoSuchHostedZone"
        assert len((await aws.route53.list_hosted_zones())["HostedZones"]) == 1
