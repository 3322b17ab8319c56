"""Both operators never write at once: we hold back while the other one is alive, and say so once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

from edgekeeper.controllers.cloudfront.predecessor import LEASE_NAME
from edgekeeper.core.calls import CallRecord
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.errors import ForbiddenError
from edgekeeper.kube.kinds import DEPLOYMENT, LEASE, Key
from edgekeeper.kube.lease_record import LeaseRecord, new_lease, with_spec
from edgekeeper.kube.transport import TransportError
from kubesim.transport import InProcessTransport
from kubesim.virtual import virtual_time
from tests.logs import capture_logs
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, OPTIONS, tenant
from tests.unit.kube.faults import Fault, FaultyTransport

WATCHFUL = replace(OPTIONS, predecessor_namespace="default")
LEASE_KEY = Key("default", LEASE_NAME)
DEPLOYMENT_KEY = Key("default", "old")
DURATION = timedelta(seconds=15)
HOLDING, GOING_ON = (
    "Waiting: the previous operator is running",
    "The previous operator has stopped: starting to reconcile",
)


async def _renew(scene: Scene) -> None:
    lease = await scene.stage.user.get(LEASE, LEASE_KEY)
    spec = LeaseRecord.of(lease).handed_to("other", DURATION, scene.stage.clock.now())
    await scene.stage.user.replace(LEASE, LEASE_KEY, with_spec(lease, spec))


@asynccontextmanager
async def _alive(scene: Scene) -> AsyncIterator[None]:
    """The other operator renews its Lease, as long as this lasts."""

    async def renewing() -> None:
        while True:
            await _renew(scene)
            await asyncio.sleep(2)

    life = asyncio.create_task(renewing())
    try:
        yield
    finally:
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)


async def _lease(scene: Scene) -> None:
    lease = new_lease(LEASE_KEY, "other", DURATION, scene.stage.clock.now())
    await scene.stage.user.create(LEASE, lease)


async def _become_available(scene: Scene) -> None:
    available: JsonObject = {"status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}}
    await scene.stage.user.merge_patch(DEPLOYMENT, DEPLOYMENT_KEY, available, subresource="status")


def _writes(scene: Scene) -> list[str]:
    return [str(call) for call in scene.stage.trace.calls if call.mutating]


@virtual_time
async def test_nothing_is_written_while_the_lease_of_the_other_is_fresh() -> None:
    async with playing(WATCHFUL, start=False) as scene:
        await _lease(scene)
        await scene.create(tenant())
        async with _alive(scene):
            scene.stage.start_operator()
            await scene.elapse(minutes=10)
            assert _writes(scene) == []
            assert "status" not in scene.object()
        await scene.ready()


@virtual_time
async def test_holding_back_is_told_once_and_its_end_as_well() -> None:
    with capture_logs() as lines:
        async with playing(WATCHFUL, start=False) as scene:
            await _lease(scene)
            await scene.create(tenant())
            async with _alive(scene):
                scene.stage.start_operator()
                await scene.elapse(minutes=10)
            await scene.ready()
    told = [line["event"] for line in lines if line["event"] in (HOLDING, GOING_ON)]
    assert told == [HOLDING, GOING_ON]
    (sign,) = (line["sign"] for line in lines if line["event"] == HOLDING)
    assert "other" in sign


@virtual_time
async def test_lease_that_nobody_renews_keeps_us_waiting_for_its_duration() -> None:
    async with playing(WATCHFUL, start=False) as scene:
        await _lease(scene)
        await scene.create(tenant())
        scene.stage.start_operator()
        await scene.elapse(seconds=14)
        assert _writes(scene) == []
        await scene.elapse(seconds=10)
        assert scene.names == [KEY.name]


@virtual_time
async def test_lease_of_long_ago_keeps_nobody_waiting() -> None:
    async with playing(WATCHFUL, start=False) as scene:
        await _lease(scene)
        await scene.elapse(hours=2)
        await scene.create(tenant())
        scene.stage.start_operator()
        await scene.elapse(seconds=2)
        assert scene.names == [KEY.name]


@virtual_time
async def test_other_that_comes_back_is_given_way() -> None:
    async with playing(WATCHFUL) as scene:
        await scene.create(tenant())
        await scene.ready()
        await _lease(scene)
        async with _alive(scene):
            await scene.elapse(seconds=1)
            writes = _writes(scene)
            await scene.edit(enabled=False)
            await scene.elapse(minutes=10)
            assert _writes(scene) == writes
        await scene.until(lambda: not scene.aws().enabled)


@virtual_time
async def test_deployment_that_is_available_is_a_sign_of_life_too() -> None:
    async with playing(WATCHFUL, start=False) as scene:
        await scene.stage.user.create(DEPLOYMENT, _deployment())
        await _become_available(scene)
        await scene.create(tenant())
        scene.stage.start_operator()
        await scene.elapse(minutes=5)
        assert _writes(scene) == []
        await scene.stage.user.delete(DEPLOYMENT, DEPLOYMENT_KEY)
        await scene.ready()


@virtual_time
async def test_deployment_that_becomes_available_again_is_given_way() -> None:
    async with playing(WATCHFUL) as scene:
        await scene.create(tenant())
        await scene.ready()
        await scene.stage.user.create(DEPLOYMENT, _deployment())
        await _become_available(scene)
        await scene.elapse(seconds=1)
        writes = _writes(scene)
        await scene.edit(enabled=False)
        await scene.elapse(minutes=10)
        assert _writes(scene) == writes


@virtual_time
async def test_lease_is_not_taken_for_expired_because_its_watch_has_died() -> None:
    """Nothing arrives any more, and nobody says so: not hearing of renewals does not mean that there are none."""
    async with playing(WATCHFUL, start=False) as scene:
        transport = FaultyTransport(InProcessTransport(scene.stage.plane))
        await _lease(scene)
        await scene.create(tenant())
        async with _alive(scene):
            scene.stage.start_operator(transport=transport)
            await scene.elapse(seconds=30)
            await transport.strike(Fault.SILENCE)
            await scene.elapse(minutes=5)
            assert _writes(scene) == []
        await scene.ready()


@virtual_time
async def test_lease_is_not_taken_for_expired_while_the_server_is_away() -> None:
    async with playing(WATCHFUL, start=False) as scene:
        transport = FaultyTransport(InProcessTransport(scene.stage.plane))
        await _lease(scene)
        await scene.create(tenant())
        async with _alive(scene):
            scene.stage.start_operator(transport=transport)
            await scene.elapse(seconds=30)
            transport.refuse = lambda _: TransportError("no route to host")
            await transport.strike(Fault.CUT)
            await scene.elapse(minutes=5)
            transport.refuse = lambda _: None
            await scene.elapse(minutes=5)
            assert _writes(scene) == []
        await scene.ready()


@virtual_time
async def test_lease_that_has_expired_is_read_once() -> None:
    """To be sure; and not again and again, since it may lie there for ever."""
    async with playing(WATCHFUL, start=False) as scene:
        await _lease(scene)
        scene.stage.start_operator()
        await scene.elapse(minutes=30)
        assert [call.operation for call in scene.stage.trace.calls].count("LIST leases") == 2


@virtual_time
async def test_operator_that_holds_back_can_be_stopped() -> None:
    async with playing(WATCHFUL, start=False) as scene:
        await _lease(scene)
        async with _alive(scene):
            scene.stage.start_operator()
            await scene.elapse(seconds=5)
            began = scene.stage.clock.monotonic()
            await scene.stage.operator.stop()
            assert scene.stage.clock.monotonic() - began < 1


@virtual_time
async def test_without_a_namespace_nobody_is_looked_for() -> None:
    async with playing(start=False) as scene:
        await _lease(scene)
        async with _alive(scene):
            scene.stage.start_operator()
            await scene.create(tenant())
            await scene.ready()


@virtual_time
async def test_one_who_may_not_look_says_so_and_goes_on() -> None:
    with capture_logs() as lines:
        async with playing(WATCHFUL, start=False) as scene:
            life = scene.stage.start_operator()
            life.calls.hooks.append(_Forbidden())
            await scene.create(tenant())
            await scene.ready()
    told = [line["kind"] for line in lines if line["event"] == "Cannot check for the previous operator"]
    assert told == ["Lease", "Deployment"]


class _Forbidden:
    """No right to read what belongs to others."""

    async def before(self, call: CallRecord) -> None:
        if call.operation in ("LIST leases", "LIST deployments"):
            raise ForbiddenError(403, "Forbidden", "not yours")

    async def after(self, call: CallRecord) -> None:
        """Nothing."""


def _deployment() -> JsonObject:
    labels = {"app.kubernetes.io/name": "cloudfront-tenant-operator"}
    container = {"name": "manager", "image": "manager:1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": DEPLOYMENT_KEY.name,
            "namespace": DEPLOYMENT_KEY.namespace,
            "labels": labels,
        },
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
