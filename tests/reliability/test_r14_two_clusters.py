"""R-14: two clusters and one account. What the other cluster has is not ours: nothing is written, and it is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest

from kubesim.virtual import run_virtual
from tests.crash.stage import staged
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, OPTIONS, system, tenant

SHOP = "shop.example.com"


@asynccontextmanager
async def two_clusters() -> AsyncIterator[tuple[Scene, Scene]]:
    """Two servers with an operator each, and one account."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(playing())
        other = replace(system(replace(OPTIONS, cluster="other-cluster")), outside=lambda _: first.estate)
        stage = await stack.enter_async_context(staged(other))
        stage.start_operator()
        yield first, Scene(stage)


@pytest.mark.parametrize("adopt", [False, True], ids=["as it is", "told to adopt"])
def test_tenant_of_another_cluster_is_left_alone(adopt: bool) -> None:
    async def play() -> None:
        async with two_clusters() as (first, second):
            await first.create(tenant(KEY, SHOP, dns=first.dns()))
            await first.ready()
            state, writes = first.estate.state(), first.estate.writes
            obj = tenant(KEY, SHOP, enabled=False, dns=first.dns())
            if adopt:
                obj["metadata"]["annotations"] = {"edgekeeper.io/adopt": "true"}
            await second.create(obj)
            fact = await second.says("Ready", "NameConflict")
            assert "another object" in fact.message
            await second.elapse(hours=2)
            await second.delete()
            await second.gone()
            await first.elapse(hours=1)
            assert (first.estate.state(), first.estate.writes) == (state, writes)

    run_virtual(play)


def test_domain_of_another_cluster_is_left_alone() -> None:
    async def play() -> None:
        async with two_clusters() as (first, second):
            await first.create(tenant(KEY, SHOP, dns=first.dns()))
            await first.ready()
            state, writes = first.estate.state(), first.estate.writes
            rival = KEY._replace(name="rival")
            await second.create(tenant(rival, SHOP))
            await second.says("Ready", "DomainConflict", rival)
            await second.delete(rival)
            await second.gone(rival)
            assert (first.estate.state(), first.estate.writes) == (state, writes)

    run_virtual(play)


def test_records_of_another_cluster_are_left_alone() -> None:
    """Of records nobody can tell whose they are: one that says the same may be shared, and none is taken away."""

    async def play() -> None:
        async with two_clusters() as (first, second):
            await first.create(tenant(KEY, SHOP, dns=first.dns()))
            await first.ready()
            records = first.records
            rival = KEY._replace(name="rival")
            await second.create(tenant(rival, SHOP, dns=first.dns()))
            await second.says("Ready", "DomainConflict", rival)
            await second.delete(rival)
            await second.gone(rival)
            assert first.records == records

    run_virtual(play)
