"""The zones that a token may see, for finding the one that a hostname belongs to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from edgekeeper.cloud.cloudflare import operations
from edgekeeper.cloud.cloudflare.client import CloudflareCall, CloudflareClient
from edgekeeper.cloud.cloudflare.models import Zone

_PER_PAGE = 50
"""The largest page size of this listing."""


class Zones:
    """The zones of one account."""

    def __init__(self, client: CloudflareClient, account_id: str) -> None:
        self._client = client
        self._account = account_id

    async def pages(self) -> AsyncIterator[Mapping[str, Zone]]:
        """All zones by id, page by page."""
        call = CloudflareCall(operations.LIST_ZONES, {}, {"account.id": self._account})
        async for page in self._client.pages(call, Zone, _PER_PAGE):
            yield {zone.id: zone for zone in page}
