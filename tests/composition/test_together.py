"""Definitions and their instances together, as the operator runs them: what a change of the one means for the other."""

from __future__ import annotations

import asyncio

from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, Key, Kind
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.definitions.scene import WEB_APP, DefinitionScene, config_map, definition, scenery
from tests.composition.definitions.test_kro import install_kro, set_available

CRD = "webapps.kro.run"


async def instantiate(scene: DefinitionScene, name: str, kind: Kind = WEB_APP) -> None:
    await scene.user.create(kind, {"metadata": {"name": name}, "spec": {"name": name}}, namespace="default")
    await scene.settle()


async def child(scene: DefinitionScene, name: str, namespace: str = "default") -> JsonObject | None:
    try:
        return await scene.user.get(CONFIG_MAP, Key(namespace, name))
    except NotFoundError:
        return None


async def state(scene: DefinitionScene, name: str) -> str:
    return str(dig(await scene.user.get(WEB_APP, Key("default", name)), "status", "state"))


@each_server
async def test_instances_are_reconciled_with_the_graph_of_the_newest_revision() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        await instantiate(scene, "shop")
        assert await state(scene, "shop") == "ACTIVE"
        assert dig(await child(scene, "shop"), "data") == {"a": "1"}
        await scene.edit(resources=[config_map(a="2")])
        assert dig(await child(scene, "shop"), "data") == {"a": "2"}
        assert await state(scene, "shop") == "ACTIVE"


@each_server
async def test_instances_follow_while_old_revisions_are_discarded() -> None:
    async with scenery() as scene, scene.operating(rgd_max_graph_revisions=1):
        await scene.create(definition())
        await instantiate(scene, "shop")
        for value in "23456":
            await scene.edit(resources=[config_map(a=value)])
            assert dig(await child(scene, "shop"), "data") == {"a": value}
        assert await scene.numbers() == [6]
        assert await state(scene, "shop") == "ACTIVE"


@each_server
async def test_last_valid_revision_serves_old_and_new_instances_after_an_invalid_edit_and_a_restart() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
            await instantiate(scene, "old")
            await scene.edit(resources=[config_map(a="${unknown.spec}")])
            await instantiate(scene, "new")
            assert await child(scene, "new") is not None
        async with scene.operating():
            await scene.settle()
            await scene.user.delete(CONFIG_MAP, Key("default", "old"))
            await instantiate(scene, "newest")
            assert await child(scene, "old") is not None, "drift is corrected"
            assert await child(scene, "newest") is not None


@virtual_time
async def test_restart_writes_nothing_for_definitions_and_instances_at_rest() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
            await instantiate(scene, "shop")
        scene.writes.clear()
        async with scene.operating():
            await scene.settle(60)
            assert scene.graphs.find("web-apps") is not None
        assert scene.writes == []


@virtual_time
async def test_definition_that_is_deleted_first_goes_after_its_instances_and_nothing_is_stranded() -> None:
    async with scenery() as scene, scene.operating(allow_crd_deletion=True):
        await scene.create(definition())
        await instantiate(scene, "shop")
        await scene.delete()
        assert (
            "1 instance of WebApp still exists, default/shop" in (await scene.condition("DeletionBlocked"))[2]
        )
        assert await child(scene, "shop") is not None
        await scene.user.delete(WEB_APP, Key("default", "shop"))
        await scene.settle(30)
        assert await child(scene, "shop") is None
        assert not await scene.is_there(DEFINITION_KIND, "web-apps")
        assert not await scene.is_there(CUSTOM_RESOURCE_DEFINITION, CRD)


@virtual_time
async def test_instances_are_left_alone_while_kro_is_found_running() -> None:
    async with scenery() as scene:
        await install_kro(scene, available=0)
        async with scene.operating(composition="auto"):
            await scene.create(definition())
            await instantiate(scene, "shop")
            assert await child(scene, "shop") is not None
            await set_available(scene, 1)
            scene.writes.clear()
            await scene.user.delete(CONFIG_MAP, Key("default", "shop"))
            await instantiate(scene, "other")
            await scene.settle(60)
            assert scene.writes == []
            assert await child(scene, "shop") is None
            await set_available(scene, 0)
            await scene.settle(30)
            assert await child(scene, "shop") is not None
            assert await child(scene, "other") is not None


@virtual_time
async def test_children_stay_in_the_namespaces_that_the_installation_allows() -> None:
    elsewhere = config_map()
    elsewhere["template"]["metadata"]["namespace"] = "kube-system"
    async with scenery() as scene, scene.operating(composition_allowed_namespaces=("shared",)):
        await scene.create(definition("web-apps", elsewhere))
        assert (await scene.status())["state"] == "Active"
        await instantiate(scene, "shop")
        assert await state(scene, "shop") != "ACTIVE"
        assert await child(scene, "shop", "kube-system") is None


@virtual_time
async def test_bad_definition_does_not_hold_up_others() -> None:
    async with scenery() as scene, scene.operating():
        bad = [definition(f"bad-{n}", config_map(a="${unknown.x}"), kind=f"Bad{n}") for n in range(5)]
        await asyncio.gather(*(scene.user.create(DEFINITION_KIND, one) for one in bad))
        await scene.create(definition())
        await instantiate(scene, "shop")
        assert await state(scene, "shop") == "ACTIVE"


@each_server
async def test_definitions_that_a_definition_creates_have_the_types_that_its_instances_say() -> None:
    inner = {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": "${schema.spec.name}"},
        "spec": {
            "schema": {
                "apiVersion": "v1alpha1",
                "kind": "${schema.spec.kind}",
                "spec": {"value": "${schema.spec.type}"},
            },
            "resources": [
                {
                    "id": "config",
                    "template": {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"name": '${"${schema.metadata.name}"}'},
                    },
                }
            ],
        },
    }
    fields = {"name": "string", "kind": "string", "type": "string"}
    outer = definition("factories", {"id": "made", "template": inner}, spec=fields, kind="Factory")
    factory = Kind("kro.run", "v1alpha1", "Factory", "factories")
    types = {"integer": "integer", "string": "string", "boolean": "boolean", "[]string": "array"}
    async with scenery() as scene, scene.operating():
        await scene.create(outer)
        assert (await scene.status("factories"))["state"] == "Active"
        for number, written in enumerate(types):
            spec = {"name": f"made-{number}", "kind": f"Made{number}", "type": written}
            body = {"metadata": {"name": f"f{number}"}, "spec": spec}
            await scene.user.create(factory, body, namespace="default")
        await scene.settle(30)
        for number, expected in enumerate(types.values()):
            assert (await scene.status(f"made-{number}"))["state"] == "Active"
            assert (await scene.crd_fields(f"made{number}s.kro.run"))["value"]["type"] == expected
