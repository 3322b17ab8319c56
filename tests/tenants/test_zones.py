"""Zones end: what nobody needs any more costs no task, no call and no label."""

from __future__ import annotations

import asyncio
from collections import Counter

from edgekeeper.kube.kinds import Key
from kubesim.aws.route53.records import Record
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import tenant

SHOP = "CNAME shop.example.com"


def _tasks() -> Counter[str]:
    """What runs, without the numbers that asyncio gives to tasks without a name."""
    return Counter(task.get_name().partition("-")[0] for task in asyncio.all_tasks())


def _zones_in_metrics(scene: Scene) -> set[str]:
    families = scene.stage.operator.metrics.registry.collect()
    labels = {one.labels.get("mirror", "") for family in families for one in family.samples}
    return {label for label in labels if label.startswith("records of zone")}


async def _day(scene: Scene) -> Counter[str]:
    """The calls of a day."""
    scene.cloud.journal.clear()
    await scene.elapse(days=1)
    return Counter(scene.cloud.journal.counts)


@virtual_time
async def test_zones_of_objects_that_are_gone_cost_nothing() -> None:
    async with playing() as scene:
        await scene.elapse(minutes=10)
        tasks, calls = _tasks(), await _day(scene)
        keys = [Key("default", f"tenant-{number}") for number in range(20)]
        for number, key in enumerate(keys):
            dns = scene.dns(hostedZoneId=f"ZNOSUCH{number}")
            await scene.create(tenant(key, f"{key.name}.example.com", dns=dns))
        for key in keys:
            await scene.says("Ready", "DNSError", key)
        assert len(_zones_in_metrics(scene)) == 20
        for key in keys:
            await scene.delete(key)
        for key in keys:
            await scene.gone(key)
        await scene.elapse(minutes=10)
        assert _tasks() == tasks
        assert _zones_in_metrics(scene) == set()
        after = await _day(scene)
        assert after["ListResourceRecordSets"] == 0
        assert after.total() <= calls.total() * 1.02, (calls, after)


@virtual_time
async def test_zone_that_an_object_has_left_is_released() -> None:
    async with playing() as scene:
        other = scene.cloud.route53.add_zone("example.com")
        await scene.create(tenant(dns=scene.dns()))
        await scene.ready()
        await scene.edit(dns=scene.dns(hostedZoneId=other.id))
        await scene.until(lambda: scene.records == {})
        await scene.ready()
        await scene.elapse(minutes=10)
        assert _zones_in_metrics(scene) == {f"records of zone {other.id}"}


@virtual_time
async def test_zone_of_an_object_at_rest_is_kept_and_watched() -> None:
    async with playing() as scene:
        await scene.create(tenant(dns=scene.dns()))
        await scene.ready()
        await scene.elapse(hours=6)
        assert _zones_in_metrics(scene) == {f"records of zone {scene.zone.id}"}
        scene.estate.lose_record("shop.example.com")
        await scene.until(lambda: SHOP in scene.records)


@virtual_time
async def test_zone_of_a_paused_object_is_kept() -> None:
    async with playing() as scene:
        await scene.create(tenant(dns=scene.dns()))
        await scene.ready()
        await scene.annotate(paused="true")
        await scene.elapse(hours=1)
        assert _zones_in_metrics(scene) == {f"records of zone {scene.zone.id}"}


@virtual_time
async def test_object_that_comes_back_after_its_zone_was_released_gets_its_records() -> None:
    async with playing() as scene:
        for _ in range(2):
            await scene.create(tenant(dns=scene.dns()))
            await scene.ready()
            assert scene.records == {SHOP: scene.endpoint}
            await scene.delete()
            await scene.gone()
            assert scene.records == {}
            await scene.elapse(minutes=10)
            assert _zones_in_metrics(scene) == set()


@virtual_time
async def test_record_that_somebody_made_while_the_zone_was_released_is_safe() -> None:
    async with playing() as scene:
        await scene.create(tenant(dns=scene.dns()))
        await scene.ready()
        await scene.delete()
        await scene.gone()
        await scene.elapse(minutes=10)
        theirs = Record("shop.example.com.", "CNAME", 60, ("old.example.net.",))
        scene.cloud.route53.put_record(scene.zone, theirs)
        await scene.create(tenant(dns=scene.dns()))
        await scene.says("Ready", "DNSConflict")
        assert scene.records == {SHOP: "old.example.net"}


@virtual_time
async def test_zone_has_one_mirror_however_its_id_is_written() -> None:
    async with playing() as scene:
        await scene.create(tenant(dns=scene.dns(hostedZoneId=f"/hostedzone/{scene.zone.id}")))
        await scene.ready()
        assert _zones_in_metrics(scene) == {f"records of zone {scene.zone.id}"}
        await scene.elapse(hours=1)
        assert _zones_in_metrics(scene) == {f"records of zone {scene.zone.id}"}
