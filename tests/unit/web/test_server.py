"""The page over HTTP: who gets in, what is served, and what browsers are forbidden."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from edgekeeper.cloud.budget import Budget
from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.tracing import NO_TRACES
from edgekeeper.kube.errors import UnreachableError
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.runtime.http_server import Listener
from edgekeeper.runtime.metrics_auth import ACCESS_REVIEW, MetricsAuthorizer
from edgekeeper.web.access import COOKIE, PATH, SESSION_SECONDS, Gate, LinkGate, ReviewGate
from edgekeeper.web.directory import SpecChange
from edgekeeper.web.journal import Journal
from edgekeeper.web.live import Hub
from edgekeeper.web.server import POLICY, StatusPage
from edgekeeper.web.site import LARGEST_TIMELINE, Site
from tests.unit.runtime.wire import ANYWHERE
from tests.unit.web.fleet import DEPLOYING, READY, REFUSED, TENANT, Fleet, condition, tenant

SHOP = "cloudfront-tenant-operator.io/DistributionTenant/edge/shop"
XSS = "<img src=x onerror=alert(1)>"
TOKEN = "link-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@dataclass
class Answer:
    status: int
    headers: Any
    body: str
    json: Any
    cookies: Any


@dataclass
class Web:
    """A page that listens, and a browser without a jar for cookies."""

    fleet: Fleet
    page: StatusPage
    port: int
    session: aiohttp.ClientSession

    @property
    def cookie(self) -> str:
        return f"{COOKIE}-{self.port}"

    async def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        url = f"http://127.0.0.1:{self.port}{path}"
        async with self.session.request(method, url, headers=headers, allow_redirects=False) as response:
            body = await response.text()
            is_json = response.content_type == "application/json" and body
            found = await response.json() if is_json else None
            return Answer(response.status, response.headers, body, found, response.cookies)

    async def data(self, path: str) -> Any:
        answer = await self.ask(path, **BEARER)
        assert answer.status == 200, answer.body
        return answer.json


@pytest.fixture
def gate() -> Gate:
    return LinkGate(TOKEN)


@pytest.fixture
async def web(gate: Gate) -> AsyncIterator[Web]:
    fleet = Fleet(tenant("shop", READY), tenant("docs", DEPLOYING), tenant("bad", REFUSED))
    await fleet.work()
    journal = Journal(NO_TRACES, VirtualClock())
    hub = Hub(fleet.directory.row, "p1")
    fleet.directory.on_rows = hub.rows_changed
    page = StatusPage(Site(fleet.directory, journal, fleet.informers, Budget()), hub, gate)
    listener = Listener(page.handle, ANYWHERE, "--flag", limit=None)
    await listener.start()
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Web(fleet, page, listener.port, session)
        page.close()
    await listener.stop()


# What is served


async def test_overview_counts_and_names_problems_first(web: Web) -> None:
    found = await web.data("/api/overview")
    assert (found["total"], found["states"]) == (3, {"attention": 1, "progressing": 1, "ready": 1})
    assert [one["name"] for one in found["problems"]] == ["bad", "docs"]


async def test_list_is_searched_and_paged_by_the_server(web: Web) -> None:
    found = await web.data("/api/objects?q=shop&size=1")
    assert ([one["name"] for one in found["items"]], found["total"]) == (["shop"], 1)
    refused = await web.ask("/api/objects?size=1000", **BEARER)
    assert (refused.status, refused.json["error"]) == (400, "size: a number from 1 to 200")


async def test_object_has_conditions_with_remedies(web: Web) -> None:
    found = await web.data("/api/object/cloudfront-tenant-operator.io/DistributionTenant/edge/bad")
    (problem,) = found["problems"]
    assert problem["reason"] == "ValidationFailed"
    assert "correct the fields" in problem["action"]
    assert found["conditions"][0]["wrong"] is True


@pytest.mark.parametrize(
    "path",
    [
        "/api/object/cloudfront-tenant-operator.io/DistributionTenant/edge/nobody",
        "/api/object/cloudfront-tenant-operator.io/DistributionTenant/edge/",
        "/api/object/-/Secret/edge/shop",
        "/api/object/",
        "/api/plan/" + SHOP,
        "/api/graph/" + SHOP,
        "/api/graph.svg/" + SHOP,
        "/api/other",
        "/api/objects/x",
        "/static/../../etc/passwd",
    ],
)
async def test_what_is_not_there_is_not_found(web: Web, path: str) -> None:
    assert (await web.ask(path, **BEARER)).status == 404


async def test_object_that_is_shown_has_no_secrets(web: Web) -> None:
    obj = tenant("shop", READY, annotations={"example.com/api-token": "s3cret"})
    obj["spec"]["env"] = [{"name": "PASSWORD", "value": "s3cret"}]
    obj["spec"]["clientSecret"] = "s3cret"
    web.fleet.put(obj)
    await web.fleet.work()
    assert "s3cret" not in (await web.ask(f"/api/object/{SHOP}", **BEARER)).body


async def test_markup_in_objects_is_text_in_json(web: Web) -> None:
    web.fleet.put(tenant("shop", condition("False", XSS, XSS)))
    await web.fleet.work()
    answer = await web.ask(f"/api/object/{SHOP}", **BEARER)
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json["row"]["message"] == XSS


async def test_pages_have_no_inline_code(web: Web) -> None:
    page = await web.ask("/")
    assert page.status == 200
    assert "<style" not in page.body
    assert 'style="' not in page.body
    assert " on" not in page.body.replace("color", "").replace(" one", "").split("<body>")[0]
    assert page.body.count("<script") == page.body.count('src="/') - page.body.count("<img")


async def test_documented_addresses_are_served(web: Web) -> None:
    page = (Path(__file__).parents[3] / "docs" / "status-page.md").read_text()
    documented = re.findall(r"`(/(?:api/[a-z.]+|events)(?:/[^`]*)?)`", page)
    assert {"/api/overview", "/api/objects", "/api/changes", "/events"} <= set(documented)
    for address in documented:
        path = address.replace("GROUP/KIND/NAMESPACE/NAME", SHOP).replace("…", SHOP)
        answer = await web.ask(path, "HEAD", **BEARER)
        is_made_elsewhere = path.startswith(
            ("/api/plan/", "/api/graph")
        )  # this site has neither clouds nor graphs
        assert answer.status == (404 if is_made_elsewhere else 200), path


async def test_older_changes_are_offered_while_there_are_some(web: Web) -> None:
    journal = web.page.site.journal
    for number in range(LARGEST_TIMELINE + 1):
        journal.spec_changed(SpecChange(TENANT, Key("edge", f"t{number}"), "created"))
    newest = (await web.ask("/api/changes", **BEARER)).json
    assert (len(newest["items"]), newest["more"]) == (LARGEST_TIMELINE, True)
    older = (await web.ask(f"/api/changes?before={newest['items'][-1]['id']}", **BEARER)).json
    assert (len(older["items"]), older["more"]) == (1, False)


# What browsers are forbidden


@pytest.mark.parametrize(
    "path", ["/", "/app.js", "/api/overview", "/api/nothing", "/session", "/?token=wrong"]
)
async def test_every_answer_has_the_policy(web: Web, path: str) -> None:
    for headers in ({}, BEARER):
        answer = await web.ask(path, **headers)
        assert answer.headers["Content-Security-Policy"] == POLICY
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] in ("no-store", "no-cache")
        assert "Server" not in answer.headers


def test_policy_allows_nothing_from_elsewhere_and_nothing_inline() -> None:
    assert "default-src 'none'" in POLICY
    assert "frame-ancestors 'none'" in POLICY
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", "/api/objects", "/session", "/events"])
async def test_nothing_can_be_changed(web: Web, method: str, path: str) -> None:
    answer = await web.ask(path, method, **BEARER)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


async def test_head_is_get_without_content(web: Web) -> None:
    for path in ("/", "/api/objects", "/events"):
        answer = await web.ask(path, "HEAD", **BEARER)
        assert (answer.status, answer.body) == (200, "")


async def test_file_that_has_not_changed_is_not_sent_again(web: Web) -> None:
    etag = (await web.ask("/app.js")).headers["ETag"]
    answer = await web.ask("/app.js", **{"If-None-Match": etag})
    assert (answer.status, answer.body) == (304, "")


# Who gets in: `edgekeeper up`


@pytest.mark.parametrize(
    "path", ["/api/overview", "/api/objects", f"/api/object/{SHOP}", "/api/changes", "/events"]
)
async def test_data_are_for_those_who_have_the_link(web: Web, path: str) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Cookie": f"{web.cookie}=wrong"},
        {"Authorization": TOKEN},
    ):
        answer = await web.ask(path, **headers)
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert "shop" not in answer.body


async def test_link_becomes_a_cookie_and_disappears_from_the_address(web: Web) -> None:
    answer = await web.ask(f"/?token={TOKEN}")
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    cookie = answer.cookies[web.cookie]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Strict", "/")
    assert TOKEN not in cookie.value
    assert (await web.ask("/api/overview", Cookie=f"{web.cookie}={cookie.value}")).status == 200


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost:8444", f"{COOKIE}-8444"),
        ("127.0.0.1:40001", f"{COOKIE}-40001"),
        ("[::1]:8444", f"{COOKIE}-8444"),
        ("status.example.com", COOKIE),
        ("[::1]", COOKIE),
        ("a:b c;d", COOKIE),
    ],
)
async def test_pages_on_several_ports_of_a_host_have_their_own_cookies(
    web: Web, host: str, name: str
) -> None:
    answer = await web.ask(f"/?token={TOKEN}", Host=host)
    assert list(answer.cookies) == [name]
    cookie = f"{COOKIE}-1=other; {name}={answer.cookies[name].value}"
    assert (await web.ask("/api/overview", Host=host, Cookie=cookie)).status == 200


async def test_wrong_link_opens_nothing(web: Web) -> None:
    answer = await web.ask("/?token=wrong")
    assert (answer.status, dict(answer.cookies)) == (303, {})
    assert (await web.ask("/session")).status == 401


# Who gets in: a cluster


@dataclass
class Reviews:
    """An API server that knows one user, who may read the given paths."""

    allowed: set[str] = field(default_factory=set)
    is_down: bool = False

    async def review(self, kind: Kind, obj: JsonObject) -> JsonObject:
        if self.is_down:
            raise UnreachableError("no answer")
        if kind == ACCESS_REVIEW:
            return {"status": {"allowed": obj["spec"]["nonResourceAttributes"]["path"] in self.allowed}}
        return {"status": {"authenticated": obj["spec"]["token"] == "ada", "user": {"username": "ada"}}}


class TestCluster:
    """In a cluster the API server decides."""

    @pytest.fixture
    def clock(self) -> VirtualClock:
        return VirtualClock()

    @pytest.fixture
    def reviews(self) -> Reviews:
        return Reviews({PATH})

    @pytest.fixture
    def gate(self, reviews: Reviews, clock: VirtualClock) -> Gate:
        return ReviewGate(MetricsAuthorizer(reviews, clock, PATH), clock)

    async def test_token_is_judged_by_the_api_server(
        self, web: Web, reviews: Reviews, clock: VirtualClock
    ) -> None:
        assert (await web.ask("/api/overview")).status == 401
        assert (await web.ask("/api/overview", Authorization="Bearer eve")).status == 401
        assert (await web.ask("/api/overview", Authorization="Bearer ada")).status == 200
        reviews.allowed = {"/metrics"}
        clock.advance(timedelta(minutes=2))
        assert (await web.ask("/api/overview", Authorization="Bearer ada")).status == 403

    async def test_session_lasts_as_long_as_the_right_and_no_longer(
        self, web: Web, reviews: Reviews, clock: VirtualClock
    ) -> None:
        assert (await web.ask("/session", Authorization="Bearer eve")).status == 401
        opened = await web.ask("/session", Authorization="Bearer ada")
        cookie = opened.cookies[web.cookie]
        assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "Strict")
        header = {"Cookie": f"{web.cookie}={cookie.value}"}
        assert (await web.ask("/api/overview", **header)).status == 200
        reviews.allowed = set()
        clock.advance(timedelta(minutes=2))
        assert (await web.ask("/api/overview", **header)).status == 403
        reviews.allowed = {PATH}
        clock.advance(timedelta(seconds=SESSION_SECONDS))
        assert (await web.ask("/api/overview", **header)).status == 401

    async def test_session_for_somebody_without_the_right_names_the_right(
        self, web: Web, reviews: Reviews
    ) -> None:
        reviews.allowed = {"/metrics"}
        refused = await web.ask("/session", Authorization="Bearer ada")
        assert (refused.status, dict(refused.cookies)) == (403, {})
        assert "the right to get the path /status is missing" in refused.json["error"]

    @pytest.mark.parametrize("change", ["right is withdrawn", "API server is away"])
    async def test_stream_ends_with_the_right(
        self, web: Web, reviews: Reviews, clock: VirtualClock, change: str
    ) -> None:
        headers = {"Authorization": "Bearer ada"}
        url = f"http://127.0.0.1:{web.port}/events"
        async with asyncio.timeout(10), web.session.get(url, headers=headers) as stream:
            while (await stream.content.readline()).strip():
                continue
            clock.advance(timedelta(minutes=2))
            web.fleet.put(tenant("docs", READY))
            await web.fleet.work()
            assert (await stream.content.readuntil(b"\n\n")).count(b"event: rows") == 1
            reviews.allowed, reviews.is_down = set(), change == "API server is away"
            clock.advance(timedelta(minutes=2))
            web.fleet.put(tenant("docs", DEPLOYING))
            await web.fleet.work()
            assert await stream.content.read() == b""

    async def test_token_in_the_address_opens_nothing(self, web: Web) -> None:
        assert dict((await web.ask("/?token=ada")).cookies) == {}

    async def test_nobody_gets_in_while_the_api_server_is_away(self, web: Web, reviews: Reviews) -> None:
        reviews.is_down = True
        assert (await web.ask("/api/overview", Authorization="Bearer ada")).status == 503


# Updates


async def test_browser_is_told_what_changes(web: Web) -> None:
    url = f"http://127.0.0.1:{web.port}/events"
    async with asyncio.timeout(10), web.session.get(url, headers=BEARER) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        assert response.headers["Cache-Control"] == "no-store"
        lines = response.content
        while (await lines.readline()).strip():
            continue
        web.fleet.put(tenant("docs", READY))
        await web.fleet.work()
        assert (await lines.readline()).startswith(b"id: p1-")
        assert await lines.readline() == b"event: rows\n"
        assert b'"state":"ready"' in await lines.readline()


async def test_streams_end_with_the_process(web: Web) -> None:
    url = f"http://127.0.0.1:{web.port}/events"
    async with asyncio.timeout(10), web.session.get(url, headers=BEARER) as response:
        await response.content.readline()
        web.page.close()
        await response.read()
    assert web.page.hub.clients == 0
    assert (await web.ask("/events", **BEARER)).headers["Retry-After"] == "30"
