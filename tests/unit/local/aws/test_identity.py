"""Who asks: keys, roles across accounts, sessions that end, and policies that allow or deny by action."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from edgekeeper.local.aws.authorization import wishes
from edgekeeper.local.aws.call import Call
from edgekeeper.local.aws.cloud import AwsCloud
from edgekeeper.local.aws.iam import UnsupportedPolicyError, Wish, complaint
from edgekeeper.local.aws.identity import Credentials, Role, scope_of
from edgekeeper.local.aws.settings import UNLIMITED
from edgekeeper.local.virtual import LoopClock, virtual_time
from tests.unit.local.aws.driver import DISTRIBUTION, REGION, Clients, clients, code, refusal

OTHER = "444455556666"
ROLE = f"arn:aws:iam::{OTHER}:role/edgekeeper-dns"


def plain_cloud(**details: Any) -> AwsCloud:
    return AwsCloud(LoopClock(), rates=UNLIMITED, **details)


async def assume(aws: Clients, **details: Any) -> Credentials:
    answer = await aws.sts.assume_role(RoleArn=ROLE, RoleSessionName="test", **details)
    found = answer["Credentials"]
    return Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])


# --- Keys -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "account"),
    [("AKIAANY", "111122223333"), ("999988887777", "999988887777")],
    ids=["any", "account"],
)
@virtual_time
async def test_an_unknown_key_stands_for_an_account(key: str, account: str) -> None:
    async with clients(plain_cloud(), Credentials(key, "secret")) as aws:
        assert (await aws.sts.get_caller_identity())["Account"] == account


@virtual_time
async def test_a_strict_cloud_knows_its_keys() -> None:
    cloud = plain_cloud(strict=True)
    known = cloud.world.identities.add_user("ci")
    async with clients(cloud) as stranger, clients(cloud, known) as friend:
        assert (await refusal(stranger.sts.get_caller_identity()))[:2] == (403, "InvalidClientTokenId")
        assert (await refusal(stranger.acm.list_certificates()))[1] == "InvalidClientTokenId"
        assert (await friend.sts.get_caller_identity())["Arn"] == "arn:aws:iam::111122223333:user/ci"


@virtual_time
async def test_accounts_do_not_see_each_other() -> None:
    cloud = plain_cloud()
    cloud.route53.add_zone("example.com")
    async with clients(cloud, Credentials(OTHER, "secret")) as aws:
        assert (await aws.route53.list_hosted_zones())["HostedZones"] == []


def test_a_signature_says_key_region_and_service() -> None:
    header = "AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-west-1/acm/aws4_request, SignedHeaders=host, Signature=0"
    scope = scope_of({"authorization": header})
    assert scope is not None
    assert (scope.access_key, scope.region, scope.service) == ("AKIA", "eu-west-1", "acm")
    assert scope_of({}) is None
    assert scope_of({"authorization": "Bearer x"}) is None


# --- Roles ----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_an_assumed_role_works_in_its_own_account() -> None:
    cloud = plain_cloud()
    cloud.world.identities.add_role(Role(ROLE))
    zone = cloud.account(OTHER).route53.add_zone("example.com")
    async with clients(cloud) as aws:
        async with clients(cloud, await assume(aws)) as there:
            identity = await there.sts.get_caller_identity()
            assert identity["Arn"] == f"arn:aws:sts::{OTHER}:assumed-role/edgekeeper-dns/test"
            assert (await there.route53.get_hosted_zone(Id=zone.id))["HostedZone"]["Name"] == "example.com."
        assert await code(aws.route53.get_hosted_zone(Id=zone.id)) == "NoSuchHostedZone"


@virtual_time
async def test_a_session_ends() -> None:
    cloud = plain_cloud()
    cloud.world.identities.add_role(Role(ROLE))
    async with clients(cloud) as aws, clients(cloud, await assume(aws, DurationSeconds=900)) as there:
        await asyncio.sleep(899)
        await there.sts.get_caller_identity()
        await asyncio.sleep(1)
        assert (await refusal(there.route53.list_hosted_zones()))[:2] == (403, "ExpiredToken")
        assert cloud.journal.codes["ExpiredToken"] == 1


ROLES = [
    pytest.param(None, {}, "AccessDenied", id="no-such-role"),
    pytest.param(Role(ROLE, trusted=("999988887777",)), {}, "AccessDenied", id="not-trusted"),
    pytest.param(Role(ROLE, external_id="secret"), {}, "AccessDenied", id="external-id-missing"),
    pytest.param(
        Role(ROLE, external_id="secret"), {"ExternalId": "wrong"}, "AccessDenied", id="external-id-wrong"
    ),
    pytest.param(Role(ROLE), {"DurationSeconds": 7200}, "ValidationError", id="too-long"),
]


@pytest.mark.parametrize(("role", "details", "refused"), ROLES)
@virtual_time
async def test_a_role_that_may_not_be_assumed_is_denied(
    role: Role | None, details: Any, refused: str
) -> None:
    cloud = plain_cloud()
    if role:
        cloud.world.identities.add_role(role)
    async with clients(cloud) as aws:
        assert await code(assume(aws, **details)) == refused


TRUSTED = ["*", "111122223333", "arn:aws:iam::111122223333:root"]


@pytest.mark.parametrize("trusted", TRUSTED)
@virtual_time
async def test_a_role_trusts_accounts_and_principals(trusted: str) -> None:
    cloud = plain_cloud()
    cloud.world.identities.add_role(Role(ROLE, trusted=(trusted,), external_id="secret"))
    async with clients(cloud) as aws:
        assert (await assume(aws, ExternalId="secret")).access_key.startswith("ASIA")


@virtual_time
async def test_a_chained_session_lasts_an_hour_at_most() -> None:
    cloud = plain_cloud()
    cloud.world.identities.add_role(Role(ROLE, longest_session=timedelta(hours=12)))
    async with clients(cloud) as aws:
        long = await assume(aws, DurationSeconds=7200)
        async with clients(cloud, long) as chained:
            assert await code(assume(chained, DurationSeconds=3601)) == "ValidationError"
            await assume(chained, DurationSeconds=3600)


@virtual_time
async def test_a_token_of_the_cluster_is_enough_where_the_role_says_so() -> None:
    cloud = plain_cloud(strict=True)
    cloud.world.identities.add_role(Role(ROLE, web_identity=True))
    async with clients(cloud) as aws:
        call = aws.sts.assume_role_with_web_identity
        answer = await call(RoleArn=ROLE, RoleSessionName="pod", WebIdentityToken="eyJhbGciOi")
        assert answer["AssumedRoleUser"]["Arn"].endswith("/edgekeeper-dns/pod")
        expired = call(RoleArn=ROLE, RoleSessionName="pod", WebIdentityToken="expired-token")
        assert await code(expired) == "ExpiredTokenException"
        other = call(RoleArn=ROLE + "x", RoleSessionName="pod", WebIdentityToken="token")
        assert (await refusal(other))[:2] == (403, "AccessDenied")


# --- Policies -------------------------------------------------------------------------------------------------------


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
EDGE = "arn:aws:cloudfront::111122223333:"
DOMAINS = f"arn:aws:apigateway:{REGION}::/domainnames"
FUNCTION = f"arn:aws:lambda:{REGION}:111122223333:function:hello"
WISHES: list[tuple[str, str, dict[str, Any], str]] = [
    ("cloudfront:GetDistribution", "", {"Id": "E1"}, f"{EDGE}distribution/E1"),
    ("cloudfront:GetDistributionTenant", "", {"Identifier": "x"}, "*"),
    ("cloudfront:DeleteDistributionTenant", "", {"Id": "dt_1"}, f"{EDGE}distribution-tenant/dt_1"),
    ("cloudfront:DeleteConnectionGroup", "", {"Id": "cg_1"}, f"{EDGE}connection-group/cg_1"),
    ("cloudfront:CreateConnectionGroup", "cloudfront:TagResource", TAGGED, "*"),
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
