"""The generated CustomResourceDefinition: installed, updated, guarded, repaired; those of others are left alone."""

from __future__ import annotations

from edgekeeper.controllers.composition.definition import ALLOW_BREAKING
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.controllers.composition.revision_objects import KIND as REVISION
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, Key
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.definitions.scene import WEB_APP, DefinitionScene, config_map, definition, scenery

CRD = Key("", "webapps.kro.run")
FIELDS = {"name": "string | required=true", "port": "integer | minimum=1 maximum=100 default=80"}


async def change_fields(scene: DefinitionScene, **fields: str | None) -> None:
    await scene.edit(schema={"spec": fields})


@each_server
async def test_definition_installs_its_crd_with_the_marks_of_its_owner() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition(spec=FIELDS))
        crd = await scene.crd()
        owner = await scene.get()
        assert crd["metadata"]["labels"] == {
            "kro.run/owned": "true",
            "kro.run/kro-version": "v0.9.3",
            "kro.run/resource-graph-definition-id": owner["metadata"]["uid"],
            "kro.run/resource-graph-definition-name": "web-apps",
        }
        assert "ownerReferences" not in crd["metadata"]
        spec = crd["spec"]
        assert (spec["group"], spec["scope"]) == ("kro.run", "Namespaced")
        assert spec["names"]["kind"] == "WebApp"
        assert (await scene.crd_fields())["port"] == {
            "type": "integer", "minimum": 1, "maximum": 100, "default": 80,
        }  # fmt: skip


@each_server
async def test_crd_follows_a_change_that_breaks_no_instance() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition(spec=FIELDS))
        await change_fields(scene, colour="string")
        assert set(await scene.crd_fields()) == {"name", "port", "colour"}
        assert (await scene.status())["state"] == "Active"


@each_server
async def test_short_names_and_categories_of_the_crd_follow_and_go() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition(shortNames=["wa"], categories=["all"]))
        names = (await scene.crd())["spec"]["names"]
        assert (names["shortNames"], names["categories"]) == (["wa"], ["all"])
        await scene.edit(schema={"shortNames": ["wapp"], "categories": None})
        names = (await scene.crd())["spec"]["names"]
        assert names["shortNames"] == ["wapp"]
        assert "categories" not in names
        await scene.edit(schema={"shortNames": None})
        assert "shortNames" not in (await scene.crd())["spec"]["names"]


@each_server
async def test_breaking_change_is_blocked_until_it_is_allowed() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition(spec=FIELDS))
        before = scene.graphs.find("web-apps")
        await change_fields(scene, port="string")
        status, reason, message = await scene.condition("KindReady")
        assert (status, reason) == ("False", "Failed")
        assert message.startswith(
            "cannot update CRD webapps.kro.run: breaking changes detected: Type changed from integer to string"
        )
        assert (await scene.status())["state"] == "Inactive"
        assert (await scene.crd_fields())["port"]["type"] == "integer"
        assert scene.graphs.find("web-apps") is before, "instances stay served as they were"
        assert await scene.events("Failed") == [message]
        await scene.annotate(**{ALLOW_BREAKING: "true"})
        assert (await scene.crd_fields())["port"]["type"] == "string"
        assert (await scene.status())["state"] == "Active"


@each_server
async def test_bounds_that_are_removed_are_removed_from_the_crd() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition(spec=FIELDS))
        await change_fields(scene, port="integer | default=80")
        assert (await scene.crd_fields())["port"] == {"type": "integer", "default": 80}
        assert (await scene.status())["state"] == "Active"


@virtual_time
async def test_blocked_change_is_still_blocked_after_a_restart_and_the_revision_before_it_is_served() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition(spec=FIELDS))
            await change_fields(scene, port=None)
            await change_fields(scene, port="string")
            assert await scene.numbers() == [1, 2, 3]
        async with scene.operating():
            await scene.settle()
            served = scene.graphs.find("web-apps")
            assert served is not None
            assert (served.revision, served.error) == (1, "")
            assert served.graph is not None
            assert "port" in await scene.crd_fields()
            assert (await scene.condition("KindReady"))[0] == "False"
            await scene.annotate(**{ALLOW_BREAKING: "true"})
            served = scene.graphs.find("web-apps")
            assert served is not None
            assert served.revision == 3


@virtual_time
async def test_instances_can_be_deleted_if_no_revision_can_be_served_after_a_restart() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition(spec=FIELDS))
            await change_fields(scene, port=None)
        await scene.user.delete(REVISION, Key("", "web-apps-r00001"))
        async with scene.operating():
            await scene.settle()
            served = scene.graphs.find("web-apps")
            assert served is not None
            assert served.graph is None
            assert "Property port was removed" in served.error


@each_server
async def test_crd_that_is_edited_is_restored_whatever_the_edit() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition(spec=FIELDS))
        wanted = (await scene.crd())["spec"]
        for edit in (_with_another_field, _without_a_field, _with_another_type):
            crd = await scene.crd()
            edit(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])
            await scene.user.replace(CUSTOM_RESOURCE_DEFINITION, CRD, crd)
            await scene.settle()
            assert (await scene.crd())["spec"] == wanted, edit.__name__
        assert (await scene.status())["state"] == "Active"


def _with_another_field(fields: JsonObject) -> None:
    fields["stranger"] = {"type": "string"}


def _without_a_field(fields: JsonObject) -> None:
    del fields["port"]


def _with_another_type(fields: JsonObject) -> None:
    fields["port"] = {"type": "string"}


@virtual_time
async def test_edit_is_restored_after_a_restart_as_well() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition(spec=FIELDS))
        wanted = (await scene.crd())["spec"]
        crd = await scene.crd()
        _with_another_type(
            crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        )
        await scene.user.replace(CUSTOM_RESOURCE_DEFINITION, CRD, crd)
        async with scene.operating():
            await scene.settle()
        assert (await scene.crd())["spec"] == wanted


@each_server
async def test_crd_that_is_deleted_is_created_again() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        before = (await scene.crd())["metadata"]["uid"]
        await scene.user.delete(CUSTOM_RESOURCE_DEFINITION, CRD)
        await scene.settle()
        assert (await scene.crd())["metadata"]["uid"] != before
        assert (await scene.status())["state"] == "Active"


@each_server
async def test_second_definition_of_a_kind_is_refused_and_its_deletion_does_not_disturb_the_first() -> None:
    async with scenery() as scene, scene.operating(allow_crd_deletion=True):
        await scene.create(definition())
        before = await scene.crd()
        await scene.create(definition("others", config_map(name="fixed"), spec={"other": "integer"}))
        status, reason, message = await scene.condition("KindReady", "others")
        assert (status, reason) == ("False", "Failed")
        assert message == (
            "failed to update CRD webapps.kro.run: CRD is owned by another ResourceGraphDefinition web-apps"
        )
        assert (await scene.status("others"))["state"] == "Inactive"
        assert scene.graphs.find("others") is None
        await scene.instantiate(WEB_APP, "before", {"name": "before"})
        await scene.delete("others")
        assert not await scene.is_there(DEFINITION_KIND, "others")
        assert await scene.crd() == before
        assert scene.graphs.find("web-apps") is not None
        assert (await scene.status())["state"] == "Active"
        await scene.user.delete(CONFIG_MAP, Key("default", "before"))
        await scene.instantiate(WEB_APP, "after", {"name": "after"})
        for name in ("before", "after"):
            assert await scene.find(CONFIG_MAP, name) is not None, "instances are still reconciled"


@virtual_time
async def test_definition_takes_the_kind_over_once_the_other_is_gone() -> None:
    async with scenery() as scene, scene.operating(allow_crd_deletion=True):
        await scene.create(definition())
        await scene.create(definition("others", config_map(name="fixed"), spec={"other": "integer"}))
        await scene.delete("web-apps")
        assert (await scene.status("others"))["state"] == "Active"
        assert set(await scene.crd_fields()) == {"other"}


@virtual_time
async def test_crd_of_somebody_else_is_refused_and_not_touched() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
        await scene.user.merge_patch(
            CUSTOM_RESOURCE_DEFINITION, CRD, {"metadata": {"labels": {"kro.run/owned": None}}}
        )
        before = await scene.crd()
        async with scene.operating(allow_crd_deletion=True):
            await scene.settle()
            assert await scene.condition("KindReady") == (
                "False",
                "Failed",
                "failed to update CRD webapps.kro.run: CRD already exists and is not owned by KRO",
            )
            await scene.delete()
            assert not await scene.is_there(DEFINITION_KIND, "web-apps")
        assert await scene.crd() == before


@virtual_time
async def test_definition_that_is_recreated_adopts_the_crd_of_its_predecessor() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        await scene.delete()
        kept = await scene.crd()
        await scene.create(definition())
        crd, owner = await scene.crd(), await scene.get()
        assert crd["metadata"]["uid"] == kept["metadata"]["uid"]
        assert crd["metadata"]["labels"]["kro.run/resource-graph-definition-id"] == owner["metadata"]["uid"]
        assert owner["status"]["state"] == "Active"


@virtual_time
async def test_labels_and_annotations_of_the_schema_are_those_of_the_crd() -> None:
    async with scenery() as scene, scene.operating():
        metadata = {"labels": {"team": "web"}, "annotations": {"note": "x"}}
        await scene.create(definition("web-apps", config_map(), metadata=metadata))
        found = (await scene.crd())["metadata"]
        assert (found["labels"]["team"], found["annotations"]["note"]) == ("web", "x")
        await scene.edit(schema={"metadata": {"labels": {"team": "shop"}}})
        assert (await scene.crd())["metadata"]["labels"]["team"] == "shop"


@virtual_time
async def test_names_that_another_kind_has_are_reported() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition(shortNames=["wa"]))
        await scene.create(definition("sites", kind="Site", shortNames=["wa"]))
        status, reason, message = await scene.condition("KindReady", "sites")
        assert (status, reason) == ("False", "Failed")
        assert message.startswith("names are not accepted: ")
        assert scene.graphs.find("sites") is None
        await scene.edit("sites", schema={"shortNames": None})
        assert (await scene.status("sites"))["state"] == "Active"
