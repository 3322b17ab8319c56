"""What a lost cluster has left is claimed by the object of the same name, whoever was restored first."""

from __future__ import annotations

from dataclasses import replace

from edgekeeper.api.cloudfront import FINALIZER
from edgekeeper.core.ownership import Owner
from edgekeeper.kube.kinds import Key
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, OPTIONS, tenant

LOST = Owner("lost-cluster", KEY.namespace, KEY.name, "00000000-0000-4000-8000-000000000000")
RECOVERING = replace(OPTIONS, lost_clusters=frozenset({LOST.cluster}))
OTHER = Key("default", "other")
SHOP = "shop.example.com"


def _left_behind(scene: Scene) -> None:
    scene.estate.make_tenant(KEY.name, SHOP, tags=LOST.tags())
    scene.estate.make_record(SHOP, f"{scene.endpoint}.")


@virtual_time
async def test_heir_of_a_tenant_has_its_domains_though_another_object_was_restored_before() -> None:
    async with playing(RECOVERING) as scene:
        _left_behind(scene)
        await scene.create(tenant(OTHER, SHOP, dns=scene.dns()))
        await scene.says("Ready", "DomainConflict", OTHER)
        await scene.create(tenant(KEY, SHOP, dns=scene.dns()))
        await scene.ready()
        assert "served by the tenant of" in (await scene.says("Ready", "DomainConflict", OTHER)).message
        assert scene.aws().tags["edgekeeper.io/uid"] == scene.object()["metadata"]["uid"]
        await scene.delete(OTHER)
        await scene.gone(OTHER)
        assert scene.records == {f"CNAME {SHOP}": scene.endpoint}


@virtual_time
async def test_record_of_somebody_else_is_not_adopted_with_a_tenant_that_is_new() -> None:
    async with playing(RECOVERING) as scene:
        scene.estate.make_record(SHOP, f"{scene.endpoint}.")
        await scene.create(tenant(KEY, SHOP, dns=scene.dns()))
        await scene.ready()
        await scene.delete()
        await scene.gone()
        assert scene.records == {f"CNAME {SHOP}": scene.endpoint}


@virtual_time
async def test_tenant_that_is_inherited_goes_with_its_object() -> None:
    async with playing(RECOVERING) as scene:
        _left_behind(scene)
        await scene.create(tenant(KEY, SHOP, dns=scene.dns()))
        await scene.ready()
        await scene.delete()
        await scene.gone()
        assert scene.names == []
        assert scene.records == {}


@virtual_time
async def test_tenant_of_an_object_that_is_deleted_before_its_adoption_stays_with_its_record() -> None:
    async with playing(RECOVERING, start=False) as scene:
        _left_behind(scene)
        obj = tenant(KEY, SHOP, dns=scene.dns())
        obj["metadata"]["finalizers"] = [FINALIZER]
        await scene.create(obj)
        await scene.delete()
        before = scene.aws()
        scene.stage.start_operator()
        await scene.gone()
        assert scene.aws() == before
        assert scene.records == {f"CNAME {SHOP}": scene.endpoint}
        assert any(before.id in note for note in scene.events("Orphaned"))
