"""How a previous operator is recognised: by its Lease, by its Deployment, or by the image of one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from edgekeeper.core.errors import PassError, Retry, Wait
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Outcome, done
from edgekeeper.kube.kinds import DEPLOYMENT, LEASE, Key
from edgekeeper.kube.lease_record import new_lease
from edgekeeper.lifecycle.predecessor import Predecessor, PreviousOperator, Successor
from edgekeeper.runtime.contract import Request
from kubesim.virtual import virtual_time
from tests.unit.runtime.world import KEY, World, world

LABELS = {"app": "old"}
IMAGE = "registry.example.com/old:1"
BY_IMAGE = PreviousOperator("old", is_its_image=lambda image: "/old:" in image)
BY_LABELS = PreviousOperator("old", deployment_labels="app=old")
BY_LEASE = PreviousOperator("old", "old-leader", "app=old")


@asynccontextmanager
async def _watching(place: World, operator: PreviousOperator) -> AsyncIterator[Predecessor]:
    """A predecessor that was looked for once."""
    services = place.services()
    predecessor = Predecessor(services, operator, "default")
    await services.informers.start()
    watching = asyncio.create_task(predecessor.run())
    try:
        await asyncio.sleep(1)
        yield predecessor
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await services.informers.stop()


async def _deploy(place: World, *, image: str = IMAGE, labels: JsonObject = LABELS) -> None:
    """A Deployment that is available."""
    template = {
        "metadata": {"labels": {"pod": "x"}},
        "spec": {"containers": [{"name": "manager", "image": image}]},
    }
    spec = {"selector": {"matchLabels": {"pod": "x"}}, "template": template}
    metadata = {"name": "old", "namespace": "default", "labels": labels}
    await place.user.create(DEPLOYMENT, {"metadata": metadata, "spec": spec})
    status = {"status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}}
    await place.user.merge_patch(DEPLOYMENT, Key("default", "old"), status, subresource="status")


def _is_held_back(predecessor: Predecessor) -> bool:
    try:
        predecessor.confirm_gone()
    except Wait:
        return True
    return False


@pytest.mark.parametrize(
    ("operator", "image", "labels", "is_recognised"),
    [
        pytest.param(BY_LABELS, "x:1", LABELS, True, id="labels"),
        pytest.param(BY_LABELS, IMAGE, {"app": "new"}, False, id="other labels"),
        pytest.param(BY_IMAGE, IMAGE, {"app": "new"}, True, id="image"),
        pytest.param(BY_IMAGE, "registry.example.com/new:1", LABELS, False, id="other image"),
    ],
)
@virtual_time
async def test_deployment_is_recognised(
    operator: PreviousOperator, image: str, labels: JsonObject, is_recognised: bool
) -> None:
    async with world() as place:
        await _deploy(place, image=image, labels=labels)
        async with _watching(place, operator) as predecessor:
            assert _is_held_back(predecessor) is is_recognised
            assert predecessor.sign == ("its Deployment old is available" if is_recognised else "")


@pytest.mark.parametrize(("operator", "is_recognised"), [(BY_LEASE, True), (BY_LABELS, False)])
@virtual_time
async def test_lease_counts_where_the_operator_has_one(
    operator: PreviousOperator, is_recognised: bool
) -> None:
    async with world() as place:
        key = Key("default", "old-leader")
        lease = new_lease(key, "replica-1", timedelta(seconds=15), place.clock.now())
        await place.user.create(LEASE, lease)
        async with _watching(place, operator) as predecessor:
            assert _is_held_back(predecessor) is is_recognised


@virtual_time
async def test_watches_of_a_predecessor_end_with_it() -> None:
    async with world() as place:
        services = place.services()
        predecessor = Predecessor(services, BY_LEASE, "default")
        await services.informers.start()
        watching = asyncio.create_task(predecessor.run())
        await asyncio.sleep(1)
        assert {informer.kind for informer in services.informers} == {LEASE, DEPLOYMENT}
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        assert list(services.informers) == []
        await services.informers.stop()


def test_operator_that_any_deployment_would_match_is_refused() -> None:
    with pytest.raises(ValueError, match="every Deployment"):
        PreviousOperator("old", "old-leader")


@dataclass
class Recording:
    """A reconciler that records which of its methods were called."""

    calls: list[str] = field(default_factory=list)

    async def reconcile(self, request: Request) -> Outcome:
        return self._call("reconcile")

    async def finalize(self, request: Request) -> Outcome:
        return self._call("finalize")

    def explain(self, request: Request, error: PassError) -> Outcome:
        return self._call("explain")

    def pause(self, request: Request) -> Outcome:
        return self._call("pause")

    def _call(self, method: str) -> Outcome:
        self.calls.append(method)
        return done()


REQUEST = Request(KEY, b"{}", {}, "")


@virtual_time
async def test_successor_only_explains_while_its_predecessor_is_running() -> None:
    async with world() as place:
        recording = Recording()
        successor = Successor(recording, Predecessor(place.services(), BY_LABELS, "default"))
        with pytest.raises(Wait, match="the first check is not complete"):
            await successor.reconcile(REQUEST)
        with pytest.raises(Wait, match="may be running"):
            await successor.finalize(REQUEST)
        with pytest.raises(Wait, match="may be running"):
            successor.pause(REQUEST)
        successor.explain(REQUEST, Retry("x"))
        assert recording.calls == ["explain"]


@virtual_time
async def test_successor_without_a_predecessor_does_everything() -> None:
    async with world() as place:
        recording = Recording()
        successor = Successor(recording, Predecessor(place.services(), BY_LABELS, ""))
        await successor.reconcile(REQUEST)
        await successor.finalize(REQUEST)
        successor.pause(REQUEST)
        assert recording.calls == ["reconcile", "finalize", "pause"]
