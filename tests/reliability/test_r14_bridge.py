"""R-14 for the bridge: two clusters and one account. What the other cluster has is not ours: nothing is written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest

from kubesim.virtual import virtual_time
from tests.bridge.world import (
    DOMAIN,
    DOMAINS,
    OPTIONS,
    PERMISSION,
    PERMISSIONS,
    Scene,
    domain,
    permission,
    playing,
    statement,
    system,
)
from tests.crash.stage import staged

OTHER_API = "f6g7h8i9j0"


@asynccontextmanager
async def two_clusters() -> AsyncIterator[tuple[Scene, Scene]]:
    """Two servers with an operator each, and one account."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(playing())
        other = system(replace(OPTIONS, cluster="other-cluster"))
        other = replace(other, outside=lambda _: first.estate, lies=lambda *_: "")
        stage = await stack.enter_async_context(staged(other))
        stage.start_operator()
        yield first, Scene(stage)


@pytest.mark.parametrize("adopt", [False, True], ids=["as it is", "told to adopt"])
@pytest.mark.parametrize("api", ["the same", "another"])
@virtual_time
async def test_domain_of_another_cluster_is_left_alone(adopt: bool, api: str) -> None:
    async with two_clusters() as (first, second):
        first.certificate()
        await first.api()
        await first.create(domain())
        await first.ready(DOMAIN)
        state, writes = first.estate.state(), first.estate.writes
        await second.api(*(() if api == "the same" else (OTHER_API,)))
        rival = domain(stage="test", securityPolicy="TLS_1_2")
        if adopt:
            rival["metadata"]["annotations"] = {"edgekeeper.io/adopt": "true"}
        await second.create(rival)
        await second.until(lambda: second.fact(DOMAIN, "Ready").status == "False")
        await second.elapse(hours=2)
        await second.delete(DOMAINS, DOMAIN)
        await second.gone(DOMAIN)
        await first.elapse(hours=1)
        assert (first.estate.state(), first.estate.writes) == (state, writes)
        assert first.fact(DOMAIN, "Ready").status == "True"


@virtual_time
async def test_statement_of_another_cluster_is_left_alone() -> None:
    """Equal statements are shared and stay when the second object goes; others are a conflict."""
    async with two_clusters() as (first, second):
        await first.create(permission(statement("same"), statement("differs")))
        await first.ready(PERMISSION)
        before, writes = first.estate.statements(), first.estate.writes
        foreign = statement("differs", principal="events.amazonaws.com")
        await second.create(permission(statement("same"), foreign))
        await second.until(lambda: second.states() == {"same": "Applied", "differs": "Conflict"})
        await second.elapse(hours=2)
        await second.delete(PERMISSIONS, PERMISSION)
        await second.gone(PERMISSION)
        assert (first.estate.statements(), first.estate.writes) == (before, writes)
