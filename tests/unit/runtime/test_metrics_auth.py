"""Metrics are for those whom RBAC allows it, as the API server says."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta

import aiohttp
import pytest

from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.errors import UnreachableError
from edgekeeper.kube.kinds import Kind
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.metrics_auth import (
    ACCESS_REVIEW,
    TOKEN_REVIEW,
    MetricsAuthorizer,
    MetricsEndpoint,
    Verdict,
)
from kubesim.plane.plane import Plane
from packages.kubesim.tests.plane.cluster import Clock, running
from tests.unit.runtime.accounts import ASK_WHETHER, ASK_WHO, READ_METRICS, account_token, client_of, grant
from tests.unit.runtime.wire import LOOPBACK, listening

Answer = tuple[int, str]


async def scrape(url: str, token: str | None = None, **headers: str) -> Answer:
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        return response.status, await response.text()


# Against an API server with RBAC


@dataclass
class Guarded:
    """Metrics behind an API server whose time can be advanced."""

    plane: Plane
    time_of_day: Clock
    url: str


@pytest.fixture
async def guarded() -> AsyncIterator[Guarded]:
    """The operator has no rights but those that it takes to ask."""
    time_of_day = Clock()
    async with running(auth=True, now=time_of_day) as plane:
        operator = await account_token(plane, "operator")
        await grant(plane, "operator", ASK_WHO, ASK_WHETHER)
        clock = VirtualClock()
        metrics = Metrics()
        metrics.controller("widget", 16)
        endpoint = MetricsEndpoint(metrics, MetricsAuthorizer(client_of(plane, operator, clock), clock))
        async with listening(endpoint.handle) as port:
            yield Guarded(plane, time_of_day, f"http://{LOOPBACK}:{port}/metrics")


async def test_account_with_the_right_reads_metrics(guarded: Guarded) -> None:
    token = await account_token(guarded.plane, "prometheus")
    await grant(guarded.plane, "prometheus", READ_METRICS)
    status, text = await scrape(guarded.url, token)
    assert status == 200
    assert 'controller_runtime_reconcile_total{controller="widget",result="success"} 0.0' in text


async def test_account_without_the_right_is_denied(guarded: Guarded) -> None:
    token = await account_token(guarded.plane, "curious")
    assert await scrape(guarded.url, token) == (403, "forbidden\n")


@pytest.mark.parametrize(
    "rule",
    [
        {"nonResourceURLs": ["/healthz"], "verbs": ["get"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["post"]},
    ],
    ids=["another path", "another verb"],
)
async def test_another_right_is_not_enough(guarded: Guarded, rule: JsonObject) -> None:
    token = await account_token(guarded.plane, "curious")
    await grant(guarded.plane, "curious", rule)
    assert await scrape(guarded.url, token) == (403, "forbidden\n")


async def test_expired_token_is_nobody(guarded: Guarded) -> None:
    token = await account_token(guarded.plane, "prometheus", timedelta(minutes=10))
    await grant(guarded.plane, "prometheus", READ_METRICS)
    guarded.time_of_day.advance(3000)  # the operator's own token lives for an hour
    assert await scrape(guarded.url, token) == (401, "unauthorized\n")


async def test_token_of_a_deleted_account_is_nobody(guarded: Guarded) -> None:
    token = await account_token(guarded.plane, "prometheus")
    await grant(guarded.plane, "prometheus", READ_METRICS)
    await guarded.plane.client.delete("/api/v1/namespaces/default/serviceaccounts/prometheus")
    assert await scrape(guarded.url, token) == (401, "unauthorized\n")


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer forged", f"Bearer {'x' * 7000}"],
    ids=["none", "no token", "blank", "basic", "forged", "long"],
)
async def test_caller_without_a_good_token_is_nobody(guarded: Guarded, authorization: str) -> None:
    headers = {"Authorization": authorization} if authorization else {}
    assert await scrape(guarded.url, **headers) == (401, "unauthorized\n")


async def test_nobody_is_told_how_to_become_somebody(guarded: Guarded) -> None:
    async with aiohttp.ClientSession() as session, session.get(guarded.url) as response:
        assert response.headers["WWW-Authenticate"] == "Bearer"


async def test_operator_that_may_not_ask_lets_nobody_in() -> None:
    async with running(auth=True) as plane:
        operator = await account_token(plane, "operator")
        endpoint = MetricsEndpoint(
            Metrics(), MetricsAuthorizer(client_of(plane, operator, VirtualClock()), VirtualClock())
        )
        async with listening(endpoint.handle) as port:
            answer = await scrape(f"http://{LOOPBACK}:{port}/metrics", plane.admin_token)
    assert answer == (503, "cannot authorize the request\n")


# What is remembered


@dataclass
class Oracle:
    """An API server that counts questions, and knows one user."""

    authenticated: bool = True
    allowed: bool = True
    reachable: bool = True
    asked: list[str] = field(default_factory=list)
    subjects: list[JsonObject] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def review(self, kind: Kind, obj: JsonObject) -> JsonObject:
        self.asked.append(kind.kind)
        if not self.reachable:
            raise UnreachableError("no route to host")
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        if kind == TOKEN_REVIEW:
            user = {"username": "ann", "uid": "7", "groups": ["ops"], "extra": {"scopes": ["read"]}}
            return {"status": {"authenticated": self.authenticated, "user": user}}
        assert kind == ACCESS_REVIEW
        self.subjects.append(obj["spec"])
        return {"status": {"allowed": self.allowed}}


async def test_question_names_the_user_as_the_token_review_did() -> None:
    oracle = Oracle()
    assert await MetricsAuthorizer(oracle, VirtualClock()).judge("token") is Verdict.ALLOWED
    assert oracle.subjects == [
        {
            "user": "ann",
            "uid": "7",
            "groups": ["ops"],
            "extra": {"scopes": ["read"]},
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        }
    ]


async def test_permission_is_remembered_for_a_minute() -> None:
    oracle, clock = Oracle(), VirtualClock()
    authorizer = MetricsAuthorizer(oracle, clock)
    await authorizer.judge("token")
    oracle.allowed = False
    clock.advance(timedelta(seconds=59))
    assert await authorizer.judge("token") is Verdict.ALLOWED
    assert len(oracle.asked) == 2
    clock.advance(timedelta(seconds=1))
    assert await authorizer.judge("token") is Verdict.DENIED


async def test_refusal_is_remembered_for_ten_seconds() -> None:
    oracle, clock = Oracle(authenticated=False), VirtualClock()
    authorizer = MetricsAuthorizer(oracle, clock)
    assert await authorizer.judge("token") is Verdict.UNKNOWN
    oracle.authenticated = True
    clock.advance(timedelta(seconds=9))
    assert await authorizer.judge("token") is Verdict.UNKNOWN
    clock.advance(timedelta(seconds=1))
    assert await authorizer.judge("token") is Verdict.ALLOWED


async def test_jumps_of_the_wall_clock_change_nothing() -> None:
    oracle, clock = Oracle(), VirtualClock()
    authorizer = MetricsAuthorizer(oracle, clock)
    await authorizer.judge("token")
    clock.jump(timedelta(hours=-3))
    await authorizer.judge("token")
    assert len(oracle.asked) == 2


async def test_unanswered_question_is_not_remembered() -> None:
    oracle = Oracle(reachable=False)
    authorizer = MetricsAuthorizer(oracle, VirtualClock())
    with pytest.raises(UnreachableError):
        await authorizer.judge("token")
    oracle.reachable = True
    assert await authorizer.judge("token") is Verdict.ALLOWED


async def test_one_token_is_asked_about_once_however_many_come_with_it() -> None:
    oracle = Oracle()
    authorizer = MetricsAuthorizer(oracle, VirtualClock())
    verdicts = await asyncio.gather(*(authorizer.judge("token") for _ in range(20)))
    assert set(verdicts) == {Verdict.ALLOWED}
    assert oracle.asked == ["TokenReview", "SubjectAccessReview"]


async def test_crowd_of_strangers_does_not_become_a_crowd_at_the_api_server() -> None:
    oracle = Oracle(authenticated=False)
    authorizer = MetricsAuthorizer(oracle, VirtualClock())
    await asyncio.gather(*(authorizer.judge(f"token-{number}") for number in range(1000)))
    assert oracle.most_at_once <= 4
    assert len(authorizer._cache) <= 256
    assert not authorizer._asking


async def test_tokens_are_not_kept() -> None:
    authorizer = MetricsAuthorizer(Oracle(), VirtualClock())
    await authorizer.judge("very-secret")
    assert "very-secret" not in repr(authorizer.__dict__)


# How it travels


@pytest.fixture
async def url() -> AsyncIterator[str]:
    metrics = Metrics()
    metrics.controller("widget", 16)
    async with listening(MetricsEndpoint(metrics, None).handle) as port:
        yield f"http://{LOOPBACK}:{port}"


async def test_without_a_gatekeeper_everybody_reads(url: str) -> None:
    status, text = await scrape(f"{url}/metrics")
    assert status == 200
    assert text.endswith("\n")


async def test_content_type_is_the_text_format(url: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/metrics") as response:
        assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("deflate, gzip;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("deflate", None),
        ("identity", None),
    ],
)
async def test_text_is_compressed_where_that_is_understood(
    url: str, accepted: str, coding: str | None
) -> None:
    headers = {"Accept-Encoding": accepted}
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(f"{url}/metrics", headers=headers) as response,
    ):
        body = await response.read()
        assert response.headers.get("Content-Encoding") == coding
    text = gzip.decompress(body) if coding else body
    assert b"controller_runtime_reconcile_total" in text


@pytest.mark.parametrize("path", ["/", "/metrics/", "/healthz", "/metrics/widget"])
async def test_nothing_else_is_there(url: str, path: str) -> None:
    assert await scrape(f"{url}{path}") == (404, "not found\n")


async def test_metrics_are_only_read(url: str) -> None:
    async with aiohttp.ClientSession() as session, session.post(f"{url}/metrics") as response:
        assert response.status == 405
