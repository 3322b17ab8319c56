"""Tenants as values: the same meaning is the same value, and an update repeats everything."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.cloud.aws.tenants import (
    Customizations,
    GeoRestrictions,
    ManagedCertificateRequest,
    TenantSettings,
    WebAcl,
    build_certificate_request,
    build_customizations,
    build_settings,
    parse_customizations,
    parse_managed_certificate,
    parse_summary,
    parse_tenant,
)

SHAPE: dict[str, Any] = {
    "Id": "dt_1",
    "Arn": "arn:aws:cloudfront::111122223333:distribution-tenant/dt_1",
    "Name": "shop",
    "DistributionId": "E1",
    "Domains": [{"Domain": "b.example.com", "Status": "active"}, {"Domain": "a.example.com"}],
    "CreatedTime": datetime(2026, 1, 1, 13, tzinfo=timezone(timedelta(hours=1))),
    "LastModifiedTime": datetime(2026, 1, 2, tzinfo=UTC),
    "Status": "InProgress",
}


def test_summary_and_tenant_agree() -> None:
    tenant = parse_tenant({"DistributionTenant": SHAPE, "ETag": "E2"})
    assert tenant.summary == parse_summary({**SHAPE, "ETag": "E2"})
    assert [(one.domain, one.is_active) for one in tenant.domains] == [
        ("a.example.com", False),
        ("b.example.com", True),
    ]
    assert tenant.created == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert (tenant.enabled, tenant.in_progress) == (True, True)


@given(st.permutations(SHAPE["Domains"]))
def test_order_of_domains_means_nothing(domains: list[dict[str, str]]) -> None:
    assert parse_summary({**SHAPE, "ETag": "E2", "Domains": domains}) == parse_summary(
        {**SHAPE, "ETag": "E2"}
    )


@pytest.mark.parametrize("missing", ["Id", "Arn", "Name", "DistributionId"])
def test_tenant_without_its_identity_is_none(missing: str) -> None:
    shape = {name: value for name, value in SHAPE.items() if name != missing}
    with pytest.raises(KeyError):
        parse_summary({**shape, "ETag": "E2"})


CUSTOMIZATIONS = st.builds(
    Customizations,
    st.none() | st.builds(WebAcl, st.sampled_from(["override", "disable"]), st.sampled_from(["", "arn:acl"])),
    st.sampled_from(["", "arn:aws:acm:us-east-1:111122223333:certificate/1"]),
    st.none()
    | st.builds(
        GeoRestrictions,
        st.sampled_from(["none", "whitelist", "blacklist"]),
        st.sets(st.sampled_from(["AT", "DE", "US"])).map(lambda places: tuple(sorted(places))),
    ),
)


@given(CUSTOMIZATIONS)
def test_customizations_survive_the_way_there_and_back(customizations: Customizations) -> None:
    assert parse_customizations(build_customizations(customizations)) == customizations


@pytest.mark.parametrize(
    "empty", [{}, {"WebAcl": {}}, {"Certificate": {}}, {"GeoRestrictions": None}], ids=str
)
def test_empty_customization_is_none(empty: dict[str, Any]) -> None:
    assert parse_customizations(empty) == Customizations()
    assert not parse_customizations(empty)


def test_settings_of_a_tenant_are_all_that_an_update_replaces() -> None:
    shape = {
        **SHAPE,
        "ConnectionGroupId": "cg_1",
        "Enabled": False,
        "Parameters": [{"Name": "tier", "Value": "gold"}],
        "Customizations": {"Certificate": {"Arn": "arn:cert"}},
    }
    settings = parse_tenant({"DistributionTenant": shape, "ETag": "E2"}).settings
    assert build_settings(settings) == {
        "DistributionId": "E1",
        "Domains": [{"Domain": "a.example.com"}, {"Domain": "b.example.com"}],
        "Enabled": False,
        "ConnectionGroupId": "cg_1",
        "Parameters": [{"Name": "tier", "Value": "gold"}],
        "Customizations": {"Certificate": {"Arn": "arn:cert"}},
    }


def test_what_is_empty_is_not_sent() -> None:
    assert set(build_settings(TenantSettings("E1", ("a.example.com",)))) == {
        "DistributionId",
        "Domains",
        "Enabled",
    }
    assert build_certificate_request(ManagedCertificateRequest("cloudfront")) == {
        "ValidationTokenHost": "cloudfront"
    }


def test_managed_certificate_without_details_is_read() -> None:
    certificate = parse_managed_certificate({})
    assert (certificate.arn, certificate.status, certificate.tokens) == ("", "", ())
