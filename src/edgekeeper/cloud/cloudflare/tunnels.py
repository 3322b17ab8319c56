"""Tunnels and their configurations. Use `tunnel_writer` to write."""

from __future__ import annotations

from edgekeeper.cloud.cloudflare import operations
from edgekeeper.cloud.cloudflare.client import CloudflareCall, CloudflareClient
from edgekeeper.cloud.cloudflare.models import Tunnel, TunnelConfiguration
from edgekeeper.core.errors import Retry
from edgekeeper.core.json import JsonObject, dig_list

_PER_PAGE = 1_000


class Tunnels:
    """The tunnels of one account."""

    def __init__(self, client: CloudflareClient, account_id: str) -> None:
        self._client = client
        self._account = account_id
        self._written: dict[str, tuple[int, frozenset[str]]] = {}
        """The version that we wrote last of each tunnel's configuration, and the hostnames in it."""

    async def get(self, tunnel_id: str) -> Tunnel | None:
        """The tunnel; None if it does not exist or was deleted."""
        call = CloudflareCall(operations.GET_TUNNEL, self._ids(tunnel_id))
        tunnel = await self._client.find(call, Tunnel)
        return tunnel if tunnel is not None and tunnel.deleted_at is None else None

    async def all(self) -> list[Tunnel]:
        """All tunnels that were not deleted."""
        call = CloudflareCall(operations.LIST_TUNNELS, {"account": self._account}, {"is_deleted": "false"})
        return [tunnel async for page in self._client.pages(call, Tunnel, _PER_PAGE) for tunnel in page]

    async def configuration(self, tunnel_id: str) -> TunnelConfiguration:
        """The current configuration. Raise Stall if the tunnel does not exist.

        Raise Retry if the answer cannot be true: it has the version of our last write, but other hostnames. A change
        merged into such an answer would delete the rules that it does not show.
        """
        call = CloudflareCall(operations.GET_CONFIGURATION, self._ids(tunnel_id))
        found = await self._client.call(call, TunnelConfiguration)
        written = self._written.get(tunnel_id)
        if written is not None and found.version == written[0] and _hostnames(found) != written[1]:
            raise Retry(
                f"version {found.version} of the configuration of tunnel {tunnel_id} is not shown as it was written",
                "TunnelConfigInconsistent",
            )
        return found

    async def put_configuration(self, tunnel_id: str, config: JsonObject) -> TunnelConfiguration:
        """Replace the configuration. There is no precondition: the returned version reveals concurrent writes."""
        call = CloudflareCall(operations.PUT_CONFIGURATION, self._ids(tunnel_id), body={"config": config})
        stored = await self._client.call(call, TunnelConfiguration)
        self._written[tunnel_id] = stored.version, _hostnames(stored)
        return stored

    def _ids(self, tunnel_id: str) -> dict[str, str]:
        return {"account": self._account, "tunnel": tunnel_id}


def _hostnames(configuration: TunnelConfiguration) -> frozenset[str]:
    rules = dig_list(configuration.config, "ingress")
    return frozenset(
        str(rule["hostname"]) for rule in rules if isinstance(rule, dict) and rule.get("hostname")
    )
