"""A definition that is created is accepted: its status, its revision, its CustomResourceDefinition, and what is in force."""

from __future__ import annotations

from edgekeeper.controllers.composition.labels import FINALIZER
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.kube.kinds import Key
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.definitions.scene import config_map, definition, scenery


@each_server
async def test_definition_that_is_created_has_all_conditions_and_is_active() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        status = await scene.status()
        assert status["state"] == "Active"
        assert await scene.conditions() == {
            "Ready": ("True", "Ready"),
            "GraphRevisionsResolved": ("True", "Resolved"),
            "GraphAccepted": ("True", "Valid"),
            "KindReady": ("True", "Ready"),
            "ControllerReady": ("True", "Running"),
        }
        assert (await scene.condition("GraphAccepted"))[2] == "resource graph and schema are valid"
        assert (await scene.condition("KindReady"))[2] == "kind WebApp has been accepted and ready"
        assert (await scene.condition("ControllerReady"))[2] == "controller is running"
        assert status["lastIssuedRevision"] == 1
        found = await scene.user.get(DEFINITION_KIND, Key("", "web-apps"))
        assert found["metadata"]["finalizers"] == [FINALIZER]


@virtual_time
async def test_status_shows_the_order_and_only_resources_that_depend_on_others() -> None:
    async with scenery() as scene, scene.operating():
        later = config_map("later", "${first.metadata.name}-2")
        await scene.create(definition("web-apps", later, config_map("first")))
        status = await scene.status()
        assert status["topologicalOrder"] == ["first", "later"]
        assert status["resources"] == [{"id": "later", "dependencies": [{"id": "first"}]}]


@virtual_time
async def test_newest_revision_is_in_force_once_the_kind_is_served() -> None:
    async with scenery() as scene, scene.operating():
        assert scene.graphs.find("web-apps") is None
        await scene.create(definition())
        served = scene.graphs.find("web-apps")
        assert served is not None
        assert served.graph is not None
        found = await scene.get()
        assert (served.uid, served.revision) == (found["metadata"]["uid"], 1)
        assert served.kind.qualified_plural == "webapps.kro.run"
        assert served.graph.order == ["config"]


@virtual_time
async def test_definition_at_rest_costs_no_write_and_a_restart_none_either() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
            before = len(scene.writes)
            await scene.settle(100_000)
            assert scene.writes[before:] == []
        seen = await scene.get()
        scene.writes.clear()
        async with scene.operating():
            await scene.settle()
            assert scene.graphs.find("web-apps") is not None
        assert scene.writes == []
        assert await scene.get() == seen
