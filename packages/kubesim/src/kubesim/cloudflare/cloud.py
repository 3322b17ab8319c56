"""The simulated Cloudflare as a whole.

    cloud = CloudflareCloud(clock)
    account = cloud.add_account("acme")
    zone = cloud.add_zone(account.id, "example.com")
    token = cloud.add_token()

    client over `cloud.send`                  in process, also in virtual time
    async with serving(cloud) as base_url     over HTTP, for any tool (`kubesim.cloudflare.http`)

Every request takes the same way, whichever it came by:

    fault plan ─► who asks? ─► rate limit ─► which operation? ─► may they? ─► the operation ─► journal

Tests make the world move by `act`, which is the API in the hands of an administrator whom nothing limits (the
dashboard, say), by `faults`, `throttle`, `advance`, and by what they find in `world`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from edgekeeper.core.clock import Clock
from kubesim.cloudflare import throttle
from kubesim.cloudflare.authority import authenticate, authorize
from kubesim.cloudflare.faults import Fault, Faults
from kubesim.cloudflare.journal import Entry, Journal
from kubesim.cloudflare.operations import all_routes
from kubesim.cloudflare.routing import Call
from kubesim.cloudflare.service_tokens import opens
from kubesim.cloudflare.state import (
    PERMISSIONS,
    PLANS,
    Account,
    ApiToken,
    Maker,
    ShiftedClock,
    World,
    Zone,
)
from kubesim.cloudflare.throttle import Throttle
from kubesim.cloudflare.wire import JSON, Refusal, Request, Response, Result, accepted, refused

BASE_PATH = "/client/v4"
_PAGE_FOR_PEOPLE = (
    b"<!DOCTYPE html><html><head><title>502: Bad gateway</title></head><body>Error 502</body></html>"
)
_EFFECTLESS = frozenset({"error", "throttle", "unsent", "html", "redirect", "huge"})


class ConnectionBrokenError(ConnectionResetError):
    """The connection breaks before the answer has arrived."""


@dataclass(slots=True)
class _Seen:
    """What is known of a request so far, for the journal."""

    operation: str
    token: str = ""
    code: int = 0
    mutating: bool = False


class CloudflareCloud:
    """See the module."""

    def __init__(self, clock: Clock, *, seed: int = 0) -> None:
        self.clock = ShiftedClock(clock)
        self.world = World(Maker(self.clock, seed))
        self.journal = Journal()
        self.faults = Faults(self.clock)
        self.throttle = Throttle(self.clock)
        self.chained_errors = False
        """Whether DNS validation errors come wrapped in 1004, as they once did."""
        self._routes = all_routes()

    # The world

    def add_account(self, name: str, id_: str = "", *, access: bool = True) -> Account:
        account = Account(id_ or self.world.make.digits(32), name, team=name, access_enabled=access)
        self.world.accounts[account.id] = account
        return account

    def add_zone(self, account_id: str, name: str, *, plan: str = "free", status: str = "active") -> Zone:
        make = self.world.make
        zone = Zone(make.digits(32), name, account_id, PLANS[plan], status, make.time())
        self.world.zones[zone.id] = zone
        return zone

    def add_tunnel(self, account_id: str, name: str = "main") -> str:
        """A tunnel whose configuration is kept by the API; its id."""
        body = {"name": name, "config_src": "cloudflare"}
        created = self.act("POST", f"/accounts/{account_id}/cfd_tunnel", body)
        id_: str = created["id"]
        return id_

    def connect(self, account_id: str, tunnel_id: str, *, connected: bool = True) -> None:
        """A cloudflared connects to a tunnel, or the last one is gone."""
        tunnels, now = self.world.account(account_id).tunnels, self.world.make.time()
        tunnels[tunnel_id] = {
            **tunnels[tunnel_id],
            "status": "healthy" if connected else "down",
            "conns_active_at": now if connected else None,
            "conns_inactive_at": None if connected else now,
        }

    def add_token(
        self,
        value: str = "",
        *,
        permissions: frozenset[str] = PERMISSIONS,
        accounts: frozenset[str] | None = None,
        zones: frozenset[str] | None = None,
        owner: str = "user",
    ) -> ApiToken:
        make = self.world.make
        token = ApiToken(make.digits(32), value or make.digits(40), permissions, accounts, zones, owner)
        self.world.tokens[token.value] = token
        return token

    def act(self, method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None) -> Any:
        """Use the API as an administrator: no token, limit, fault or journal. Raise Refusal as the API refuses."""
        encoded = b"" if body is None else msgspec.json.encode(body)
        request = Request(method, path, query or {}, {}, encoded)
        route, ids = self._routes.find(method, path)
        return route.handler(Call(self.world, request, ids, None)).result

    def advance(self, interval: timedelta) -> None:
        """Let time pass for the simulation alone."""
        self.clock.advance(interval)

    def opens(self, account_id: str, client_id: str, client_secret: str) -> bool:
        """Whether Access lets a caller with this service token in, now."""
        return opens(self.world.account(account_id), self.clock.now(), client_id, client_secret)

    # Requests

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Answer a request in process. Raise ConnectionError where the connection breaks."""
        parts = urlsplit(url)
        request = Request(
            method=method,
            path=parts.path.removeprefix(BASE_PATH),
            query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in headers.items()},
            body=body,
        )
        response = await self.handle(request)
        return response.status, response.headers, response.body

    async def handle(self, request: Request) -> Response:
        """Answer a request, however it came. Raise ConnectionBrokenError where a fault says so."""
        at, number = self.clock.monotonic(), self.journal.next_number()
        fault, delay = self.faults.take(request)
        if delay:
            await asyncio.sleep(delay)
        seen = _Seen(f"{request.method} {request.path}", mutating=request.method != "GET")
        response: Response | None = None
        try:
            if fault is not None and fault.kind in _EFFECTLESS:
                self._recognise(request, seen)
                response = _broken(fault)
            else:
                answer = self._answer(request, seen)
                response = answer if fault is None else _spoilt(answer, fault)
        finally:
            status, sent = (0, 0) if response is None else (response.status, len(response.body))
            entry = Entry(
                number=number,
                at=at,
                operation=seen.operation,
                path=request.path,
                token=seen.token,
                status=status,
                code=seen.code,
                mutating=seen.mutating,
                received=len(request.body),
                sent=sent,
            )
            self.journal.add(entry)
        return response

    def _recognise(self, request: Request, seen: _Seen) -> None:
        """Find out what a request wanted that is not looked at any further."""
        token = self.world.tokens.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        seen.token = "" if token is None else token.id
        try:
            seen.operation = self._routes.find(request.method, request.path)[0].operation
        except Refusal:
            return

    def _answer(self, request: Request, seen: _Seen) -> Response:
        try:
            response = accepted(self._perform(request, seen))
        except Refusal as refusal:
            seen.code = refusal.code
            response = refused(refusal, chained=self.chained_errors)
        return Response(
            response.status, response.body, {**throttle.headers(request.path), **response.headers}
        )

    def _perform(self, request: Request, seen: _Seen) -> Result:
        token = authenticate(self.world, request)
        seen.token = token.id
        self.throttle.admit(token.id, request.peer)
        route, ids = self._routes.find(request.method, request.path)
        seen.operation = route.operation
        call = Call(self.world, request, ids, token)
        authorize(token, route, call)
        return route.handler(call)


def _broken(fault: Fault) -> Response:
    """The answer to a request that had no effect."""
    match fault.kind:
        case "throttle":
            refusal = Refusal(429, 10429, "Rate limit exceeded")
            refusal.headers["retry-after"] = f"{fault.seconds:.0f}"
            return refused(refusal)
        case "html":
            return Response(fault.status, _PAGE_FOR_PEOPLE, {"content-type": "text/html; charset=UTF-8"})
        case "redirect":
            return Response(302, b"", {"location": fault.location, "content-type": JSON})
        case "huge":
            return Response(200, b'{"success":true,"result":"' + b"x" * fault.size, {"content-type": JSON})
        case "unsent":
            raise ConnectionBrokenError("the connection was reset before the request was read")
        case _:
            return refused(Refusal(fault.status, fault.code, fault.message))


def _spoilt(response: Response, fault: Fault) -> Response:
    """What arrives of an answer."""
    if fault.kind == "lost":
        raise ConnectionBrokenError("the connection was reset before the answer was sent")
    return Response(response.status, response.body[: len(response.body) // 2], response.headers)
