"""The manifest of any tenant says what the tenant is, or says why it cannot."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekeeper.api.cloudfront import DistributionTenantSpec
from edgekeeper.cloud.aws.tenants import (
    Customizations,
    DistributionTenant,
    GeoRestrictions,
    TenantDomain,
    WebAcl,
)
from edgekeeper.controllers.cloudfront.desired import differences, settings_of, settings_tree
from edgekeeper.controllers.cloudfront.importing import FoundTenant, Place, import_tenant

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = st.text(max_size=20)
LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
NAMES = st.builds(lambda *labels: ".".join(labels), LABELS, LABELS) | TEXT
CUSTOMIZATIONS = st.builds(
    Customizations,
    web_acl=st.none() | st.builds(WebAcl, st.sampled_from(["override", "disable", "new"]), TEXT),
    certificate_arn=st.sampled_from(["", "arn:aws:acm:us-east-1:111122223333:certificate/x"]) | TEXT,
    geo_restrictions=st.none()
    | st.builds(
        GeoRestrictions,
        st.sampled_from(["none", "whitelist", "blacklist", "new"]),
        st.lists(st.sampled_from(["DE", "FR", "XX"]), unique=True).map(lambda found: tuple(sorted(found))),
    ),
)
TENANTS = st.builds(
    DistributionTenant,
    id=st.just("dt_1"),
    arn=st.just("arn:aws:cloudfront::111122223333:distribution-tenant/dt_1"),
    name=LABELS | TEXT,
    distribution_id=st.sampled_from(["E1XNX8R2GOAABC"]) | TEXT,
    domains=st.lists(st.builds(TenantDomain, NAMES), min_size=1, max_size=4).map(tuple),
    etag=st.just("E1"),
    enabled=st.booleans(),
    status=st.just("Deployed"),
    connection_group_id=st.sampled_from(["", "cg_1"]) | TEXT,
    customizations=CUSTOMIZATIONS,
    created=st.just(NOW),
    modified=st.just(NOW),
    parameters=st.dictionaries(LABELS | TEXT, LABELS | TEXT, max_size=3),
    tags=st.dictionaries(LABELS | TEXT, TEXT, max_size=3),
)


@settings(max_examples=60)
@given(TENANTS)
def test_any_tenant_has_a_manifest_that_says_the_same_or_a_refusal(tenant: DistributionTenant) -> None:
    result = import_tenant(FoundTenant(tenant), Place("edge", "blue"))
    assert not result.owner
    if result.refusals:
        assert all(one.field and one.reason for one in result.refusals)
        return
    (body,) = result.manifests
    assert (body["metadata"]["name"], body["metadata"]["namespace"]) == (tenant.name, "edge")
    spec = msgspec.convert(body["spec"], DistributionTenantSpec)
    assert differences(spec, tenant) == ()
    said, is_so = settings_tree(settings_of(spec)), settings_tree(tenant.settings)
    assert sorted(said.pop("domains")) == sorted(is_so.pop("domains"))
    assert said == is_so
    reserved = {key for key in tenant.tags if key.lower().startswith(("aws:", "edgekeeper.io/"))}
    assert {tag.key: tag.value for tag in spec.tags} == {
        key: value for key, value in tenant.tags.items() if key not in reserved
    }
