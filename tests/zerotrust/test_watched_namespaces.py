"""An operator that watches some namespaces only (WATCH_NAMESPACES) still serves the tenants of its own namespace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from edgekeeper.controllers.zerotrust.route_index import TENANT
from edgekeeper.runtime.options import LogOptions, RuntimeOptions
from kubesim.virtual import virtual_time
from tests.zerotrust.acceptance_world import APPS, HOME, UNHEARD, AcceptanceWorld, cluster, route, running

ROLES = {"one process": ("",), "roles": ("kube-worker", "cloudflare-worker")}
OTHER = "unwatched"


@asynccontextmanager
async def watching(*roles: str) -> AsyncIterator[AcceptanceWorld]:
    """Operators that watch one namespace, which is not their own, and a tenant in their own."""
    runtime = RuntimeOptions(server=UNHEARD, namespaces=(APPS,), log=LogOptions(level="info"))
    async with cluster((OTHER,)) as world, AsyncExitStack() as stack:
        for role in roles:
            await stack.enter_async_context(running(world, role=role, runtime=runtime))
        yield world


def reported(world: AcceptanceWorld, namespace: str, name: str) -> bool:
    return bool(world.condition(TENANT, name, namespace).get("reason") == "ReconcileSuccess")


@pytest.mark.parametrize("roles", ROLES)
@virtual_time
async def test_tenant_of_the_operator_namespace_is_reported_and_published_with(roles: str) -> None:
    async with watching(*ROLES[roles]) as world:
        await world.create(world.credential(HOME), world.tenant("shared", HOME))
        await world.until(lambda: reported(world, HOME, "shared"))
        await world.create(route("web", hostname="web.example.com", tenant="shared"))
        await world.ready("web")
        assert world.rule("web.example.com") is not None


@virtual_time
async def test_tenant_of_an_unwatched_namespace_is_left_alone() -> None:
    async with watching("") as world:
        await world.create(world.credential(OTHER), world.tenant("theirs", OTHER))
        await world.until(lambda: reported(world, APPS, "main"))
        await world.elapse(minutes=30)
        assert world.condition(TENANT, "theirs", OTHER) == {}
