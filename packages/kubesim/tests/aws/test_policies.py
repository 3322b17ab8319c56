"""Policies that allow or deny by action, resource and condition, as IAM reads them."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.aws.authorization import wishes
from kubesim.aws.call import Call
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.iam import UnsupportedPolicyError, Wish, complaint
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock, virtual_time
from packages.kubesim.tests.aws.driver import DISTRIBUTION, REGION, clients, code, refusal

ROLE = "arn:aws:iam::444455556666:role/edgekeeper-dns"


def plain_cloud() -> AwsCloud:
    return AwsCloud(LoopClock(), rates=UNLIMITED)


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def allow(*actions: str, resource: str | list[str] = "*", **condition: Any) -> dict[str, Any]:
    extra = {"Condition": condition["condition"]} if condition else {}
    return {"Effect": "Allow", "Action": list(actions), "Resource": resource, **extra}


DECISIONS = [
    pytest.param([allow("acm:*")], Wish("acm:ListCertificates"), True, id="wildcard"),
    pytest.param([allow("ACM:listcertificates")], Wish("acm:ListCertificates"), True, id="case"),
    pytest.param([allow("acm:Describe*")], Wish("acm:ListCertificates"), False, id="other-action"),
    pytest.param([], Wish("acm:ListCertificates"), False, id="nothing"),
    pytest.param(
        [allow("*"), {"Effect": "Deny", "Action": "acm:*", "Resource": "*"}], Wish("acm:X"), False, id="deny"
    ),
    pytest.param([allow("a:B", resource="arn:x/*")], Wish("a:B", "arn:x/1"), True, id="resource"),
    pytest.param([allow("a:B", resource="arn:x/?")], Wish("a:B", "arn:x/12"), False, id="one-character"),
    pytest.param([allow("a:B", resource="arn:x/*")], Wish("a:B", "*"), False, id="no-resource"),
    pytest.param(
        [{"Effect": "Allow", "NotAction": "a:*", "Resource": "*"}], Wish("b:C"), True, id="not-action"
    ),
    pytest.param(
        [{"Effect": "Allow", "Action": "*", "NotResource": "arn:x"}],
        Wish("b:C", "arn:x"),
        False,
        id="not-resource",
    ),
]


@pytest.mark.parametrize(("statements", "wish", "allowed"), DECISIONS)
def test_policies_are_read_as_iam_reads_them(statements: list[Any], wish: Wish, allowed: bool) -> None:
    assert (complaint([policy(*statements)], wish) is None) is allowed


CONDITIONS = [
    ({"StringEquals": {"k": "a"}}, {"k": "a"}, True),
    ({"StringEquals": {"k": ["a", "b"]}}, {"K": "b"}, True),
    ({"StringEquals": {"k": "a"}}, {}, False),
    ({"StringEqualsIfExists": {"k": "a"}}, {}, True),
    ({"StringNotEquals": {"k": "a"}}, {"k": "b"}, True),
    ({"StringNotEquals": {"k": "a"}}, {}, True),
    ({"StringLike": {"k": "a*"}}, {"k": "abc"}, True),
    ({"StringNotLike": {"k": "a*"}}, {"k": "abc"}, False),
    ({"StringEqualsIgnoreCase": {"k": "A"}}, {"k": "a"}, True),
    ({"Bool": {"k": "true"}}, {"k": "True"}, True),
    ({"Null": {"k": "true"}}, {}, True),
    ({"Null": {"k": "true"}}, {"k": "a"}, False),
    ({"ForAllValues:StringEquals": {"k": ["a", "b"]}}, {"k": ["a", "b"]}, True),
    ({"ForAllValues:StringEquals": {"k": ["a", "b"]}}, {"k": ["a", "c"]}, False),
    ({"ForAllValues:StringEquals": {"k": ["a"]}}, {}, True),
    ({"ForAnyValue:StringEquals": {"k": ["a"]}}, {"k": ["x", "a"]}, True),
    ({"ForAnyValue:StringEquals": {"k": ["a"]}}, {"k": ["x"]}, False),
    ({"ArnLike": {"k": "arn:aws:*:x"}}, {"k": "arn:aws:s3:x"}, True),
]


@pytest.mark.parametrize(("condition", "context", "met"), CONDITIONS)
def test_conditions_are_read_as_iam_reads_them(condition: Any, context: Any, met: bool) -> None:
    wish = Wish("a:B", "*", context)
    assert (complaint([policy(allow("a:B", condition=condition))], wish) is None) is met


def test_a_condition_that_is_not_simulated_is_an_error_of_the_scenario() -> None:
    with pytest.raises(UnsupportedPolicyError, match="IpAddress"):
        complaint([policy(allow("*", condition={"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}))], Wish("a:B"))


def test_one_statement_needs_no_list() -> None:
    assert complaint([{"Statement": allow("a:B")}], Wish("a:B")) is None


@virtual_time
async def test_denied_calls_say_who_what_and_where() -> None:
    cloud = plain_cloud()
    reader = cloud.world.identities.add_user("reader", policies=[policy(allow("route53:List*"))])
    async with clients(cloud, reader) as aws:
        await aws.route53.list_hosted_zones()
        assert cloud.guard.granted == {"route53:ListHostedZones"}
        status, refused, message = await refusal(aws.cloudfront.get_distribution(Id="E1"))
        assert (status, refused) == (403, "AccessDenied")
        assert message == (
            "User: arn:aws:iam::111122223333:user/reader is not authorized to perform: cloudfront:GetDistribution on "
            "resource: arn:aws:cloudfront::111122223333:distribution/E1 because no identity-based policy allows the "
            "cloudfront:GetDistribution action"
        )
        assert (await refusal(aws.acm.list_certificates()))[:2] == (400, "AccessDeniedException")
        assert (await refusal(aws.apigateway.get_domain_names()))[:2] == (403, "AccessDeniedException")
        assert (await refusal(aws.functions.get_policy(FunctionName="x")))[:2] == (
            403,
            "AccessDeniedException",
        )
        assert (await refusal(aws.sts.assume_role(RoleArn=ROLE, RoleSessionName="ab")))[:2] == (
            403,
            "AccessDenied",
        )
        assert (await aws.sts.get_caller_identity())["Account"] == "111122223333"


@virtual_time
async def test_an_action_can_be_denied_to_everybody() -> None:
    cloud = plain_cloud()
    cloud.guard.denied.add("cloudfront:Create*")
    cloud.cloudfront.add_distribution(DISTRIBUTION)
    async with clients(cloud) as aws:
        create = aws.cloudfront.create_connection_group
        assert await code(create(Name="edge")) == "AccessDenied"
        await aws.cloudfront.list_connection_groups()
        cloud.guard.denied.clear()
        await create(Name="edge")


ZONE = "arn:aws:route53:::hostedzone/Z1"
TAGGED = {"Tags": {"Items": [{"Key": "team", "Value": "edge"}]}}
CERTIFICATE = {"DomainName": "a.example.com", "Tags": [{"Key": "team", "Value": "edge"}]}
MANAGED = {"ManagedCertificateRequest": {"ValidationTokenHost": "cloudfront"}}
EDGE = "arn:aws:cloudfront::111122223333:"
DOMAINS = f"arn:aws:apigateway:{REGION}::/domainnames"
FUNCTION = f"arn:aws:lambda:{REGION}:111122223333:function:hello"
WISHES: list[tuple[str, str, dict[str, Any], str]] = [
    ("cloudfront:GetDistribution", "", {"Id": "E1"}, f"{EDGE}distribution/E1"),
    ("cloudfront:GetDistributionTenant", "", {"Identifier": "x"}, "*"),
    ("cloudfront:DeleteDistributionTenant", "", {"Id": "dt_1"}, f"{EDGE}distribution-tenant/dt_1"),
    ("cloudfront:DeleteConnectionGroup", "", {"Id": "cg_1"}, f"{EDGE}connection-group/cg_1"),
    ("cloudfront:CreateConnectionGroup", "cloudfront:TagResource", TAGGED, "*"),
    ("cloudfront:CreateDistributionTenant", "acm:RequestCertificate", MANAGED, "*"),
    ("cloudfront:TagResource", "", {"Resource": "arn:x", **TAGGED}, "arn:x"),
    ("route53:ListHostedZones", "", {}, "*"),
    ("route53:ListHostedZonesByName", "", {"DNSName": "a", "HostedZoneId": "Z1"}, "*"),
    ("route53:GetHostedZone", "", {"Id": "/hostedzone/Z1"}, ZONE),
    ("route53:ListResourceRecordSets", "", {"HostedZoneId": "Z1"}, ZONE),
    ("route53:GetChange", "", {"Id": "/change/C1"}, "arn:aws:route53:::change/C1"),
    ("acm:RequestCertificate", "acm:AddTagsToCertificate", CERTIFICATE, "*"),
    ("acm:DescribeCertificate", "", {"CertificateArn": "arn:c"}, "arn:c"),
    ("apigateway:POST", "apigateway:AddCertificateToDomain", {"DomainNameConfigurations": []}, DOMAINS),
    ("lambda:GetPolicy", "", {"FunctionName": "function:hello"}, FUNCTION),
    ("lambda:GetPolicy", "", {"FunctionName": FUNCTION}, FUNCTION),
    ("sts:AssumeRole", "", {"RoleArn": ROLE}, ROLE),
]


@pytest.mark.parametrize(("action", "also", "params", "resource"), WISHES)
def test_every_call_has_its_action_and_resource(action: str, also: str, params: Any, resource: str) -> None:
    cloud = AwsCloud()
    service, _, operation = action.partition(":")
    principal = cloud.world.identities.principal("AKIA")
    call = Call(cloud.world, cloud.account(), principal, REGION, service, operation, params)
    found = wishes(call, "POST", "/v2/domainnames")
    assert [wish.action for wish in found] == [action, *([also] if also else [])]
    assert {wish.resource for wish in found} == {resource}


OWN = {"StringEquals": {"aws:ResourceTag/managed-by": "edgekeeper"}}
REQUESTED = {"StringEquals": {"aws:RequestTag/managed-by": "edgekeeper"}}
ZONE_RULES = {
    "ForAllValues:StringEquals": {
        "route53:ChangeResourceRecordSetsRecordTypes": ["CNAME"],
        "route53:ChangeResourceRecordSetsActions": ["CREATE"],
    }
}
OPERATOR = policy(
    allow("cloudfront:Get*", "cloudfront:List*"),
    allow("cloudfront:CreateDistributionTenant", "cloudfront:TagResource", condition=REQUESTED),
    allow(
        "cloudfront:UpdateDistributionTenant",
        resource="arn:aws:cloudfront::111122223333:distribution-tenant/*",
        condition=OWN,
    ),
    allow(
        "route53:ChangeResourceRecordSets", resource="arn:aws:route53:::hostedzone/*", condition=ZONE_RULES
    ),
    allow(
        "acm:RequestCertificate",
        condition={"ForAllValues:StringLike": {"acm:DomainNames": ["*.example.com"]}},
    ),
    allow("apigateway:GET", "apigateway:PATCH", resource=f"arn:aws:apigateway:{REGION}::/domainnames/*"),
    allow(
        "lambda:AddPermission", condition={"StringEquals": {"lambda:Principal": "apigateway.amazonaws.com"}}
    ),
)


@virtual_time
async def test_tenants_can_be_guarded_by_their_tags() -> None:
    cloud = plain_cloud()
    cloud.cloudfront.add_distribution(DISTRIBUTION)
    operator = cloud.world.identities.add_user(policies=[OPERATOR])
    async with clients(cloud, operator) as aws, clients(cloud) as administrator:
        wanted: Any = {
            "DistributionId": DISTRIBUTION,
            "Name": "shop",
            "Domains": [{"Domain": "shop.example.com"}],
        }
        assert await code(aws.cloudfront.create_distribution_tenant(**wanted)) == "AccessDenied"
        tags: Any = {"Items": [{"Key": "managed-by", "Value": "edgekeeper"}]}
        own = await aws.cloudfront.create_distribution_tenant(**wanted, Tags=tags)
        id_ = own["DistributionTenant"]["Id"]
        await aws.cloudfront.update_distribution_tenant(Id=id_, IfMatch=own["ETag"], Enabled=True)
        foreign = await administrator.cloudfront.create_distribution_tenant(
            DistributionId=DISTRIBUTION, Name="other", Domains=[{"Domain": "other.example.com"}]
        )
        touch = aws.cloudfront.update_distribution_tenant(
            Id=foreign["DistributionTenant"]["Id"], IfMatch=foreign["ETag"], Enabled=True
        )
        assert await code(touch) == "AccessDenied"


@virtual_time
async def test_records_certificates_paths_and_principals_can_be_guarded() -> None:
    cloud = plain_cloud()
    zone = cloud.route53.add_zone("example.com")
    cloud.account().functions(REGION).add("hello")
    operator = cloud.world.identities.add_user(policies=[OPERATOR])
    async with clients(cloud, operator) as aws:

        async def change(action: Any, type_: Any, value: str) -> None:
            record: Any = {
                "Name": "a.example.com",
                "Type": type_,
                "TTL": 60,
                "ResourceRecords": [{"Value": value}],
            }
            batch: Any = {"Changes": [{"Action": action, "ResourceRecordSet": record}]}
            await aws.route53.change_resource_record_sets(HostedZoneId=zone.id, ChangeBatch=batch)

        await change("CREATE", "CNAME", "b.example.com")
        assert await code(change("UPSERT", "CNAME", "c.example.com")) == "AccessDenied"
        assert await code(change("CREATE", "A", "192.0.2.1")) == "AccessDenied"
        await aws.acm.request_certificate(DomainName="a.example.com", ValidationMethod="DNS")
        assert await code(aws.acm.request_certificate(DomainName="a.example.org")) == "AccessDeniedException"
        assert await code(aws.apigateway.get_domain_name(DomainName="a.example.com")) == "NotFoundException"
        assert (
            await code(aws.apigateway.delete_domain_name(DomainName="a.example.com"))
            == "AccessDeniedException"
        )
        permission: Any = {"FunctionName": "hello", "StatementId": "s", "Action": "lambda:InvokeFunction"}
        await aws.functions.add_permission(**permission, Principal="apigateway.amazonaws.com")
        other = aws.functions.add_permission(**permission, Principal="s3.amazonaws.com")
        assert await code(other) == "AccessDeniedException"
