"""`edgekeeper import domains`: what is carried over, what is skipped, and what is refused by field."""

from __future__ import annotations

from typing import Any

from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.lifecycle.importing import ImportResult
from kubesim.aws.apigateway.state import ApiDomain, Mapped
from kubesim.aws.route53.records import Alias, Record
from kubesim.virtual import virtual_time
from tests.bridge.estate import REGION
from tests.importing.fleet import lead
from tests.importing.world import EDGE, World, of, world

TARGET = f"d-1.execute-api.{REGION}.amazonaws.com"


def make(here: World, name: str, *keys: str, **fields: Any) -> None:
    """Somebody has a domain name with mappings for these keys."""
    settings = {
        "CertificateArn": fields.pop("certificate", ""),
        "EndpointType": "REGIONAL",
        "SecurityPolicy": "TLS_1_2",
        **fields.pop("settings", {}),
    }
    mapped = tuple(Mapped(f"m{place}", here.aws.api, "$default", key) for place, key in enumerate(keys))
    here.aws.gateway.keep(ApiDomain(name, TARGET, settings, 0.0, mappings=mapped, **fields))


def certificate(here: World, *names: str) -> str:
    return str(here.aws.certificates.add_issued(*names or ("*.example.com",)).arn)


def spec_of(result: ImportResult) -> Any:
    (body,) = result.manifests
    assert body["metadata"]["annotations"] == {"edgekeeper.io/adopt": "true"}
    return body["spec"]


def refusals(result: ImportResult) -> str:
    return "; ".join(map(str, result.refusals))


@virtual_time
async def test_import_carries_mapping_certificate_and_dns_of_a_domain_name_over() -> None:
    async with world() as here:
        arn = certificate(here)
        make(here, "orders.example.com", "v1", certificate=arn, settings={"SecurityPolicy": "TLS_1_0"})
        lead(here, "orders.example.com", ttl=60, target=TARGET)
        make(here, "plain.example.com", "", certificate=arn)
        results = await here.imported("domains")
        orders, plain = of(results, "orders"), of(results, "plain")
        assert (orders.refusals, orders.notes) == ((), ())
        assert orders.manifests[0]["metadata"]["name"] == "orders-example-com"
        spec = spec_of(orders)
        assert spec["domain"] == "orders.example.com"
        assert spec["apiRef"] == {"apiId": here.aws.api}
        assert (spec["certificateStrategy"], spec["certificateArn"]) == ("use-arn", arn)
        assert (spec["apiMappingKey"], spec["securityPolicy"]) == ("v1", "TLS_1_0")
        assert spec["dnsConfig"] == {"hostedZoneId": here.aws.zone.id, "ttl": 60}
        assert spec_of(plain)["dnsConfig"] == {"enabled": False}


@virtual_time
async def test_import_refuses_what_no_object_can_express_by_field() -> None:
    async with world() as here:
        arn = certificate(here)
        expired = certificate(here, "expired.example.com")
        here.aws.certificates.fail(expired, "EXPIRED")
        make(here, "edge.example.com", "", certificate=arn, settings={"EndpointType": "EDGE"})
        make(here, "two.example.com", "a", "b", certificate=arn)
        make(here, "none.example.com", certificate=arn)
        make(here, "mutual.example.com", "", certificate=arn, mutual_tls={"TruststoreUri": "s3://x"})
        make(here, "dual.example.com", "", certificate=arn, settings={"IpAddressType": "dualstack"})
        make(here, "rules.example.com", "", certificate=arn, routing_mode="ROUTING_RULE_ONLY")
        make(here, "modern.example.com", "", certificate=arn, settings={"SecurityPolicy": "TLS_1_3"})
        make(here, "expired.example.com", "", certificate=expired)
        make(here, "deep.down.example.com", "", certificate=arn)
        tags = {f"tag-{number}": "x" for number in range(48)}
        make(here, "tagged.example.com", "", certificate=arn, tags=tags)
        results = await here.imported("domains")
        expected = {
            "edge": "EndpointType: EDGE is not supported",
            "two": "ApiMappings: an APIGatewayDomain has one mapping, and the domain name has several: a, b",
            "none": "ApiMappings: an APIGatewayDomain leads to an API, and nothing is mapped",
            "mutual": "MutualTlsAuthentication: ",
            "dual": "IpAddressType: ",
            "rules": "RoutingMode: ",
            "modern": "SecurityPolicy: TLS_1_3 is not one of",
            "expired": "CertificateArn: the certificate is EXPIRED",
            "deep.down": "CertificateArn: the certificate covers *.example.com only",
            "tagged": "tags: tags: 0 tags plus 4 ownership tags plus 48 set by others are 52",
        }
        told = {name: refusals(of(results, f"domain name {name}.example.com")) for name in expected}
        assert {name: text for name, text in expected.items() if text not in told[name]} == {}


@virtual_time
async def test_import_refuses_what_administrators_do_not_allow() -> None:
    async with world() as here:
        make(here, "web.example.com", "", certificate=certificate(here))
        lead(here, "web.example.com", target=TARGET)
        limits = {"hostnames": {EDGE: ("apis.example.com",)}, "hosted_zones": frozenset({"Z1"})}
        (result,) = await here.imported("domains", common=limits)
        assert "not below the hostnames of namespace edge" in refusals(result)
        assert "is not allowed by --allowed-hosted-zones" in refusals(result)


@virtual_time
async def test_import_skips_domain_names_that_have_an_owner() -> None:
    async with world() as here:
        arn = certificate(here)
        tags = {f"{TAG_PREFIX}cluster": "red", f"{TAG_PREFIX}name": "x", f"{TAG_PREFIX}uid": "1-2"}
        make(here, "taken.example.com", "", certificate=arn, tags=tags)
        make(here, "free.example.com", "", certificate=arn)
        await here.apply(await here.imported("domains", "free*"))
        results = await here.imported("domains")
        assert of(results, "taken").owner == "owned by APIGatewayDomain x of cluster red, by its tags"
        assert of(results, "free").owner == f"declared by APIGatewayDomain {EDGE}/free-example-com"


@virtual_time
async def test_import_gives_different_objects_different_names() -> None:
    async with world() as here:
        arn = certificate(here, "*.example.com", "*.b.example.com")
        for name in ("a-b.example.com", "a.b.example.com", "*.example.com"):
            make(here, name, "", certificate=arn)
        results = await here.imported("domains")
        names = {one.resource: one.manifests[0]["metadata"]["name"] for one in results}
        assert names["domain name *.example.com"] == "wildcard-example-com"
        one, other = names["domain name a-b.example.com"], names["domain name a.b.example.com"]
        assert one != other
        assert one.startswith("a-b-example-com-")
        assert names == {
            one.resource: one.manifests[0]["metadata"]["name"] for one in await here.imported("domains")
        }


@virtual_time
async def test_import_leaves_records_alone_that_would_be_changed() -> None:
    async with world() as here:
        make(here, "other.example.com", "", certificate=certificate(here))
        alias = Alias("ZLY8HYME6SFDD", f"{TARGET}.")
        # An alias for IPv4 only: another record would be written.
        here.aws.cloud.route53.put_record(here.aws.zone, Record("other.example.com.", "A", alias=alias))
        (result,) = await here.imported("domains")
        assert spec_of(result)["dnsConfig"] == {"enabled": False}
        assert "the records stay unmanaged" in " ".join(result.notes)
