"""A hostname that a route and a DistributionTenant want, where processes of different roles reconcile the two.

The manager has DistributionTenants and AWS, the kube-worker has HTTPRoutes and no cloud. Each watches what the other kind
claims, so that both come to the same result before anybody calls a cloud.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import pytest

from edgekeeper.cli.assembly import OperatorOptions, assembled
from edgekeeper.cli.kinds import chosen_modules
from edgekeeper.controllers.cloudfront.wiring import KIND as DISTRIBUTION_TENANT
from edgekeeper.controllers.zerotrust.route_index import TASK
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Key, Kind
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.options import RuntimeOptions
from kubesim.transport import InProcessTransport
from kubesim.virtual import run_virtual, virtual_time
from tests.tenants.estate import Estate as AwsEstate
from tests.tenants.system import tenant
from tests.zerotrust.acceptance_world import APPS, CLUSTER, HOME, UNHEARD, AcceptanceWorld, cluster, route

HOST = "shop.example.com"
TENANT = Key(APPS, "cdn")
APART = ("manager", "kube-worker", "cloudflare-worker")
"""The roles of the processes of an operator that is split."""
TOGETHER = ("",)


@dataclass(frozen=True)
class Scene:
    world: AcceptanceWorld
    aws: AwsEstate

    async def claim(self, *domains: str) -> None:
        await self.world.user.create(DISTRIBUTION_TENANT, tenant(TENANT, *(domains or (HOST,))))

    def fact(self) -> tuple[str, str, str]:
        """Status, reason and message of the tenant's condition Ready."""
        found = self.world.find(DISTRIBUTION_TENANT, TENANT)
        conditions = {one["type"]: one for one in dig_list(found, "status", "conditions")}
        ready: JsonObject = conditions.get("Ready", {})
        return ready.get("status", ""), ready.get("reason", ""), ready.get("message", "")

    def writes(self) -> int:
        return self.aws.writes + len(self.world.cloud.journal.writes())


@asynccontextmanager
async def at_work(here: Scene, role: str) -> AsyncIterator[None]:
    world = here.world
    modules = chosen_modules(None, role)
    options = OperatorOptions(
        RuntimeOptions(server=UNHEARD),
        CommonOptions(CLUSTER, HOME, pod_name="pod-1", role=role),
        modules=modules,
        role=role,
        signals=False,
        cloudflare_url="https://cloudflare.test/client/v4",
        cloudflare_sender=world.estate.send,
    )
    clients = here.aws.clients() if role in ("", "manager") else None
    transport = InProcessTransport(world.plane)
    async with (
        assembled(options, transport, clients, clock=world.clock, host="plane") as operator,
        operator.manager.running(),
    ):
        yield


@asynccontextmanager
async def playing(processes: Iterable[str]) -> AsyncIterator[Scene]:
    async with cluster() as world, AsyncExitStack() as stack:
        here = Scene(world, AwsEstate(world.clock))
        for role in processes:
            await stack.enter_async_context(at_work(here, role))
        yield here


@pytest.mark.parametrize("processes", [APART, TOGETHER], ids=["apart", "together"])
def test_route_is_refused_the_hostname_of_an_older_tenant_before_any_call(
    processes: tuple[str, ...],
) -> None:
    async def scenario() -> None:
        async with playing(processes) as here:
            await here.claim()
            await here.world.until(lambda: here.fact()[0] == "True")
            written = here.writes()
            await here.world.create(route("web", hostname=HOST))
            message = await here.world.says("DomainConflict", "web")
            assert message == f"the domain {HOST} is served by distributiontenant {TENANT}"
            await here.world.elapse(minutes=10)
            assert here.writes() == written
            assert here.world.tasks_ever() == []
            await here.world.user.delete(DISTRIBUTION_TENANT, TENANT)
            await here.world.until(lambda: here.world.find(DISTRIBUTION_TENANT, TENANT) is None)
            await here.world.until(lambda: here.world.said("web")[1] == "Published", minutes=2)

    run_virtual(scenario)


@pytest.mark.parametrize("processes", [APART, TOGETHER], ids=["apart", "together"])
def test_tenant_is_refused_the_hostname_of_an_older_route_before_any_call(
    processes: tuple[str, ...],
) -> None:
    async def scenario() -> None:
        async with playing(processes) as here:
            await here.world.create(route("web", hostname=HOST))
            await here.world.ready("web")
            written = here.writes()
            await here.claim()
            await here.world.until(lambda: here.fact()[1] == "DomainConflict")
            assert here.fact()[2] == f"the domain {HOST} is served by httproute {APPS}/web"
            await here.world.elapse(minutes=10)
            assert here.writes() == written
            await here.world.delete("web")
            await here.world.until(lambda: here.fact()[0] == "True", minutes=5)

    run_virtual(scenario)


@pytest.mark.parametrize("processes", [APART, TOGETHER], ids=["apart", "together"])
def test_of_two_that_come_while_nobody_works_the_older_gets_the_hostname(
    processes: tuple[str, ...],
) -> None:
    async def scenario(route_first: bool) -> None:
        async with playing(()) as here:
            for is_route in (route_first, not route_first):
                await (here.world.create(route("web", hostname=HOST)) if is_route else here.claim())
                await asyncio.sleep(2)
            async with AsyncExitStack() as stack:
                for role in reversed(processes):
                    await stack.enter_async_context(at_work(here, role))
                if route_first:
                    await here.world.ready("web")
                    await here.world.until(lambda: here.fact()[1] == "DomainConflict")
                    assert here.aws.writes == 0
                else:
                    await here.world.until(lambda: here.fact()[0] == "True")
                    await here.world.says("DomainConflict", "web")
                    assert len(here.world.cloud.journal.writes()) == 0

    for route_first in (True, False):
        run_virtual(lambda route_first=route_first: scenario(route_first))  # type: ignore[misc]


@virtual_time
async def test_tenant_that_serves_a_domain_keeps_it_from_an_older_route_of_another_process() -> None:
    async with playing(APART) as here:
        await here.world.create(route("web", hostname="old.example.com"))
        await asyncio.sleep(2)
        await here.claim()
        await here.world.ready("web")
        await here.world.until(lambda: here.fact()[0] == "True")
        await here.world.annotate("web", hostname=HOST)
        assert "is served by distributiontenant" in await here.world.says("DomainConflict", "web")
        await here.world.elapse(minutes=10)
        assert here.fact()[0] == "True"
        assert here.world.rule(HOST) is None


@pytest.mark.parametrize("missing", [DISTRIBUTION_TENANT, TASK], ids=lambda kind: kind.plural)
def test_kind_that_the_cluster_does_not_serve_holds_nobody_up(missing: Kind) -> None:
    async def scenario() -> None:
        async with playing(()) as here:
            definition = Key("", missing.qualified_plural)
            await here.world.user.delete(CUSTOM_RESOURCE_DEFINITION, definition)
            async with AsyncExitStack() as stack:
                for role in APART:
                    await stack.enter_async_context(at_work(here, role))
                await here.world.create(route("web", hostname=HOST))
                if missing == DISTRIBUTION_TENANT:
                    await here.world.ready("web")
                    return
                await asyncio.sleep(2)
                await here.claim()
                await here.world.until(lambda: here.fact()[1] == "DomainConflict")
                await here.world.annotate("web", enabled="false")
                await here.world.until(lambda: here.fact()[0] == "True", minutes=5)

    run_virtual(scenario)
