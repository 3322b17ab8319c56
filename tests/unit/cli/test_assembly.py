"""A process of the operator, put together: what its parts share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy

import pytest
from prometheus_client import generate_latest

from edgekeeper.cli.assembly import LEASE_NAME, Operator, OperatorOptions, assembled
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.kinds import LEASE, NAMESPACE, Key
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.options import RuntimeOptions, ServerOptions
from kubesim.plane.resource import GroupResource
from kubesim.transport import InProcessTransport
from kubesim.virtual import virtual_time
from tests.logs import capture_logs
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

UNHEARD = ServerOptions(health_address=None, metrics_address=None, webhook_address=None)


@asynccontextmanager
async def working(scene: Scene, runtime: RuntimeOptions, cluster: str = "") -> AsyncIterator[Operator]:
    """An operator at work on the scene."""
    options = OperatorOptions(runtime, CommonOptions(cluster), signals=False)
    clients, transport = scene.estate.clients(), InProcessTransport(scene.stage.plane)
    async with assembled(options, transport, clients, clock=scene.stage.clock, host="plane") as operator:
        task = asyncio.create_task(operator.manager.run())
        try:
            yield operator
        finally:
            operator.manager.stop()
            await task


@virtual_time
async def test_operator_makes_a_tenant_ready_and_marks_it_as_this_clusters() -> None:
    async with playing(start=False) as scene, working(scene, RuntimeOptions(server=UNHEARD)):
        await scene.create(tenant(dns=scene.dns()))
        await scene.ready()
        namespace = await scene.stage.user.get(NAMESPACE, Key("", "kube-system"))
        assert scene.aws().tags[f"{TAG_PREFIX}cluster"] == namespace["metadata"]["uid"]


@virtual_time
async def test_operator_speaks_under_the_names_that_people_know() -> None:
    async with playing(start=False) as scene, working(scene, RuntimeOptions(server=UNHEARD)) as operator:
        await scene.create(tenant())
        await scene.ready()
        await scene.elapse(seconds=5)
        events = scene.stage.plane.store.collection(GroupResource("", "events")).ordered()
        assert {item.decode()["reportingComponent"] for item in events} == {"distributiontenant-controller"}
        text = generate_latest(operator.metrics.registry).decode()
        prefix = "cloudfront_tenant_operator"
        assert f'{prefix}_tenants_total{{namespace="default",status="Ready"}} 1.0' in text
        assert f'{prefix}_reconcile_errors_total{{error_type="throttling"}} 0.0' in text
        calls = f"{prefix}_aws_api_call_duration_seconds_count"
        assert f'{calls}{{operation="CreateDistributionTenant"}} 1.0' in text
        assert 'controller_runtime_reconcile_total{controller="distributiontenant"' in text


@virtual_time
async def test_cluster_id_that_is_given_is_taken() -> None:
    async with playing(start=False) as scene, working(scene, RuntimeOptions(server=UNHEARD), "blue"):
        await scene.create(tenant())
        await scene.ready()
        assert scene.aws().tags[f"{TAG_PREFIX}cluster"] == "blue"


@virtual_time
async def test_dry_run_changes_nothing_anywhere() -> None:
    async with playing(start=False) as scene:
        await scene.create(tenant(dns=scene.dns()))
        before = deepcopy((scene.object(), scene.estate.state()))
        with capture_logs() as logs:
            async with working(scene, RuntimeOptions(dry_run=True, server=UNHEARD)):
                await scene.elapse(minutes=10)
        assert (scene.object(), scene.estate.state()) == before
        assert scene.calls("CreateDistributionTenant") == scene.calls("ChangeResourceRecordSets") == 0
        assert logs


@virtual_time
async def test_only_the_leader_works() -> None:
    runtime = RuntimeOptions(server=UNHEARD, leader_elect=True)
    async with playing(start=False) as scene, working(scene, runtime), working(scene, runtime):
        await scene.create(tenant())
        await scene.ready()
        lease = await scene.stage.user.get(LEASE, Key("default", LEASE_NAME))
        assert lease["spec"]["holderIdentity"]
        assert scene.calls("CreateDistributionTenant") == 1
        assert [version["metadata"]["name"] for version in scene.versions[:1]] == [KEY.name]


@pytest.mark.parametrize("number", [1, 4])
@virtual_time
async def test_passes_at_once_are_limited_as_told(number: int) -> None:
    async with playing(start=False) as scene:
        runtime = RuntimeOptions(server=UNHEARD, max_concurrent_reconciles=number)
        async with working(scene, runtime) as operator:
            name = "controller_runtime_max_concurrent_reconciles"
            labels = {"controller": "distributiontenant"}
            assert operator.metrics.registry.get_sample_value(name, labels) == number
