"""API Gateway's custom domains: one change every 30 seconds, and the rules for mappings and routing rules."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubesim.aws.apigateway.state import ApiGateway
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.settings import UNLIMITED, Rates
from kubesim.virtual import LoopClock, virtual_time
from packages.kubesim.tests.aws.driver import REGION, Clients, clients, code, refusal

DOMAIN = "api.example.com"


def gateway(rates: Rates = UNLIMITED) -> tuple[AwsCloud, ApiGateway]:
    cloud = AwsCloud(LoopClock(), rates=rates)
    return cloud, cloud.account().apigateway(REGION)


def configuration(cloud: AwsCloud, *names: str, region: str = REGION, **more: Any) -> Any:
    arn = cloud.account().certificates(region).add_issued(*(names or ("*.example.com",))).arn
    return [{"CertificateArn": arn, "EndpointType": "REGIONAL", **more}]


async def create(aws: Clients, cloud: AwsCloud, name: str = DOMAIN, **details: Any) -> Any:
    given = {"DomainNameConfigurations": configuration(cloud)} | details
    return await aws.apigateway.create_domain_name(DomainName=name, **given)


@virtual_time
async def test_a_domain_shows_where_dns_must_point() -> None:
    cloud, _ = gateway()
    async with clients(cloud) as aws:
        (regional,) = (await create(aws, cloud))["DomainNameConfigurations"]
        assert regional["ApiGatewayDomainName"].endswith(f".execute-api.{REGION}.amazonaws.com")
        assert regional["HostedZoneId"] == "Z1U9ULNL0V5AJ3"
        assert regional["DomainNameStatus"] == "AVAILABLE"
        edge = configuration(cloud, region="us-east-1", EndpointType="EDGE")
        (at_edge,) = (await create(aws, cloud, "edge.example.com", DomainNameConfigurations=edge))[
            "DomainNameConfigurations"
        ]
        assert at_edge["ApiGatewayDomainName"].endswith(".cloudfront.net")
        assert at_edge["HostedZoneId"] == "Z2FDTNDATAQYW2"


@virtual_time
async def test_an_account_gets_one_domain_call_every_30_seconds() -> None:
    cloud = AwsCloud(LoopClock())
    async with clients(cloud) as aws:
        await create(aws, cloud)
        again = aws.apigateway.update_domain_name(DomainName=DOMAIN, RoutingMode="ROUTING_RULE_ONLY")
        assert await refusal(again) == (429, "TooManyRequestsException", "Too Many Requests")
        assert (await aws.apigateway.get_domain_name(DomainName=DOMAIN))["DomainName"] == DOMAIN
        await asyncio.sleep(29)
        assert await code(aws.apigateway.delete_domain_name(DomainName=DOMAIN)) == "TooManyRequestsException"
        await asyncio.sleep(1)
        await aws.apigateway.delete_domain_name(DomainName=DOMAIN)


@virtual_time
async def test_a_changed_domain_is_updating_for_a_while() -> None:
    cloud, _ = gateway()
    async with clients(cloud) as aws:
        await create(aws, cloud)
        new = configuration(cloud)
        updated = await aws.apigateway.update_domain_name(DomainName=DOMAIN, DomainNameConfigurations=new)
        (shown,) = updated["DomainNameConfigurations"]
        assert (shown["DomainNameStatus"], shown["CertificateArn"]) == ("UPDATING", new[0]["CertificateArn"])
        await asyncio.sleep(30)
        (shown,) = (await aws.apigateway.get_domain_name(DomainName=DOMAIN))["DomainNameConfigurations"]
        assert shown["DomainNameStatus"] == "AVAILABLE"


@virtual_time
async def test_an_update_leaves_alone_what_it_does_not_name() -> None:
    cloud, _ = gateway()
    tls: Any = {"TruststoreUri": "s3://bucket/ca.pem"}
    async with clients(cloud) as aws:
        await create(aws, cloud, MutualTlsAuthentication=tls, Tags={"team": "edge"})
        updated = await aws.apigateway.update_domain_name(DomainName=DOMAIN, RoutingMode="ROUTING_RULE_ONLY")
        assert updated["MutualTlsAuthentication"] == tls
        assert updated["Tags"] == {"team": "edge"}
        off = await aws.apigateway.update_domain_name(
            DomainName=DOMAIN, MutualTlsAuthentication={"TruststoreUri": ""}
        )
        assert "MutualTlsAuthentication" not in off


REFUSED = [
    pytest.param({"DomainName": DOMAIN}, "ConflictException", id="taken"),
    pytest.param({"DomainNameConfigurations": []}, "BadRequestException", id="no-configuration"),
    pytest.param(
        {"DomainNameConfigurations": [{"CertificateArn": "arn:aws:acm:x"}]},
        "BadRequestException",
        id="no-certificate",
    ),
    pytest.param({"DomainName": "a.example.org"}, "BadRequestException", id="not-covered"),
    pytest.param(
        {"MutualTlsAuthentication": {"TruststoreUri": "https://x"}}, "BadRequestException", id="trust-store"
    ),
]


@pytest.mark.parametrize(("details", "refused"), REFUSED)
@virtual_time
async def test_a_domain_that_may_not_be_is_refused(details: dict[str, Any], refused: str) -> None:
    cloud, state = gateway()
    async with clients(cloud) as aws:
        await create(aws, cloud)
        wanted = {"DomainName": "b.example.com", "DomainNameConfigurations": configuration(cloud)} | details
        assert await code(aws.apigateway.create_domain_name(**wanted)) == refused
        assert len(state.domains) == 1


@virtual_time
async def test_a_certificate_must_be_issued_and_of_the_region() -> None:
    cloud, _ = gateway()
    pending = cloud.account().certificates(REGION).request([DOMAIN], "DNS").arn
    async with clients(cloud) as aws:
        for arn in (pending, configuration(cloud, region="us-east-1")[0]["CertificateArn"]):
            call = create(aws, cloud, DomainNameConfigurations=[{"CertificateArn": arn}])
            assert (await refusal(call))[:2] == (400, "BadRequestException")


@virtual_time
async def test_a_certificate_of_a_domain_is_in_use() -> None:
    cloud, _ = gateway()
    store = cloud.account().certificates(REGION)
    async with clients(cloud) as aws:
        created = await create(aws, cloud)
        arn = created["DomainNameConfigurations"][0]["CertificateArn"]
        assert store.usage()[arn] == [created["DomainNameArn"]]


@virtual_time
async def test_the_quota_of_domains_is_kept() -> None:
    cloud, _ = gateway()
    cloud.world.quotas.api_domains = 1
    async with clients(cloud) as aws:
        await create(aws, cloud)
        assert await code(create(aws, cloud, "b.example.com")) == "BadRequestException"


@virtual_time
async def test_domains_are_listed_in_pages() -> None:
    cloud, _ = gateway()
    async with clients(cloud) as aws:
        for name in "cab":
            await create(aws, cloud, f"{name}.example.com")
        pages = aws.apigateway.get_paginator("get_domain_names").paginate(PaginationConfig={"PageSize": 2})
        found = [[each["DomainName"][0] for each in page["Items"]] async for page in pages]
        assert found == [["a", "b"], ["c"]]
        assert await code(aws.apigateway.get_domain_names(NextToken="x")) == "BadRequestException"


@virtual_time
async def test_domains_belong_to_a_region() -> None:
    cloud, _ = gateway()
    async with clients(cloud) as aws, clients(cloud, region="eu-west-1") as elsewhere:
        await create(aws, cloud)
        assert (await refusal(elsewhere.apigateway.get_domain_name(DomainName=DOMAIN)))[:2] == (
            404,
            "NotFoundException",
        )


# --- Mappings -------------------------------------------------------------------------------------------------------


@virtual_time
async def test_a_mapping_key_is_taken_once_per_domain() -> None:
    cloud, state = gateway()
    api = state.add_api()
    async with clients(cloud) as aws:
        await create(aws, cloud)
        await create(aws, cloud, "b.example.com")
        make = aws.apigateway.create_api_mapping
        first = await make(DomainName=DOMAIN, ApiId=api, Stage="$default", ApiMappingKey="v1")
        assert await refusal(make(DomainName=DOMAIN, ApiId=api, Stage="$default", ApiMappingKey="v1")) == (
            409,
            "ConflictException",
            "ApiMapping key already exists for this domain name",
        )
        root = await make(DomainName=DOMAIN, ApiId=api, Stage="$default")
        await make(DomainName="b.example.com", ApiId=api, Stage="$default", ApiMappingKey="v1")
        move = aws.apigateway.update_api_mapping(
            DomainName=DOMAIN, ApiMappingId=root["ApiMappingId"], ApiId=api, ApiMappingKey="v1"
        )
        assert await code(move) == "ConflictException"
        same = await aws.apigateway.update_api_mapping(
            DomainName=DOMAIN, ApiMappingId=first["ApiMappingId"], ApiId=api
        )
        assert same["ApiMappingKey"] == "v1"


MAPPINGS = [
    pytest.param({"ApiId": "none"}, "NotFoundException", id="no-api"),
    pytest.param({"Stage": "none"}, "BadRequestException", id="no-stage"),
    pytest.param({"DomainName": "none.example.com"}, "NotFoundException", id="no-domain"),
    pytest.param({"ApiMappingKey": "/v1"}, "BadRequestException", id="leading-slash"),
    pytest.param({"ApiMappingKey": "v 1"}, "BadRequestException", id="blank"),
    pytest.param({"ApiMappingKey": "too-many"}, "BadRequestException", id="quota"),
]


@pytest.mark.parametrize(("details", "refused"), MAPPINGS)
@virtual_time
async def test_a_mapping_that_may_not_be_is_refused(details: dict[str, str], refused: str) -> None:
    cloud, state = gateway()
    cloud.world.quotas.mappings_per_domain = 0 if details.get("ApiMappingKey") == "too-many" else 10
    wanted: Any = {"DomainName": DOMAIN, "ApiId": state.add_api(), "Stage": "$default"} | details
    async with clients(cloud) as aws:
        await create(aws, cloud)
        assert await code(aws.apigateway.create_api_mapping(**wanted)) == refused


@virtual_time
async def test_mappings_go_with_their_domain() -> None:
    cloud, state = gateway()
    api = state.add_api()
    async with clients(cloud) as aws:
        await create(aws, cloud)
        made = await aws.apigateway.create_api_mapping(DomainName=DOMAIN, ApiId=api, Stage="$default")
        await aws.apigateway.delete_domain_name(DomainName=DOMAIN)
        gone = aws.apigateway.get_api_mapping(DomainName=DOMAIN, ApiMappingId=made["ApiMappingId"])
        assert await code(gone) == "NotFoundException"
        await create(aws, cloud)
        assert (await aws.apigateway.get_api_mappings(DomainName=DOMAIN))["Items"] == []
        missing = aws.apigateway.delete_api_mapping(DomainName=DOMAIN, ApiMappingId=made["ApiMappingId"])
        assert await code(missing) == "NotFoundException"


# --- Routing rules --------------------------------------------------------------------------------------------------


def rule(api: str, priority: int = 10, **details: Any) -> Any:
    return {
        "DomainName": DOMAIN,
        "Priority": priority,
        "Conditions": [{"MatchHeaders": {"AnyOf": [{"Header": "x-tenant", "ValueGlob": "a*"}]}}],
        "Actions": [{"InvokeApi": {"ApiId": api, "Stage": "$default", "StripBasePath": True}}],
        **details,
    }


@virtual_time
async def test_rules_have_a_priority_each_and_come_in_its_order() -> None:
    cloud, state = gateway()
    api = state.add_api()
    async with clients(cloud) as aws:
        await create(aws, cloud, RoutingMode="ROUTING_RULE_ONLY")
        late = await aws.apigateway.create_routing_rule(**rule(api, 20))
        await aws.apigateway.create_routing_rule(**rule(api, 10))
        assert (await refusal(aws.apigateway.create_routing_rule(**rule(api, 10))))[:2] == (
            409,
            "ConflictException",
        )
        id_ = late["RoutingRuleId"]
        put = aws.apigateway.put_routing_rule
        assert await code(put(RoutingRuleId=id_, **rule(api, 10))) == "ConflictException"
        assert (await put(RoutingRuleId=id_, **rule(api, 5)))["Priority"] == 5
        pages = aws.apigateway.get_paginator("list_routing_rules").paginate(
            DomainName=DOMAIN, PaginationConfig={"PageSize": 1}
        )
        assert [[each["Priority"] for each in page["RoutingRules"]] async for page in pages] == [[5], [10]]


RULES = [
    pytest.param("ROUTING_RULE_ONLY", {"Actions": []}, "BadRequestException", id="no-action"),
    pytest.param("API_MAPPING_ONLY", {}, "BadRequestException", id="mappings-only"),
    pytest.param(
        "ROUTING_RULE_ONLY", {"DomainName": "none.example.com"}, "NotFoundException", id="no-domain"
    ),
    pytest.param("ROUTING_RULE_ONLY", {"Priority": 2_000_000}, "BadRequestException", id="priority"),
    pytest.param(
        "ROUTING_RULE_ONLY",
        {"Actions": [{"InvokeApi": {"ApiId": "none", "Stage": "$default"}}]},
        "NotFoundException",
        id="no-api",
    ),
]


@pytest.mark.parametrize(("mode", "details", "refused"), RULES)
@virtual_time
async def test_a_rule_that_may_not_be_is_refused(mode: str, details: dict[str, Any], refused: str) -> None:
    cloud, state = gateway()
    async with clients(cloud) as aws:
        await create(aws, cloud, RoutingMode=mode)
        assert await code(aws.apigateway.create_routing_rule(**rule(state.add_api(), **details))) == refused


@virtual_time
async def test_rules_have_their_quota_and_must_exist() -> None:
    cloud, state = gateway()
    cloud.world.quotas.rules_per_domain = 1
    api = state.add_api()
    async with clients(cloud) as aws:
        await create(aws, cloud, RoutingMode="ROUTING_RULE_ONLY")
        await aws.apigateway.create_routing_rule(**rule(api, 1))
        assert await code(aws.apigateway.create_routing_rule(**rule(api, 2))) == "BadRequestException"
        assert (
            await code(aws.apigateway.put_routing_rule(RoutingRuleId="none", **rule(api, 2)))
            == "NotFoundException"
        )


@virtual_time
async def test_tags_of_something_unknown_are_not_found() -> None:
    cloud, _ = gateway()
    async with clients(cloud) as aws:
        arn = f"arn:aws:apigateway:{REGION}::/domainnames/none.example.com"
        assert (await refusal(aws.apigateway.get_tags(ResourceArn=arn)))[:2] == (404, "NotFoundException")
