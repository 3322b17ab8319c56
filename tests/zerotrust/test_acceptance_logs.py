"""The log of the operator's work: the tenant's level, its name in every line, colours, changes, and what DEBUG adds."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from edgekeeper.controllers.zerotrust.route_index import TENANT
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.logs import configure
from kubesim.virtual import virtual_time
from tests.logs import log_as_it_was
from tests.zerotrust.acceptance_world import APPS, AcceptanceWorld, cluster, route, running

ACCESS = {"accessApp": "true", "allowEmails": "user1@example.com", "serviceToken": "true"}
WORK = {"HTTPRoute", "CloudflareTask", "CloudflareZeroTrustTenant"}


class Log:
    """What was written."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def lines(self) -> list[JsonObject]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def text(self) -> str:
        return self.stream.getvalue()

    def clear(self) -> None:
        self.stream.seek(0)
        self.stream.truncate()


@asynccontextmanager
async def logged(**settings: Any) -> AsyncIterator[tuple[AcceptanceWorld, Log]]:
    log = Log()
    with log_as_it_was():
        configure(stream=log.stream, **{"format": "json", "level": "info", **settings})
        async with cluster(("quiet",)) as world:
            await world.create(world.credential("quiet"), world.tenant("other", "quiet"))
            async with running(world):
                yield world, log


@virtual_time
async def test_level_of_a_tenant_applies_to_the_lines_of_its_work_and_no_other() -> None:
    """A11."""
    async with logged(level="info") as (world, log):
        await world.user.merge_patch(TENANT, Key(APPS, "main"), {"spec": {"logLevel": "DEBUG"}})
        await world.elapse(seconds=5)
        log.clear()
        await world.create(
            route("loud", hostname="loud.example.com", **ACCESS),
            route("soft", "quiet", hostname="soft.example.com", **ACCESS),
        )
        await world.ready("loud")
        await world.ready("soft", namespace="quiet")
        debug = [line for line in log.lines() if line["level"] == "debug"]
        assert {line["tenant"] for line in debug} == {"main"}
        assert {line["kind"] for line in debug} >= {"HTTPRoute", "CloudflareTask"}
        assert {line["tenant"] for line in log.lines() if line["level"] == "info" and "tenant" in line} == {
            "main",
            "other",
        }
        log.clear()
        await world.user.merge_patch(TENANT, Key("quiet", "other"), {"spec": {"logLevel": "ERROR"}})
        await world.elapse(seconds=5)
        await world.annotate("soft", "quiet", allowEmails="user2@example.com")
        await world.elapse(seconds=30)
        await world.ready("soft", namespace="quiet")
        work = [line for line in log.lines() if line.get("kind") in WORK and line.get("tenant") == "other"]
        assert [line for line in work if line["kind"] != "CloudflareZeroTrustTenant"] == []


@virtual_time
async def test_every_line_of_a_tenants_work_has_its_name() -> None:
    async with logged(level="debug") as (world, log):
        await world.create(route("web", hostname="web.example.com", **ACCESS))
        await world.ready("web")
        await world.annotate("web", allowEmails="user2@example.com")
        await world.elapse(minutes=10)
        await world.delete("web")
        await world.gone("web")
        work = [line for line in log.lines() if line.get("kind") in WORK]
        messages = {line["msg"] for line in work}
        assert {"Reconciliation completed", "Step performed"} <= messages
        assert [line for line in work if line.get("tenant") not in {"main", "other"}] == []


@virtual_time
async def test_changes_are_shown_with_before_and_after() -> None:
    async with logged(format="text", color="always") as (world, log):
        await world.create(route("web", hostname="web.example.com", sessionDuration="24h", **ACCESS))
        await world.ready("web")
        log.clear()
        await world.annotate("web", sessionDuration="8h")
        await world.elapse(seconds=30)
        await world.ready("web")
        plain = log.text()
        assert "session_duration" in plain
        assert "24h" in plain
        assert "8h" in plain
        assert "\x1b[33m" in plain, "what changes is yellow"
        log.clear()
        await world.create(route("typo", hostname="typo.example.com", acessApp="true"))
        await world.says("InvalidAnnotation", "typo")
        assert "\x1b[" in log.text()


@virtual_time
async def test_no_colours_unless_they_are_wanted() -> None:
    async with logged(format="text", color="never") as (world, log):
        await world.create(route("web", hostname="web.example.com"))
        await world.ready("web")
        assert "Reconciliation completed" in log.text()
        assert "\x1b" not in log.text()


@virtual_time
async def test_debug_has_requests_answers_and_merged_settings_without_secrets() -> None:
    async with logged(level="debug") as (world, log):
        await world.create(route("web", hostname="web.example.com", **ACCESS))
        await world.ready("web")
        secret = world.secret("web-cfzt-service-token")
        assert secret is not None
        lines = log.lines()
        requests = [line for line in lines if line["msg"] == "Request to Cloudflare"]
        created = next(
            line for line in requests if line["method"] == "POST" and line["path"].endswith("/apps")
        )
        assert created["body"]["domain"] == "web.example.com"
        answers = [line for line in lines if line["msg"] == "Answer of Cloudflare"]
        token = next(
            line for line in answers if line["path"].endswith("/service_tokens") and "result" in str(line)
        )
        assert isinstance(token["seconds"], float)
        merged = next(line for line in lines if line["msg"] == "Settings merged")
        assert merged["spec"]["hostname"] == "web.example.com"
        assert secret["client_secret"] not in log.text()
        assert world.estate.token.value not in log.text()
        assert "[redacted]" in log.text()


@virtual_time
async def test_info_has_no_requests() -> None:
    async with logged(level="info") as (world, log):
        await world.create(route("web", hostname="web.example.com"))
        await world.ready("web")
        assert {line["level"] for line in log.lines()} <= {"info", "warning"}
        assert "Request to Cloudflare" not in log.text()
