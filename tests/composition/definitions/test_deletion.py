"""Deletion of a definition: never before its instances, and no further than the installation allows."""

from __future__ import annotations

from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Key
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.definitions.scene import WEB_APP, DefinitionScene, config_map, definition, scenery

CRD = "webapps.kro.run"
FINALIZED = {"finalizers": ["kro.run/finalizer"]}


async def instantiate(scene: DefinitionScene, name: str, *, managed: bool = True) -> None:
    metadata = {"name": name, **(FINALIZED if managed else {})}
    await scene.user.create(WEB_APP, {"metadata": metadata, "spec": {"name": name}}, namespace="default")


async def release(scene: DefinitionScene, name: str) -> None:
    """What the controller of instances does at the end."""
    key = Key("default", name)
    await scene.user.delete(WEB_APP, key)
    await scene.user.merge_patch(WEB_APP, key, {"metadata": {"finalizers": None}})


@each_server
async def test_crd_goes_with_its_definition_where_that_is_allowed() -> None:
    async with scenery() as scene, scene.operating(allow_crd_deletion=True):
        await scene.create(definition())
        await scene.delete()
        assert not await scene.is_there(DEFINITION_KIND, "web-apps")
        assert not await scene.is_there(CUSTOM_RESOURCE_DEFINITION, CRD)
        assert scene.graphs.find("web-apps") is None


@virtual_time
async def test_crd_stays_by_default_and_nothing_is_in_force() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        await scene.delete()
        assert not await scene.is_there(DEFINITION_KIND, "web-apps")
        assert await scene.is_there(CUSTOM_RESOURCE_DEFINITION, CRD)
        assert scene.graphs.find("web-apps") is None


@virtual_time
async def test_deletion_waits_for_instances_and_says_how_many_and_which() -> None:
    async with scenery() as scene, scene.operating(allow_crd_deletion=True):
        await scene.create(definition())
        await instantiate(scene, "blue")
        await instantiate(scene, "green")
        await scene.delete()
        status, reason, message = await scene.condition("DeletionBlocked")
        assert (status, reason) == ("True", "InstancesExist")
        assert message == (
            "2 instances of WebApp still exist, such as default/blue: the definition goes when they are deleted"
        )
        assert (await scene.condition("Ready"))[2] == message
        assert scene.graphs.find("web-apps") is not None, "instances are served until they are gone"
        await release(scene, "blue")
        await scene.settle(60)
        assert "1 instance of WebApp still exists, default/green" in (await scene.condition("Ready"))[2]
        assert len(await scene.events("InstancesExist")) == 1
        assert await scene.is_there(CUSTOM_RESOURCE_DEFINITION, CRD)
        await release(scene, "green")
        await scene.settle()
        assert not await scene.is_there(DEFINITION_KIND, "web-apps")
        assert not await scene.is_there(CUSTOM_RESOURCE_DEFINITION, CRD)


@virtual_time
async def test_instances_are_served_after_a_restart_while_the_deletion_waits() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
            await instantiate(scene, "blue")
            await scene.delete()
        async with scene.operating():
            await scene.settle()
            served = scene.graphs.find("web-apps")
            assert served is not None
            assert served.graph is not None
            await release(scene, "blue")
            await scene.settle()
            assert scene.graphs.find("web-apps") is None
        assert not await scene.is_there(DEFINITION_KIND, "web-apps")


@virtual_time
async def test_instance_that_comes_while_the_graph_is_withdrawn_is_not_stranded() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        withdrawn: list[str] = []

        def on_change(name: str) -> None:
            if scene.graphs.find(name) is None:
                withdrawn.append(name)

        scene.graphs.subscribe(on_change)
        await scene.user.delete(DEFINITION_KIND, Key("", "web-apps"))
        while not withdrawn:
            await scene.settle(0.1)
        await instantiate(scene, "late")
        await scene.settle()
        assert scene.graphs.find("web-apps") is not None
        assert "default/late" in (await scene.condition("DeletionBlocked"))[2]


@each_server
async def test_definition_that_was_never_accepted_is_deleted_at_once() -> None:
    async with scenery() as scene, scene.operating(allow_crd_deletion=True):
        await scene.create(definition("web-apps", config_map(a="${unknown.spec}")))
        assert (await scene.status())["state"] == "Inactive"
        await scene.delete()
        assert not await scene.is_there(DEFINITION_KIND, "web-apps")


@virtual_time
async def test_definition_whose_crd_was_deleted_is_deleted_without_it() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
        await scene.user.delete(CUSTOM_RESOURCE_DEFINITION, Key("", CRD))
        await scene.user.delete(DEFINITION_KIND, Key("", "web-apps"))
        async with scene.operating(allow_crd_deletion=True):
            await scene.settle()
        assert not await scene.is_there(DEFINITION_KIND, "web-apps")
        assert not await scene.is_there(CUSTOM_RESOURCE_DEFINITION, CRD)
