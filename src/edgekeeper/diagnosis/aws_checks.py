"""Whether AWS can be used: endpoints, credentials, what the identity may read, roles of objects, limits of zones.

Only reads are sent, each of one item at most. What is denied is reported with what does not work without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from edgekeeper.cloud.aws import operations
from edgekeeper.cloud.aws.access import AwsAccess, AwsCall
from edgekeeper.cloud.aws.roles import OWN, Role, is_role_arn
from edgekeeper.cloud.aws.settings import AwsConfigError
from edgekeeper.cloud.operation import Operation
from edgekeeper.cloud.rates import ROUTE53
from edgekeeper.core.errors import Cause, PassError
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.outages import CAUSE_TEXTS, CLOUD_UNAVAILABLE
from edgekeeper.diagnosis.checks import Result, failed, ok, warning
from edgekeeper.lifecycle.remedies import Remedies

if TYPE_CHECKING:
    from edgekeeper.cloud.aws.clients import AwsClients

CREDENTIALS: Final = "aws credentials"
PERMISSIONS: Final = "aws permissions"
ROLE: Final = "aws role"
ZONE: Final = "aws zone"
_GET_ZONE_LIMIT: Final = Operation(
    "aws", "route53", "GetHostedZoneLimit", False, True, ROUTE53, operations.GET_ZONE.deadline
)
_MOST_ZONES: Final = 20
_NEARLY: Final = 0.9
_REMEDIES: Final = Remedies(())
SERVICES: Final = {
    "distributiontenant": ("sts", "cloudfront", "route53", "acm"),
    "apigatewaydomain": ("sts", "apigateway", "route53", "acm"),
    "lambdapermission": ("sts", "lambda"),
}
"""The services that controllers call."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A read that shows whether an action is allowed."""

    operation: Operation
    request: JsonObject
    loss: str
    """What does not work without it."""


TRIALS: Final[dict[str, tuple[Trial, ...]]] = {
    "distributiontenant": (
        Trial(operations.LIST_TENANTS, {"MaxItems": 1}, "no DistributionTenant is reconciled"),
        Trial(
            operations.LIST_CONNECTION_GROUPS,
            {"MaxItems": 1},
            "records have no target, so tenants are not created",
        ),
    ),
    "apigatewaydomain": (
        Trial(
            operations.LIST_DOMAINS, {"MaxResults": "1"}, "no APIGatewayDomain is reconciled in direct mode"
        ),
        Trial(
            operations.LIST_CERTIFICATES, {"MaxItems": 1}, "certificateStrategy discover finds no certificate"
        ),
        Trial(
            operations.LIST_ZONES, {"MaxItems": "1"}, "hosted zones must be named in dnsConfig.hostedZoneId"
        ),
    ),
}
"""By controller. Those that need the name of something are tried with what objects name."""


@dataclass(frozen=True, slots=True)
class ZoneUse:
    """A hosted zone that an object names, and the role for it; empty for our own identity."""

    zone: str
    role: str = ""


async def check_aws(
    access: AwsAccess, clients: AwsClients, controllers: Iterable[str], zones: Iterable[ZoneUse]
) -> list[Result]:
    """The identity first; the rest only with one."""
    try:
        await clients.confirm()
        account, arn = await access.caller().call(
            AwsCall(operations.GET_CALLER_IDENTITY, "", {}, lambda answer: (answer["Account"], answer["Arn"]))
        )
    except AwsConfigError as error:
        return [failed(CREDENTIALS, str(error), "correct the configuration of AWS that the message names")]
    except PassError as error:
        return [_credentials_failed(error)]
    access.account = str(account)
    found = [ok(CREDENTIALS, f"{arn} in account {account}, region {clients.region}")]
    used = list(dict.fromkeys(zones))
    tried = await asyncio.gather(
        _try_all(access, controllers), _try_roles(access, used), _try_zones(access, used)
    )
    return [*found, *(result for results in tried for result in results)]


def _credentials_failed(error: PassError) -> Result:
    prefix = CAUSE_TEXTS[error.unavailable] if error.unavailable is not None else ""
    remedy = _REMEDIES.find(CLOUD_UNAVAILABLE if prefix else error.reason, prefix)
    message = f"{prefix}: {error.message}" if prefix else error.message
    action = remedy.action if remedy is not None else "see the message of AWS"
    if error.unavailable is Cause.CREDENTIALS:
        action = (
            "give the operator credentials: annotate its ServiceAccount with a role (IRSA, Pod Identity), or set AWS_PROFILE "
            "or AWS_ACCESS_KEY_ID; if there are some, check that they have not expired, the trust policy and the clock"
        )
    return failed(CREDENTIALS, message, action)


async def _try_all(access: AwsAccess, controllers: Iterable[str]) -> list[Result]:
    trials = [trial for name in controllers for trial in TRIALS.get(name, ())]
    tried = await asyncio.gather(*(_try(access, trial) for trial in trials))
    denied = [result for result in tried if result is not None]
    return denied or (
        [ok(PERMISSIONS, f"all {len(trials)} reads that were tried are allowed")] if trials else []
    )


async def _try(access: AwsAccess, trial: Trial) -> Result | None:
    operation = trial.operation
    action = f"{operation.service}:{operation.name}"
    try:
        await access.caller().call(AwsCall(operation, "", trial.request, lambda _: None))
    except PassError as error:
        if error.reason == "AccessDenied":
            remedy = f"allow {action} in the policy of the operator's role: docs/iam has complete ones"
            return failed(PERMISSIONS, f"{action} is denied: {trial.loss}: {error.message}", remedy)
        return warning(PERMISSIONS, f"{action} could not be tried: {error.message}", "try again later")
    return None


async def _try_roles(access: AwsAccess, zones: Iterable[ZoneUse]) -> list[Result]:
    """Assume each role that objects name."""
    roles = list(dict.fromkeys(use.role for use in zones if use.role))
    return await asyncio.gather(*(_try_role(access, arn) for arn in roles))


async def _try_role(access: AwsAccess, arn: str) -> Result:
    if not is_role_arn(arn):
        return failed(ROLE, f"{arn!r} is not the ARN of a role", "correct spec.dns.assumeRoleArn")
    try:
        await access.caller(role=Role(arn)).call(
            AwsCall(operations.GET_CALLER_IDENTITY, "", {}, lambda answer: str(answer["Arn"]))
        )
    except PassError as error:
        remedy = "allow sts:AssumeRole on the role to the operator, and the operator in the trust policy of the role"
        return failed(ROLE, f"{arn}: {error.message}", remedy)
    return ok(ROLE, f"{arn} can be assumed")


async def _try_zones(access: AwsAccess, zones: Iterable[ZoneUse]) -> list[Result]:
    """How many records hosted zones have, of those that they may have."""
    uses = [use for use in zones if use.zone and (not use.role or is_role_arn(use.role))][:_MOST_ZONES]
    tried = await asyncio.gather(*(_try_zone(access, use) for use in uses))
    return [result for result in tried if result is not None]


async def _try_zone(access: AwsAccess, use: ZoneUse) -> Result | None:
    caller = access.caller(role=Role(use.role) if use.role else OWN)
    zone = AwsCall(operations.GET_ZONE, use.zone, {"Id": use.zone}, lambda _: None)
    request = {"HostedZoneId": use.zone, "Type": "MAX_RRSETS_BY_ZONE"}
    limit = AwsCall(_GET_ZONE_LIMIT, use.zone, request, _count_and_limit)
    try:
        await caller.call(zone)
    except PassError as error:
        remedy = "correct the id of the hosted zone, or allow route53:GetHostedZone on it"
        return failed(ZONE, f"{use.zone}: {error.message}", remedy)
    try:
        count, most = await caller.call(limit)
    except PassError as error:
        return ok(ZONE, f"{use.zone} can be read; how many records it may have is not known: {error.message}")
    words = f"{use.zone} has {count} of {most} records"
    if most and count >= most * _NEARLY:
        return warning(ZONE, words, "have the quota of records per hosted zone raised, or remove records")
    return ok(ZONE, words)


def _count_and_limit(answer: Any) -> tuple[int, int]:
    return int(answer["Count"]), int(answer["Limit"]["Value"])


def zones_of(objects: Iterable[JsonObject]) -> Iterator[ZoneUse]:
    """The hosted zones and roles that DistributionTenants and APIGatewayDomains name. Accepts any content."""
    for obj in objects:
        zone, role = dig(obj, "spec", "dns", "hostedZoneId"), dig(obj, "spec", "dns", "assumeRoleArn")
        domain_zone = dig(obj, "spec", "dnsConfig", "hostedZoneId") or dig(obj, "status", "hostedZoneId")
        if isinstance(zone, str) and zone:
            yield ZoneUse(zone, role if isinstance(role, str) else "")
        if isinstance(domain_zone, str) and domain_zone:
            yield ZoneUse(domain_zone)
