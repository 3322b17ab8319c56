"""What objects have in clouds, and where the consoles show it."""

from __future__ import annotations

import pytest

from edgekeeper.api.zerotrust_task import InventoryItem, RouteRef
from edgekeeper.controllers.zerotrust.state import RouteState
from edgekeeper.core.json import JsonObject
from edgekeeper.web.consoles import arn_url, resources_of, route_resources
from tests.unit.web.fleet import READY, tenant

ACCOUNT = "0123456789abcdef0123456789abcdef"
CERTIFICATE = "arn:aws:acm:us-east-1:111122223333:certificate/ab-12"


def published() -> JsonObject:
    obj = tenant("shop", READY)
    obj["status"] |= {
        "id": "dt_1",
        "arn": "arn:aws:cloudfront::111122223333:distribution-tenant/dt_1",
        "certificateArn": CERTIFICATE,
        "inventory": [
            {"zone": "Z1", "name": "shop.example.com", "type": "CNAME", "target": "d.net", "state": "Planned"}
        ],
    }
    return obj


def links(kind: str, obj: JsonObject) -> dict[str, str]:
    return {one.kind: one.url for one in resources_of(kind, obj)}


def test_tenant_leads_to_its_pages() -> None:
    assert links("DistributionTenant", published()) == {
        "CloudFront tenant": "https://console.aws.amazon.com/cloudfront/v4/home#/distribution-tenants/dt_1",
        "CloudFront distribution": "https://console.aws.amazon.com/cloudfront/v4/home#/distributions/E1",
        "ACM certificate": "https://us-east-1.console.aws.amazon.com/acm/home?region=us-east-1#/certificates/ab-12",
        "DNS record": "https://console.aws.amazon.com/route53/v2/hostedzones#ListRecordSets/Z1",
    }
    record = resources_of("DistributionTenant", published())[-1]
    assert record.detail == "CNAME → d.net (Planned)"


def test_lambda_function_and_partitions() -> None:
    function = {"status": {"functionArn": "arn:aws-cn:lambda:cn-north-1:111122223333:function:orders:live"}}
    assert links("LambdaPermission", function) == {
        "Lambda function": "https://cn-north-1.console.amazonaws.cn/lambda/home?region=cn-north-1#/functions/orders"
    }
    assert arn_url("arn:aws-iso:acm:us-iso-east-1:111122223333:certificate/1") == ""


def test_cloudflare_leads_to_the_account() -> None:
    obj = {"spec": {"accountId": ACCOUNT, "tunnelId": "t-1"}}
    assert links("CloudflareZeroTrustTenant", obj) == {
        "Cloudflare account": f"https://dash.cloudflare.com/{ACCOUNT}/home",
        "Cloudflare tunnel": f"https://dash.cloudflare.com/{ACCOUNT}/tunnels",
    }


def test_gateway_and_permission_lead_to_their_pages() -> None:
    certificate = CERTIFICATE.replace("us-east-1", "eu-west-1")
    domain = {
        "spec": {"domain": "api.example.com", "apiRef": {"apiId": "a1b2"}},
        "status": {
            "region": "eu-west-1",
            "certificateArn": certificate,
            "domainNameEndpoint": "d-1.execute-api.eu-west-1.amazonaws.com",
            "apiMappingId": "m1",
        },
    }
    base = "https://eu-west-1.console.aws.amazon.com/apigateway/main"
    page = f"{base}/publish/domain-names?domain=api.example.com&region=eu-west-1"
    assert links("APIGatewayDomain", domain) == {
        "API Gateway domain name": page,
        "API": f"{base}/api-detail?api=a1b2&region=eu-west-1",
        "ACM certificate": "https://eu-west-1.console.aws.amazon.com/acm/home?region=eu-west-1#/certificates/ab-12",
        "API mapping": page,
    }
    function = "arn:aws:lambda:eu-west-1:111122223333:function:orders"
    permission = {"status": {"functionArn": function, "inventory": [{"statementId": "api"}]}}
    page = "https://eu-west-1.console.aws.amazon.com/lambda/home?region=eu-west-1#/functions/orders"
    assert links("LambdaPermission", permission) == {"Lambda function": page, "Policy statement": page}


def test_everything_of_a_route_leads_to_the_dashboard() -> None:
    inventory = (
        InventoryItem("AccessApplication", "app-1", "web.example.com"),
        InventoryItem("AccessPolicy", "pol-1", "web-allow", "app-1"),
        InventoryItem("ServiceToken", "tok-1", "web"),
        InventoryItem("TunnelHostname", "", "web.example.com", "t-1"),
        InventoryItem("DnsRecord", "rec-1", "web.example.com", "zone-1", "CNAME"),
        InventoryItem("Secret", "", "apps/web"),
    )
    state = RouteState(RouteRef("web", "apps"), account_id=ACCOUNT, tunnel_id="t-1", inventory=inventory)
    base = f"https://dash.cloudflare.com/{ACCOUNT}"
    assert {one.kind: one.url for one in route_resources(state)} == {
        "Cloudflare account": f"{base}/home",
        "Cloudflare tunnel": f"{base}/tunnels",
        "Access application": f"{base}/one/access-controls/apps/self-hosted/app-1/edit",
        "Access policy": f"{base}/one/access-controls/policies",
        "Service token": f"{base}/one/access-controls/service-credentials/service-tokens",
        "Tunnel hostname": f"{base}/tunnels",
        "DNS record": "https://dash.cloudflare.com/?to=/:account/:zone/dns/records",
        "Secret in the cluster": "",
    }
    assert {one.url for one in route_resources(state, links=False)} == {""}


@pytest.mark.parametrize(
    "forged", ["javascript:alert(1)", '"><script>', "../../x", "a b", "x#y", "https://evil.test/"]
)
def test_forged_ids_lead_nowhere(forged: str) -> None:
    obj = published()
    obj["status"] |= {"id": forged, "certificateArn": f"arn:aws:acm:us-east-1:1:{forged}"}
    obj["status"]["inventory"][0]["zone"] = forged
    obj["spec"]["distributionId"] = forged
    found = links("DistributionTenant", obj)
    assert {found[kind] for kind in ("CloudFront tenant", "CloudFront distribution", "DNS record")} == {""}
    assert not found["ACM certificate"] or found["ACM certificate"].startswith(
        "https://us-east-1.console.aws.amazon.com/acm/home?region=us-east-1#/certificates/"
    )
    assert links(
        "CloudflareTask",
        {"spec": {"accountId": forged}, "status": {"inventory": [{"kind": "ServiceToken", "id": "1"}]}},
    ) == {"Service token": ""}


def test_simulated_clouds_have_no_consoles() -> None:
    assert {one.url for one in resources_of("DistributionTenant", published(), links=False)} == {""}


@pytest.mark.parametrize(
    "kind",
    [
        "DistributionTenant",
        "APIGatewayDomain",
        "LambdaPermission",
        "CloudflareTask",
        "HTTPRoute",
        "CloudflareZeroTrustTenant",
        "WebApp",
    ],
)
def test_any_content_is_accepted(kind: str) -> None:
    odd: list[JsonObject] = [
        {},
        {"status": 5},
        {"status": {"inventory": [1, None, {"kind": []}]}},
        {"spec": None, "metadata": {"annotations": []}},
    ]
    assert [resources_of(kind, obj) for obj in odd] == [[]] * len(odd)
