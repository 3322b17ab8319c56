"""Records: one spelling per name, and two records that say the same are seen to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.cloud.aws.dns.records import (
    CLOUDFRONT_ALIAS_ZONE,
    AliasTarget,
    Record,
    RecordKey,
    build_record,
    is_within,
    normalise_name,
    parse_record,
    records_for,
)

ENDPOINT = "d111111abcdef8.cloudfront.net"


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        pytest.param("example.com.", "example.com", id="final dot"),
        pytest.param("Shop.Example.COM", "shop.example.com", id="case"),
        pytest.param("\\052.example.com.", "*.example.com", id="wildcard as Route 53 writes it"),
        pytest.param("*.example.com", "*.example.com", id="wildcard as people write it"),
        pytest.param("_dmarc.example.com.", "_dmarc.example.com", id="underscore"),
        pytest.param("a\\100b.example.com.", "a@b.example.com", id="another visible character"),
        pytest.param(
            "a\\056b.example.com.", "a\\056b.example.com", id="a dot that is no separator stays escaped"
        ),
        pytest.param("a\\134b.example.com.", "a\\134b.example.com", id="so does a backslash"),
        pytest.param("a\\000b.example.com.", "a\\000b.example.com", id="and what cannot be seen"),
        pytest.param(" example.com. ", "example.com", id="space around it"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_name_has_one_spelling(spelled: str, name: str) -> None:
    assert normalise_name(spelled) == name


@given(st.text(alphabet="abcXYZ.*-_ \n", max_size=30) | st.just("\\052.example.com."))
def test_name_normalised_twice_is_the_same(name: str) -> None:
    once = normalise_name(name)
    assert normalise_name(once) == normalise_name(f"{once}.") == once


@pytest.mark.parametrize(
    ("name", "zone", "within"),
    [
        ("shop.example.com", "example.com", True),
        ("example.com.", "EXAMPLE.com", True),
        ("badexample.com", "example.com", False),
        ("example.com", "shop.example.com", False),
        ("\\052.example.com.", "example.com", True),
    ],
)
def test_name_is_within_its_zone_and_no_other(name: str, zone: str, within: bool) -> None:
    assert is_within(name, zone) is within


def test_domain_below_the_apex_gets_a_cname() -> None:
    (record,) = records_for("Shop.example.com", zone="example.com.", target=f"{ENDPOINT}.", ttl=60)
    assert record == Record("shop.example.com", "CNAME", 60, (ENDPOINT,))


def test_apex_gets_aliases_of_both_families() -> None:
    alias = AliasTarget(CLOUDFRONT_ALIAS_ZONE, ENDPOINT)
    assert records_for("example.com", zone="example.com", target=ENDPOINT) == (
        Record("example.com", "A", alias=alias),
        Record("example.com", "AAAA", alias=alias),
    )


CNAME = {
    "Name": "\\052.example.com.",
    "Type": "CNAME",
    "TTL": 300,
    "ResourceRecords": [{"Value": f"{ENDPOINT}."}],
}
ALIAS = {
    "Name": "example.com.",
    "Type": "A",
    "AliasTarget": {"HostedZoneId": "Z2", "DNSName": f"{ENDPOINT}.", "EvaluateTargetHealth": False},
}


def test_record_is_read_with_its_values_to_the_letter() -> None:
    record = parse_record(CNAME)
    assert record == Record("*.example.com", "CNAME", 300, (f"{ENDPOINT}.",))
    assert record.key == RecordKey("*.example.com", "CNAME")


def test_alias_is_read_without_values() -> None:
    assert parse_record(ALIAS) == Record("example.com", "A", alias=AliasTarget("Z2", ENDPOINT))


@pytest.mark.parametrize(
    "settings",
    [
        {"SetIdentifier": "blue", "Weight": 10},
        {"HealthCheckId": "abc"},
        {"SetIdentifier": "eu", "Region": "eu-west-1"},
        {"TrafficPolicyInstanceId": "t"},
    ],
    ids="+".join,
)
def test_record_with_settings_that_we_never_write_is_not_plain(settings: dict[str, object]) -> None:
    record = parse_record({**CNAME, **settings})
    assert not record.is_plain
    assert not record.has_same_content(parse_record(CNAME))
    with pytest.raises(ValueError, match="never written"):
        build_record(record)


@pytest.mark.parametrize("shape", [CNAME, ALIAS], ids=["cname", "alias"])
def test_record_survives_the_way_there_and_back(shape: dict[str, object]) -> None:
    record = parse_record(shape)
    assert parse_record(build_record(record)) == record


@pytest.mark.parametrize(
    ("other", "leads", "says"),
    [
        pytest.param(Record("a.b", "CNAME", 300, ("T.example.",)), True, True, id="spelled otherwise"),
        pytest.param(Record("a.b", "CNAME", 60, ("t.example",)), True, False, id="another time to live"),
        pytest.param(Record("a.b", "CNAME", 300, ("u.example",)), False, False, id="another target"),
        pytest.param(Record("c.b", "CNAME", 300, ("t.example",)), False, False, id="another name"),
        pytest.param(Record("a.b", "A", alias=AliasTarget("Z", "t.example")), False, False, id="an alias"),
    ],
)
def test_records_are_compared_by_where_they_lead(other: Record, leads: bool, says: bool) -> None:
    record = Record("a.b", "CNAME", 300, ("t.example",))
    assert record.has_same_target(other) is leads
    assert record.has_same_content(other) is says


def test_values_of_texts_are_compared_as_they_are() -> None:
    assert not Record("a.b", "TXT", 300, ('"x"',)).has_same_content(Record("a.b", "TXT", 300, ('"X"',)))
    assert Record("a.b", "A", 300, ("1.1.1.1", "2.2.2.2")).has_same_content(
        Record("a.b", "A", 300, ("2.2.2.2", "1.1.1.1"))
    )
