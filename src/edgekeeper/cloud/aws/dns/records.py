"""DNS records in Route 53's form, and when two of them are equivalent.

    records_for("shop.example.com", zone="example.com", target="d111.cloudfront.net")      CNAME
    records_for("example.com", zone="example.com", target="d111.cloudfront.net")           A and AAAA, as aliases

Route 53 writes names with a final dot, in lower case, and every character but letters, digits, `-`, `_` and `.` as an
octal escape: `\\052.example.com.` is the wildcard of example.com. Here a name has one spelling, `*.example.com`. Only the
values of a record are kept as they were listed, because a deletion must repeat them exactly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from edgekeeper.core.json import JsonObject

CLOUDFRONT_ALIAS_ZONE: Final = "Z2FDTNDATAQYW2"
"""The hosted zone of all CloudFront endpoints, for aliases."""
DEFAULT_TTL: Final = 300

_ESCAPE = re.compile(r"\\([0-7]{3})")
_PLAIN_FIELDS = frozenset({"Name", "Type", "TTL", "ResourceRecords", "AliasTarget"})
_NAMES_AS_VALUES = frozenset({"CNAME", "NS", "PTR"})


class RecordKey(NamedTuple):
    """The identity of a record set within its zone."""

    name: str
    type: str
    set_identifier: str = ""


@dataclass(frozen=True, slots=True)
class AliasTarget:
    """The target of an alias, Route 53's replacement for a CNAME at the apex of a zone."""

    zone_id: str
    name: str
    evaluate_health: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """A record set: every value of one type at one name."""

    name: str
    type: str
    ttl: int | None = None
    values: tuple[str, ...] = ()
    alias: AliasTarget | None = None
    set_identifier: str = ""
    is_plain: bool = True
    """False if the record has a routing policy, a health check, or any other setting that we never write."""

    @property
    def key(self) -> RecordKey:
        return RecordKey(self.name, self.type, self.set_identifier)

    @property
    def target(self) -> tuple[str, ...]:
        """The normalised target, for comparing records."""
        if self.alias is not None:
            return (self.alias.zone_id, normalise_name(self.alias.name))
        if self.type in _NAMES_AS_VALUES:
            return tuple(sorted(normalise_name(value) for value in self.values))
        return tuple(sorted(self.values))

    def has_same_target(self, other: Record) -> bool:
        """Whether it points where `other` does. The TTL does not count."""
        return (
            self.key == other.key
            and (self.alias is None) == (other.alias is None)
            and self.target == other.target
        )

    def has_same_content(self, other: Record) -> bool:
        """Whether writing `other` would change nothing."""
        return self.is_plain and self.has_same_target(other) and self.ttl == other.ttl


def normalise_name(name: str) -> str:
    """The one spelling of a domain name: lower case, no final dot, escapes of visible characters resolved."""
    return _ESCAPE.sub(_unescaped, name.lower().lstrip().rstrip(". \t\r\n"))


def _unescaped(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 8))
    return (
        character
        if character.isascii() and character.isprintable() and character not in ". \\"
        else escape[0]
    )


def is_within(name: str, zone: str) -> bool:
    """Is a name the zone's own or below it?"""
    name, zone = normalise_name(name), normalise_name(zone)
    return name == zone or name.endswith(f".{zone}")


def records_for(
    domain: str, *, zone: str, target: str, ttl: int = DEFAULT_TTL, alias_zone: str = CLOUDFRONT_ALIAS_ZONE
) -> tuple[Record, ...]:
    """The records that point a domain to a target: a CNAME, or at the apex, where DNS allows none, A and AAAA aliases."""
    name = normalise_name(domain)
    if name != normalise_name(zone):
        return (Record(name, "CNAME", ttl, (normalise_name(target),)),)
    alias = AliasTarget(alias_zone, normalise_name(target))
    return tuple(Record(name, kind, alias=alias) for kind in ("A", "AAAA"))


def parse_record(shape: Mapping[str, Any]) -> Record:
    """The record of a listed `ResourceRecordSet`."""
    alias = shape.get("AliasTarget")
    return Record(
        name=normalise_name(shape["Name"]),
        type=shape["Type"],
        ttl=shape.get("TTL"),
        values=tuple(record["Value"] for record in shape.get("ResourceRecords") or ()),
        alias=_parse_alias(alias) if alias else None,
        set_identifier=shape.get("SetIdentifier") or "",
        is_plain=_PLAIN_FIELDS.issuperset(shape),
    )


def _parse_alias(shape: Mapping[str, Any]) -> AliasTarget:
    return AliasTarget(
        shape["HostedZoneId"], normalise_name(shape["DNSName"]), bool(shape.get("EvaluateTargetHealth"))
    )


def build_record(record: Record) -> JsonObject:
    """The `ResourceRecordSet` of a record, for a change."""
    if not record.is_plain or record.set_identifier:
        raise ValueError(f"{record.type} {record.name} has settings that are never written here")
    shape: JsonObject = {"Name": f"{record.name}.", "Type": record.type}
    if record.alias is not None:
        shape["AliasTarget"] = {
            "HostedZoneId": record.alias.zone_id,
            "DNSName": f"{record.alias.name}.",
            "EvaluateTargetHealth": record.alias.evaluate_health,
        }
        return shape
    shape["TTL"] = DEFAULT_TTL if record.ttl is None else record.ttl
    shape["ResourceRecords"] = [{"Value": value} for value in record.values]
    return shape
