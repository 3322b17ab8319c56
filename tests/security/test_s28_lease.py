"""S-28: whoever may write the Lease can take the lead from the operator, and gains nothing else by it.

Two replicas are started again whenever one ends, as a Deployment does, while users keep them busy. Somebody deletes the
Lease, takes it, empties it or fills it with nonsense, once or every few seconds. The leader notices; nothing is made twice or for
nobody; and as soon as it ends the work goes on. How the elector reads each odd Lease is told by the tests of `kube.lease`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import LEASE
from edgekeeper.kube.lease import LostLeadershipError
from edgekeeper.kube.lease_record import LONGEST_DURATION
from kubesim.virtual import run_virtual, virtual_time
from tests.crash.life import LEASE_KEY
from tests.crash.oracles import duplicates, orphans
from tests.crash.stage import staged
from tests.reliability.playing import GizmoStage
from tests.reliability.test_r17_failover import FAILOVER, Process, keep_busy, now, start
from tests.reliability.test_r17_failover import LEASE as OPTIONS
from tests.results import Figures
from tests.toy.system import GIZMOS

RESTART = 1.0
"""Seconds after which a process that has ended is started again."""
NOTICED = OPTIONS.retry_period.total_seconds() + 0.1
"""Until the leader renews the next time."""


class Replicas:
    """Two processes, which are started again when they end."""

    def __init__(self, stage: GizmoStage) -> None:
        self._stage = stage
        self._present = {name: start(stage, f"{name}-0") for name in ("a", "b")}
        self.all: list[Process] = list(self._present.values())

    @property
    def leader(self) -> Process:
        (leader,) = (one for one in self._present.values() if one.leads)
        return leader

    async def keep(self) -> None:
        while True:
            await asyncio.sleep(RESTART)
            for name, process in self._present.items():
                if process.life.task.done():
                    self._present[name] = start(self._stage, f"{name}-{len(self.all)}")
                    self.all.append(self._present[name])

    def work_since(self, moment: float) -> list[float]:
        """When something was done since then, by anyone."""
        return sorted(effect.time for process in self.all for effect in process.since(moment))


@asynccontextmanager
async def kept_busy(*, pause: float = 0.7) -> AsyncIterator[tuple[GizmoStage, Replicas]]:
    """Replicas at work, with so many seconds between two wishes of users. In the end everything that users have asked for is there once."""
    async with staged(GIZMOS) as stage:
        replicas = Replicas(stage)
        tasks = [asyncio.create_task(task) for task in (replicas.keep(), keep_busy(stage, pause))]
        await stage.elapse(seconds=30)
        assert replicas.work_since(0)
        yield stage, replicas
        tasks[1].cancel()
        await stage.settled()
        await stage.elapse(minutes=3)
        tasks[0].cancel()
        await asyncio.wait(tasks)
        assert [*orphans(stage), *duplicates(stage.outside)] == []
        assert stage.outside.repeated() == []
        assert set(stage.outside.tally().values()) == {(1, 0)}
        assert len(stage.outside.tally()) == len(list(stage.objects())) > 1


Attack = Callable[[GizmoStage], Awaitable[None]]


async def deleted(stage: GizmoStage) -> None:
    with suppress(NotFoundError):
        await stage.delete(LEASE, LEASE_KEY)


def edited(**spec: Any) -> Attack:
    async def attack(stage: GizmoStage) -> None:
        with suppress(NotFoundError):
            await stage.patch(LEASE, LEASE_KEY, {"spec": spec})

    return attack


async def replaced(stage: GizmoStage) -> None:
    """By another object of the same name, whose holder does not exist."""
    await deleted(stage)
    metadata = {"name": LEASE_KEY.name, "namespace": LEASE_KEY.namespace}
    spec = {"holderIdentity": "stranger", "leaseDurationSeconds": 15}
    await stage.user.create(LEASE, {"metadata": metadata, "spec": spec})


ATTACKS: dict[str, Attack] = {
    "deleted": deleted,
    "replaced": replaced,
    "taken": edited(holderIdentity="stranger"),
    "given to the other replica": edited(holderIdentity="b-0"),
    "given to nobody": edited(holderIdentity=""),
    "without a spec": edited(
        holderIdentity=None,
        leaseDurationSeconds=None,
        acquireTime=None,
        renewTime=None,
        leaseTransitions=None,
    ),
    "taken until doomsday": edited(holderIdentity="stranger", leaseDurationSeconds=2**31 - 1),
    "renewed in the future": edited(renewTime="2999-01-01T00:00:00.000000Z", leaseTransitions=2**31 - 1),
    "held by a megabyte": edited(holderIdentity="x" * 1_000_000),
}


@pytest.mark.parametrize("times", [1, 20], ids=["once", "again and again"])
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_attack_on_the_lease_makes_nothing_twice_and_the_work_goes_on(
    attack: Attack, times: int, figures: Figures
) -> None:
    async def play() -> None:
        async with kept_busy() as (stage, replicas):
            for _ in range(times):
                await attack(stage)
                attacked = now()
                await stage.elapse(seconds=3)
            await stage.elapse(seconds=FAILOVER - 3)
            worked = replicas.work_since(attacked)
            assert worked
            figures.measure("work goes on after", worked[0] - attacked, "s", limit=FAILOVER)
            figures.count("attacks", times)

    run_virtual(play)


@pytest.mark.parametrize("name", ["taken", "given to nobody", "replaced", "without a spec"])
def test_leader_notices_that_the_lease_is_not_its_own_any_more(name: str) -> None:
    async def play() -> None:
        async with kept_busy() as (stage, replicas):
            leader = replicas.leader
            await ATTACKS[name](stage)
            noticed = now() + NOTICED
            await stage.elapse(seconds=NOTICED + FAILOVER)
            assert not leader.since(noticed)
            assert isinstance(leader.life.task.exception(), LostLeadershipError)

    run_virtual(play)


@virtual_time
async def test_claim_of_a_long_term_is_believed_for_an_hour_at_most() -> None:
    """Other programs may have longer terms than we do, so that a forged one is an outage of that length."""
    async with kept_busy(pause=20) as (stage, replicas):
        seconds = LONGEST_DURATION.total_seconds()
        await edited(holderIdentity="stranger", leaseDurationSeconds=int(seconds))(stage)
        attacked = now()
        await stage.elapse(seconds=seconds - 1)
        assert not replicas.work_since(attacked + NOTICED)
        await stage.elapse(seconds=2 * FAILOVER)
        assert replicas.work_since(attacked + seconds)
