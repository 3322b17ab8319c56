"""What a spec asks of AWS, and when AWS has it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.api.shared import InventoryRecord
from edgekeeper.cloud.aws.dns.entries import place_of, planned_entry, record_of
from edgekeeper.cloud.aws.tenants import Customizations, GeoRestrictions, TenantDomain, WebAcl
from edgekeeper.controllers.cloudfront.desired import (
    differences,
    merged_settings,
    request_fingerprint,
    settings_of,
    tags_fingerprint,
    tags_of,
)
from edgekeeper.controllers.cloudfront.records import wanted_records
from tests.unit.controllers.cloudfront.cases import (
    CERTIFICATE,
    DNS,
    ENDPOINT,
    MANAGED,
    OWNER,
    ZONE,
    live,
    spec,
)

ACL = "arn:acl"
OVERRIDE = {"webAcl": {"action": "override", "arn": ACL}}
GEO = {"geoRestrictions": {"restrictionType": "whitelist", "locations": ["DE", "AT"]}}
OWN = {"certificate": {"arn": CERTIFICATE}}


def _paths(wanted: Any, found: Any) -> set[str]:
    return {one.path.partition("[")[0].partition(".")[0] for one in differences(wanted, found)}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param(spec("a.io", "b.io"), live("b.io", "a.io"), id="domains in another order"),
        pytest.param(spec("A.io."), live("a.io"), id="domains as DNS compares them"),
        pytest.param(spec(), live(), id="enabled by default"),
        pytest.param(spec(), live(connection_group_id="cg_9"), id="group that is left to CloudFront"),
        pytest.param(
            spec(parameters=[{"name": "b", "value": "2"}, {"name": "a", "value": "1"}]),
            live(parameters={"a": "1", "b": "2"}),
            id="parameters in another order",
        ),
        pytest.param(
            spec(customizations=GEO),
            live(customizations=Customizations(geo_restrictions=GeoRestrictions("whitelist", ("AT", "DE")))),
            id="countries in another order",
        ),
        pytest.param(
            spec(customizations={"geoRestrictions": {"restrictionType": "none"}}),
            live(),
            id="no restriction is none",
        ),
        pytest.param(spec(customizations={}), live(), id="empty customizations are none"),
        pytest.param(
            spec(managedCertificateRequest=MANAGED), live(), id="managed certificate that is not attached yet"
        ),
        pytest.param(
            spec(managedCertificateRequest=MANAGED),
            live(customizations=Customizations(certificate_arn="arn:managed")),
            id="managed certificate that CloudFront attached",
        ),
        pytest.param(spec(tags=[{"key": "a"}]), live(), id="tags, which an update does not touch"),
    ],
)
def test_tenant_matches_what_means_the_same(wanted: Any, found: Any) -> None:
    assert not differences(wanted, found)


@pytest.mark.parametrize(
    ("wanted", "found", "where"),
    [
        pytest.param(spec("a.io", "b.io"), live("a.io"), "domains", id="domain missing"),
        pytest.param(spec("a.io"), live("a.io", "b.io"), "domains", id="domain too many"),
        pytest.param(
            spec("a.io", "b.io"),
            live(domains=(TenantDomain("a.io"), TenantDomain("a.io"))),
            "domains",
            id="one domain twice is not two",
        ),
        pytest.param(spec(enabled=False), live(), "enabled", id="enabled"),
        pytest.param(spec(), live(enabled=False), "enabled", id="disabled"),
        pytest.param(spec(distributionId="E2"), live(), "distributionId", id="distribution"),
        pytest.param(spec(connectionGroupId="cg_2"), live(), "connectionGroupId", id="connection group"),
        pytest.param(
            spec(parameters=[{"name": "a", "value": "1"}]),
            live(parameters={"a": "2"}),
            "parameters",
            id="parameter",
        ),
        pytest.param(spec(), live(parameters={"a": "2"}), "parameters", id="parameter too many"),
        pytest.param(spec(customizations=OVERRIDE), live(), "webAcl", id="web ACL missing"),
        pytest.param(
            spec(customizations=OVERRIDE),
            live(customizations=Customizations(web_acl=WebAcl("disable"))),
            "webAcl",
            id="web ACL disabled",
        ),
        pytest.param(
            spec(),
            live(customizations=Customizations(certificate_arn="arn:x")),
            "certificate",
            id="certificate",
        ),
        pytest.param(
            spec(customizations=OWN, managedCertificateRequest=MANAGED),
            live(),
            "certificate",
            id="managed certificate that is in the spec already",
        ),
        pytest.param(spec(customizations=GEO), live(), "geoRestrictions", id="countries"),
    ],
)
def test_tenant_differs_where_it_means_something_else(wanted: Any, found: Any, where: str) -> None:
    assert _paths(wanted, found) == {where}


def test_parameters_are_not_compared_where_they_were_not_read() -> None:
    assert not differences(spec(parameters=[{"name": "a", "value": "1"}]), live().summary)


def test_update_repeats_what_the_spec_leaves_to_cloudfront() -> None:
    found = live(connection_group_id="cg_9", customizations=Customizations(certificate_arn="arn:managed"))
    settings = merged_settings(spec(managedCertificateRequest=MANAGED), found)
    assert settings.connection_group_id == "cg_9"
    assert settings.customizations.certificate_arn == "arn:managed"


def test_update_takes_away_a_certificate_that_nobody_asks_for() -> None:
    found = live(customizations=Customizations(certificate_arn="arn:old"))
    assert not merged_settings(spec(), found).customizations


@given(st.permutations(["a.io", "b.io", "c.io"]))
def test_what_was_written_is_never_a_difference(order: list[str]) -> None:
    wanted = spec(*order, customizations={**GEO, **OVERRIDE, **OWN})
    settings = settings_of(wanted)
    found = live(*sorted(settings.domains), customizations=settings.customizations)
    assert not differences(wanted, found)


def test_records_lead_every_domain_to_the_target_and_the_apex_by_alias() -> None:
    wanted = wanted_records(
        spec("example.com", "WWW.example.com", dns=DNS), apex="example.com", target=ENDPOINT
    )
    assert [(one.type, one.name, one.ttl) for one in wanted] == [
        ("A", "example.com", None),
        ("AAAA", "example.com", None),
        ("CNAME", "www.example.com", 300),
    ]
    assert {(one.target, one.zone, one.state) for one in wanted} == {(ENDPOINT, ZONE, "Planned")}


def test_without_dns_no_record_is_wanted() -> None:
    assert wanted_records(spec(), apex="example.com", target=ENDPOINT) == ()


@given(st.sampled_from(["CNAME", "A", "AAAA"]), st.integers(60, 172_800))
def test_record_survives_the_inventory(kind: str, ttl: int) -> None:
    entry = InventoryRecord(
        ZONE, "a.example.com", kind, ENDPOINT, ttl if kind == "CNAME" else None, "", "Planned"
    )
    assert planned_entry(record_of(entry), ZONE, "") == entry


def test_place_of_a_record_does_not_depend_on_spelling() -> None:
    one, other = (
        InventoryRecord(ZONE, name, "CNAME", ENDPOINT, 300) for name in ("A.example.com.", "a.example.com")
    )
    assert place_of(one) == place_of(other)


def test_tags_say_whose_the_tenant_is_whatever_the_spec_says() -> None:
    tags = tags_of(spec(tags=[{"key": "team", "value": "shop"}]), OWNER)
    assert tags == {"team": "shop", **OWNER.tags()}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"validationTokenHost": "self-hosted"}, id="token host"),
        pytest.param({"primaryDomainName": "www.example.com"}, id="primary domain"),
        pytest.param({"certificateTransparencyLoggingPreference": "disabled"}, id="transparency"),
    ],
)
def test_certificate_requests_are_told_apart(other: dict[str, str]) -> None:
    one, two = spec(managedCertificateRequest=MANAGED), spec(managedCertificateRequest={**MANAGED, **other})
    assert request_fingerprint(one) != request_fingerprint(two)
    assert request_fingerprint(spec()) == ""


def test_fingerprint_of_tags_does_not_depend_on_their_order() -> None:
    tags = [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}]
    assert tags_fingerprint(spec(tags=tags), OWNER) == tags_fingerprint(spec(tags=tags[::-1]), OWNER)
    assert tags_fingerprint(spec(tags=tags), OWNER) != tags_fingerprint(spec(tags=tags[:1]), OWNER)
