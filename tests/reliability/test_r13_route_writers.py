"""R-13: somebody else writes the configuration of the tunnel at the same time, with the API's whole-document PUT.

The API has no precondition. So the foreign writer reads at one call boundary of ours and writes at a later one what it has
read, with a rule of its own. Whatever the order: our rules are there in the end, and every foreign write costs us two
writes at most. A foreign rule is lost only where it was written between our read and our write.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Final

import pytest
from prometheus_client import CollectorRegistry

from edgekeeper.cloud.budget import Budget, LaneRate
from edgekeeper.cloud.cloudflare.accounts import Cloudflare, CloudflareOptions
from edgekeeper.cloud.cloudflare.credential import Credential
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange
from edgekeeper.cloud.cloudflare.tunnel_rules import TunnelRule
from edgekeeper.cloud.cloudflare.tunnel_writer import TunnelWriter
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import DEFAULT_OPTIONS
from edgekeeper.cloud.rates import CLOUDFLARE
from edgekeeper.cloud.transport import Transport
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject
from kubesim.virtual import LoopClock, run_virtual
from tests.crash.sampling import ALL
from tests.reliability.routes import Provider, Scene, host, publishing, route, with_common
from tests.results import Figures

INTERLEAVINGS: Final = 1_000 if ALL else 200
ROUTE_INTERLEAVINGS: Final = 1_000 if ALL else 20
WORLDS: Final = 10 if ALL else 1
BOUNDARIES: Final = 4
"""Our own write of the configuration is two calls: a read and a PUT."""
INTERVAL: Final = 65.0
"""Between two listings of the mirror of the writer alone."""
NOTICED: Final = INTERVAL + DEFAULT_OPTIONS.settling.total_seconds() + 5.0
"""A listing soon after a write of ours is not believed, so that of the next interval is."""
ROUTE_INTERVAL: Final = 300
"""Of the whole operator: corrections of one route that come faster than this are held back by the brake."""
ROUTE_NOTICED: Final = ROUTE_INTERVAL + NOTICED


@dataclass
class Rival:
    """Reads at one call boundary and writes at another. Boundary 0 is before our first call."""

    provider: Provider
    rule: JsonObject
    reads_at: int
    writes_at: int
    calls: int = 0
    own: int = 0
    """Writes of ours."""
    seen: list[JsonObject] | None = None
    is_inside: bool = False
    """Whether it wrote between a read and a write of ours."""
    has_written: bool = False

    def __post_init__(self) -> None:
        self.provider.spoil = self._after
        self._act("")

    def _after(self, method: str, url: str, body: bytes) -> bytes:
        if url.endswith("/configurations"):
            self.calls += 1
            self.own += method == "PUT"
            self._act(method)
        return body

    def _act(self, last: str) -> None:
        if self.calls >= self.reads_at and self.seen is None:
            self.seen = self.provider.rules()
        if self.calls >= self.writes_at and not self.has_written:
            self.has_written = True
            self.is_inside = last == "GET"
            seen = [one for one in self.seen or [] if one["hostname"] != self.rule["hostname"]]
            self.provider.write_rules([*seen, self.rule])


async def interleave(scene: Scene, number: int, random: Random) -> None:
    """One change of ours, and one of the rival's."""
    reads_at = random.randint(0, BOUNDARIES - 1)
    rule = {"hostname": f"foreign-{number % 3}.example.com", "service": f"http://foreign:{number + 1}"}
    rival = Rival(scene.provider, rule, reads_at, random.randint(reads_at, BOUNDARIES))
    service = f"http://ours-{number}.web.svc:80"
    await scene.annotate("shop", originService=service)
    await scene.until(lambda: rival.has_written)
    await scene.elapse(seconds=ROUTE_NOTICED)
    rules = {one["hostname"]: one["service"] for one in scene.provider.rules()}
    told = f"read at {rival.reads_at}, written at {rival.writes_at}"
    assert rules.get(host("shop")) == service, told
    assert rules.get(host("other")), told
    assert rival.own <= 1 + 2, told
    assert rival.is_inside or rules.get(rule["hostname"]) == rule["service"], told


@pytest.mark.parametrize("world", range(WORLDS))
def test_racing_writers_of_a_tunnel_never_lose_our_rules(world: int, figures: Figures) -> None:
    async def play() -> None:
        random = Random(world)
        async with publishing(with_common(drift_interval=timedelta(seconds=ROUTE_INTERVAL))) as scene:
            await scene.create(route("shop", dns="external"), route("other", dns="external"))
            await scene.ready()
            for number in range(ROUTE_INTERLEAVINGS // WORLDS):
                await interleave(scene, number, random)
                figures.count("interleavings")
            assert {scene.said(name)[:2] for name in ("shop", "other")} == {("True", "Published")}

    run_virtual(play, seed=world)


@pytest.mark.parametrize("seed", range(WORLDS))
def test_writer_of_a_tunnel_keeps_its_rules_among_others(seed: int, figures: Figures) -> None:
    """The writer alone, and its mirror: whoever sees in the mirror that a rule is not as it should be submits it again."""

    async def play() -> None:
        random = Random(seed)
        async with writing() as (provider, writer):
            for number in range(INTERLEAVINGS // WORLDS):
                await race(provider, writer, number, random)
                figures.count("interleavings")

    run_virtual(play, seed=seed)


@asynccontextmanager
async def writing() -> AsyncIterator[tuple[Provider, TunnelWriter]]:
    clock = LoopClock()
    provider, metrics = Provider(clock), CloudMetrics(CollectorRegistry())
    transport = Transport(Calls(), clock, Budget({CLOUDFLARE: LaneRate(100, 100)}), metrics)
    pace = replace(DEFAULT_OPTIONS, slow=timedelta(seconds=INTERVAL))
    options = CloudflareOptions("http://localhost/client/v4", pace)
    cloudflare = Cloudflare(transport, provider.send, clock, metrics, options)
    account = cloudflare.account(Credential("test", lambda: provider.token.value), provider.account.id)
    running = asyncio.create_task(cloudflare.run())
    try:
        writer = account.tunnel(provider.tunnel)
        await writer.mirror.wait_synced()
        yield provider, writer
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def race(provider: Provider, writer: TunnelWriter, number: int, random: Random) -> None:
    reads_at = random.randint(0, BOUNDARIES - 1)
    foreign = {"hostname": f"foreign-{number % 3}.example.com", "service": f"http://foreign:{number + 1}"}
    rival = Rival(provider, foreign, reads_at, random.randint(reads_at, BOUNDARIES))
    rule = TunnelRule(host("shop"), f"http://ours-{number}:80")
    change = HostnameChange(rule.hostname, (rule,), ours=True)
    ticket = writer.submit(change)
    due = None
    while due is None or asyncio.get_running_loop().time() < due:
        await asyncio.sleep(1)
        if ticket.done and writer.mirror.get(rule.hostname) != (rule.document(),):
            ticket.result()
            ticket = writer.submit(change)
        if due is None and rival.has_written:
            due = asyncio.get_running_loop().time() + NOTICED
    services = {one["hostname"]: one["service"] for one in provider.rules()}
    told = f"read at {rival.reads_at}, written at {rival.writes_at}"
    assert services.get(rule.hostname) == rule.service, told
    assert rival.own <= 1 + 2, told
    assert rival.is_inside or services.get(foreign["hostname"]) == foreign["service"], told
