"""The simulation as a whole: rate limits, faults by plan, and a journal that can be counted on."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from edgekeeper.core.clock import VirtualClock
from kubesim.cloudflare.cloud import CloudflareCloud
from kubesim.cloudflare.faults import Fault, Kind
from kubesim.virtual import LoopClock, virtual_time
from packages.kubesim.tests.cloudflare.place import Place, place

RECORD: dict[str, Any] = {"type": "A", "name": "a", "content": "192.0.2.1", "ttl": 120}


async def _status(here: Place, method: str = "GET", path: str = "/zones", body: Any = None) -> int:
    return (await here.ask(method, path, body))[0]


# Rate limits


async def test_limit_shuts_a_token_out_for_five_minutes() -> None:
    here = place()
    here.cloud.throttle.limits.per_address = 10_000
    statuses = [await _status(here) for _ in range(1201)]
    assert statuses == [200] * 1200 + [429]
    here.clock.advance(timedelta(seconds=299))
    status, headers, answer = await here.ask("GET", "/zones")
    assert (status, headers["retry-after"], answer["errors"][0]["code"]) == (429, "1", 971)
    here.clock.advance(timedelta(seconds=1))
    assert await _status(here) == 200


async def test_limit_counts_the_last_five_minutes() -> None:
    here = place()
    here.cloud.throttle.limits.per_token = 10
    for _ in range(30):
        assert await _status(here) == 200
        here.clock.advance(timedelta(seconds=31))


async def test_limit_is_each_tokens_own() -> None:
    here = place()
    here.cloud.throttle.block(here.token.id)
    assert await _status(here) == 429
    here.token = here.cloud.add_token()
    assert await _status(here) == 200


async def test_limit_per_address_lasts_a_second() -> None:
    here = place()
    statuses = [await _status(here) for _ in range(201)]
    assert statuses[-1] == 429
    here.clock.advance(timedelta(seconds=1))
    assert await _status(here) == 200


async def test_headers_keep_saying_that_all_is_well() -> None:
    here = place()
    for _ in range(3):
        _, headers, _ = await here.ask("GET", f"/zones/{here.zone.id}")
        assert headers["ratelimit"] == '"default";r=1199;t=1'
        assert headers["ratelimit-policy"] == '"default";q=1200;w=300'
    _, headers, _ = await here.ask("GET", "/zones")
    assert headers["ratelimit"].startswith('"list_zones"')


async def test_refusal_may_come_without_a_time_to_wait() -> None:
    here = place()
    here.cloud.throttle.limits.tells_when = False
    here.cloud.throttle.block(here.token.id, timedelta(seconds=7))
    status, headers, _ = await here.ask("GET", "/zones")
    assert status == 429
    assert "retry-after" not in headers


# Faults


@pytest.mark.parametrize("kind", ["unsent", "lost"])
async def test_fault_breaks_the_connection_before_or_after_the_effect(kind: Kind) -> None:
    here = place()
    here.cloud.faults.add(Fault(kind))
    with pytest.raises(ConnectionError):
        await _status(here, "POST", f"/zones/{here.zone.id}/dns_records", RECORD)
    assert bool(here.zone.records) == (kind == "lost")
    assert here.cloud.journal.counts() == {"POST /zones/{zone}/dns_records": 1}, "it arrived all the same"


@pytest.mark.parametrize(
    ("kind", "status", "begins", "happens"),
    [
        ("error", 503, b'{"result":null', False),
        ("throttle", 429, b'{"result":null', False),
        ("html", 503, b"<!DOCTYPE html>", False),
        ("redirect", 302, b"", False),
        ("huge", 200, b'{"success":true,"result":"xxxxxxxxxx', False),
        ("truncated", 200, b'{"result":{"id"', True),
    ],
)
async def test_fault_spoils_the_answer(kind: Kind, status: int, begins: bytes, happens: bool) -> None:
    here = place()
    here.cloud.faults.add(Fault(kind, size=10))
    url = f"http://x/client/v4/zones/{here.zone.id}/dns_records"
    headers = {"authorization": f"Bearer {here.token.value}"}
    answered, _, body = await here.cloud.send("POST", url, headers, msgspec.json.encode(RECORD))
    assert answered == status
    assert body.startswith(begins)
    assert bool(here.zone.records) == happens
    assert here.cloud.journal.counts() == {"POST /zones/{zone}/dns_records": 1}


async def test_fault_concerns_what_it_is_planned_for() -> None:
    here = place()
    here.cloud.faults.add(Fault("error", status=500, method="GET", path="*/dns_records", skip=1, times=2))
    path = f"/zones/{here.zone.id}/dns_records"
    assert await _status(here) == 200
    assert [await _status(here, path=path) for _ in range(4)] == [200, 500, 500, 200]


async def test_fault_lasts_as_long_as_planned() -> None:
    here = place()
    here.cloud.faults.add(Fault("error", times=None, lasting=timedelta(minutes=1)))
    assert await _status(here) == 503
    here.clock.advance(timedelta(minutes=1))
    assert await _status(here) == 200


async def test_fault_comes_with_its_probability_and_the_same_in_every_run() -> None:
    runs = []
    for _ in range(2):
        here = place()
        here.cloud.faults.add(Fault("throttle", probability=0.3, times=None, seconds=1))
        runs.append([await _status(here) for _ in range(100)])
    assert runs[0] == runs[1]
    assert 15 < runs[0].count(429) < 45


async def test_faults_are_forgotten_when_cleared() -> None:
    here = place()
    here.cloud.faults.outage(timedelta(hours=1))
    with pytest.raises(ConnectionError):
        await _status(here)
    here.cloud.faults.clear()
    assert await _status(here) == 200


@virtual_time
async def test_delay_takes_time_and_comes_on_top_of_other_faults() -> None:
    cloud = CloudflareCloud(LoopClock())
    token = cloud.add_token()
    cloud.faults.add(Fault("delay", seconds=3), Fault("error", status=502))
    headers = {"authorization": f"Bearer {token.value}"}
    status, _, _ = await cloud.send("GET", "http://x/client/v4/zones", headers, b"")
    assert (status, asyncio.get_running_loop().time()) == (502, 3)


async def test_validation_errors_can_come_in_a_chain_as_they_once_did() -> None:
    here = place()
    here.cloud.chained_errors = True
    _, _, answer = await here.ask("POST", f"/zones/{here.zone.id}/dns_records", {**RECORD, "ttl": 5})
    (error,) = answer["errors"]
    assert (error["code"], error["error_chain"][0]["code"]) == (1004, 9021)


# Journal, administrator, time


async def test_journal_knows_every_request_and_who_sent_it() -> None:
    here = place()
    await here.ask("GET", "/zones")
    await here.ask("POST", f"/zones/{here.zone.id}/dns_records", RECORD)
    await here.ask("POST", f"/zones/{here.zone.id}/dns_records", RECORD)
    await here.ask("GET", "/nowhere")
    journal = here.cloud.journal
    assert journal.counts() == {"GET /zones": 1, "POST /zones/{zone}/dns_records": 2, "GET /nowhere": 1}
    assert [entry.status for entry in journal.entries] == [200, 200, 400, 404]
    assert [entry.code for entry in journal.entries] == [0, 0, 81058, 7003]
    assert {entry.token for entry in journal.entries} == {here.token.id}
    assert [entry.operation for entry in journal.writes()] == ["POST /zones/{zone}/dns_records"] * 2
    assert journal.count() == 4
    assert all(entry.sent > 0 for entry in journal.entries)
    journal.clear()
    assert journal.count() == 0


async def test_journal_tells_the_highest_rate() -> None:
    here = place()
    for pause in (0, 0, 1, 5, 0, 0, 0):
        here.clock.advance(timedelta(seconds=pause))
        await here.ask("GET", "/zones")
    assert here.cloud.journal.most_within(timedelta(seconds=1)) == 4
    assert here.cloud.journal.most_within(timedelta(seconds=100), here.token.id) == 7
    assert here.cloud.journal.most_within(timedelta(seconds=1), "nobody") == 0


async def test_administrator_is_neither_limited_nor_recorded() -> None:
    here = place()
    here.cloud.throttle.block(here.token.id)
    here.cloud.faults.outage(timedelta(hours=1))
    here.records("POST", RECORD)
    assert here.zone.records
    assert not here.cloud.journal.entries


async def test_simulation_repeats_itself() -> None:
    made = []
    for _ in range(2):
        here = place()
        made.append([here.token.value, here.zone.id, here.records("POST", RECORD)])
    assert made[0] == made[1]


def test_time_of_the_simulation_can_be_ahead_of_its_clock() -> None:
    clock = VirtualClock()
    cloud = CloudflareCloud(clock)
    cloud.advance(timedelta(days=1))
    clock.advance(timedelta(hours=1))
    assert cloud.clock.now() - clock.now() == timedelta(days=1)
    assert cloud.clock.monotonic() == 25 * 3600
