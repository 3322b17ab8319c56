"""The operations that list zones and records."""

from __future__ import annotations

from typing import Any

from kubesim.aws.call import Call, Result
from kubesim.aws.errors import AwsError
from kubesim.aws.route53.changes import bare
from kubesim.aws.route53.names import escaped, normal, order
from kubesim.aws.route53.records import Key, Record
from kubesim.aws.route53.state import Zone

MOST_RECORDS = 300
MOST_ZONES = 100


def list_records(call: Call) -> Result:
    params = call.params
    zone = call.account.route53.zone(bare(params["HostedZoneId"]))
    if "StartRecordType" in params and "StartRecordName" not in params:
        raise AwsError("InvalidInput", "The record type was specified without a record name.")
    size = _size(params.get("MaxItems"), MOST_RECORDS)
    start = _start(params)
    ordered = sorted((_order(key), record) for key, record in zone.records.all_seen())
    rest = [record for position, record in ordered if position >= start]
    following = rest[size] if len(rest) > size else None
    return {
        "ResourceRecordSets": [view(record) for record in rest[:size]],
        "IsTruncated": following is not None,
        "NextRecordName": escaped(following.name) if following else None,
        "NextRecordType": following.type if following else None,
        "NextRecordIdentifier": (following.identifier or None) if following else None,
        "MaxItems": str(size),
    }


def list_zones(call: Call) -> Result:
    params = call.params
    zones = sorted(call.account.route53.zones.values(), key=lambda zone: zone.id)
    if params.get("HostedZoneType") == "PrivateHostedZone":
        zones = [zone for zone in zones if zone.private]
    marker = params.get("Marker", "")
    size = _size(params.get("MaxItems"), MOST_ZONES)
    rest = [zone for zone in zones if zone.id >= marker]
    return {
        "HostedZones": [zone_view(zone) for zone in rest[:size]],
        "Marker": marker,
        "IsTruncated": len(rest) > size,
        "NextMarker": rest[size].id if len(rest) > size else None,
        "MaxItems": str(size),
    }


def list_zones_by_name(call: Call) -> Result:
    params = call.params
    start = (order(normal(params["DNSName"])) if "DNSName" in params else (), params.get("HostedZoneId", ""))
    size = _size(params.get("MaxItems"), MOST_ZONES)
    ordered = sorted(((order(zone.name), zone.id), zone) for zone in call.account.route53.zones.values())
    rest = [zone for position, zone in ordered if position >= start]
    following = rest[size] if len(rest) > size else None
    return {
        "HostedZones": [zone_view(zone) for zone in rest[:size]],
        "DNSName": params.get("DNSName"),
        "HostedZoneId": params.get("HostedZoneId"),
        "IsTruncated": following is not None,
        "NextDNSName": following.name if following else None,
        "NextHostedZoneId": following.id if following else None,
        "MaxItems": str(size),
    }


def view(record: Record) -> dict[str, Any]:
    alias = record.alias
    return {
        "Name": escaped(record.name),
        "Type": record.type,
        "SetIdentifier": record.identifier or None,
        "TTL": record.ttl,
        "ResourceRecords": [{"Value": value} for value in record.values],
        "AliasTarget": alias
        and {
            "HostedZoneId": alias.zone,
            "DNSName": escaped(alias.name),
            "EvaluateTargetHealth": alias.evaluate_health,
        },
        **record.routing,
    }


def zone_view(zone: Zone) -> dict[str, Any]:
    return {
        "Id": f"/hostedzone/{zone.id}",
        "Name": escaped(zone.name),
        "CallerReference": zone.caller_reference,
        "Config": {"Comment": zone.comment, "PrivateZone": zone.private},
        "ResourceRecordSetCount": len(zone.records),
    }


def _order(key: Key) -> tuple[tuple[str, ...], str, str]:
    name, type_, identifier = key
    return order(name), type_, identifier


def _start(params: Any) -> tuple[tuple[str, ...], str, str]:
    if "StartRecordName" not in params:
        return (), "", ""
    name = normal(params["StartRecordName"])
    return order(name), params.get("StartRecordType", ""), params.get("StartRecordIdentifier", "")


def _size(text: str | None, most: int) -> int:
    if text is None:
        return most
    if not text.isdigit() or int(text) < 1:
        raise AwsError("InvalidInput", f"The value {text} for maxitems is not valid.")
    return min(int(text), most)
