"""STS: who am I, and may I be somebody else for an hour."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kubesim.aws.call import Call, Result
from kubesim.aws.errors import AwsError
from kubesim.aws.identity import Role

_CHAINED = timedelta(hours=1)
"""The longest session of a role that is assumed from within another role."""


def get_caller_identity(call: Call) -> Result:
    principal = call.principal
    return {"UserId": principal.user_id, "Account": principal.account, "Arn": principal.arn}


def assume_role(call: Call) -> Result:
    """A role that does not exist, does not trust the caller, or waits for another external id, is simply denied."""
    params, caller = call.params, call.principal
    arn = params["RoleArn"]
    role = call.world.identities.roles.get(arn)
    external = role is None or role.external_id in (None, params.get("ExternalId"))
    if role is None or not role.trusts(caller) or not external:
        raise AwsError(
            "AccessDenied",
            f"User: {caller.arn} is not authorized to perform: sts:AssumeRole on resource: {arn}",
        )
    duration = _duration(role, params.get("DurationSeconds", 3600))
    if caller.expires is not None and duration > _CHAINED:
        raise AwsError(
            "ValidationError",
            "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining",
        )
    return _session(call, role, duration)


def assume_role_with_web_identity(call: Call) -> Result:
    params = call.params
    role = call.world.identities.roles.get(params["RoleArn"])
    if role is None or not role.web_identity:
        raise AwsError("AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity")
    if params["WebIdentityToken"].startswith("expired"):
        raise AwsError(
            "ExpiredTokenException", "Token expired: current date/time must be before the expiration date"
        )
    session = _session(call, role, _duration(role, params.get("DurationSeconds", 3600)))
    return session | {
        "SubjectFromWebIdentityToken": params["RoleSessionName"],
        "Audience": "sts.amazonaws.com",
    }


def _duration(role: Role, seconds: int) -> timedelta:
    duration = timedelta(seconds=seconds)
    if duration > role.longest_session:
        raise AwsError(
            "ValidationError",
            "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.",
        )
    return duration


def _session(call: Call, role: Role, duration: timedelta) -> dict[str, Any]:
    identities, name = call.world.identities, call.params["RoleSessionName"]
    credentials, principal = identities.open_session(role, name, duration)
    return {
        "Credentials": {
            "AccessKeyId": credentials.access_key,
            "SecretAccessKey": credentials.secret_key,
            "SessionToken": credentials.session_token,
            "Expiration": principal.expires,
        },
        "AssumedRoleUser": {"AssumedRoleId": principal.user_id, "Arn": principal.arn},
    }
