"""R-09: an operator whose watches fail misses nothing, deletes nothing, and hardly asks for more.

What happens to a watch is told in all detail by the tests of `kube.watch`; here the question is what a user notices.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from edgekeeper.kube.transport import ApiRequest, ApiResponse
from kubesim.transport import InProcessTransport
from kubesim.virtual import run_virtual, virtual_time
from tests.crash.gizmo_scenarios import KEY, OTHER, built, change
from tests.crash.stage import staged
from tests.reliability.playing import GizmoStage
from tests.results import Figures
from tests.toy.gizmo import GIZMO, gizmo
from tests.toy.system import GIZMOS
from tests.unit.kube.faults import FORBIDDEN, Fault, FaultyTransport

SILENCE = 75.0
NOTICED = SILENCE + 30.0
"""Silence, a pause, and a list or another watch."""


@asynccontextmanager
async def watched() -> AsyncIterator[tuple[GizmoStage, FaultyTransport]]:
    """A Gizmo that is built, and an operator on an unreliable way."""
    async with staged(GIZMOS) as stage:
        transport = FaultyTransport(InProcessTransport(stage.plane))
        stage.start_operator(transport=transport)
        await built(stage, wheel="red")
        await stage.elapse(minutes=1)
        yield stage, transport


@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
def test_change_after_a_fault_is_carried_out_in_time(fault: Fault, figures: Figures) -> None:
    async def scenario() -> None:
        async with watched() as (stage, transport):
            lists = transport.lists
            await transport.strike(fault)
            await change(stage, wheel="blue")
            seconds = await _seconds_until(stage, "blue")
            figures.measure("change carried out after", seconds, "s", limit=NOTICED)
            assert seconds <= NOTICED
            await stage.elapse(seconds=NOTICED - seconds)
            assert stage.outside.state()["default-one-wheel"]["colour"] == "blue"
            assert transport.lists <= lists + 1
            assert not stage.outside.deletes
            await stage.settled()

    run_virtual(scenario)


async def _seconds_until(stage: GizmoStage, colour: str) -> int:
    """How long it takes until the wheel has a colour."""
    for second in range(int(2 * NOTICED)):
        if stage.outside.state()["default-one-wheel"]["colour"] == colour:
            return second
        await asyncio.sleep(1)
    raise AssertionError(f"after {2 * NOTICED:g} s the wheel is not {colour}")


@virtual_time
async def test_forgotten_history_costs_one_list() -> None:
    async with watched() as (stage, transport):
        lists = transport.lists
        stage.plane.store.compact()
        await transport.strike(Fault.CUT)
        await change(stage, wheel="blue")
        await stage.settled()
        assert transport.lists <= lists + 1
        assert not stage.outside.deletes


@virtual_time
async def test_revoked_rights_delete_nothing_and_their_return_is_noticed() -> None:
    async with watched() as (stage, transport):

        def refuse(request: ApiRequest) -> ApiResponse | None:
            reads_all = request.path == GIZMO.collection_path()
            return FORBIDDEN if request.method == "GET" and reads_all else None

        transport.refuse = refuse
        await transport.strike(Fault.CUT)
        await stage.delete(GIZMO, KEY)
        await stage.create(gizmo(OTHER, wheel="green"))
        await stage.elapse(minutes=5)
        assert not stage.outside.deletes
        assert list(stage.outside.state()) == ["default-one-wheel"]
        transport.refuse = lambda _: None
        await stage.elapse(minutes=2)
        await stage.settled()
        assert list(stage.outside.state()) == ["default-two-wheel"]
