"""Verifies API tokens: on the first use of an account, and when its Secret changes."""

from __future__ import annotations

from edgekeeper.cloud.cloudflare import operations
from edgekeeper.cloud.cloudflare.client import CloudflareCall, CloudflareClient
from edgekeeper.cloud.cloudflare.errors import AUTH_FAILED
from edgekeeper.cloud.cloudflare.models import TokenStatus
from edgekeeper.core.errors import Stall


async def verify(client: CloudflareClient, account_id: str) -> TokenStatus:
    """The status of the token. Raise Stall if it is not usable.

    Tokens belong to an account or to a user, each with its own endpoint, so both are tried.
    """
    try:
        status = await client.call(
            CloudflareCall(operations.VERIFY_ACCOUNT_TOKEN, {"account": account_id}), TokenStatus
        )
    except Stall:
        status = await client.call(CloudflareCall(operations.VERIFY_USER_TOKEN, {}), TokenStatus)
    if status.status != "active":
        raise Stall(AUTH_FAILED, f"the API token of {client.credential.name} is {status.status}")
    return status
