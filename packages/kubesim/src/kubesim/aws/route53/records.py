"""Record sets as values, and what has to be true of each alone."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubesim.aws.errors import AwsError
from kubesim.aws.route53.names import normal

CLOUDFRONT_ZONE = "Z2FDTNDATAQYW2"
"""The hosted zone of every alias to CloudFront."""

_ROUTING = (
    "Weight",
    "Region",
    "GeoLocation",
    "Failover",
    "MultiValueAnswer",
    "CidrRoutingConfig",
    "GeoProximityLocation",
)
_NAMES = ("CNAME", "NS", "PTR")

Key = tuple[str, str, str]
"""Name, type and set identifier."""


@dataclass(frozen=True)
class Alias:
    """Another name that answers in this one's stead."""

    zone: str
    name: str
    evaluate_health: bool = False


@dataclass(frozen=True)
class Record:
    """A resource record set."""

    name: str
    type: str
    ttl: int | None = None
    values: tuple[str, ...] = ()
    alias: Alias | None = None
    identifier: str = ""
    routing: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return self.name, self.type, self.identifier

    def same_as(self, other: Record) -> bool:
        """Whether a delete that names `other` means this one. The order of values does not matter."""
        return (
            self.ttl == other.ttl
            and sorted(map(self._plain, self.values)) == sorted(map(self._plain, other.values))
            and self.alias == other.alias
            and self.routing == other.routing
        )

    def _plain(self, value: str) -> str:
        return normal(value) if self.type in _NAMES else value


def parse(shape: Mapping[str, Any]) -> Record:
    """A record set out of a request. Raise AwsError for what makes no sense whatever the zone holds."""
    alias = shape.get("AliasTarget")
    values = tuple(item["Value"] for item in shape.get("ResourceRecords") or ())
    found = [name for name, value in (("AliasTarget", alias), ("ResourceRecords", values)) if value]
    if len(found) != 1 or (values and "TTL" not in shape) or (alias and "TTL" in shape):
        raise AwsError(
            "InvalidInput",
            "Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and ResourceRecords], or "
            f"TrafficPolicyInstanceId], but found {', '.join(found) or 'none'} in Change with "
            f"[Name={shape['Name']}, Type={shape['Type']}]",
        )
    return Record(
        name=normal(shape["Name"]),
        type=shape["Type"],
        ttl=shape.get("TTL"),
        values=values,
        alias=Alias(alias["HostedZoneId"], normal(alias["DNSName"]), alias["EvaluateTargetHealth"])
        if alias
        else None,
        identifier=shape.get("SetIdentifier", ""),
        routing={key: shape[key] for key in _ROUTING if key in shape},
    )


def problem(record: Record) -> str | None:
    """What is wrong with a record's values, as Route 53 puts it."""
    if record.type == "CNAME" and len(record.values) > 1:
        return (
            f"FATAL problem: MultipleCNAMERecords (Multiple CNAME records) encountered with '{record.name}'"
        )
    return next(filter(None, (_value_problem(record.type, value) for value in record.values)), None)


def _value_problem(type_: str, value: str) -> str | None:
    if type_ == "A" and not _is_address(value, 4):
        return f"FATAL problem: ARRDATAIllegalIPv4Address (Value is not a valid IPv4 address) encountered with '{value}'"
    if type_ == "AAAA" and not _is_address(value, 6):
        return f"FATAL problem: AAAARRDATAIllegalIPv6Address (Value is not a valid IPv6 address) encountered with '{value}'"
    if type_ == "TXT" and not (len(value) >= 2 and value[0] == value[-1] == '"'):
        return (
            "FATAL problem: InvalidCharacterString (Value should be enclosed in quotation marks) "
            f"encountered with '{value}'"
        )
    if type_ in _NAMES and (not value or " " in value):
        return f"FATAL problem: DomainLabelEmpty (Domain label is empty) encountered with '{value}'"
    return None


def _is_address(value: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(value).version == version
    except ValueError:
        return False
