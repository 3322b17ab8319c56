"""Conditions and state of instances: the built-in ones, and those that a definition makes."""

from __future__ import annotations

from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.world import World, composing, instance, rgd

RESOURCES = """
- id: config
  readyWhen: ["${config.data.?done.orValue('no') == 'yes'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}"}, data: {text: "${schema.spec.text}"}}
"""
SPEC = "{text: string | default=a}"


@each_server
async def test_ready_follows_from_the_conditions_below_it() -> None:
    async with composing() as world:
        await world.define(rgd("plains", "Plain", SPEC, RESOURCES))
        await world.apply(instance("Plain", "demo"))
        await world.settle()
        found = await world.conditions("Plain", "demo")
        assert {type_: one["status"] for type_, one in found.items()} == {
            "InstanceManaged": "True",
            "GraphResolved": "True",
            "ResourcesReady": "False",
            "Ready": "False",
        }
        assert found["Ready"]["reason"] == found["ResourcesReady"]["reason"] == "NotReady"
        await world.patch("ConfigMap", "demo", {"data": {"done": "yes"}})
        await world.settle()
        found = await world.conditions("Plain", "demo")
        assert {type_: (one["status"], one["reason"]) for type_, one in found.items()} == {
            "InstanceManaged": ("True", "Managed"),
            "GraphResolved": ("True", "Resolved"),
            "ResourcesReady": ("True", "AllResourcesReady"),
            "Ready": ("True", "Ready"),
        }
        assert {one["observedGeneration"] for one in found.values()} == {1}
        assert await world.state("Plain", "demo") == "ACTIVE"
        await world.patch("Plain", "demo", {"spec": {"text": "b"}})
        await world.settle()
        found = await world.conditions("Plain", "demo")
        assert {one["observedGeneration"] for one in found.values()} == {2}


@virtual_time
async def test_times_of_conditions_change_with_their_status_only() -> None:
    async with composing() as world:
        await world.define(rgd("plains", "Plain", SPEC, RESOURCES))
        await world.apply(instance("Plain", "demo"))
        await world.settle()
        before = await world.conditions("Plain", "demo")
        await world.settle(100)
        await world.patch("ConfigMap", "demo", {"data": {"done": "yes"}})
        await world.settle()
        after = await world.conditions("Plain", "demo")
        assert (
            after["InstanceManaged"]["lastTransitionTime"] == before["InstanceManaged"]["lastTransitionTime"]
        )
        assert after["Ready"]["lastTransitionTime"] > before["Ready"]["lastTransitionTime"]


@virtual_time
async def test_suspended_instance_is_left_alone_and_says_so() -> None:
    """Until the annotation goes; deletion is not suspended."""
    async with composing() as world:
        await world.define(rgd("plains", "Plain", SPEC, RESOURCES))
        await world.apply(instance("Plain", "demo"))
        await world.settle()
        await world.patch("Plain", "demo", {"metadata": {"annotations": {"kro.run/reconcile": "Suspended"}}})
        await world.patch("Plain", "demo", {"spec": {"text": "b"}})
        await world.settle()
        assert (await world.get("ConfigMap", "demo"))["data"] == {"text": "a"}
        found = await world.conditions("Plain", "demo")
        assert (found["ResourcesReady"]["status"], found["ResourcesReady"]["reason"]) == (
            "False",
            "ReconciliationSuspended",
        )
        assert found["Ready"]["status"] == "False"
        await world.patch("Plain", "demo", {"metadata": {"annotations": {"kro.run/reconcile": None}}})
        await world.settle()
        assert (await world.get("ConfigMap", "demo"))["data"] == {"text": "b"}
        await world.patch("Plain", "demo", {"metadata": {"annotations": {"kro.run/reconcile": "disabled"}}})
        await world.delete("Plain", "demo")
        await world.settle()
        assert not await world.exists("Plain", "demo")
        assert not await world.exists("ConfigMap", "demo")


@virtual_time
async def test_instance_whose_definition_cannot_be_compiled_stays_as_it_is() -> None:
    async with composing() as world:
        served = await world.define(rgd("plains", "Plain", SPEC, RESOURCES))
        await world.apply(instance("Plain", "demo"))
        await world.settle()
        world.graphs.publish(
            type(served)(served.definition, served.uid, 2, served.kind, None, "it is broken")
        )
        await world.patch("Plain", "demo", {"spec": {"text": "b"}})
        await world.settle()
        found = (await world.conditions("Plain", "demo"))["GraphResolved"]
        assert (found["status"], found["reason"], found["message"]) == (
            "False",
            "ResolutionFailed",
            "it is broken",
        )
        assert await world.state("Plain", "demo") == "ERROR"
        assert (await world.get("ConfigMap", "demo"))["data"] == {"text": "a"}
        await world.define(rgd("plains", "Plain", SPEC, RESOURCES))
        await world.settle()
        assert (await world.get("ConfigMap", "demo"))["data"] == {"text": "b"}
        assert await world.state("Plain", "demo") == "IN_PROGRESS"


def _custom(*conditions: str) -> str:
    return "{conditions: [" + ", ".join(f'"${{{one}}}"' for one in conditions) + "]}"


def _made(type_: str, status: str, message: str = "''") -> str:
    return (
        f"runtime.newCondition({{type: '{type_}', status: {status}, reason: 'Because', message: {message}}})"
    )


async def _with(world: World, *conditions: str, resources: str = RESOURCES) -> None:
    await world.define(rgd("customs", "Custom", SPEC, resources, _custom(*conditions)))


FILLED = "schema.spec.text == 'a' ? 'True' : 'False'"


@each_server
async def test_conditions_of_the_definition_take_the_place_of_the_built_in_ones() -> None:
    async with composing() as world:
        await _with(world, _made("Filled", FILLED, "'text is ' + schema.spec.text"))
        await world.apply(instance("Custom", "demo"))
        await world.settle()
        found = await world.conditions("Custom", "demo")
        assert set(found) == {"Filled"}
        assert (found["Filled"]["status"], found["Filled"]["reason"], found["Filled"]["message"]) == (
            "True",
            "Because",
            "text is a",
        )
        first = found["Filled"]["lastTransitionTime"]
        await world.settle(60)
        await world.patch("ConfigMap", "demo", {"data": {"done": "yes"}})
        await world.settle()
        assert (await world.conditions("Custom", "demo"))["Filled"]["lastTransitionTime"] == first
        assert await world.state("Custom", "demo") == "ACTIVE"
        await world.patch("Custom", "demo", {"spec": {"text": "b"}})
        await world.settle()
        found = await world.conditions("Custom", "demo")
        assert (found["Filled"]["status"], found["Filled"]["message"]) == ("False", "text is b")
        assert found["Filled"]["lastTransitionTime"] > first


@each_server
async def test_definition_may_say_itself_when_its_instances_are_ready() -> None:
    """And still read what we would have said."""
    async with composing() as world:
        await _with(
            world, _made("Ready", "'True'"), _made("Inner", "runtime.condition(schema, 'Ready').status")
        )
        await world.apply(instance("Custom", "demo"))
        await world.settle()
        found = await world.conditions("Custom", "demo")
        assert (found["Ready"]["status"], found["Inner"]["status"]) == ("True", "False")
        assert await world.state("Custom", "demo") == "IN_PROGRESS"
        first = found["Ready"]["lastTransitionTime"]
        await world.settle(60)
        await world.patch("ConfigMap", "demo", {"data": {"done": "yes"}})
        await world.settle()
        found = await world.conditions("Custom", "demo")
        assert (found["Ready"]["status"], found["Inner"]["status"]) == ("True", "True")
        assert found["Ready"]["lastTransitionTime"] == first


@each_server
async def test_condition_that_is_made_twice_counts_once_and_is_an_error() -> None:
    async with composing() as world:
        twice = "[1, 2].map(n, runtime.newCondition({type: 'T' + schema.spec.text, status: 'True', message: string(n)}))"
        await _with(world, twice, _made("Other", "'True'"))
        await world.apply(instance("Custom", "demo"))
        await world.settle()
        found = await world.conditions("Custom", "demo")
        assert {type_: one["message"] for type_, one in found.items()} == {"Ta": "1", "Other": ""}
        assert await world.state("Custom", "demo") == "ERROR"


@each_server
async def test_condition_whose_data_is_pending_stays_as_it_was() -> None:
    async with composing() as world:
        await _with(
            world, _made("Done", "config.data.done == 'yes' ? 'True' : 'False'"), _made("Other", "'True'")
        )
        await world.apply(instance("Custom", "demo"))
        await world.settle()
        assert set(await world.conditions("Custom", "demo")) == {"Other"}
        await world.patch("ConfigMap", "demo", {"data": {"done": "yes"}})
        await world.settle()
        before = (await world.conditions("Custom", "demo"))["Done"]
        assert before["status"] == "True"
        await world.settle(60)
        await world.patch("ConfigMap", "demo", {"data": {"done": None}})
        await world.settle()
        after = (await world.conditions("Custom", "demo"))["Done"]
        assert (after["status"], after["lastTransitionTime"]) == ("True", before["lastTransitionTime"])


@each_server
async def test_conditions_go_when_the_definition_makes_them_no_more() -> None:
    async with composing() as world:
        await _with(world, _made("Filled", FILLED))
        await world.apply(instance("Custom", "demo"))
        await world.settle()
        await world.define(rgd("customs", "Custom", SPEC, RESOURCES))
        await world.settle()
        assert set(await world.conditions("Custom", "demo")) == {
            "InstanceManaged",
            "GraphResolved",
            "ResourcesReady",
            "Ready",
        }
