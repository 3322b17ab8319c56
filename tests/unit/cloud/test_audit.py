"""One line per mutation: who, what, and what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from edgekeeper.cloud.audit import MESSAGE
from edgekeeper.cloud.transport import acting_for
from edgekeeper.core.errors import PassError
from edgekeeper.core.json import JsonObject
from kubesim.virtual import run_virtual, virtual_time
from tests.logs import capture_logs
from tests.unit.cloud.provider import (
    CREATE,
    GET,
    PUT,
    SHOP,
    RefusedError,
    ThrottledError,
    UnavailableError,
    World,
)

Line = JsonObject


@pytest.fixture(name="lines")
def _lines() -> Iterator[list[Line]]:
    with capture_logs() as lines:
        yield lines


def audited(lines: list[Line]) -> list[Line]:
    return [line for line in lines if line["event"] == MESSAGE]


def test_audit_tells_who_did_what_and_what_came_of_it(lines: list[Line]) -> None:
    @virtual_time
    async def scenario() -> None:
        with acting_for(SHOP):
            await World().call(CREATE, "shop", region="us-east-1")

    scenario()
    (line,) = audited(lines)
    assert line == {
        "event": "Cloud mutation",
        "log_level": "info",
        "call": 1,
        "account": "aws:111122223333/us-east-1",
        "service": "cloudfront",
        "operation": "CreateThing",
        "subject": "shop",
        "actors": ["DistributionTenant team-a/shop uid 6f1c generation 3"],
        "result": "done",
    }


@pytest.mark.parametrize(
    ("failure", "result", "why"),
    [
        pytest.param(
            RefusedError("no such zone"),
            "refused",
            ("invalid_spec", "InvalidSpec", "no such zone"),
            id="refused",
        ),
        pytest.param(
            ThrottledError(), "throttled", ("throttling", "Throttled", "Rate exceeded"), id="throttled"
        ),
        pytest.param(
            UnavailableError("oops"), "unknown", ("retryable", "AWSError", "oops"), id="server error"
        ),
        pytest.param(
            ConnectionResetError("reset"),
            "unknown",
            ("retryable", "Unreachable", "no answer to CreateThing: reset"),
            id="lost connection",
        ),
    ],
)
def test_audit_tells_why_a_mutation_failed(
    lines: list[Line], failure: Exception, result: str, why: tuple[str, str, str]
) -> None:
    async def scenario() -> None:
        with pytest.raises(PassError):
            await World(failure).call(CREATE)

    run_virtual(scenario)
    (line,) = audited(lines)
    assert line["result"] == result
    assert (line["error_type"], line["reason"], line["message"]) == why


def test_audit_says_nothing_of_reads(lines: list[Line]) -> None:
    run_virtual(lambda: World().call(GET))
    assert audited(lines) == []


def test_audit_has_a_line_for_every_attempt_that_was_sent(lines: list[Line]) -> None:
    run_virtual(lambda: World(UnavailableError("oops"), None).call(PUT))
    assert [(line["call"], line["result"]) for line in audited(lines)] == [(1, "unknown"), (2, "done")]


def test_audit_does_not_know_what_became_of_a_mutation_that_was_cancelled(lines: list[Line]) -> None:
    async def scenario() -> None:
        task = asyncio.create_task(World(timedelta(seconds=10)).call(CREATE))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait({task})

    run_virtual(scenario)
    assert [line["result"] for line in audited(lines)] == ["unknown"]


def test_audit_does_not_know_what_became_of_a_mutation_whose_answer_cannot_be_read(lines: list[Line]) -> None:
    async def scenario() -> None:
        with pytest.raises(KeyError):
            await World(KeyError("Id")).call(CREATE)

    run_virtual(scenario)
    assert [line["result"] for line in audited(lines)] == ["unknown"]


def test_audit_shows_what_a_dry_run_keeps_back(lines: list[Line]) -> None:
    async def scenario() -> None:
        with pytest.raises(PassError):
            await World(dry_run=True).call(CREATE, "shop")

    run_virtual(scenario)
    assert [(line["subject"], line["result"]) for line in audited(lines)] == [("shop", "kept back")]


def test_audit_names_everybody_who_is_in_a_batch(lines: list[Line]) -> None:
    async def scenario() -> None:
        with acting_for(SHOP, replace(SHOP, name="blog", uid="77aa")):
            await World().call(PUT)

    run_virtual(scenario)
    (line,) = audited(lines)
    assert [actor.split()[1] for actor in line["actors"]] == ["team-a/shop", "team-a/blog"]


def test_audit_shows_no_secrets(lines: list[Line]) -> None:
    async def scenario() -> None:
        with pytest.raises(PassError):
            await World(RefusedError("bad header Authorization: Bearer abcdef0123456789abcdef")).call(
                CREATE, "https://user:hunter2secret@example.com/thing"
            )

    run_virtual(scenario)
    (line,) = audited(lines)
    assert "abcdef0123456789" not in line["message"]
    assert "hunter2" not in line["subject"]
