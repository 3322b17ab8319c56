"""R-07: an operator that is shown the past changes nothing.

After a scenario has ended, a new operator starts whose lists and watches are those of an earlier moment, any moment, for
a minute. Reads of single objects and writes meet the present. The present is as users want it, so there is nothing to do:
whatever the operator does outside, it does on the word of the past.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream
from kubesim.plane.plane import Plane
from kubesim.plane.resource import GroupResource
from kubesim.transport import InProcessTransport
from kubesim.virtual import run_virtual
from tests.crash.sampling import EVERY
from tests.crash.stage import staged
from tests.crash.system import Scenario
from tests.reliability.playing import PATIENT, GizmoStage, ending
from tests.results import Figures
from tests.toy.gizmo import GIZMO
from tests.toy.system import GIZMOS
from tests.toy.workshop import Workshop

GIZMO_RESOURCE = GroupResource(GIZMO.group, GIZMO.plural)
LAG = 60.0


class PastTransport(InProcessTransport):
    """Shows the collection as it was at a revision, and what came after it a minute late."""

    def __init__(self, plane: Plane, revision: int) -> None:
        super().__init__(plane)
        self._items = plane.store.collection(GIZMO_RESOURCE).at(revision)
        self._revision = revision

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        if request.method == "GET" and request.path == GIZMO.collection_path():
            return ApiResponse(200, {"content-type": "application/json"}, self._list())
        return await super().send(request, deadline)

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        async with super().stream(request) as stream:
            yield replace(stream, chunks=_late(stream.chunks))

    def _list(self) -> bytes:
        kind = {"apiVersion": GIZMO.api_version, "kind": GIZMO.kind}
        items = [{**kind, **item.decode()} for item in self._items]
        return msgspec.json.encode({"metadata": {"resourceVersion": str(self._revision)}, "items": items})


async def _late(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    await asyncio.sleep(LAG)
    async for chunk in chunks:
        yield chunk


@pytest.mark.parametrize("scenario", PATIENT, ids=lambda scenario: scenario.name)
def test_operator_that_is_shown_the_past_changes_nothing(
    scenario: Scenario[Workshop], figures: Figures
) -> None:
    async def play() -> None:
        async with staged(GIZMOS) as stage:
            stage.start_operator()
            await scenario.drive(stage)
            await stage.settled()
            await stage.elapse(minutes=3)
            await stage.operator.stop()
            for event in list(stage.plane.store.collection(GIZMO_RESOURCE).log)[::EVERY]:
                await _restart_in_the_past(stage, event.revision)
                figures.count("restarts with an outdated view")

    run_virtual(play)


async def _restart_in_the_past(stage: GizmoStage, revision: int) -> None:
    before, journal = ending(stage), list(stage.outside.journal)
    life = stage.start_operator(transport=PastTransport(stage.plane, revision))
    await stage.elapse(minutes=5)
    await life.stop()
    assert stage.outside.journal == journal, f"shown revision {revision}"
    assert ending(stage) == before, f"shown revision {revision}"
