"""boto3, which knows nothing of us, drives every operation of the simulated cloud over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.http import AwsServer, serve
from kubesim.aws.identity import Role
from kubesim.aws.operations import OPERATIONS
from kubesim.aws.settings import UNLIMITED

REGION = "eu-central-1"
ROLE = "arn:aws:iam::444455556666:role/edgekeeper-dns"

Client = Any
"""boto3 makes its clients at run time."""


def walk_cloudfront(cloudfront: Client, cloud: AwsCloud) -> None:
    cloud.cloudfront.add_distribution("E1", aliases=("www.example.com",))
    cloud.cloudfront.add_distribution("E2", aliases=("old.example.com",), tenant_only=False)
    cloud.cloudfront.change_distribution("E2", enabled=False)
    group = cloudfront.create_connection_group(Name="edge", Tags={"Items": [{"Key": "a", "Value": "b"}]})
    group_id, endpoint = group["ConnectionGroup"]["Id"], group["ConnectionGroup"]["RoutingEndpoint"]
    cloud.world.dns.publish("a.example.com", endpoint)
    tenant = cloudfront.create_distribution_tenant(
        DistributionId="E1",
        Name="tenant-a",
        Domains=[{"Domain": "a.example.com"}],
        ConnectionGroupId=group_id,
        ManagedCertificateRequest={"ValidationTokenHost": "cloudfront"},
    )["DistributionTenant"]
    assert cloudfront.get_distribution(Id="E1")["Distribution"]["Status"] == "Deployed"
    assert (
        cloudfront.get_distribution_config(Id="E1")["DistributionConfig"]["ConnectionMode"] == "tenant-only"
    )
    assert cloudfront.get_distribution_tenant(Identifier="tenant-a")["DistributionTenant"] == tenant
    by_domain = cloudfront.get_distribution_tenant_by_domain(Domain="a.example.com")
    assert by_domain["DistributionTenant"]["Id"] == tenant["Id"]
    certificate = cloudfront.get_managed_certificate_details(Identifier=tenant["Id"])
    assert certificate["ManagedCertificateDetails"]["CertificateStatus"] == "pending-validation"
    checked = cloudfront.verify_dns_configuration(Identifier=tenant["Id"])["DnsConfigurationList"]
    assert [each["Status"] for each in checked] == ["valid-configuration"]
    moved = cloudfront.update_domain_association(
        Domain="old.example.com", TargetResource={"DistributionTenantId": tenant["Id"]}
    )
    assert moved["ResourceId"] == tenant["Id"]
    conflicts = cloudfront.list_domain_conflicts(
        Domain="www.example.com", DomainControlValidationResource={"DistributionTenantId": tenant["Id"]}
    )
    assert [each["ResourceId"] for each in conflicts["DomainConflicts"]] == ["E1"]
    walk_lists(cloudfront, tenant["Id"])
    walk_tags(cloudfront, tenant["Arn"])
    walk_deletion(cloudfront, cloud, tenant["Id"], group_id)


def walk_lists(cloudfront: Client, tenant: str) -> None:
    acl = "arn:aws:wafv2:us-east-1:111122223333:global/webacl/x/1"
    assert len(list(cloudfront.get_paginator("list_distribution_tenants").paginate())) == 1
    cloudfront.associate_distribution_tenant_web_acl(Id=tenant, WebACLArn=acl)
    by_acl = cloudfront.list_distribution_tenants_by_customization(WebACLArn=acl)
    assert [each["Id"] for each in by_acl["DistributionTenantList"]] == [tenant]
    cloudfront.disassociate_distribution_tenant_web_acl(Id=tenant)
    groups = cloudfront.list_connection_groups()["ConnectionGroups"]
    by_endpoint = cloudfront.get_connection_group_by_routing_endpoint(
        RoutingEndpoint=groups[0]["RoutingEndpoint"]
    )
    assert by_endpoint["ConnectionGroup"]["Name"] == "edge"


def walk_tags(cloudfront: Client, arn: str) -> None:
    cloudfront.tag_resource(
        Resource=arn, Tags={"Items": [{"Key": "x", "Value": "1"}, {"Key": "y", "Value": "2"}]}
    )
    cloudfront.untag_resource(Resource=arn, TagKeys={"Items": ["x"]})
    assert cloudfront.list_tags_for_resource(Resource=arn)["Tags"]["Items"] == [{"Key": "y", "Value": "2"}]


def walk_deletion(cloudfront: Client, cloud: AwsCloud, tenant: str, group: str) -> None:
    pass_time(cloud)
    etag = cloudfront.get_distribution_tenant(Identifier=tenant)["ETag"]
    etag = cloudfront.update_distribution_tenant(Id=tenant, IfMatch=etag, Enabled=False)["ETag"]
    pass_time(cloud)
    cloudfront.delete_distribution_tenant(Id=tenant, IfMatch=etag)
    etag = cloudfront.get_connection_group(Identifier=group)["ETag"]
    etag = cloudfront.update_connection_group(Id=group, IfMatch=etag, Enabled=False)["ETag"]
    pass_time(cloud)
    cloudfront.delete_connection_group(Id=group, IfMatch=etag)


def walk_route53(route53: Client, cloud: AwsCloud) -> None:
    zone = route53.create_hosted_zone(Name="example.org", CallerReference="once")["HostedZone"]["Id"]
    record = {"Name": "a.example.org", "Type": "A", "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.1"}]}
    change = change_record(route53, zone, "CREATE", record)
    assert change["Status"] == "PENDING"
    pass_time(cloud)
    assert route53.get_change(Id=change["Id"])["ChangeInfo"]["Status"] == "INSYNC"
    names = [
        each["Name"] for each in route53.list_resource_record_sets(HostedZoneId=zone)["ResourceRecordSets"]
    ]
    assert names == ["example.org.", "example.org.", "a.example.org."]
    assert route53.get_hosted_zone(Id=zone)["HostedZone"]["ResourceRecordSetCount"] == 3
    limit = route53.get_hosted_zone_limit(HostedZoneId=zone, Type="MAX_RRSETS_BY_ZONE")
    assert (limit["Count"], limit["Limit"]["Value"]) == (3, 10_000)
    assert [each["Id"] for each in route53.list_hosted_zones()["HostedZones"]] == [zone]
    assert [each["Id"] for each in route53.list_hosted_zones_by_name()["HostedZones"]] == [zone]
    change_record(route53, zone, "DELETE", record)
    route53.delete_hosted_zone(Id=zone)


def change_record(route53: Client, zone: str, action: str, record: dict[str, Any]) -> Any:
    changes = [{"Action": action, "ResourceRecordSet": record}]
    return route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch={"Changes": changes})[
        "ChangeInfo"
    ]


def walk_acm(acm: Client, cloud: AwsCloud) -> None:
    arn = acm.request_certificate(DomainName="example.com", ValidationMethod="DNS")["CertificateArn"]
    assert acm.describe_certificate(CertificateArn=arn)["Certificate"]["Status"] == "PENDING_VALIDATION"
    assert arn in [each["CertificateArn"] for each in acm.list_certificates()["CertificateSummaryList"]]
    acm.add_tags_to_certificate(
        CertificateArn=arn, Tags=[{"Key": "x", "Value": "1"}, {"Key": "y", "Value": "2"}]
    )
    acm.remove_tags_from_certificate(CertificateArn=arn, Tags=[{"Key": "x"}])
    assert acm.list_tags_for_certificate(CertificateArn=arn)["Tags"] == [{"Key": "y", "Value": "2"}]
    acm.delete_certificate(CertificateArn=arn)


def walk_apigateway(apigateway: Client, cloud: AwsCloud) -> None:
    api = cloud.account().apigateway(REGION).add_api()
    certificate = cloud.account().certificates(REGION).add_issued("*.example.com").arn
    created = apigateway.create_domain_name(
        DomainName="api.example.com",
        DomainNameConfigurations=[{"CertificateArn": certificate, "EndpointType": "REGIONAL"}],
    )
    assert created["DomainNameConfigurations"][0]["ApiGatewayDomainName"].endswith(f"{REGION}.amazonaws.com")
    apigateway.update_domain_name(DomainName="api.example.com", RoutingMode="ROUTING_RULE_THEN_API_MAPPING")
    assert apigateway.get_domain_name(DomainName="api.example.com")["RoutingMode"].startswith("ROUTING_RULE")
    assert len(apigateway.get_domain_names()["Items"]) == 1
    walk_mappings(apigateway, api)
    walk_rules(apigateway, api)
    arn = created["DomainNameArn"]
    apigateway.tag_resource(ResourceArn=arn, Tags={"x": "1", "y": "2"})
    apigateway.untag_resource(ResourceArn=arn, TagKeys=["x"])
    assert apigateway.get_tags(ResourceArn=arn)["Tags"] == {"y": "2"}
    apigateway.delete_domain_name(DomainName="api.example.com")


def walk_mappings(apigateway: Client, api: str) -> None:
    domain = {"DomainName": "api.example.com"}
    id_ = apigateway.create_api_mapping(ApiId=api, Stage="$default", ApiMappingKey="v1", **domain)[
        "ApiMappingId"
    ]
    assert apigateway.get_api_mapping(ApiMappingId=id_, **domain)["ApiMappingKey"] == "v1"
    apigateway.update_api_mapping(ApiMappingId=id_, ApiId=api, ApiMappingKey="v2", **domain)
    assert [each["ApiMappingKey"] for each in apigateway.get_api_mappings(**domain)["Items"]] == ["v2"]
    apigateway.delete_api_mapping(ApiMappingId=id_, **domain)


def walk_rules(apigateway: Client, api: str) -> None:
    domain = {"DomainName": "api.example.com"}
    rule = {
        "Conditions": [{"MatchBasePaths": {"AnyOf": ["v1"]}}],
        "Actions": [{"InvokeApi": {"ApiId": api, "Stage": "$default"}}],
    }
    id_ = apigateway.create_routing_rule(Priority=10, **rule, **domain)["RoutingRuleId"]
    apigateway.put_routing_rule(RoutingRuleId=id_, Priority=20, **rule, **domain)
    assert apigateway.get_routing_rule(RoutingRuleId=id_, **domain)["Priority"] == 20
    assert apigateway.list_routing_rules(**domain)["RoutingRules"][0]["Actions"] == rule["Actions"]
    apigateway.delete_routing_rule(RoutingRuleId=id_, **domain)


def walk_lambda(functions: Client, cloud: AwsCloud) -> None:
    cloud.account().functions(REGION).add("hello")
    functions.add_permission(
        FunctionName="hello",
        StatementId="api",
        Action="lambda:InvokeFunction",
        Principal="apigateway.amazonaws.com",
    )
    assert '"Sid":"api"' in functions.get_policy(FunctionName="hello")["Policy"]
    functions.remove_permission(FunctionName="hello", StatementId="api")
    assert functions.get_function(FunctionName="hello")["Configuration"]["FunctionName"] == "hello"


def walk_sts(sts: Client, cloud: AwsCloud) -> None:
    cloud.world.identities.add_role(Role(ROLE, web_identity=True))
    assert sts.get_caller_identity()["Account"] == "111122223333"
    assumed = sts.assume_role(RoleArn=ROLE, RoleSessionName="walk")
    assert assumed["AssumedRoleUser"]["Arn"].endswith("assumed-role/edgekeeper-dns/walk")
    sts.assume_role_with_web_identity(RoleArn=ROLE, RoleSessionName="walk", WebIdentityToken="token")


def pass_time(cloud: AwsCloud) -> None:
    cloud.time.advance(timedelta(hours=1))


WALKS: dict[str, tuple[str, Callable[[Client, AwsCloud], None]]] = {
    "cloudfront": ("cloudfront", walk_cloudfront),
    "route53": ("route53", walk_route53),
    "acm": ("acm", walk_acm),
    "apigateway": ("apigatewayv2", walk_apigateway),
    "lambda": ("lambda", walk_lambda),
    "sts": ("sts", walk_sts),
}


def boto3_client(server: AwsServer, name: str) -> Client:
    return boto3.client(
        name,  # type: ignore[call-overload] # one function for all services
        endpoint_url=server.url,
        region_name=REGION,
        aws_access_key_id="AKIABOTO",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.mark.parametrize("service", OPERATIONS)
async def test_boto3_drives_every_operation(service: str) -> None:
    cloud = AwsCloud(rates=UNLIMITED)
    name, walk = WALKS[service]
    async with serve(cloud) as server:
        await asyncio.to_thread(lambda: walk(boto3_client(server, name), cloud))
    succeeded = {entry.operation for entry in cloud.journal.calls() if entry.status < 300}
    assert succeeded == set(OPERATIONS[service])
