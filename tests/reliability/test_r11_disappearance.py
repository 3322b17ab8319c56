"""R-11: an empty or partial view is never taken for absence. Nothing is deleted, created or reported because of one.

A listing that AWS answers with nothing, with half of its pages, or not at all; a server that does not let us list. Where
tenants are really gone, each is confirmed by a read of its own before it counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.transport import ApiRequest, ApiResponse
from kubesim.aws import faults
from kubesim.aws.faults import Fault
from kubesim.aws.request import Answer
from kubesim.virtual import run_virtual
from tests.tenants.scene import Scene, playing
from tests.tenants.system import tenant
from tests.unit.kube.faults import Fault as Incident
from tests.unit.kube.faults import FaultyTransport, refusal

FLEET = [Key("default", f"tenant-{number:02}") for number in range(7)]
"""More than the brake lets go at once."""
LISTING, RECORDS = "ListDistributionTenants", "ListResourceRecordSets"
NAMESPACE = "http://cloudfront.amazonaws.com/doc/2020-05-31/"
NO_TENANTS = f'<ListDistributionTenantsResult xmlns="{NAMESPACE}"></ListDistributionTenantsResult>'
NO_RECORDS = (
    '<ListResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/">'
    "<ResourceRecordSets></ResourceRecordSets><IsTruncated>false</IsTruncated><MaxItems>300</MaxItems>"
    "</ListResourceRecordSetsResponse>"
)


def empty(body: str) -> Fault:
    """A page without anything on it."""
    return Fault(
        "empty", happens=True, spoil=lambda _: Answer(200, {"content-type": "text/xml"}, body.encode())
    )


def without_records() -> Fault:
    """A zone is listed as empty. Who asks for a single record is told the truth."""

    def spoil(answer: Answer) -> Answer:
        is_listing = answer.body.count(b"<ResourceRecordSet>") > 1
        return Answer(200, answer.headers, NO_RECORDS.encode()) if is_listing else answer

    return Fault("without records", happens=True, spoil=spoil)


async def a_fleet(scene: Scene) -> None:
    for number, key in enumerate(FLEET):
        await scene.create(tenant(key, f"n{number:02}.example.com", dns=scene.dns()))
    for key in FLEET:
        await scene.ready(key)


async def undisturbed(scene: Scene, disturb: Callable[[], Any]) -> None:
    """Nothing is written anywhere while somebody disturbs us, nor after."""
    before, versions = (scene.estate.state(), scene.estate.writes), len(scene.versions)
    disturb()
    await scene.elapse(minutes=30)
    scene.cloud.faults.clear()
    await scene.elapse(minutes=30)
    assert (scene.estate.state(), scene.estate.writes) == before
    assert scene.versions[versions:] == []
    assert not any(scene.events("ExternalDeletion", key) for key in FLEET)


VIEWS = {
    "tenants: nothing": (LISTING, empty(NO_TENANTS), {}),
    "tenants: every second page": (LISTING, empty(NO_TENANTS), {"probability": 0.5}),
    "tenants: denied": (LISTING, faults.error("AccessDenied", "no", 403), {}),
    "tenants: broken off": (LISTING, faults.truncated(), {}),
    "tenants: not there": (LISTING, faults.error("ServiceUnavailable", "", 503), {}),
    "records: nothing": (RECORDS, without_records(), {}),
    "records: broken off": (RECORDS, faults.cut(), {}),
}


@pytest.mark.parametrize(("operation", "fault", "how"), VIEWS.values(), ids=VIEWS)
def test_what_is_not_shown_is_not_gone(operation: str, fault: Fault, how: dict[str, Any]) -> None:
    async def play() -> None:
        async with playing() as scene:
            await a_fleet(scene)
            await undisturbed(
                scene, lambda: scene.cloud.faults.add(fault, operation=operation, times=None, **how)
            )

    run_virtual(play)


def without_its_end() -> Fault:
    """The last page of a listing never comes."""

    def spoil(answer: Answer) -> Answer:
        return answer if b"<NextMarker>" in answer.body else Answer(500, {}, b"")

    return Fault("without its end", happens=True, spoil=spoil)


def test_end_of_a_listing_that_is_not_shown_is_not_gone() -> None:
    async def play() -> None:
        async with playing() as scene:
            scene.cloud.world.behaviour.page_size = 4
            await a_fleet(scene)
            await undisturbed(
                scene, lambda: scene.cloud.faults.add(without_its_end(), operation=LISTING, times=None)
            )

    run_virtual(play)


def nothing_at_all(request: ApiRequest) -> ApiResponse:
    """An answer that is complete, well-formed, and wrong."""
    metadata = {"resourceVersion": "1000000"}
    listed = {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": []}
    return ApiResponse(200, {"content-type": "application/json"}, msgspec.json.encode(listed))


SERVERS = {
    "lists nothing": nothing_at_all,
    "forbids listing": lambda _: refusal(403, "Forbidden"),
    "is broken": lambda _: refusal(500, "InternalError"),
}


@pytest.mark.parametrize("answer", SERVERS.values(), ids=SERVERS)
def test_server_that_shows_nothing_costs_nobody_anything(answer: Callable[[ApiRequest], ApiResponse]) -> None:
    async def play() -> None:
        async with playing(start=False) as scene:
            transport = FaultyTransport(scene.stage.around.transport)
            scene.stage.start_operator(transport=transport)
            await a_fleet(scene)
            writes, state = scene.estate.writes, scene.estate.state()
            transport.refuse = lambda request: answer(request) if KIND.plural in request.path else None
            await transport.strike(Incident.EXPIRED)
            await scene.elapse(minutes=30)
            transport.refuse = lambda _: None
            await scene.elapse(minutes=30)
            assert (scene.estate.writes, scene.estate.state()) == (writes, state)
            await scene.edit(FLEET[0], enabled=False)
            await scene.until(lambda: not scene.aws(FLEET[0].name).enabled)

    run_virtual(play)


def test_tenants_that_are_really_gone_come_back() -> None:
    async def play() -> None:
        async with playing() as scene:
            await a_fleet(scene)
            before = scene.estate.state()
            for key in FLEET:
                scene.estate.lose_tenant(key.name)
            await scene.elapse(minutes=30)
            assert scene.estate.state() == before
            assert all(len(scene.events("ExternalDeletion", key)) == 1 for key in FLEET)

    run_virtual(play)
