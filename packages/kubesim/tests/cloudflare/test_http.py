"""The simulation on loopback: the API, and the control endpoint for programs outside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any

import aiohttp
import msgspec
import pytest

from edgekeeper.core.clock import SystemClock
from kubesim.cloudflare.cloud import CloudflareCloud
from kubesim.cloudflare.faults import Fault
from kubesim.cloudflare.http import serving


class Visitor:
    """Asks over HTTP, as any program would."""

    def __init__(self, session: aiohttp.ClientSession, base_url: str, cloud: CloudflareCloud) -> None:
        self._session = session
        self._base_url = base_url
        self.cloud = cloud
        self.token = ""

    async def api(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        return await self._ask(method, f"{self._base_url}{path}", body, headers)

    async def control(self, method: str, what: str, body: Any = None) -> Any:
        root = self._base_url.removesuffix("/client/v4")
        return await self._ask(method, f"{root}/_control/{what}", body, {})

    async def _ask(self, method: str, url: str, body: Any, headers: dict[str, str]) -> Any:
        data = None if body is None else BytesIO(msgspec.json.encode(body))
        async with self._session.request(method, url, data=data, headers=headers) as response:
            return await response.json()


@asynccontextmanager
async def _visiting() -> AsyncIterator[Visitor]:
    cloud = CloudflareCloud(SystemClock())
    async with serving(cloud) as base_url, aiohttp.ClientSession() as session:
        yield Visitor(session, base_url, cloud)


async def test_world_can_be_built_and_used_from_outside() -> None:
    async with _visiting() as visitor:
        account = (await visitor.control("POST", "accounts", {"name": "acme"}))["result"]["id"]
        zone = (await visitor.control("POST", "zones", {"account": account, "name": "example.com"}))[
            "result"
        ]["id"]
        tunnel = (await visitor.control("POST", "tunnels", {"account": account, "name": "main"}))["result"][
            "id"
        ]
        token = (await visitor.control("POST", "tokens", {"accounts": [account], "zones": [zone]}))["result"]
        visitor.token = token["value"]
        listed = await visitor.api("GET", "/zones")
        assert [item["id"] for item in listed["result"]] == [zone]
        world = (await visitor.control("GET", "world"))["result"]
        assert world["accounts"] == [{"id": account, "name": "acme", "tunnels": [tunnel]}]
        assert world["tokens"] == [{"id": token["id"], "owner": "user"}]
        journal = (await visitor.control("GET", "journal"))["result"]
        assert journal["counts"] == {"GET /zones": 1}
        await visitor.control("DELETE", "journal")
        assert (await visitor.control("GET", "journal"))["result"]["entries"] == []


async def test_world_can_be_disturbed_from_outside() -> None:
    async with _visiting() as visitor:
        account = visitor.cloud.add_account("acme")
        zone = visitor.cloud.add_zone(account.id, "example.com")
        token = visitor.cloud.add_token()
        visitor.token = token.value
        await visitor.control("POST", "faults", {"kind": "error", "status": 500, "lasting": 60})
        assert (await visitor.api("GET", "/zones"))["success"] is False
        await visitor.control("DELETE", "faults")
        await visitor.control("POST", "block", {"token": token.id, "seconds": 100})
        assert (await visitor.api("GET", "/zones"))["errors"][0]["code"] == 971
        await visitor.control("POST", "time", {"advance": 100})
        assert (await visitor.api("GET", "/zones"))["success"] is True
        record = {"type": "A", "name": "a", "content": "192.0.2.1", "ttl": 1}
        path = f"/zones/{zone.id}/dns_records"
        made = await visitor.control("POST", "act", {"method": "POST", "path": path, "body": record})
        assert made["result"]["name"] == "a.example.com"
        assert len(zone.records) == 1


@pytest.mark.parametrize(
    ("method", "what", "body"),
    [
        ("GET", "nothing", None),
        ("POST", "zones", {}),
        ("POST", "zones", {"account": "none", "name": "a.com"}),
        ("POST", "faults", {"kind": "error", "wrong": 1}),
        ("POST", "time", {"advance": "x"}),
        ("POST", "accounts", [1]),
        ("POST", "act", {"method": "GET", "path": "/nowhere"}),
    ],
    ids=str,
)
async def test_control_says_what_it_does_not_understand(method: str, what: str, body: Any) -> None:
    async with _visiting() as visitor:
        answer = await visitor.control(method, what, body)
        assert answer["success"] is False
        assert answer["errors"][0]["message"]


async def test_large_bodies_pass() -> None:
    async with _visiting() as visitor:
        account = visitor.cloud.add_account("acme")
        tunnel = visitor.cloud.add_tunnel(account.id)
        visitor.token = visitor.cloud.add_token().value
        rules: list[Any] = [
            {"hostname": f"{n}.example.com", "service": "http://" + "a" * 200} for n in range(5000)
        ]
        path = f"/accounts/{account.id}/cfd_tunnel/{tunnel}/configurations"
        answer = await visitor.api(
            "PUT", path, {"config": {"ingress": [*rules, {"service": "http_status:404"}]}}
        )
        assert answer["result"]["version"] == 1


@pytest.mark.parametrize("kind", ["lost", "unsent"])
async def test_broken_connection_breaks(kind: Any) -> None:
    async with _visiting() as visitor:
        visitor.token = visitor.cloud.add_token().value
        visitor.cloud.faults.add(Fault(kind, times=None))
        with pytest.raises(aiohttp.ClientError):
            await visitor.api("GET", "/zones")


async def test_address_outside_the_api_leads_nowhere() -> None:
    async with _visiting() as visitor:
        url = visitor._base_url.removesuffix("/client/v4") + "/elsewhere"
        assert (await visitor._ask("GET", url, None, {}))["errors"][0]["code"] == 7003
