"""A cluster is lost, and its objects are restored into a new one: what they left in the clouds is theirs again, by one flag."""

from __future__ import annotations

from collections import Counter

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.lifecycle.preview import Verdict
from kubesim.virtual import virtual_time
from tests.recovery.world import OURS, Cluster, Clouds, cluster, fleet

MARKING = {
    "TagResource",
    "AddTagsToCertificate",
    "POST /accounts/{account}/access/tags",
    "PUT /accounts/{account}/access/apps/{application}",
    "POST /zones/{zone}/dns_records/batch",
}
"""The calls that write marks."""
ROTATION = "POST /accounts/{account}/access/service_tokens/{token}/rotate"


async def _lost(clouds: Clouds, objects: list[JsonObject], common: CommonOptions | None = None) -> str:
    """A cluster in which all objects became ready, and which is gone; its id."""
    async with cluster(clouds, 1, common) as first:
        await first.start()
        await first.apply(*objects)
        await first.ready()
        await first.elapse(minutes=10)
        return first.id


async def _stalled(second: Cluster) -> None:
    """All objects but those without marks report a conflict, and what to do about it."""

    def is_over() -> bool:
        told = second.told()
        return all(reason for _, reason, _ in told.values()) and len(second.unready()) == len(told) - _markless(told)

    await second.until(is_over)


def _markless(told: dict[str, object]) -> int:
    return sum(name.startswith("LambdaPermission/") for name in told)


async def _story(size: int, common: CommonOptions | None = None) -> None:
    clouds = Clouds()
    objects = fleet(clouds, size)
    lost = await _lost(clouds, objects, common)
    before = clouds.contents()
    async with cluster(clouds, 2, common) as second:
        clouds.forget_writes()
        await second.start()
        await second.apply(*objects)
        await _stalled(second)
        await second.elapse(minutes=10)
        assert not clouds.writes(), "without the flag nothing is touched"
        for name, (_, _, message) in second.unready().items():
            assert "--adopt-from-cluster" in message or name.startswith("Shop/"), f"{name}: {message}"
        await second.stop()

        plan = await second.plan({lost})
        assert {one.verdict for one in plan} <= {Verdict.CHANGES, Verdict.SETTLED}, plan
        assert not clouds.writes(), "a plan writes nothing"

        await second.start({lost})
        await second.ready()
        await second.elapse(minutes=10)
        assert clouds.contents() == before, "only marks were written"
        calls = Counter(clouds.writes())
        assert set(calls) - MARKING == {ROTATION}
        assert calls[ROTATION] == size, "the Secrets of service tokens were lost with the cluster"
        assert second.owned_by() == {second.id}
        _confirm_events(second, lost)

        clouds.forget_writes()
        await second.start({lost})
        await second.elapse(minutes=30)
        assert not clouds.writes(), "it rests"

        await second.delete(*(one for one in reversed(objects) if one["kind"] in OURS))
        await second.gone()
        await second.elapse(minutes=10)
    _confirm_clean(clouds)


def _confirm_events(second: Cluster, lost: str) -> None:
    """Each takeover is an event that names the lost cluster."""
    notes = second.events("Adopted")
    for kind in ("tenant ", "domain name ", "certificate ", "statements ", "Access application "):
        assert any(note.startswith(f"adopted {kind}") and (lost in note or "lost cluster" in note) for note in notes), kind
    assert any("service token" in note for note in notes)


def _confirm_clean(clouds: Clouds) -> None:
    left = clouds.contents()
    assert [one["imported"] for one in left.pop("certificates")] == [True]
    assert all("SOA" in one or "NS" in one for one in left.pop("records"))
    assert not any(left.values()), left


@virtual_time
async def test_objects_of_a_lost_cluster_are_recovered_by_one_flag() -> None:
    await _story(1)


@virtual_time
async def test_fleet_of_fifty_objects_is_recovered_and_can_be_deleted() -> None:
    await _story(5)
