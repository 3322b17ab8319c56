"""R-17: whatever happens to the leader, another operator works within 20 seconds, and the old one does nothing any more.

Two operators stand by while users keep them busy. What an operator does is noted where it takes effect: at the server
and in the workshop, with the time and who did it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

import pytest

from edgekeeper.core.calls import CallRecord
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.lease import LeaseOptions, LostLeadershipError
from edgekeeper.kube.transport import ApiRequest, ApiResponse
from kubesim.plane.plane import Plane
from kubesim.virtual import LoopClock, run_virtual, virtual_time
from tests.crash.gizmo_scenarios import scenarios
from tests.crash.life import Life
from tests.crash.oracles import duplicates, orphans
from tests.crash.runner import captured_logs
from tests.crash.stage import staged
from tests.crash.system import Scenario
from tests.reliability.freezing import Ice
from tests.reliability.playing import GizmoStage, ending, usual_ending
from tests.results import Figures
from tests.toy.gizmo import gizmo
from tests.toy.system import GIZMOS
from tests.toy.workshop import Workshop
from tests.unit.kube.election import Link

FAILOVER = 20.0
LEASE = LeaseOptions()


class Effect(NamedTuple):
    """Something that an operator did."""

    time: float
    what: str


@dataclass
class Process:
    """An operator, and what can be done to it."""

    life: Life
    link: WatchedLink
    ice: Ice
    freezing: Freezing
    effects: list[Effect]

    @property
    def leads(self) -> bool:
        assert self.life.elector is not None
        return self.life.elector.is_leader

    def since(self, moment: float) -> list[Effect]:
        return [effect for effect in self.effects if effect.time > moment]


class WatchedLink(Link):
    """Notes every write that reaches the server, but for those of the lease itself."""

    def __init__(self, plane: Plane, effects: list[Effect]) -> None:
        super().__init__(plane)
        self.latency = 0.0
        self._effects = effects

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        if self.is_up and request.method != "GET" and "/leases" not in request.path:
            self._effects.append(Effect(now(), f"{request.method} {request.path}"))
        return await super().send(request, deadline)


@dataclass
class Freezing:
    """A hook that freezes its process just before a call."""

    ice: Ice
    at_call: int | None = None
    """How many more calls are let through."""
    moment: float = 0.0

    async def before(self, call: CallRecord) -> None:
        if self.at_call is None:
            return
        self.at_call -= 1
        if self.at_call < 0:
            self.at_call = None
            self.moment = now()
            asyncio.get_running_loop().call_later(FAILOVER, self.ice.thaw)
            self.ice.freeze()
            await asyncio.sleep(0)

    async def after(self, call: CallRecord) -> None: ...


@dataclass
class WorkshopWrites:
    """A hook that notes what was done in the workshop: its calls take effect as soon as they are let through."""

    effects: list[Effect]
    _started: dict[int, float] = field(default_factory=dict)

    async def before(self, call: CallRecord) -> None:
        self._started[call.number] = now()

    async def after(self, call: CallRecord) -> None:
        if call.target == "workshop" and call.mutating:
            self.effects.append(Effect(self._started[call.number], f"{call.operation} {call.subject}"))


def now() -> float:
    return asyncio.get_running_loop().time()


def start(stage: GizmoStage, name: str, *, rate: float = 1.0) -> Process:
    effects: list[Effect] = []
    link, ice = WatchedLink(stage.plane, effects), Ice()
    freezing = Freezing(ice)
    with ice.around():
        life = stage.start_operator(
            transport=link,
            clock=LoopClock(rate=rate),
            hooks=(freezing, WorkshopWrites(effects)),
            lease=LEASE,
            identity=name,
        )
    return Process(life, link, ice, freezing, effects)


@asynccontextmanager
async def busy_pair(
    *, leader_rate: float = 1.0, other_rate: float = 1.0
) -> AsyncIterator[tuple[GizmoStage, Process, Process]]:
    """A leader at work, another one that waits, and users who never rest. In the end nothing exists twice or for nobody."""
    async with staged(GIZMOS) as stage:
        leader = start(stage, "a", rate=leader_rate)
        await stage.until(lambda: leader.leads)
        other = start(stage, "b", rate=other_rate)
        users = asyncio.create_task(keep_busy(stage))
        await stage.elapse(seconds=30)
        assert leader.effects
        assert not other.effects
        yield stage, leader, other
        users.cancel()
        await asyncio.wait([users])
        await stage.settled()
        assert [*orphans(stage), *duplicates(stage.outside)] == []
        assert stage.outside.repeated() == []


async def keep_busy(stage: GizmoStage, pause: float = 0.7) -> None:
    number = 0
    while True:
        number += 1
        await stage.create(gizmo(Key("default", f"g-{number}"), wheel="red"))
        await asyncio.sleep(pause)


@virtual_time
async def test_killed_leader_is_replaced_in_time(figures: Figures) -> None:
    async with busy_pair() as (stage, leader, other):
        leader.life.die()
        killed = now()
        await stage.elapse(seconds=FAILOVER)
        assert other.since(killed)
        figures.measure("new leader after", other.since(killed)[0].time - killed, "s", limit=FAILOVER)
        assert not leader.since(killed)


@virtual_time
async def test_frozen_leader_is_replaced_in_time_and_does_nothing_when_it_wakes_up(figures: Figures) -> None:
    async with busy_pair() as (stage, leader, other):
        frozen = now()
        leader.ice.freeze()
        await stage.elapse(seconds=FAILOVER)
        leader.ice.thaw()
        assert other.since(frozen)
        figures.measure("new leader after", other.since(frozen)[0].time - frozen, "s", limit=FAILOVER)
        await stage.elapse(minutes=1)
        assert not leader.since(frozen)
        assert isinstance(leader.life.task.exception(), LostLeadershipError)


@pytest.mark.parametrize("call", range(8))
def test_leader_may_freeze_at_any_call(call: int) -> None:
    """The worst moment: everything is decided, and nothing but the call itself is left to do."""

    async def scenario() -> None:
        async with busy_pair() as (stage, leader, other):
            leader.freezing.at_call = call
            await stage.until(lambda: leader.ice.is_frozen)
            frozen = leader.freezing.moment
            await stage.elapse(minutes=1)
            assert other.since(frozen)
            assert not leader.since(frozen)

    run_virtual(scenario)


@virtual_time
async def test_leader_that_is_cut_off_stops_before_another_one_starts(figures: Figures) -> None:
    """The server is out of reach, but the workshop is not: nobody but the operator itself can stop it."""
    async with busy_pair() as (stage, leader, other):
        leader.link.is_up = False
        cut = now()
        await stage.elapse(seconds=FAILOVER)
        assert other.since(cut)
        figures.measure("new leader after", other.since(cut)[0].time - cut, "s", limit=FAILOVER)
        deadline = cut + LEASE.renew_deadline.total_seconds()
        assert not leader.since(deadline)
        assert not leader.since(other.since(cut)[0].time)
        await leader.life.ended()


@pytest.mark.parametrize(("leader_rate", "other_rate"), [(2.0, 1.0), (0.5, 1.0), (1.0, 2.0), (1.0, 0.5)])
def test_clocks_at_other_rates_keep_leaders_apart(leader_rate: float, other_rate: float) -> None:
    async def scenario() -> None:
        async with busy_pair(leader_rate=leader_rate, other_rate=other_rate) as (stage, leader, other):
            leader.link.is_up = False
            cut = now()
            await stage.until(lambda: bool(other.since(cut)))
            assert now() - cut <= FAILOVER / min(other_rate, 1.0)
            await stage.elapse(minutes=1)
            assert not leader.since(other.since(cut)[0].time)

    run_virtual(scenario)


@pytest.mark.parametrize("scenario", list(scenarios), ids=lambda scenario: scenario.name)
def test_two_leaders_at_once_make_nothing_twice(scenario: Scenario[Workshop]) -> None:
    """Should everything about leases fail: names, marks and preconditions keep two operators from doing harm."""

    async def play() -> None:
        async with staged(GIZMOS) as stage:
            stage.start_operator()
            stage.start_operator()
            await stage.until(lambda: all(life.manager.is_ready for life in stage.lives))
            await scenario.drive(stage)
            await stage.settled()
            await stage.elapse(minutes=3)
            result, usual = ending(stage), usual_ending(scenario.name)
            assert (result.cluster, result.outside, result.faults) == (usual.cluster, usual.outside, ())
            assert not scenario.exact or result.tally == usual.tally

    with captured_logs():
        usual_ending(scenario.name)
        run_virtual(play)
