"""Whether an API token works, and for how long: asked when an account is first used, and when its Secret changes."""

from __future__ import annotations

from edgekeeper.cloud.cloudflare import operations
from edgekeeper.cloud.cloudflare.client import CloudflareCall, CloudflareClient
from edgekeeper.cloud.cloudflare.errors import AUTH_FAILED
from edgekeeper.cloud.cloudflare.models import TokenStatus
from edgekeeper.core.errors import Stall


async def verify(client: CloudflareClient, account_id: str) -> TokenStatus:
    """What Cloudflare says about the token. Raise Stall where it does not work.

    Tokens belong to an account or to a user, and each kind has an address that knows nothing of the other.
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
