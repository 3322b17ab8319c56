"""A process of the operator, put together: what its parts share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import replace
from typing import ClassVar

import pytest
from prometheus_client import generate_latest

from edgekeeper.api.bridge import API_GATEWAY_DOMAIN
from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.cli import assembly
from edgekeeper.cli.assembly import LEASE_NAME, Operator, OperatorOptions, assembled
from edgekeeper.cli.embedded import PlaneOptions, open_server
from edgekeeper.cli.kinds import MODULES, uses
from edgekeeper.cli.simulated import SimulationOptions, simulating
from edgekeeper.controllers.cloudfront.module import TenantModule
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Outcome, done
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import InvalidError, NotFoundError
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, LEASE, NAMESPACE, Key
from edgekeeper.lifecycle.module import Cloud, CommonOptions, FlagValues, KindModule, Process
from edgekeeper.lifecycle.preview import Preview
from edgekeeper.runtime.contract import ControllerOptions, Request
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.http_server import Address
from edgekeeper.runtime.options import RuntimeOptions, ServerOptions
from edgekeeper.runtime.validation import Problem, User, Validator
from edgekeeper.runtime.webhooks import validating
from kubesim.plane.resource import GroupResource
from kubesim.transport import InProcessTransport
from kubesim.virtual import virtual_time
from tests.logs import capture_logs
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

UNHEARD = ServerOptions(health_address=None, metrics_address=None, webhook_address=None)


@asynccontextmanager
async def working(
    scene: Scene,
    runtime: RuntimeOptions,
    cluster: str = "",
    role: str = "",
    modules: tuple[KindModule, ...] = MODULES,
) -> AsyncIterator[Operator]:
    """An operator at work on the scene."""
    options = OperatorOptions(runtime, CommonOptions(cluster), modules=modules, role=role, signals=False)
    clients, transport = scene.estate.clients(), InProcessTransport(scene.stage.plane)
    async with (
        assembled(options, transport, clients, clock=scene.stage.clock, host="plane") as operator,
        operator.manager.running(),
    ):
        yield operator


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


@virtual_time
async def test_role_has_a_lease_of_its_own() -> None:
    runtime = RuntimeOptions(server=UNHEARD, leader_elect=True)
    async with playing(start=False) as scene, working(scene, runtime, role="manager"):
        await scene.create(tenant())
        await scene.ready()
        assert await scene.stage.user.get(LEASE, Key("default", f"{LEASE_NAME}-manager"))
        with pytest.raises(NotFoundError):
            await scene.stage.user.get(LEASE, Key("default", LEASE_NAME))


class Cloudless(KindModule):
    """A kind that uses no cloud."""

    name: ClassVar = "cloudless"
    definition: ClassVar = DISTRIBUTION_TENANT
    clouds: ClassVar = frozenset[Cloud]()

    def build(self, process: Process, values: FlagValues) -> Controller:
        with pytest.raises(ValueError, match="no kind of this process uses AWS"):
            process.aws  # noqa: B018 - it is refused
        return Controller(ControllerOptions(self.name, KIND), _Idle(), process.services)

    async def preview(self, *_: object) -> list[Preview]:
        return []


class _Idle:
    async def reconcile(self, request: Request) -> Outcome:
        return done()


@virtual_time
async def test_process_without_kinds_of_a_cloud_needs_no_credentials_for_it() -> None:
    options = OperatorOptions(
        RuntimeOptions(server=UNHEARD), CommonOptions("blue"), modules=(Cloudless(),), signals=False
    )
    async with playing(start=False) as scene:
        transport, clock = InProcessTransport(scene.stage.plane), scene.stage.clock
        async with assembled(options, transport, None, clock=clock, host="plane") as operator:
            task = asyncio.create_task(operator.manager.run())
            await scene.until(lambda: operator.manager.is_ready)
            operator.manager.stop()
            await task
        assert not uses(Cloud.AWS, options.modules)
        assert not scene.cloud.journal.entries


@pytest.mark.parametrize("number", [1, 4])
@virtual_time
async def test_passes_at_once_are_limited_as_told(number: int) -> None:
    async with playing(start=False) as scene:
        runtime = RuntimeOptions(server=UNHEARD, max_concurrent_reconciles=number)
        async with working(scene, runtime) as operator:
            name = "controller_runtime_max_concurrent_reconciles"
            labels = {"controller": "distributiontenant"}
            assert operator.metrics.registry.get_sample_value(name, labels) == number


class Refusing:
    """Rules that nothing follows."""

    async def validate(self, old: JsonObject | None, new: JsonObject | None, user: User) -> list[Problem]:
        return [Problem("spec", "is refused by rule")]


async def test_operator_on_this_machine_has_its_rules_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "webhooks_of", lambda _: [validating(KIND, Refusing())])
    async with open_server(PlaneOptions()) as server, simulating(server, SimulationOptions()) as simulation:
        async with asyncio.timeout(30):
            while simulation.operator is None or not simulation.operator.manager.is_ready:  # noqa: ASYNC110 - it has no event for that
                await asyncio.sleep(0.01)
        user = KubeClient(InProcessTransport(server.plane, server.plane.admin_token), Calls(), SystemClock())
        with pytest.raises(InvalidError, match="spec: is refused by rule"):
            await user.create(KIND, tenant())


@virtual_time
async def test_operator_without_rules_serves_no_webhooks() -> None:
    options = RuntimeOptions(
        server=replace(UNHEARD, webhook_address=Address("127.0.0.1", 0), webhook_service="x")
    )
    modules = (TenantModule(),)
    async with playing(start=False) as scene, working(scene, options, modules=modules) as operator:
        await scene.elapse(seconds=5)
        assert operator.manager.is_ready
        assert operator.server.port("admission") is None


def test_webhooks_are_those_of_controllers_with_rules() -> None:
    class Stub:
        def __init__(self, validator: Validator | None) -> None:
            self.options = ControllerOptions("tenant", KIND, validator=validator)

    webhooks = assembly.webhooks_of([Stub(None), Stub(Refusing())])  # type: ignore[list-item]
    assert [each.path for each in webhooks] == [
        "/validate-cloudfront-tenant-operator-io-v1alpha1-distributiontenant"
    ]


@virtual_time
async def test_namespace_that_comes_while_running_competes_and_one_that_goes_is_left_alone() -> None:
    there = Key("other", KEY.name)
    options = RuntimeOptions(server=UNHEARD, namespaces=("default",))
    async with playing(start=False) as scene, working(scene, options) as operator:
        user = scene.stage.user
        await user.create(NAMESPACE, {"metadata": {"name": "other"}})
        await scene.create(tenant())
        await scene.ready()
        rival = tenant()
        rival["metadata"]["namespace"] = "other"
        await user.create(KIND, rival)
        await scene.elapse(seconds=60)
        assert "status" not in await user.get(KIND, there)
        operator.manager.set_namespaces(["default", "other"])
        await scene.elapse(seconds=60)
        conditions = {each["type"]: each for each in (await user.get(KIND, there))["status"]["conditions"]}
        assert conditions["Ready"]["reason"] in {"NameConflict", "DomainConflict"}
        operator.manager.set_namespaces(["other"])
        await scene.elapse(seconds=600)
        kept = await user.get(KIND, KEY)
        assert kept["metadata"]["finalizers"]
        assert scene.aws().enabled, "nothing is deleted where nobody looks any more"
        text = generate_latest(operator.metrics.registry).decode()
        assert 'tenants_total{namespace="default"' not in text


@virtual_time
async def test_zone_of_the_shared_account_is_released_when_no_object_needs_it() -> None:
    async with playing(start=False) as scene, working(scene, RuntimeOptions(server=UNHEARD)) as operator:
        zones = operator.process.aws.dns.zones
        # A kind that is not served may have objects that need the zone.
        await scene.stage.user.create(CUSTOM_RESOURCE_DEFINITION, API_GATEWAY_DOMAIN.definition())
        await scene.create(tenant(dns=scene.dns()))
        await scene.ready()
        await scene.elapse(hours=1)
        assert len(zones) == 1, "the object needs it"
        await scene.delete()
        await scene.gone()
        await scene.elapse(hours=1)
        assert len(zones) == 0
