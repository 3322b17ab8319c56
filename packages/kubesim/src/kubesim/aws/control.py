"""The simulated cloud's controls over HTTP: everything that a scenario in another process may want to turn.

    POST /_control/advance        {"seconds": 120}
    POST /_control/fault          {"kind": "error", "code": "Throttling", "operation": "GetChange", "times": 3}
    POST /_control/distribution   {"name": "E1XNX8R2GOAABC", "covers": ["*.example.com"]}
    POST /_control/journal        {"operation": "CreateDistributionTenant"}

A command is a function of this module's table; its arguments are a JSON object, its result a JSON value. What Python
scenarios do with the cloud's objects directly, others do here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import timedelta
from typing import Any

import msgspec

from kubesim.aws.account import CLOUDFRONT_REGION, Account
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.aws.errors import AwsError
from kubesim.aws.faults import KINDS
from kubesim.aws.identity import Role
from kubesim.aws.request import Answer, Request
from kubesim.aws.route53.names import normal
from kubesim.aws.route53.records import Record
from kubesim.aws.settings import PUBLISHED, UNLIMITED, Rate

PREFIX = "/_control/"
_SHOWN_CALLS = 1000

Command = Callable[..., Any]


def handle(cloud: AwsCloud, request: Request) -> Answer:
    """Carry out one command."""
    command = COMMANDS.get(request.path.removeprefix(PREFIX))
    if command is None:
        return _answer(404, {"error": "no such command", "commands": sorted(COMMANDS)})
    try:
        arguments = msgspec.json.decode(request.body or b"{}", type=dict[str, Any])
        result = command(cloud, **arguments)
    except (TypeError, ValueError, KeyError, AwsError) as error:
        return _answer(400, {"error": f"{type(error).__name__}: {error}"})
    cloud.changed()
    return _answer(200, result)


def _answer(status: int, value: object) -> Answer:
    return Answer(status, {"content-type": "application/json"}, msgspec.json.encode(value))


# --- Time, limits, failures -----------------------------------------------------------------------------------------


def advance(cloud: AwsCloud, seconds: float) -> Any:
    """Let time pass in the cloud."""
    cloud.time.advance(timedelta(seconds=seconds))
    return {"now": cloud.time.now()}


def settings(
    cloud: AwsCloud,
    timings: Mapping[str, float] | None = None,
    quotas: Mapping[str, int] | None = None,
    behaviour: Mapping[str, Any] | None = None,
    rates: str | Mapping[str, Sequence[float]] | None = None,
) -> Any:
    """Change durations (in seconds), quotas, behaviour, and request limits (`published`, `unlimited`, or by lane)."""
    world = cloud.world
    for target, changes in ((world.timings, timings), (world.quotas, quotas), (world.behaviour, behaviour)):
        _set(target, changes or {})
    if isinstance(rates, str):
        cloud.throttle.rates = {"published": PUBLISHED, "unlimited": UNLIMITED}[rates]
    elif rates is not None:
        cloud.throttle.rates = {**cloud.throttle.rates, **{lane: Rate(*rate) for lane, rate in rates.items()}}
    shown = {
        "timings": asdict(world.timings),
        "quotas": asdict(world.quotas),
        "behaviour": asdict(world.behaviour),
    }
    return {name: {key: _seconds(value) for key, value in part.items()} for name, part in shown.items()}


def _set(target: Any, changes: Mapping[str, Any]) -> None:
    known = {each.name for each in fields(target)}
    for name, value in changes.items():
        if name not in known:
            raise ValueError(f"there is no setting {name}; there are {', '.join(sorted(known))}")
        is_duration = isinstance(getattr(target, name), timedelta)
        setattr(target, name, timedelta(seconds=value) if is_duration else value)


def _seconds(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else value


def fault(cloud: AwsCloud, kind: str, until: float | None = None, **details: Any) -> Any:
    """Plan a failure; `until` and `seconds` (of a delay) are seconds."""
    conditions = {"service", "operation", "account", "times", "skip", "probability"}
    arguments = {name: details.pop(name) for name in tuple(details) if name not in conditions}
    if "seconds" in arguments:
        arguments["interval"] = timedelta(seconds=arguments.pop("seconds"))
    lasting = None if until is None else timedelta(seconds=until)
    cloud.faults.add(KINDS[kind](**arguments), until=lasting, **details)
    return {"planned": len(cloud.faults.rules)}


def heal(cloud: AwsCloud) -> Any:
    """Plan no more failures, and deny nothing."""
    cloud.faults.clear()
    cloud.guard.denied.clear()
    return {}


def deny(cloud: AwsCloud, action: str) -> Any:
    """Deny an action to everybody, such as `route53:*`."""
    cloud.guard.denied.add(action)
    return {"denied": sorted(cloud.guard.denied)}


def journal(
    cloud: AwsCloud, operation: str | None = None, service: str | None = None, clear: bool = False
) -> Any:
    """The counts of all calls, and the latest ones in full."""
    calls = list(cloud.journal.calls(operation, service))[-_SHOWN_CALLS:]
    shown = {
        "counts": dict(cloud.journal.counts),
        "services": dict(cloud.journal.services),
        "codes": dict(cloud.journal.codes),
        "calls": msgspec.to_builtins(calls, str_keys=True),
    }
    if clear:
        cloud.journal.clear()
    return shown


# --- What is there --------------------------------------------------------------------------------------------------


def distribution(
    cloud: AwsCloud,
    account: str | None = None,
    parameters: Sequence[Mapping[str, Any]] = (),
    **details: Any,
) -> Any:
    """Make a distribution; details are those of `CloudFront.add_distribution`."""
    definitions = [ParameterDefinition(**each) for each in parameters]
    made = cloud.account(account).cloudfront.add_distribution(parameters=definitions, **details)
    return {"id": made.id, "arn": made.arn, "certificate": made.certificate}


def zone(cloud: AwsCloud, name: str, account: str | None = None, private: bool = False) -> Any:
    """Make a hosted zone."""
    return {"id": cloud.account(account).route53.add_zone(name, private=private).id}


def certificate(
    cloud: AwsCloud, names: Sequence[str], region: str = CLOUDFRONT_REGION, account: str | None = None
) -> Any:
    """Import an issued certificate."""
    return {"arn": cloud.account(account).certificates(region).add_issued(*names).arn}


def function(cloud: AwsCloud, name: str, region: str, account: str | None = None) -> Any:
    """Make a Lambda function."""
    return {"arn": cloud.account(account).functions(region).add(name).arn}


def api(cloud: AwsCloud, region: str, account: str | None = None, **details: Any) -> Any:
    """Make an API; details are those of `ApiGateway.add_api`."""
    return {"id": cloud.account(account).apigateway(region).add_api(**details)}


def user(
    cloud: AwsCloud, name: str = "operator", account: str | None = None, policies: Sequence[Any] = ()
) -> Any:
    """Make a user with an access key, and with IAM policy documents where it may not do everything."""
    return asdict(cloud.world.identities.add_user(name, account, policies))


def role(cloud: AwsCloud, arn: str, **details: Any) -> Any:
    """Make a role; details are those of `Role`."""
    trusted = tuple(details.pop("trusted", ("*",)))
    return {"arn": cloud.world.identities.add_role(Role(arn, trusted, **details)).arn}


# --- Drift, and the outside world -----------------------------------------------------------------------------------


def tenant(cloud: AwsCloud, identifier: str, account: str | None = None, **changes: Any) -> Any:
    """Edit a tenant behind everybody's back; without changes, delete it."""
    state = cloud.account(account).cloudfront
    if not changes:
        state.remove_tenant(identifier)
        return {}
    sequences = {name: tuple(value) if isinstance(value, list) else value for name, value in changes.items()}
    return {"etag": state.change_tenant(identifier, **sequences).etag}


def record(cloud: AwsCloud, zone: str, account: str | None = None, **details: Any) -> Any:
    """Write a record (name, type, ttl, values) behind everybody's back; without values, remove it."""
    state = cloud.account(account).route53
    found, name, kind = state.zone(zone), normal(details["name"]), details["type"]
    if details.get("values"):
        state.put_record(found, Record(name, kind, details.get("ttl", 300), tuple(details["values"])))
    else:
        state.remove_record(found, name, kind)
    return {}


def point(cloud: AwsCloud, name: str, target: str | None = None) -> Any:
    """Let a name outside of Route 53 point somewhere, or nowhere any more."""
    cloud.world.dns.publish(name, target)
    return {}


def serve_token(cloud: AwsCloud, domain: str) -> Any:
    """Let a domain's own web server answer with a managed certificate's token."""
    cloud.serve_token(domain)
    return {}


def end_certificate(cloud: AwsCloud, arn: str, status: str, reason: str | None = None) -> Any:
    """Issue a certificate at once, or let it end otherwise."""
    store = _owner(cloud, arn).certificates(arn.split(":")[3])
    if status == "ISSUED":
        store.approve(arn)
    else:
        store.fail(arn, status, reason)
    return {}


def _owner(cloud: AwsCloud, arn: str) -> Account:
    return cloud.account(arn.split(":")[4])


COMMANDS: Mapping[str, Command] = {
    "advance": advance,
    "api": api,
    "certificate": certificate,
    "deny": deny,
    "distribution": distribution,
    "end-certificate": end_certificate,
    "fault": fault,
    "function": function,
    "heal": heal,
    "journal": journal,
    "point": point,
    "record": record,
    "role": role,
    "serve-token": serve_token,
    "settings": settings,
    "tenant": tenant,
    "user": user,
    "zone": zone,
}
