"""Whose a tenant is: found again after a crash, taken over when told to, and otherwise none of our business."""

from __future__ import annotations

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.kinds import NAMESPACE, Key
from kubesim.aws.faults import lost_response
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

CREATE, UPDATE, DELETE = "CreateDistributionTenant", "UpdateDistributionTenant", "DeleteDistributionTenant"


async def _dies_before_it_writes_down_what_it_created(scene: Scene) -> None:
    await scene.create(tenant())
    await scene.until(lambda: scene.calls(CREATE) == 1)
    scene.stage.operator.die()
    await scene.stage.user.merge_patch(KIND, KEY, {"status": None}, subresource="status")


@virtual_time
async def test_tenant_whose_creation_was_not_written_down_is_found_by_its_mark() -> None:
    """W2: a crash between the creation and the status."""
    async with playing() as scene:
        await _dies_before_it_writes_down_what_it_created(scene)
        scene.stage.start_operator()
        await scene.ready()
        assert scene.status()["id"] == scene.aws().id
        assert scene.calls(CREATE) == 1


@virtual_time
async def test_tenant_whose_creation_was_not_written_down_is_deleted_with_its_object() -> None:
    """W2: nothing is left running."""
    async with playing() as scene:
        await _dies_before_it_writes_down_what_it_created(scene)
        await scene.delete()
        scene.stage.start_operator()
        await scene.gone()
        assert scene.names == []


@virtual_time
async def test_creation_whose_answer_was_lost_is_not_repeated() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(lost_response(), operation=CREATE)
        await scene.create(tenant())
        await scene.ready()
        assert scene.names == [KEY.name]
        assert scene.status()["id"] == scene.aws().id


async def _foreign(scene: Scene, **tags: str) -> str:
    """A tenant that somebody has made by hand, under the name of the object."""
    await scene.create(tenant())
    await scene.ready()
    await scene.annotate(deletion_policy="Orphan")
    await scene.delete()
    await scene.gone()
    live = scene.cloud.cloudfront.change_tenant(KEY.name, tags=tags)
    await scene.elapse(minutes=6)
    return live.id


@virtual_time
async def test_tenant_of_somebody_else_is_neither_changed_nor_deleted() -> None:
    async with playing() as scene:
        await _foreign(scene)
        before, writes = scene.aws(), scene.calls(UPDATE)
        await scene.create(tenant(KEY, "other.example.com"))
        fact = await scene.says("Ready", "NameConflict")
        assert before.id in fact.message
        assert "edgekeeper.io/adopt" in fact.message
        await scene.elapse(minutes=30)
        assert len(scene.events("NameConflict")) == 1
        await scene.delete()
        await scene.gone()
        assert scene.aws() == before
        assert (scene.calls(UPDATE), scene.calls(DELETE)) == (writes, 0)


@virtual_time
async def test_name_that_somebody_took_since_the_last_listing_is_theirs() -> None:
    """W7: CloudFront says so, and the status whose it is."""
    async with playing() as scene:
        await scene.elapse(seconds=5)
        theirs = scene.estate.make_tenant(KEY.name, "other.example.com")
        await scene.create(tenant())
        assert theirs.id in (await scene.says("Ready", "NameConflict")).message
        assert scene.calls(CREATE) == 1
        assert scene.errors("name_conflict") == 1
        assert scene.aws() == theirs


@virtual_time
async def test_tenant_of_nobody_is_taken_over_when_the_object_says_so() -> None:
    async with playing() as scene:
        known = await _foreign(scene, team="shop")
        await scene.create(tenant())
        await scene.says("Ready", "NameConflict")
        await scene.annotate(adopt="true")
        await scene.ready()
        assert scene.status()["id"] == known
        assert scene.aws().tags["team"] == "shop"
        assert scene.aws().tags[f"{TAG_PREFIX}uid"] == scene.object()["metadata"]["uid"]


@virtual_time
async def test_tenant_of_another_object_is_not_taken_over_at_all() -> None:
    async with playing() as scene:
        marks = {"cluster": "elsewhere", "namespace": "default", "name": KEY.name, "uid": "1-2"}
        await _foreign(scene, **{TAG_PREFIX + name: value for name, value in marks.items()})
        before = scene.aws()
        obj = tenant()
        obj["metadata"]["annotations"] = {"edgekeeper.io/adopt": "true"}
        await scene.create(obj)
        assert "another object" in (await scene.says("Ready", "NameConflict")).message
        assert scene.aws() == before


@virtual_time
async def test_of_two_objects_with_one_domain_the_older_has_it() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com"))
        await scene.elapse(seconds=2)
        younger = Key("default", "younger")
        await scene.create(tenant(younger, "SHOP.example.com"))
        fact = await scene.says("Ready", "DomainConflict", younger)
        assert str(KEY) in fact.message
        await scene.ready()
        assert scene.names == [KEY.name]
        assert scene.calls(CREATE) == 1, "the younger one asks AWS for nothing"
        await scene.delete()
        await scene.gone()
        await scene.ready(younger)


@virtual_time
async def test_of_two_objects_with_one_name_the_older_has_it() -> None:
    async with playing() as scene:
        await scene.stage.user.create(
            NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
        )
        await scene.create(tenant(KEY, "shop.example.com"))
        await scene.elapse(seconds=2)
        younger = Key("other", KEY.name)
        await scene.create(tenant(younger, "www.example.com"))
        assert str(KEY) in (await scene.says("Ready", "NameConflict", younger)).message
        await scene.ready()
        assert scene.aws().domains == ("shop.example.com",)
