"""Failover: whatever happens to a leader, another one works soon, and never both at once.

`electing` counts the leaders all the time; two at one instant fail any of these tests.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekeeper.kube.lease import LeaseOptions, LostLeadershipError
from kubesim.virtual import VirtualLoop, run_virtual, virtual_time
from tests.unit.kube.election import Candidate, Election, electing
from tests.unit.kube.world import eventually

SKEW = timedelta(minutes=10)
FAILOVER = 20.0
"""Seconds within which somebody else must work."""


def now() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_killed_leader_is_replaced_in_time() -> None:
    async with electing() as election:
        a = await election.leader("a")
        b, c = election.start("b"), election.start("c")
        await asyncio.sleep(30)
        await a.kill()
        assert await eventually(lambda: bool(b.calls or c.calls), FAILOVER) > 10


@virtual_time
async def test_frozen_leader_is_replaced_and_makes_no_call_when_it_wakes_up() -> None:
    async with electing() as election:
        a = await election.leader("a")
        b = election.start("b")
        await asyncio.sleep(30)
        a.calls.clear()
        frozen_at = now()
        await a.freeze_for(20)
        assert b.calls[0] - frozen_at <= FAILOVER
        await asyncio.sleep(60)
        assert a.calls == []
        assert isinstance(a.exit, LostLeadershipError)
        assert b.passes()


@pytest.mark.parametrize(
    "at", [0.0, 0.005, 0.015, 0.025, 1.0], ids=lambda at: f"{at}_s_after_a_renewal_began"
)
@virtual_time
async def test_leader_frozen_within_a_renewal_makes_no_call_when_it_wakes_up(at: float) -> None:
    async with electing() as election:
        a = await election.leader("a")
        b = election.start("b")
        await asyncio.sleep(5)
        sent = len(a.link.sent)
        await eventually(lambda: len(a.link.sent) > sent, 3)
        await asyncio.sleep(at)
        a.calls.clear()
        await a.freeze_for(25)
        await asyncio.sleep(30)
        assert a.calls == []
        assert b.passes()


@virtual_time
async def test_short_freeze_does_not_cost_the_leadership() -> None:
    async with electing() as election:
        a = await election.leader("a")
        await asyncio.sleep(30)
        await a.freeze_for(5)
        await asyncio.sleep(3)
        assert a.passes()
        assert a.changes == [True]


@virtual_time
async def test_frozen_candidate_does_not_take_what_was_renewed_meanwhile() -> None:
    async with electing() as election:
        a = await election.leader("a")
        b = election.start("b")
        for pause in (0.1, 1.3, 2.0, 0.7):
            await asyncio.sleep(pause)
            await b.freeze_for(40)
        await asyncio.sleep(10)
        assert a.passes()
        assert b.changes == []


@virtual_time
async def test_partitioned_leader_stops_before_another_starts() -> None:
    async with electing() as election:
        a = await election.leader("a")
        b = election.start("b")
        await asyncio.sleep(30)
        a.link.is_up = False
        cut_at = now()
        await eventually(lambda: bool(b.calls), FAILOVER)
        assert a.calls[-1] - cut_at <= 7
        assert b.calls[0] > a.calls[-1] + 5


@virtual_time
async def test_partition_of_everybody_ends_with_one_leader() -> None:
    async with electing() as election:
        candidates = [await election.leader("a"), election.start("b"), election.start("c")]
        await asyncio.sleep(10)
        for candidate in candidates:
            candidate.link.is_up = False
        await asyncio.sleep(60)
        assert election.leaders() == []
        for candidate in candidates:
            candidate.link.is_up = True
        await eventually(lambda: len(election.leaders()) == 1, FAILOVER)


@pytest.mark.parametrize(("leader", "candidate"), [(2.0, 1.0), (1.0, 2.0), (0.5, 1.0), (1.0, 0.5)])
@virtual_time
async def test_clocks_at_other_rates_keep_leaders_apart(leader: float, candidate: float) -> None:
    async with electing() as election:
        a = await election.leader("a", rate=leader)
        b = election.start("b", rate=candidate)
        await asyncio.sleep(300)
        assert a.passes(), "a healthy leader keeps its lease at any rate"
        a.link.is_up = False
        cut_at = now()
        await eventually(lambda: bool(b.calls), 15 / candidate + 5)
        assert a.calls[-1] < b.calls[0]
        assert a.calls[-1] - cut_at <= 7 / leader


@pytest.mark.parametrize(("leader", "candidate"), [(SKEW, -SKEW), (-SKEW, SKEW)], ids=["ahead", "behind"])
@virtual_time
async def test_wall_clocks_do_not_matter(leader: timedelta, candidate: timedelta) -> None:
    async with electing() as election:
        a = await election.leader("a", skew=leader)
        b = election.start("b", skew=candidate)
        await asyncio.sleep(120)
        assert election.leaders() == ["a"]
        await a.kill()
        assert await eventually(b.passes, FAILOVER) > 10


@virtual_time
async def test_jumps_of_the_wall_clock_do_not_matter() -> None:
    async with electing() as election:
        a = await election.leader("a")
        b = election.start("b")
        for hours in (1, -1, -1, 1, 24 * 365):
            a.clock.jump(timedelta(hours=hours))
            b.clock.jump(timedelta(hours=-hours))
            await asyncio.sleep(20)
        assert a.changes == [True]
        assert b.changes == []


@virtual_time
async def test_blocked_event_loop_ends_the_term_without_another_call() -> None:
    async with electing() as election:
        a = await election.leader("a")
        await asyncio.sleep(5.5)
        a.elector.check()
        a.link.sent.clear()
        block_event_loop(20)
        with pytest.raises(LostLeadershipError, match="last renewed"):
            a.elector.check()
        await asyncio.sleep(5)
        assert isinstance(a.exit, LostLeadershipError)
        assert a.link.sent == []


def block_event_loop(seconds: float) -> None:
    """Keep everybody waiting, as a computation does that never awaits."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop._elapsed += seconds


@virtual_time
async def test_rolling_update_passes_the_lease_on_each_time() -> None:
    async with electing() as election:
        current = await election.leader("pod-0")
        for number in range(1, 8):
            following = election.start(f"pod-{number}")
            await asyncio.sleep(7)
            await current.elector.release()
            await eventually(following.passes, 4)
            current = following


# Any schedule of faults


@dataclass(frozen=True)
class Incident:
    """Something happens to a candidate, some time after the last incident."""

    after: float
    victim: int
    kind: str
    seconds: float


THE_LEADER = -1
"""Whoever leads at that time: the one to whom things happen that matter."""

incidents = st.builds(
    Incident,
    after=st.floats(0, 20),
    victim=st.sampled_from([THE_LEADER, THE_LEADER, THE_LEADER, 0, 1, 2]),
    kind=st.sampled_from(
        ["kill", "freeze", "partition", "lose answers", "slow down", "hang", "release", "jump"]
    ),
    seconds=st.floats(0.1, 40),
)


@dataclass(frozen=True)
class Conditions:
    """What the three machines are like. Their clocks differ by a factor of two at most."""

    rates: tuple[float, float, float]
    skews: tuple[int, int, int]


conditions = st.builds(
    Conditions,
    rates=st.tuples(*[st.sampled_from([0.75, 1.0, 1.5])] * 3),
    skews=st.tuples(*[st.integers(-600, 600)] * 3),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(incidents, min_size=1, max_size=8), conditions)
def test_never_two_leaders_whatever_happens(schedule: list[Incident], machines: Conditions) -> None:
    run_virtual(lambda: _live_through(schedule, machines))


async def _live_through(schedule: list[Incident], machines: Conditions) -> None:
    async with electing() as election, asyncio.TaskGroup() as group:
        replicas = [_Replica(election, machines, number) for number in range(3)]
        keepers = [group.create_task(replica.keep_alive()) for replica in replicas]
        troubles = []
        for incident in schedule:
            await asyncio.sleep(incident.after)
            victim = _victim(incident, [replica.process for replica in replicas])
            troubles.append(group.create_task(_cause(incident, victim)))
        await asyncio.gather(*troubles)
        await asyncio.sleep(15)  # until nobody waits any more for an answer that will never come
        # The slowest clock needs 20 s of its own for a failover, after as much for a term that has just begun.
        await eventually(lambda: len(election.leaders()) == 1, 70)
        leader = election.leaders()
        await asyncio.sleep(40)
        assert election.leaders() == leader, "a healthy cluster does not change its leader"
        for keeper in keepers:
            keeper.cancel()


class _Replica:
    """A pod: its process is started again whenever it ends, under a new name, as Kubernetes would."""

    def __init__(self, election: Election, machines: Conditions, number: int) -> None:
        self._election = election
        self._skew = timedelta(seconds=machines.skews[number])
        self._rate = machines.rates[number]
        self._number = number
        self._restarts = 0
        self.process = self._start()

    async def keep_alive(self) -> None:
        while True:
            await asyncio.sleep(1)
            if not self.process.is_alive or all(task.done() for task in self.process.tasks[:1]):
                await self.process.kill()
                self._restarts += 1
                self.process = self._start()

    def _start(self) -> Candidate:
        identity = f"pod-{self._number}-{self._restarts}"
        return self._election.start(identity, skew=self._skew, rate=self._rate)


def _victim(incident: Incident, processes: list[Candidate]) -> Candidate:
    leading = [process for process in processes if process.passes()]
    return leading[0] if incident.victim == THE_LEADER and leading else processes[incident.victim]


async def _cause(incident: Incident, process: Candidate) -> None:
    link = process.link
    match incident.kind:
        case "kill":
            await process.kill()
        case "freeze":
            await process.freeze_for(incident.seconds)
        case "release":
            await process.elector.release()
        case "jump":
            process.clock.jump(timedelta(minutes=incident.seconds - 20))
        case "partition":
            link.is_up = False
            await asyncio.sleep(incident.seconds)
            link.is_up = True
        case "lose answers":
            link.loses_answers = True
            await asyncio.sleep(incident.seconds)
            link.loses_answers = False
        case "slow down":
            link.latency = incident.seconds / 10
            await asyncio.sleep(incident.seconds)
            link.latency = 0.01
        case "hang":
            link.hangs = True
            await asyncio.sleep(incident.seconds)
            link.hangs = False


def test_options_scale_with_their_intervals() -> None:
    """A slow election is as safe as a fast one."""

    async def scenario() -> None:
        options = LeaseOptions(timedelta(seconds=150), timedelta(seconds=100), timedelta(seconds=20))
        async with electing() as election:
            a = await election.leader("a", options=options)
            b = election.start("b", options=options)
            await asyncio.sleep(300)
            a.link.is_up = False
            assert await eventually(b.passes, 10 * FAILOVER) > 120

    run_virtual(scenario)
