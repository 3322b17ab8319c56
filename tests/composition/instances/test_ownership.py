"""Who owns a child: field managers, conflicts between instances, drift, and what is already there."""

from __future__ import annotations

from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.world import composing, instance, rgd

SHARED = rgd(
    "shares",
    "Share",
    "{name: string, text: string | default=a}",
    """
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.spec.name}"}, data: {text: "${schema.spec.text}"}}
""",
)


@each_server
async def test_children_are_applied_under_one_field_manager() -> None:
    async with composing() as world:
        await world.define(SHARED)
        await world.apply(instance("Share", "demo", {"name": "demo"}))
        await world.settle()
        await world.patch("Share", "demo", {"spec": {"text": "b"}})
        await world.settle()
        managed = (await world.get("ConfigMap", "demo"))["metadata"]["managedFields"]
        assert [(entry["manager"], entry["operation"]) for entry in managed] == [
            ("kro.run/applyset", "Apply")
        ]


@each_server
async def test_two_instances_never_overwrite_each_others_object() -> None:
    """The second says whose it is, and gets it when the first is gone."""
    async with composing() as world:
        await world.define(SHARED)
        await world.apply(instance("Share", "one", {"name": "same", "text": "one"}))
        await world.settle()
        await world.apply(instance("Share", "two", {"name": "same", "text": "two"}))
        await world.settle()
        assert (await world.get("ConfigMap", "same"))["data"] == {"text": "one"}
        assert await world.state("Share", "two") == "ERROR"
        message = (await world.conditions("Share", "two"))["Ready"]["message"]
        assert "ConfigMap default/same belongs to Share default/one" in message
        assert await world.state("Share", "one") == "ACTIVE"
        await world.delete("Share", "one")
        await world.settle()
        assert (await world.get("ConfigMap", "same"))["data"] == {"text": "two"}
        assert await world.state("Share", "two") == "ACTIVE"


@virtual_time
async def test_two_instances_that_begin_at_once_do_not_overwrite_each_other() -> None:
    """Neither sees the object when it decides."""
    async with composing() as world:
        await world.define(SHARED)
        await world.settle()
        world.latency = 0.1
        await world.apply(instance("Share", "one", {"name": "same", "text": "one"}))
        await world.apply(instance("Share", "two", {"name": "same", "text": "two"}))
        await world.settle()
        states = {name: await world.state("Share", name) for name in ("one", "two")}
        assert sorted(states.values()) == ["ACTIVE", "ERROR"]
        (owner,) = [name for name, state in states.items() if state == "ACTIVE"]
        assert (await world.get("ConfigMap", "same"))["data"] == {"text": owner}
        managed = (await world.get("ConfigMap", "same"))["metadata"]
        assert managed["labels"]["kro.run/instance-name"] == owner
        assert len([write for write in world.requests.writes if "configmaps" in write]) == 1


@virtual_time
async def test_object_of_another_tools_apply_set_is_not_taken() -> None:
    async with composing() as world:
        await world.define(SHARED)
        foreign = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "same", "labels": {"applyset.kubernetes.io/part-of": "applyset-kubectl-v1"}},
            "data": {"text": "theirs"},
        }
        await world.apply(foreign)
        await world.apply(instance("Share", "demo", {"name": "same"}))
        await world.settle()
        assert (await world.get("ConfigMap", "same"))["data"] == {"text": "theirs"}
        assert await world.state("Share", "demo") == "ERROR"
        assert "applyset-kubectl-v1" in (await world.conditions("Share", "demo"))["Ready"]["message"]


@virtual_time
async def test_object_of_nobody_is_adopted() -> None:
    async with composing() as world:
        await world.define(SHARED)
        await world.apply(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "same"},
                "data": {"text": "x", "more": "y"},
            }
        )
        await world.apply(instance("Share", "demo", {"name": "same"}))
        await world.settle()
        assert (await world.get("ConfigMap", "same"))["data"] == {"text": "a", "more": "y"}
        assert await world.state("Share", "demo") == "ACTIVE"


@virtual_time
async def test_drift_of_a_child_is_repaired_and_foreign_fields_stay() -> None:
    async with composing() as world:
        await world.define(SHARED)
        await world.apply(instance("Share", "demo", {"name": "demo"}))
        await world.settle()
        await world.patch("ConfigMap", "demo", {"data": {"text": "changed", "theirs": "kept"}})
        await world.settle()
        assert (await world.get("ConfigMap", "demo"))["data"] == {"text": "a", "theirs": "kept"}
        world.requests.clear()
        await world.patch("ConfigMap", "demo", {"data": {"theirs": "other"}})
        await world.settle()
        assert world.requests.writes == []


@virtual_time
async def test_child_that_lost_its_labels_gets_them_back() -> None:
    async with composing() as world:
        await world.define(SHARED)
        await world.apply(instance("Share", "demo", {"name": "demo"}))
        await world.settle()
        await world.patch("ConfigMap", "demo", {"metadata": {"labels": {"kro.run/owned": None}}})
        await world.settle()
        assert (await world.get("ConfigMap", "demo"))["metadata"]["labels"]["kro.run/owned"] == "true"


@virtual_time
async def test_child_that_was_deleted_is_created_again() -> None:
    async with composing() as world:
        await world.define(SHARED)
        await world.apply(instance("Share", "demo", {"name": "demo"}))
        await world.settle()
        await world.delete("ConfigMap", "demo")
        await world.settle()
        assert await world.exists("ConfigMap", "demo")


@virtual_time
async def test_drift_that_happened_while_nobody_ran_is_repaired() -> None:
    async with composing(operating=False) as world:
        async with world.operating():
            await world.define(SHARED)
            await world.apply(instance("Share", "demo", {"name": "demo"}))
            await world.settle()
        await world.patch("ConfigMap", "demo", {"data": {"text": "changed"}})
        async with world.operating():
            await world.settle()
            assert (await world.get("ConfigMap", "demo"))["data"] == {"text": "a"}


@virtual_time
async def test_two_resources_may_not_be_the_same_object() -> None:
    async with composing() as world:
        await world.define(
            rgd(
                "twins",
                "Twin",
                "{name: string}",
                """
- {id: one, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.spec.name}"}, data: {a: one}}}
- {id: two, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: same}, data: {a: two}}}
""",
            )
        )
        await world.apply(instance("Twin", "demo", {"name": "same"}))
        await world.settle()
        assert await world.state("Twin", "demo") == "ERROR"
        message = (await world.conditions("Twin", "demo"))["ResourcesReady"]["message"]
        assert "resource two and resource one are the same object, ConfigMap default/same" in message
        await world.patch("Twin", "demo", {"spec": {"name": "other"}})
        await world.settle()
        assert await world.state("Twin", "demo") == "ACTIVE"


@virtual_time
async def test_marks_are_repaired_though_no_field_of_the_object_changed() -> None:
    """A Deployment's generation counts its spec alone."""
    async with composing() as world:
        resources = """
- id: deployment
  template:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, annotations: {team: edge}}
    spec:
      selector: {matchLabels: {app: web}}
      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}
"""
        await world.define(rgd("marked", "Marked", "{}", resources))
        await world.apply(instance("Marked", "demo"))
        await world.settle()
        await world.patch(
            "Deployment", "web", {"metadata": {"annotations": {"team": "other", "theirs": "x"}}}
        )
        await world.settle()
        assert (await world.get("Deployment", "web"))["metadata"]["annotations"]["team"] == "edge"
        assert (await world.get("Deployment", "web"))["metadata"]["annotations"]["theirs"] == "x"
        world.requests.clear()
        await world.set_status("Deployment", "web", {"replicas": 1})
        await world.settle()
        assert world.requests.calls == [], "the status of an object that nobody reads concerns nobody"
