"""What objects have in clouds, and where the consoles show it."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.web.consoles import arn_url, resources_of
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
        "Cloudflare tunnel": f"https://one.dash.cloudflare.com/{ACCOUNT}/networks/tunnels",
    }


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
