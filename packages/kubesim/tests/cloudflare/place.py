"""A simulated Cloudflare with one of each, and short ways to use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from edgekeeper.core.clock import VirtualClock
from kubesim.cloudflare.cloud import CloudflareCloud
from kubesim.cloudflare.state import Account, ApiToken, Zone
from kubesim.cloudflare.wire import Refusal


@dataclass
class Place:
    """An account with a zone and a tunnel, and a token for all of it."""

    cloud: CloudflareCloud
    clock: VirtualClock
    account: Account
    zone: Zone
    tunnel: str
    token: ApiToken

    def records(self, method: str, body: Any = None, id_: str = "", **query: str) -> Any:
        path = f"/zones/{self.zone.id}/dns_records" + (f"/{id_}" if id_ else "")
        return self.cloud.act(method, path, body, query)

    def tunnels(self, method: str, body: Any = None, rest: str = "") -> Any:
        return self.cloud.act(method, f"/accounts/{self.account.id}/cfd_tunnel{rest}", body)

    def access(self, method: str, what: str, body: Any = None, **query: str) -> Any:
        return self.cloud.act(method, f"/accounts/{self.account.id}/access/{what}", body, query)

    async def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Mapping[str, str], Any]:
        """A request with the token, as a client would send it."""
        if headers is None:
            headers = {"Authorization": f"Bearer {self.token.value}"}
        encoded = b"" if body is None else msgspec.json.encode(body)
        url = f"http://127.0.0.1/client/v4{path}"
        status, received, answer = await self.cloud.send(method, url, headers, encoded)
        return status, received, msgspec.json.decode(answer)


def place(plan: str = "pro") -> Place:
    clock = VirtualClock()
    cloud = CloudflareCloud(clock)
    account = cloud.add_account("acme")
    zone = cloud.add_zone(account.id, "example.com", plan=plan)
    return Place(cloud, clock, account, zone, cloud.add_tunnel(account.id), cloud.add_token())


def refused(code: int) -> Any:
    """Expect a refusal with this code."""
    return pytest.raises(Refusal, match=rf"^\d+ {code} ")
