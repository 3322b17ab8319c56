"""Service tokens: created, refreshed before they expire, rotated with a period in which both secrets are valid.

A secret is returned only once, when it is created. Creating a token is not idempotent, so callers look for its name first;
if the secret of an existing token was lost, they rotate it instead of creating another.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime

from edgekeeper.cloud.cloudflare import operations
from edgekeeper.cloud.cloudflare.client import CloudflareCall, CloudflareClient
from edgekeeper.cloud.cloudflare.echo import Echo
from edgekeeper.cloud.cloudflare.models import Issued, IssuedToken, SecretText, ServiceToken
from edgekeeper.cloud.cloudflare.operations import Endpoint
from edgekeeper.core.clock import timestamp
from edgekeeper.core.errors import Conflict
from edgekeeper.core.json import JsonObject

_PER_PAGE = 1_000


class ServiceTokens:
    """The service tokens of one account."""

    def __init__(self, client: CloudflareClient, account_id: str) -> None:
        self.written: Echo[ServiceToken] = Echo()
        self._client = client
        self._account = account_id

    async def pages(self) -> AsyncIterator[Mapping[str, ServiceToken]]:
        """All tokens by id, page by page."""
        call = CloudflareCall(operations.LIST_SERVICE_TOKENS, {"account": self._account})
        async for page in self._client.pages(call, ServiceToken, _PER_PAGE):
            yield {token.id: token for token in page}

    async def find(self, name: str) -> list[ServiceToken]:
        """The tokens of a name. There may be several: names are not known to be unique."""
        call = CloudflareCall(operations.LIST_SERVICE_TOKENS, {"account": self._account}, {"name": name})
        pages = self._client.pages(call, ServiceToken, _PER_PAGE)
        return [token async for page in pages for token in page if token.name == name]

    async def get(self, token_id: str) -> ServiceToken | None:
        """The token, or None if it does not exist."""
        return await self._client.find(self._call_to(operations.GET_SERVICE_TOKEN, token_id), ServiceToken)

    async def create(self, name: str, duration: str) -> IssuedToken:
        """Create a token. Not idempotent: look for a token of that name first."""
        body = {"name": name, "duration": duration}
        call = CloudflareCall(operations.CREATE_SERVICE_TOKEN, {"account": self._account}, body=body)
        token = await self._client.call(call, Issued)
        self.written.put(token.id, token.without_secret())
        return _issued(token)

    async def update(self, token_id: str, name: str, duration: str) -> ServiceToken:
        """Change name and duration. When the token expires is changed by `refresh`. Raise Conflict where it is gone."""
        body = {"name": name, "duration": duration, "enabled": True}
        token = await self._client.find(
            self._call_to(operations.PUT_SERVICE_TOKEN, token_id, body), ServiceToken
        )
        if token is None:
            raise self._gone(token_id)
        return self.written.put(token_id, token)

    async def refresh(self, token_id: str) -> ServiceToken:
        """Extend the lifetime of a token by its duration, with the same secret. Raise Conflict if it does not exist."""
        call = self._call_to(operations.REFRESH_SERVICE_TOKEN, token_id)
        token = await self._client.find(call, ServiceToken)
        if token is None:
            raise self._gone(token_id)
        return self.written.put(token_id, token)

    async def rotate(self, token_id: str, *, old_until: datetime) -> IssuedToken:
        """Create a new secret. The old one is valid until `old_until`. Raise Conflict if the token does not exist."""
        body = {"previous_client_secret_expires_at": timestamp(old_until)}
        call = self._call_to(operations.ROTATE_SERVICE_TOKEN, token_id, body)
        token = await self._client.find(call, Issued)
        if token is None:
            raise self._gone(token_id)
        return _issued(token)

    async def delete(self, token_id: str) -> None:
        """Delete the token, if it exists."""
        await self._client.find(self._call_to(operations.DELETE_SERVICE_TOKEN, token_id), dict)
        self.written.remove(token_id)

    def _gone(self, token_id: str) -> Conflict:
        self.written.remove(token_id)
        return Conflict(f"the service token {token_id} no longer exists")

    def _call_to(self, endpoint: Endpoint, token_id: str, body: JsonObject | None = None) -> CloudflareCall:
        return CloudflareCall(endpoint, {"account": self._account, "token": token_id}, body=body)


def _issued(token: Issued) -> IssuedToken:
    return IssuedToken(
        token.id, token.client_id, SecretText(token.client_secret), token.name, token.expires_at
    )
