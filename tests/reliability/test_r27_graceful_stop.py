"""R-27: an operator that is asked to stop while it is busy ends in order and in time, and leaves nothing half done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
import pytest

from edgekeeper.core.calls import CallRecord
from edgekeeper.core.json import dig
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.lease import LeaseOptions
from edgekeeper.kube.transport import ApiRequest, ApiResponse
from kubesim.transport import InProcessTransport
from kubesim.virtual import run_virtual, virtual_time
from tests.crash.life import Life
from tests.crash.oracles import duplicates, orphans
from tests.crash.stage import staged
from tests.reliability.playing import GizmoStage
from tests.results import Figures
from tests.toy.gizmo import gizmo
from tests.toy.system import GIZMOS

LONGEST_STOP = 25.0
OBJECTS = 100


class SlowAnswers:
    """A hook that makes every answer of the workshop take its time, or more time than there is."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    async def before(self, call: CallRecord) -> None: ...

    async def after(self, call: CallRecord) -> None:
        if call.target == "workshop":
            await asyncio.sleep(self.seconds)


class Witness(InProcessTransport):
    """Sees whether the operator was still ready when it gave the lease back."""

    ready_at_release: bool | None = None
    passes_at_release: int = -1
    life: Life

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        if "/leases/" in request.path and request.method == "PUT":
            lease = msgspec.json.decode(request.body)
            if not dig(lease, "spec", "holderIdentity"):
                self.ready_at_release = self.life.manager.is_ready
                self.passes_at_release = len(self.life.controllers[0].queue.running())
        return await super().send(request, deadline)


@asynccontextmanager
async def busy_operator(answer_after: float) -> AsyncIterator[tuple[GizmoStage, Life, Witness]]:
    """An operator in the middle of building a hundred Gizmos."""
    async with staged(GIZMOS) as stage:
        for number in range(OBJECTS):
            await stage.create(gizmo(Key("default", f"g-{number}"), wheel="red"))
        witness = Witness(stage.plane)
        witness.life = stage.start_operator(
            transport=witness, hooks=(SlowAnswers(answer_after),), lease=LeaseOptions()
        )
        await stage.until(lambda: stage.outside.writes > OBJECTS // 4)
        assert len(witness.life.controllers[0].queue.running()) > 0
        yield stage, witness.life, witness


@pytest.mark.parametrize("answer_after", [0.5, 3.0, 600.0], ids=lambda seconds: f"{seconds:g} s")
def test_busy_operator_stops_in_time_and_in_order(answer_after: float, figures: Figures) -> None:
    async def scenario() -> None:
        async with busy_operator(answer_after=min(answer_after, 3.0)) as (stage, life, witness):
            _slow_down(life, answer_after)
            began = asyncio.get_running_loop().time()
            life.manager.stop()
            assert not life.manager.is_ready
            await life.ended()
            took = asyncio.get_running_loop().time() - began
            figures.measure("stopped after", took, "s", limit=LONGEST_STOP)
            assert took <= LONGEST_STOP
            assert witness.ready_at_release is False
            assert witness.passes_at_release == 0
            await _confirm_that_another_one_finishes(stage)

    run_virtual(scenario)


def _slow_down(life: Life, seconds: float) -> None:
    for hook in life.calls.hooks:
        if isinstance(hook, SlowAnswers):
            hook.seconds = seconds


async def _confirm_that_another_one_finishes(stage: GizmoStage) -> None:
    """What was begun is found again: nothing is made twice, nothing is forgotten."""
    began = asyncio.get_running_loop().time()
    life = stage.start_operator(lease=LeaseOptions())
    await stage.until(lambda: life.manager.is_ready)
    assert life.elector is not None
    await life.elector.wait_elected()
    assert asyncio.get_running_loop().time() - began < 5
    await stage.settled()
    assert [*orphans(stage), *duplicates(stage.outside)] == []
    assert set(stage.outside.tally().values()) == {(1, 0)}


@virtual_time
async def test_operator_that_waits_for_the_lease_stops_at_once() -> None:
    async with staged(GIZMOS) as stage:
        leader = stage.start_operator(lease=LeaseOptions())
        await stage.elapse(seconds=5)
        waiting = stage.start_operator(lease=LeaseOptions())
        await stage.until(lambda: waiting.manager.is_ready)
        began = asyncio.get_running_loop().time()
        await waiting.stop()
        assert asyncio.get_running_loop().time() - began < 1
        assert leader.elector is not None
        assert leader.elector.is_leader
