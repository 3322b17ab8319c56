"""Deleting an instance: children go in waves, dependents first, whether or not anything can be evaluated."""

from __future__ import annotations

import pytest

from edgekeeper.controllers.composition.inventory import GROUP_KINDS, HASH, TOOLING
from edgekeeper.controllers.composition.labels import APPLY_SET_ID
from edgekeeper.controllers.composition.registry import ServedGraph
from edgekeeper.core.json import JsonObject
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.world import World, composing, instance, rgd

HELD = rgd(
    "stacks",
    "Stack",
    "{}",
    """
- id: base
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: base}, data: {a: b}}
- id: middle
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: middle, finalizers: [tests.io/hold]}, data: {a: "${base.data.a}"}}
- id: top
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: top, finalizers: [tests.io/hold]}, data: {a: "${middle.data.a}"}}
""",
)


async def _stack(world: World) -> ServedGraph:
    served = await world.define(HELD)
    await world.apply(instance("Stack", "demo"))
    await world.settle()
    assert await world.state("Stack", "demo") == "ACTIVE"
    return served


async def _free(world: World, name: str) -> None:
    await world.patch("ConfigMap", name, {"metadata": {"finalizers": None}})
    await world.settle()


@each_server
async def test_children_go_in_waves_and_each_waits_for_the_one_before() -> None:
    """The message says what is waited for, and what holds it."""
    async with composing() as world:
        await _stack(world)
        await world.delete("Stack", "demo")
        await world.settle()
        assert "deletionTimestamp" in (await world.get("ConfigMap", "top"))["metadata"]
        assert "deletionTimestamp" not in (await world.get("ConfigMap", "middle"))["metadata"]
        found = await world.conditions("Stack", "demo")
        assert await world.state("Stack", "demo") == "DELETING"
        assert (found["ResourcesReady"]["status"], found["ResourcesReady"]["reason"]) == (
            "Unknown",
            "UnderDeletion",
        )
        assert "ConfigMap default/top is held by tests.io/hold" in found["ResourcesReady"]["message"]
        assert found["Ready"]["status"] == "Unknown"
        await _free(world, "top")
        assert "deletionTimestamp" in (await world.get("ConfigMap", "middle"))["metadata"]
        assert await world.exists("ConfigMap", "base")
        await _free(world, "middle")
        assert await world.names("ConfigMap") == []
        assert not await world.exists("Stack", "demo")


@virtual_time
async def test_deletion_goes_on_after_a_restart_and_without_a_graph() -> None:
    """No expression is evaluated: what the definition says now, or that it cannot be compiled, does not matter."""
    async with composing(operating=False) as world:
        async with world.operating():
            served = await _stack(world)
            await world.delete("Stack", "demo")
            await world.settle()
        world.graphs.publish(ServedGraph(served.definition, served.uid, 2, served.kind, None, "it is broken"))
        async with world.operating():
            await _free(world, "top")
            await _free(world, "middle")
            assert await world.names("ConfigMap") == []
            assert not await world.exists("Stack", "demo")


def _without(annotation: str) -> JsonObject:
    return {"metadata": {"annotations": {annotation: None}}}


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (_without(TOOLING), "is not owned by kro"),
        (_without(GROUP_KINDS), f"missing required {GROUP_KINDS} annotation"),
        ({"metadata": {"annotations": {GROUP_KINDS: "Secret"}}}, f"invalid {HASH} annotation"),
        ({"metadata": {"annotations": {GROUP_KINDS: "Secret,,"}}}, f"invalid {GROUP_KINDS} annotation"),
        ({"metadata": {"labels": {APPLY_SET_ID: "other"}}}, f"invalid {APPLY_SET_ID} label"),
    ],
)
def test_damaged_inventory_blocks_the_deletion_and_says_so(damage: JsonObject, complaint: str) -> None:
    @virtual_time
    async def scenario() -> None:
        async with composing(operating=False) as world:
            async with world.operating():
                await _stack(world)
            await world.delete("Stack", "demo")
            await world.patch("Stack", "demo", damage)
            async with world.operating():
                await world.settle()
                assert len(await world.names("ConfigMap")) == 3
                found = (await world.conditions("Stack", "demo"))["ResourcesReady"]
                assert found["reason"] == "DeletionBlocked"
                assert complaint in found["message"]

    scenario()


@virtual_time
async def test_damaged_inventory_is_repaired_while_the_instance_lives() -> None:
    async with composing() as world:
        await _stack(world)
        await world.patch("Stack", "demo", _without(GROUP_KINDS))
        await world.settle()
        assert (await world.get("Stack", "demo"))["metadata"]["annotations"][GROUP_KINDS] == "ConfigMap"


@each_server
async def test_managed_children_go_before_the_finalizer_though_an_object_of_others_is_the_root() -> None:
    async with composing() as world:
        await world.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}, "data": {"a": "b"}}
        )
        resources = """
- id: theirs
  externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}}
- id: held
  template: {apiVersion: v1, kind: Secret, metadata: {name: held, finalizers: [tests.io/hold]}, stringData: {a: "${theirs.data.a}"}}
"""
        await world.define(rgd("rooted", "Rooted", "{}", resources))
        await world.apply(instance("Rooted", "demo"))
        await world.settle()
        await world.delete("ConfigMap", "theirs")
        await world.delete("Rooted", "demo")
        await world.settle()
        assert await world.exists("Rooted", "demo")
        await world.patch("Secret", "held", {"metadata": {"finalizers": None}})
        await world.settle()
        assert not await world.exists("Secret", "held")
        assert not await world.exists("Rooted", "demo")


@virtual_time
async def test_orphaned_resource_stays_without_our_marks() -> None:
    """When the instance goes, and when the definition no longer has the resource."""
    async with composing() as world:
        resources = """
- id: kept
  deletionPolicy: Orphan
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-kept", labels: {team: edge}}, data: {a: b}}
- id: gone
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-gone"}, data: {a: b}}
"""
        await world.define(rgd("keepers", "Keeper", "{}", resources))
        await world.apply(instance("Keeper", "one"))
        await world.apply(instance("Keeper", "two"))
        await world.settle()
        await world.delete("Keeper", "one")
        await world.settle()
        assert not await world.exists("Keeper", "one")
        assert await world.names("ConfigMap") == ["one-kept", "two-gone", "two-kept"]
        await world.define(rgd("keepers", "Keeper", "{}", "[]"))
        await world.settle()
        assert await world.names("ConfigMap") == ["one-kept", "two-kept"]
        for name in ("one-kept", "two-kept"):
            kept = await world.get("ConfigMap", name)
            assert kept["data"] == {"a": "b"}
            assert kept["metadata"]["labels"] == {"team": "edge"}
            assert not kept["metadata"].get("annotations")


@virtual_time
async def test_pods_of_a_job_go_with_it() -> None:
    """Jobs are the kind whose dependents would stay without a propagation policy."""
    async with composing() as world:
        resources = """
- id: job
  template:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: job}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}
"""
        await world.define(rgd("jobs", "Work", "{}", resources))
        await world.apply(instance("Work", "demo"))
        await world.settle()
        job = await world.get("Job", "job")
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "job",
            "uid": job["metadata"]["uid"],
            "controller": True,
        }
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "job-1", "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "main", "image": "busybox"}]},
        }
        await world.apply(pod)
        await world.delete("Work", "demo")
        await world.settle()
        assert not await world.exists("Job", "job")
        assert not await world.exists("Pod", "job-1")
        (options,) = world.deletions
        assert options["propagationPolicy"] == "Background", (
            "without it a Job of the first API versions keeps its pods"
        )
        assert options["preconditions"] == {"uid": job["metadata"]["uid"]}


@virtual_time
async def test_instance_that_is_deleted_at_once_leaves_nothing() -> None:
    async with composing() as world:
        await world.define(
            rgd(
                "briefs",
                "Brief",
                "{}",
                "[{id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: brief}}}]",
            )
        )
        await world.settle()
        await world.apply(instance("Brief", "demo"))
        await world.settle(0)
        await world.delete("Brief", "demo")
        await world.settle()
        assert not await world.exists("Brief", "demo")
        assert await world.names("ConfigMap") == []


WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


@virtual_time
async def test_kind_that_is_no_longer_served_does_not_block_a_deletion() -> None:
    """Its objects went with its definition."""
    async with composing(operating=False) as world:
        await world.install(WIDGETS)
        resources = (
            "[{id: widget, template: {apiVersion: example.com/v1, kind: Widget, metadata: {name: widget}}}]"
        )
        async with world.operating():
            await world.define(rgd("holders", "Holder", "{}", resources))
            for name in ("one", "two"):
                await world.apply(instance("Holder", name))
                await world.settle()
            await world.delete("CustomResourceDefinition", "widgets.example.com")
            await world.settle(60)
            await world.delete("Holder", "one")
            await world.settle(60)
            assert not await world.exists("Holder", "one")
        await world.delete("Holder", "two")
        async with world.operating():
            await world.settle(60)
            assert not await world.exists("Holder", "two")
