"""The DNS records of a zone: listed as a whole, changed in batches. Use `zone_writer` to write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from edgekeeper.cloud.cloudflare import operations
from edgekeeper.cloud.cloudflare.client import CloudflareCall, CloudflareClient
from edgekeeper.cloud.cloudflare.models import BatchResult, DnsRecord
from edgekeeper.cloud.cloudflare.record_plan import RecordPlan
from edgekeeper.core.json import JsonObject

_PER_PAGE = 5_000
"""Large enough to list most zones with one page."""


class Records:
    """The records of one zone."""

    def __init__(self, client: CloudflareClient, zone_id: str) -> None:
        self._client = client
        self._ids = {"zone": zone_id}

    async def pages(self) -> AsyncIterator[Mapping[str, DnsRecord]]:
        """All records by id, page by page."""
        call = CloudflareCall(operations.LIST_RECORDS, self._ids)
        async for page in self._client.pages(call, DnsRecord, _PER_PAGE):
            yield {record.id: record for record in page}

    async def all(self) -> dict[str, DnsRecord]:
        """All records by id."""
        return {id_: record async for page in self.pages() for id_, record in page.items()}

    async def change(self, plans: Sequence[RecordPlan]) -> BatchResult:
        """Perform plans in one call, atomically. Deletes of all plans come first."""
        body: dict[str, list[JsonObject]] = {
            "deletes": [{"id": record.id} for plan in plans for record in plan.deletes],
            "patches": [{"id": record.id, **fields} for plan in plans for record, fields in plan.patches],
            "posts": [fields for plan in plans for fields in plan.posts],
        }
        filled = {name: items for name, items in body.items() if items}
        return await self._client.call(
            CloudflareCall(operations.CHANGE_RECORDS, self._ids, body=filled), BatchResult
        )


def by_name(records: Mapping[str, DnsRecord]) -> Callable[[str], Sequence[DnsRecord]]:
    """A function that returns the records of a name."""
    index: dict[str, list[DnsRecord]] = {}
    for record in records.values():
        index.setdefault(record.name, []).append(record)
    return lambda name: index.get(name, ())
