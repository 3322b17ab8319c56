"""The definitions that are installed: what the typed kinds say, accepted by the server, unchanged in the chart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import yaml

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT, FINALIZER
from edgekeeper.api.definition import CustomKind
from edgekeeper.cli.crds import file_name, render
from edgekeeper.cli.kinds import DEFINITIONS as KINDS
from edgekeeper.core.json import JsonObject
from edgekeeper.schema import compile_schema
from edgekeeper.schema.expressions.engine import RuleEngine
from kubesim.plane import Plane, PlaneConfig
from kubesim.plane.errors import StatusError
from kubesim.plane.request import Request
from tests.unit.api.sample_kind import REFUSED, SPEC, STATUS, gauge

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


def test_tenants_are_called_as_manifests_call_them() -> None:
    definition = DISTRIBUTION_TENANT.definition()["spec"]
    assert definition["group"] == "cloudfront-tenant-operator.io"
    assert definition["scope"] == "Namespaced"
    assert definition["names"] == {
        "kind": "DistributionTenant",
        "listKind": "DistributionTenantList",
        "plural": "distributiontenants",
        "singular": "distributiontenant",
        "shortNames": ["dt", "cftenant"],
        "categories": ["edge"],
    }
    (version,) = definition["versions"]
    assert (version["name"], version["subresources"]) == ("v1alpha1", {"status": {}})
    assert FINALIZER == "cloudfront-tenant-operator.io/finalizer"


async def _columns(*conditions: JsonObject) -> dict[str, tuple[int, object]]:
    """What `kubectl get` is told of a tenant with these conditions: by column, its priority and its cell."""
    async with Plane(PlaneConfig()) as plane:
        await plane.client.create(DEFINITIONS, DISTRIBUTION_TENANT.definition())
        await plane.settle()
        domains = [{"domain": "shop.example.com"}, {"domain": "www.example.com"}]
        await plane.client.create(TENANTS, _tenant(domains=domains))
        since = {"lastTransitionTime": "2026-01-01T00:00:00Z", "message": ""}
        status = {
            "id": "dt_1",
            "distributionTenantStatus": "Deployed",
            "conditions": [{**since, **one} for one in conditions],
        }
        await plane.client.merge(f"{TENANTS}/shop/status", {"status": status})
        as_table = "application/json;as=Table;v=v1;g=meta.k8s.io"
        answer = await plane.handle(Request.of("GET", TENANTS, accept=as_table))
    table = msgspec.json.decode(answer.body)
    (row,) = table["rows"]
    columns = zip(table["columnDefinitions"], row["cells"], strict=True)
    return {column["name"]: (column["priority"], cell) for column, cell in columns}


async def test_tenants_show_state_reason_and_domain_and_more_if_asked() -> None:
    columns = await _columns(
        {"type": "Ready", "status": "False", "reason": "DomainConflict"},
        {"type": "Synced", "status": "True", "reason": "InSync"},
        {"type": "CertificateReady", "status": "True", "reason": "NotConfigured"},
        {"type": "DNSReady", "status": "False", "reason": "DNSPropagating"},
    )
    age = columns.pop("Age")
    assert age[0] == 0
    assert columns == {
        "Name": (0, "shop"),
        "Status": (0, "Deployed"),
        "Ready": (0, "False"),
        "Synced": (0, "True"),
        "Reason": (0, "DomainConflict"),
        "Domains": (0, "shop.example.com"),
        "Paused": (0, None),
        "Cert": (1, "True"),
        "DNS": (1, "False"),
        "ID": (0, "dt_1"),
    }
    assert list(columns)[:4] == ["Name", "Status", "Ready", "Synced"], "where people are used to find them"


async def test_paused_tenant_says_so_in_a_column() -> None:
    columns = await _columns({"type": "Paused", "status": "True", "reason": "Paused"})
    assert columns["Paused"] == (0, "True")


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
            {
                "customizations": {
                    "certificate": {"arn": "arn:aws-cn:acm:cn-north-1:111122223333:certificate/1"}
                }
            },
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


_DNS = {"provider": "route53", "hostedZoneId": "Z1"}
_REQUEST = {"validationTokenHost": "cloudfront", "primaryDomainName": "shop.example.com"}


@pytest.mark.parametrize(
    ("good", "bad", "field"),
    [
        pytest.param({"distributionId": "E"}, {"distributionId": ""}, "distributionId", id="distribution"),
        pytest.param({}, {"distributionId": None}, "distributionId", id="no distribution"),
        pytest.param({}, {"domains": None}, "domains", id="no domains"),
        pytest.param({"domains": [{"domain": "a.io"}]}, {"domains": []}, "domains", id="domains"),
        pytest.param(
            {"parameters": [{"name": "a" * 128, "value": "v" * 256}]},
            {"parameters": [{"name": "a" * 129, "value": "v"}]},
            "parameters[0].name",
            id="long name",
        ),
        pytest.param(
            {"parameters": [{"name": "a", "value": "v"}]},
            {"parameters": [{"name": "a", "value": ""}]},
            "parameters[0].value",
            id="empty value",
        ),
        pytest.param({}, {"parameters": [{"name": "a"}]}, "parameters[0].value", id="no value"),
        pytest.param(
            {"customizations": {"certificate": {"arn": CERTIFICATE}}},
            {"customizations": {"certificate": {}}},
            "customizations.certificate.arn",
            id="no certificate",
        ),
        pytest.param(
            {"customizations": {"webAcl": {"action": "disable"}}},
            {"customizations": {"webAcl": {"arn": "arn:acl"}}},
            "customizations.webAcl.action",
            id="no action",
        ),
        pytest.param(
            {"customizations": {"geoRestrictions": {"restrictionType": "none"}}},
            {"customizations": {"geoRestrictions": {"locations": ["DE"]}}},
            "customizations.geoRestrictions.restrictionType",
            id="no restriction type",
        ),
        pytest.param(
            {"managedCertificateRequest": _REQUEST},
            {"managedCertificateRequest": {**_REQUEST, "primaryDomainName": ""}},
            "managedCertificateRequest.primaryDomainName",
            id="primary domain",
        ),
        pytest.param(
            {"managedCertificateRequest": {**_REQUEST, "validationTokenHost": "self-hosted"}},
            {"managedCertificateRequest": {**_REQUEST, "validationTokenHost": "other"}},
            "managedCertificateRequest.validationTokenHost",
            id="token host",
        ),
        pytest.param(
            {
                "managedCertificateRequest": {
                    **_REQUEST,
                    "certificateTransparencyLoggingPreference": "disabled",
                }
            },
            {"managedCertificateRequest": {**_REQUEST, "certificateTransparencyLoggingPreference": "no"}},
            "managedCertificateRequest.certificateTransparencyLoggingPreference",
            id="transparency",
        ),
        pytest.param(
            {"tags": [{"key": "k" * 128, "value": "v" * 256}]},
            {"tags": [{"key": "k" * 129}]},
            "tags[0].key",
            id="long key",
        ),
        pytest.param(
            {"tags": [{"key": "k"}]}, {"tags": [{"key": "k", "value": "v" * 257}]}, "tags[0].value", id="tag"
        ),
        pytest.param({"dns": {**_DNS, "ttl": 60}}, {"dns": {"ttl": 60}}, "dns.provider", id="no provider"),
        pytest.param({"dns": {**_DNS, "ttl": 172800}}, {"dns": {**_DNS, "ttl": 1.5}}, "dns.ttl", id="ttl"),
    ],
)
def test_limits_are_those_that_manifests_were_written_for(
    good: JsonObject, bad: JsonObject, field: str
) -> None:
    assert _problems(**good) == []
    assert f"spec.{field}" in [one.partition(":")[0] for one in _problems(**bad)]


def _problems(**spec: object) -> list[str]:
    obj = _tenant(**spec)
    obj["spec"] = {name: value for name, value in obj["spec"].items() if value is not None}
    version = DISTRIBUTION_TENANT.definition()["spec"]["versions"][0]
    schema = compile_schema(version["schema"]["openAPIV3Schema"], rules=RuleEngine())
    return [str(error) for error in schema.validate(obj)]


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


GAUGES = "/apis/gauges.example/v1/pressuregauges"


def _gauge(name: str, spec: JsonObject) -> JsonObject:
    return {
        "apiVersion": "gauges.example/v1",
        "kind": "PressureGauge",
        "metadata": {"name": name},
        "spec": spec,
    }


async def test_definition_with_maps_floats_and_free_form_is_established_and_keeps_values() -> None:
    kind = gauge("gauges.example")
    async with Plane(PlaneConfig()) as plane:
        await plane.client.create(DEFINITIONS, yaml.safe_load(render(kind)))
        await plane.settle()
        definition = await plane.client.get(f"{DEFINITIONS}/{kind.name}")
        conditions = {one["type"]: one["status"] for one in definition["status"]["conditions"]}
        assert (conditions["Established"], "NonStructuralSchema" in conditions) == ("True", False)
        names = definition["status"]["acceptedNames"]
        assert (definition["spec"]["scope"], names["singular"]) == ("Cluster", "gauge")
        await plane.client.create(GAUGES, _gauge("main", SPEC))
        await plane.client.merge(f"{GAUGES}/main/status", {"status": STATUS})
        stored = await plane.client.get(f"{GAUGES}/main")
        for wanted, why in REFUSED:
            with pytest.raises(StatusError, match=why):
                await plane.client.create(GAUGES, _gauge("bad", wanted))
    assert (stored["spec"], stored["status"]) == (SPEC, STATUS)


def test_kind_without_a_status_has_no_subresource() -> None:
    definition = replace(gauge("gauges.example"), status=None, columns=()).definition()
    (version,) = definition["spec"]["versions"]
    assert "subresources" not in version
    assert "additionalPrinterColumns" not in version
    assert "status" not in version["schema"]["openAPIV3Schema"]["properties"]
