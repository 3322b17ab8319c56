"""What users write into the spec of a DistributionTenant: every field, good values and bad ones, and none at all."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from edgekeeper.core.json import JsonObject

DOMAINS = (
    "shop.example.com",
    "www.example.com",
    "new.example.com",
    "api.example.com",
    "example.com",
    "*.example.com",
)
FLAWED_DOMAINS = ("deep.shop.example.com", "shop.example.org", "not a domain", "SHOP.Example.Com")
DNS: JsonObject = {"provider": "route53", "hostedZoneId": "$zone:main"}


class Values(NamedTuple):
    """What a field may be set to."""

    good: tuple[Any, ...]
    bad: tuple[Any, ...] = ()


def _request(host: str, primary: str, **more: str) -> JsonObject:
    return {"validationTokenHost": host, "primaryDomainName": primary, **more}


_ACL = "arn:aws:wafv2:us-east-1:111122223333:global/webacl/{}/12345678-1234-1234-1234-123456789012"

FIELDS: Mapping[str, Values] = {
    "distributionId": Values(
        ("$distribution:main", "$distribution:main"), ("$distribution:second", "$distribution:none")
    ),
    "enabled": Values((True, False)),
    "connectionGroupId": Values(("$group:fast",), ("$group:none",)),
    "parameters": Values(
        (
            [{"name": "colour", "value": "red"}],
            [{"name": "colour", "value": "blue"}],
            [],
        ),
        ([{"name": "origin", "value": "a"}], [{"name": "colour", "value": "red"}] * 2),
    ),
    "customizations.webAcl": Values(
        (
            {"action": "disable"},
            {"action": "override", "arn": _ACL.format("one")},
            {"action": "override", "arn": _ACL.format("two")},
        ),
        ({"action": "override"},),
    ),
    "customizations.certificate": Values(
        ({"arn": "$certificate:wide"},), ({"arn": "$certificate:narrow"}, {"arn": "$certificate:none"})
    ),
    "customizations.geoRestrictions": Values(
        (
            {"restrictionType": "whitelist", "locations": ["DE", "AT"]},
            {"restrictionType": "blacklist", "locations": ["FR"]},
            {"restrictionType": "none", "locations": []},
        ),
        (
            {"restrictionType": "whitelist", "locations": []},
            {"restrictionType": "blacklist", "locations": ["XX"]},
        ),
    ),
    "managedCertificateRequest": Values(
        (
            _request("cloudfront", "$primary"),
            _request("self-hosted", "$primary"),
            _request("cloudfront", "$primary", certificateTransparencyLoggingPreference="disabled"),
        ),
        (_request("cloudfront", "none.example.com"),),
    ),
    "tags": Values(
        (
            [{"key": "team", "value": "red"}],
            [{"key": "team", "value": "blue"}, {"key": "cost", "value": "1"}],
            [],
        ),
        ([{"key": "aws:team", "value": "red"}], [{"key": "team", "value": "a"}] * 2),
    ),
    "dns": Values(
        (
            DNS,
            {**DNS, "ttl": 60, "assumeRoleArn": None},
            {**DNS, "hostedZoneId": "$zone:second", "assumeRoleArn": None},
            {**DNS, "hostedZoneId": "$zone:theirs", "assumeRoleArn": "$role:dns"},
        ),
        (
            {**DNS, "hostedZoneId": "$zone:none", "assumeRoleArn": None},
            {**DNS, "hostedZoneId": "$zone:theirs", "assumeRoleArn": "$role:none"},
        ),
    ),
    "dns.ttl": Values((60, 300, 900), (1,)),
    "dns.hostedZoneId": Values(("$zone:main", "$zone:second")),
    "dns.assumeRoleArn": Values(("$role:dns",), ("nonsense",)),
}
"""By path. `$primary` is the first domain of the object that it is written into."""

_WEIGHTS = {
    "dns": 5,
    "dns.ttl": 2,
    "enabled": 3,
    "managedCertificateRequest": 3,
    "tags": 2,
    "connectionGroupId": 2,
}
_FLAWED, _UNSET = 0.12, 0.22


def draw_domains(random: Random, most: int = 3) -> list[str]:
    """One domain or more, from a few that everybody wants."""
    domains = random.sample(DOMAINS, random.choices(range(1, most + 1), [6, 3, 1][:most])[0])
    if random.random() < 0.05:
        domains.append(random.choice(FLAWED_DOMAINS))
    return domains


def draw_spec(random: Random) -> JsonObject:
    """A new spec: most have DNS, and a field or two beside it."""
    spec: JsonObject = {"distributionId": "$distribution:main", "domains": named(draw_domains(random))}
    if random.random() < 0.75:
        spec["dns"] = dict(DNS)
    for _ in range(random.choice([0, 0, 1, 1, 2])):
        path, value = draw_field(random)
        if value is not None and "." not in path:
            spec[path] = value
    return spec


def draw_field(random: Random) -> tuple[str, Any]:
    """A path, and a value for it; None where it is to be unset."""
    path = random.choices(list(FIELDS), [_WEIGHTS.get(path, 1) for path in FIELDS])[0]
    values = FIELDS[path]
    if random.random() < _UNSET and path != "distributionId":
        return path, None
    pool = values.bad if values.bad and random.random() < _FLAWED else values.good
    return path, random.choice(pool)


def patch_of(path: str, value: Any) -> JsonObject:
    """A merge patch of a spec that sets one path."""
    *outer, last = path.split(".")
    patch: JsonObject = {last: value}
    for name in reversed(outer):
        patch = {name: patch}
    return patch


def named(domains: list[str]) -> list[JsonObject]:
    return [{"domain": domain} for domain in domains]
