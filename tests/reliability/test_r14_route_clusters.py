"""R-14: two clusters and one account. What the other cluster has published is not ours: nothing is written, and it is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kubesim.virtual import virtual_time
from tests.reliability.routes import PROTECTED, Scene, publishing, route, with_common


@asynccontextmanager
async def two_clusters() -> AsyncIterator[tuple[Scene, Scene]]:
    """Two servers with an operator each, and one account."""
    async with (
        publishing() as first,
        publishing(with_common(cluster="green"), provider=first.provider) as second,
    ):
        yield first, second


KINDS = {
    "protected": {**PROTECTED, "sessionDuration": "8h"},
    "public": {},
    "address": {"dnsOnly": "true", "dnsIp": "10.0.0.7"},
}
ADOPT = {"edgekeeper.io/adopt": "true"}


@virtual_time
async def test_hostnames_of_another_cluster_are_left_alone() -> None:
    async with two_clusters() as (first, second):
        names = [f"{name}-{how}" for name in KINDS for how in ("plain", "adopted")]
        await first.create(*(route(name, **KINDS[name.partition("-")[0]]) for name in names))
        await first.ready()
        await first.elapse(minutes=6)
        state, writes = first.provider.state(), first.provider.writes
        for name in names:
            annotations = {**KINDS[name.partition("-")[0]], **(ADOPT if name.endswith("adopted") else {})}
            await second.create(route(name, originService="http://green:80", **annotations))
        await second.elapse(minutes=1)
        assert {name: second.said(name)[:2] for name in names} == dict.fromkeys(
            names, ("False", "OwnedByOther")
        )
        await second.elapse(minutes=30)
        for name in names:
            await second.delete(name)
        await second.until(lambda: second.names() == [])
        await first.elapse(minutes=10)
        assert first.provider.state() == state
        assert first.provider.writes == writes
        assert {first.said(name)[:2] for name in names} == {("True", "Published")}
