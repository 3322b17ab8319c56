"""Probes say whether we live and can work, to anybody, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from edgekeeper.runtime.probes import Probes
from tests.logs import capture_logs
from tests.unit.runtime.wire import LOOPBACK, get, listening


@pytest.fixture
def probes() -> Probes:
    return Probes()


@pytest.fixture
async def url(probes: Probes) -> AsyncIterator[str]:
    async with listening(probes.handle) as port:
        yield f"http://{LOOPBACK}:{port}"


async def test_process_without_checks_is_alive_and_ready(url: str) -> None:
    assert await get(f"{url}/healthz") == (200, "ok")
    assert await get(f"{url}/readyz") == (200, "ok")


async def test_readiness_follows_its_checks(url: str, probes: Probes) -> None:
    warm = False
    probes.ready.add("stores", lambda: warm)
    assert await get(f"{url}/readyz") == (500, "[-]stores failed: reason withheld\nreadyz check failed\n")
    assert await get(f"{url}/healthz") == (200, "ok")
    warm = True
    assert await get(f"{url}/readyz") == (200, "ok")


async def test_verbose_lists_every_check(url: str, probes: Probes) -> None:
    probes.live.add("lease", lambda: True)
    assert await get(f"{url}/healthz?verbose") == (200, "[+]ping ok\n[+]lease ok\nhealthz check passed\n")


async def test_checks_can_be_left_out(url: str, probes: Probes) -> None:
    probes.ready.add("stores", lambda: False)
    probes.ready.add("webhooks", lambda: True)
    assert await get(f"{url}/readyz?exclude=stores") == (200, "ok")
    status, text = await get(f"{url}/readyz?verbose&exclude=stores&exclude=unknown")
    assert (status, text) == (200, "[+]stores excluded: ok\n[+]webhooks ok\nreadyz check passed\n")


async def test_each_check_can_be_asked_alone(url: str, probes: Probes) -> None:
    probes.ready.add("stores", lambda: False)
    assert await get(f"{url}/healthz/ping") == (200, "ok")
    assert await get(f"{url}/readyz/stores") == (500, "failed\n")
    assert (await get(f"{url}/readyz/ping"))[0] == 404


@pytest.mark.parametrize("path", ["/", "/metrics", "/healthz/ping/x", "/healthzz", "/debug/pprof"])
async def test_nothing_else_is_there(url: str, path: str) -> None:
    assert await get(f"{url}{path}") == (404, "not found\n")


async def test_probes_are_only_read(url: str) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{url}/healthz") as response:
            assert response.status == 405
        async with session.head(f"{url}/healthz") as response:
            assert response.status == 200


async def test_check_that_raises_counts_as_failed_and_tells_no_reason(url: str, probes: Probes) -> None:
    def broken() -> bool:
        raise RuntimeError("tenant acme-corp has no token")

    probes.ready.add("tenants", broken)
    with capture_logs() as logs:
        status, text = await get(f"{url}/readyz?verbose")
    assert (status, text) == (500, "[-]tenants failed: reason withheld\nreadyz check failed\n")
    assert logs[0]["event"] == "Health check failed"


async def test_change_of_readiness_is_logged_once(url: str, probes: Probes) -> None:
    warm = False
    probes.ready.add("stores", lambda: warm)
    with capture_logs() as logs:
        await get(f"{url}/readyz")
        await get(f"{url}/readyz")
        warm = True
        await get(f"{url}/readyz")
    assert [(line["event"], line["failing"]) for line in logs] == [
        ("Probe has changed", ["stores"]),
        ("Probe has changed", []),
    ]
