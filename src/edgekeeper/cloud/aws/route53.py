"""Route 53: the zones of an account, their records page by page, and changes written in batches.

What goes into a batch is decided in `changes`; who may write, and when, in `zone`. A batch is accepted before it has
reached all name servers (`INSYNC`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from edgekeeper.cloud.aws import operations as op
from edgekeeper.cloud.aws.access import AwsCall, AwsCaller
from edgekeeper.cloud.aws.dns.changes import Change, build_batch, tokens
from edgekeeper.cloud.aws.dns.records import Record, RecordKey, normalise_name, parse_record
from edgekeeper.core.json import JsonObject

PENDING: Final = "PENDING"
INSYNC: Final = "INSYNC"
RECORDS_PER_PAGE: Final = 300
"""The largest page of Route 53."""
COMMENT: Final = "Managed by edgekeeper"
"""On every batch of ours, as GetChange and CloudTrail show it."""

_RECORD_TOKENS: Final = {
    "NextRecordName": "StartRecordName",
    "NextRecordType": "StartRecordType",
    "NextRecordIdentifier": "StartRecordIdentifier",
}
_ZONE_TOKENS: Final = {"NextMarker": "Marker"}


@dataclass(frozen=True, slots=True)
class HostedZone:
    """A hosted zone."""

    id: str
    name: str
    private: bool
    record_count: int


@dataclass(frozen=True, slots=True)
class ChangeReceipt:
    """A batch that was accepted, and its state."""

    id: str
    status: str
    submitted: datetime

    @property
    def in_sync(self) -> bool:
        return self.status == INSYNC


class Route53:
    """The zones that one role may use."""

    def __init__(self, caller: AwsCaller) -> None:
        self._aws = caller

    async def zones(self) -> AsyncIterator[dict[str, HostedZone]]:
        """All zones by id, page by page."""
        async for page in self._aws.pages(
            AwsCall(op.LIST_ZONES, "", {"MaxItems": "100"}, _parse_zones), _ZONE_TOKENS
        ):
            yield page

    async def find_zone(self, zone_id: str) -> HostedZone | None:
        ask = AwsCall(op.GET_ZONE, zone_id, {"Id": zone_id}, lambda answer: _parse_zone(answer["HostedZone"]))
        return await self._aws.find(ask, "NoSuchHostedZone")

    async def records(self, zone_id: str) -> AsyncIterator[dict[RecordKey, Record]]:
        """All records of a zone, page by page."""
        request = {"HostedZoneId": zone_id, "MaxItems": str(RECORDS_PER_PAGE)}
        ask = AwsCall(op.LIST_RECORDS, zone_id, request, _parse_records)
        async for page in self._aws.pages(ask, _RECORD_TOKENS):
            yield page

    async def find_record(self, zone_id: str, key: RecordKey) -> Record | None:
        """One record, live. The listing starts with it where it is there."""
        request = {
            "HostedZoneId": zone_id,
            "StartRecordName": key.name,
            "StartRecordType": key.type,
            "MaxItems": "1",
        }
        if key.set_identifier:
            request["StartRecordIdentifier"] = key.set_identifier
        records = await self._aws.read(
            AwsCall(op.LIST_RECORDS, f"{zone_id} {key.name}", request, _parse_records)
        )
        return records.get(key)

    async def change(self, zone_id: str, changes: Sequence[Change]) -> ChangeReceipt:
        """Write a batch, whole or not at all. Not idempotent: after no answer, look at the zone first."""
        request = {"HostedZoneId": zone_id, "ChangeBatch": build_batch(changes, COMMENT)}
        return await self._aws.call(
            AwsCall(op.CHANGE_RECORDS, zone_id, request, _parse_receipt, cost=tokens(changes))
        )

    async def find_change(self, change_id: str) -> ChangeReceipt | None:
        """The state of a batch. None where Route 53 does not know it any more."""
        ask = AwsCall(op.GET_CHANGE, change_id, {"Id": change_id}, _parse_receipt)
        return await self._aws.find(ask, "NoSuchChange")


def _parse_zones(answer: JsonObject) -> dict[str, HostedZone]:
    _confirm_listing(answer)
    zones = map(_parse_zone, answer["HostedZones"])
    return {zone.id: zone for zone in zones}


def _parse_zone(shape: JsonObject) -> HostedZone:
    return HostedZone(
        id=bare_id(shape["Id"]),
        name=normalise_name(shape["Name"]),
        private=bool((shape.get("Config") or {}).get("PrivateZone")),
        record_count=shape.get("ResourceRecordSetCount") or 0,
    )


def _parse_records(answer: JsonObject) -> dict[RecordKey, Record]:
    _confirm_listing(answer)
    records = map(parse_record, answer["ResourceRecordSets"])
    return {record.key: record for record in records}


def _confirm_listing(answer: JsonObject) -> None:
    """Every listing says whether it is truncated. An answer that does not is no listing, let alone an empty one."""
    if answer["IsTruncated"] and not (answer.get("NextMarker") or answer.get("NextRecordName")):
        raise ValueError("the listing goes on, but does not say where")


def _parse_receipt(answer: JsonObject) -> ChangeReceipt:
    shape = answer["ChangeInfo"]
    return ChangeReceipt(bare_id(shape["Id"]), shape["Status"], shape["SubmittedAt"])


def bare_id(path: str) -> str:
    """`Z1` of `/hostedzone/Z1`."""
    return path.rpartition("/")[2]
