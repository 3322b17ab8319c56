"""Roles, zones, distributions and connection groups that a namespace has no business with, or that are none at all.

A claim names a field, what a spec says there, and what may not travel to AWS because of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from edgekeeper.core.json import JsonObject
from tests.tenants.estate import DISTRIBUTION, NEIGHBOUR

OWN_ROLE = f"arn:aws:iam::{NEIGHBOUR}:role/dns"
"""The one role that administrators allow."""
ADMIN_ROLE = f"arn:aws:iam::{NEIGHBOUR}:role/admin"
ADMIN_DISTRIBUTION = "E2ADMINADMINAD"
_ACCOUNT = "111122223333"


class Claim(NamedTuple):
    """Something of somebody else's, in a spec."""

    path: str
    value: str

    def spec(self, zone: str) -> JsonObject:
        """The fields of a spec with which it is claimed, where everything else is in order."""
        dns: JsonObject = {"provider": "route53", "hostedZoneId": zone}
        match self.path:
            case "spec.dns.assumeRoleArn":
                return {"dns": {**dns, "assumeRoleArn": self.value}}
            case "spec.dns.hostedZoneId":
                return {"dns": {**dns, "hostedZoneId": self.value}}
        return {"dns": dns, self.path.removeprefix("spec."): self.value}


def foreign(zone: str, group: str) -> Iterator[Claim]:
    """What is there, and another's: only a guard, or AWS, can know."""
    for role in (
        ADMIN_ROLE,
        f"arn:aws:iam::{_ACCOUNT}:role/edgekeeper",
        f"arn:aws:iam::{_ACCOUNT}:role/dns",
        f"{OWN_ROLE}/",
        f"{OWN_ROLE}-2",
        OWN_ROLE.replace("role/dns", "role/DNS"),
        OWN_ROLE.replace("role/", "role/../"),
        OWN_ROLE.replace("arn:aws:", "arn:aws-cn:"),
        OWN_ROLE.replace("arn:aws:", "arn:aws-us-gov:"),
    ):
        yield Claim("spec.dns.assumeRoleArn", role)
    yield from (Claim("spec.dns.hostedZoneId", one) for one in (zone, f"/hostedzone/{zone}", "Z1"))
    yield from (Claim("spec.distributionId", one) for one in (ADMIN_DISTRIBUTION, "E0", DISTRIBUTION[:-1]))
    yield from (Claim("spec.connectionGroupId", one) for one in (group, "cg_of-another-account", "admin"))


def malformed(zone: str, group: str) -> Iterator[Claim]:
    """What is no role, zone, distribution or group, however generously it is read."""
    for role in (
        OWN_ROLE.replace("arn:aws:", "arn:aws-evil:"),
        OWN_ROLE.replace("arn:aws:", "arn:*:"),
        OWN_ROLE.replace("arn:aws:", "arn:AWS:"),
        OWN_ROLE.replace("arn:aws:", "arn::"),
        OWN_ROLE.replace(NEIGHBOUR, "*"),
        OWN_ROLE.replace(NEIGHBOUR, NEIGHBOUR[:-1]),
        OWN_ROLE.replace(NEIGHBOUR, f"{NEIGHBOUR}0"),
        OWN_ROLE.replace(NEIGHBOUR, "".join(chr(0x0660 + int(digit)) for digit in NEIGHBOUR)),
        OWN_ROLE.replace("role/dns", "role/*"),
        OWN_ROLE.replace("role/dns", "role/"),
        OWN_ROLE.replace("role/dns", "role/dns?"),
        OWN_ROLE.replace("role/dns", "user/dns"),
        OWN_ROLE.replace(":iam:", ":sts:").replace("role/", "assumed-role/"),
        OWN_ROLE.replace("dns", "d\u043ds"),
        *around(OWN_ROLE),
    ):
        yield Claim("spec.dns.assumeRoleArn", role)
    zones = (
        zone.lower(),
        f"{zone}/../Z1",
        "../Z1",
        "Z*",
        "*",
        "",
        f"{zone}?x=1",
        f"{zone}%2F",
        "hostedzone/Z1",
    )
    yield from (Claim("spec.dns.hostedZoneId", one) for one in (*zones, *around(zone)))
    distributions = (
        f"arn:aws:cloudfront::{_ACCOUNT}:distribution/{DISTRIBUTION}",
        "*",
        "E*",
        f"../{DISTRIBUTION}",
    )
    yield from (Claim("spec.distributionId", one) for one in (*distributions, *around(DISTRIBUTION)))
    groups = (f"arn:aws:cloudfront::{_ACCOUNT}:connection-group/{group}", "*", "cg_*", f"{group}/../cg_1")
    yield from (Claim("spec.connectionGroupId", one) for one in (*groups, *around(group)))


def around(value: str) -> Iterator[str]:
    """Something that is allowed, and a little more."""
    for form in (
        "{} ",
        " {}",
        "{}\n",
        "\n{}",
        "{}\r\nHost: evil",
        "{}\x00",
        "{}\u200b",
        "{0},{0}",
        "{}\u2028",
    ):
        yield form.format(value)


def mentioned(value: str, params: Any) -> bool:
    """Does a call name it anywhere? Ids are looked for without what stands around them."""
    if isinstance(params, dict):
        return any(mentioned(value, one) for one in params.values())
    if isinstance(params, list | tuple):
        return any(mentioned(value, one) for one in params)
    return isinstance(params, str) and params.removeprefix("/hostedzone/") == value.removeprefix(
        "/hostedzone/"
    )
