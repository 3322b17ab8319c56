"""The definitions that are installed: what the typed kinds say, accepted by the server, unchanged in the chart."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.api.definition import CustomKind
from edgekeeper.cli.crds import KINDS, file_name, render
from edgekeeper.core.json import JsonObject
from edgekeeper.local.plane import Plane, PlaneConfig
from edgekeeper.local.plane.errors import StatusError

CHART = Path(__file__).parents[3] / "charts" / "edgekeeper" / "crds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TENANTS = "/apis/cloudfront-tenant-operator.io/v1alpha1/namespaces/default/distributiontenants"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_chart_has_the_definition_that_the_types_make(kind: CustomKind) -> None:
    assert (CHART / file_name(kind)).read_text() == render(kind), "run: edgekeeper crds --directory charts/…"


def test_chart_has_no_other_definitions() -> None:
    assert {path.name for path in CHART.iterdir()} == {file_name(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
async def test_server_establishes_the_definition(kind: CustomKind) -> None:
    async with Plane(PlaneConfig()) as plane:
        await plane.client.create(DEFINITIONS, yaml.safe_load(render(kind)))
        await plane.settle()
        definition = await plane.client.get(f"{DEFINITIONS}/{kind.name}")
    conditions = {one["type"]: one["status"] for one in definition["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert "NonStructuralSchema" not in conditions


def test_tenants_have_short_names_and_a_category() -> None:
    names = DISTRIBUTION_TENANT.definition()["spec"]["names"]
    assert names["shortNames"] == ["dt", "cftenant"]
    assert names["categories"] == ["edge"]


def test_tenants_show_the_columns_that_people_know() -> None:
    (version,) = DISTRIBUTION_TENANT.definition()["spec"]["versions"]
    columns = [column["name"] for column in version["additionalPrinterColumns"]]
    assert columns == ["Status", "Ready", "Synced", "ID", "Age"]


def _tenant(**spec: object) -> JsonObject:
    return {
        "apiVersion": "cloudfront-tenant-operator.io/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": {"name": "shop"},
        "spec": {"distributionId": "E1", "domains": [{"domain": "shop.example.com"}], **spec},
    }


async def _created(obj: JsonObject) -> JsonObject:
    async with Plane(PlaneConfig()) as plane:
        await plane.client.create(DEFINITIONS, DISTRIBUTION_TENANT.definition())
        await plane.settle()
        return await plane.client.create(TENANTS, obj)


async def test_server_fills_in_what_was_left_out() -> None:
    stored = await _created(_tenant(dns={"provider": "route53", "hostedZoneId": "Z1"}))
    assert stored["spec"]["enabled"] is True
    assert stored["spec"]["dns"]["ttl"] == 300


CERTIFICATE = "arn:aws:acm:us-east-1:111122223333:certificate/1"


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="minimal"),
        pytest.param({"parameters": [{"name": "tier-1_a", "value": "gold"}]}, id="parameters"),
        pytest.param({"customizations": {"webAcl": {"action": "disable"}}}, id="no web ACL"),
        pytest.param({"customizations": {"certificate": {"arn": CERTIFICATE}}}, id="certificate"),
        pytest.param(
            {"customizations": {"certificate": {"arn": "arn:aws-cn:acm:cn-north-1:1:certificate/1"}}},
            id="certificate of another partition",
        ),
        pytest.param(
            {
                "managedCertificateRequest": {
                    "validationTokenHost": "self-hosted",
                    "primaryDomainName": "shop.example.com",
                    "certificateTransparencyLoggingPreference": "disabled",
                }
            },
            id="managed certificate",
        ),
        pytest.param({"tags": [{"key": "team"}]}, id="tag without a value"),
    ],
)
async def test_server_accepts_what_people_write(spec: JsonObject) -> None:
    stored = await _created(_tenant(**spec))
    assert spec.items() <= stored["spec"].items()


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"distributionId": ""}, "spec.distributionId"),
        ({"domains": []}, "spec.domains"),
        ({"domains": [{"domain": ""}]}, "spec.domains[0].domain"),
        ({"parameters": [{"name": "a b", "value": "c"}]}, "spec.parameters[0].name"),
        ({"parameters": [{"name": "a", "value": "c" * 257}]}, "spec.parameters[0].value"),
        ({"customizations": {"webAcl": {"action": "allow"}}}, "spec.customizations.webAcl.action"),
        ({"customizations": {"webAcl": {"action": "override"}}}, "spec.customizations.webAcl"),
        (
            {"customizations": {"certificate": {"arn": "arn:aws:acm:eu-west-1:1:certificate/1"}}},
            "spec.customizations.certificate",
        ),
        ({"customizations": {"geoRestrictions": {"restrictionType": "some"}}}, "restrictionType"),
        ({"managedCertificateRequest": {"validationTokenHost": "cloudfront"}}, "primaryDomainName"),
        ({"tags": [{"key": ""}]}, "spec.tags[0].key"),
        ({"dns": {"provider": "route53"}}, "spec.dns"),
        ({"dns": {"provider": "bind", "hostedZoneId": "Z1"}}, "spec.dns.provider"),
        ({"dns": {"provider": "route53", "hostedZoneId": "Z1", "ttl": 59}}, "spec.dns.ttl"),
        ({"dns": {"provider": "route53", "hostedZoneId": "Z1", "ttl": 172801}}, "spec.dns.ttl"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_server_refuses_what_cannot_be_meant(spec: JsonObject, field: str) -> None:
    with pytest.raises(StatusError) as refused:
        await _created(_tenant(**spec))
    assert refused.value.code == 422
    assert field in refused.value.message
