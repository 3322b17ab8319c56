"""Objects that the server refuses: said in the status, tried again, and no error of the controller."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.world import composing, instance, rgd

SIMPLE = rgd(
    "simples",
    "Simple",
    "{text: string | default=a}",
    """
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}"}, data: {text: "${schema.spec.text}"}}
""",
)


@each_server
async def test_refusal_by_a_webhook_is_reported_and_recovers_with_the_policy() -> None:
    async with composing() as world:
        await world.define(SIMPLE)
        async with world.denying("no ConfigMaps today"):
            await world.apply(instance("Simple", "demo"))
            await world.settle()
            assert await world.state("Simple", "demo") == "ERROR"
            message = (await world.conditions("Simple", "demo"))["ResourcesReady"]["message"]
            assert 'admission webhook "policy.tests.io" denied the request: no ConfigMaps today' in message
            assert world.metrics.count == 0, "a refusal of an object is no error of the controller"
        await world.settle(60)
        assert await world.state("Simple", "demo") == "ACTIVE"
        assert await world.exists("ConfigMap", "demo")


@virtual_time
async def test_refused_object_is_tried_ever_more_slowly() -> None:
    async with composing() as world, world.denying("never"):
        await world.define(SIMPLE)
        await world.apply(instance("Simple", "demo"))
        await world.settle(60)
        world.requests.clear()
        await world.settle(3600)
        tries = len([write for write in world.requests.writes if "configmaps" in write])
        assert 10 <= tries <= 16
        assert len(world.requests.writes) == tries, "the status says the same all the time"


@virtual_time
async def test_namespace_that_does_not_exist_is_reported_and_waited_for() -> None:
    async with composing() as world:
        resources = "[{id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: later}}}]"
        await world.define(rgd("laters", "Later", "{}", resources))
        await world.apply(instance("Later", "demo"))
        await world.settle()
        assert await world.state("Later", "demo") == "ERROR"
        assert 'namespaces "later" not found' in (await world.conditions("Later", "demo"))["Ready"]["message"]
        await world.namespace("later")
        await world.settle(60)
        assert await world.state("Later", "demo") == "ACTIVE"


@virtual_time
async def test_one_instances_failure_does_not_stop_others() -> None:
    async with composing() as world:
        await world.define(SIMPLE)
        await world.apply(instance("Simple", "good"))
        await world.apply(instance("Simple", "x" * 70))
        await world.settle()
        assert await world.state("Simple", "good") == "ACTIVE"
        assert await world.state("Simple", "x" * 70) == "ACTIVE", "names longer than a label are no problem"


@virtual_time
async def test_controllers_follow_definitions_that_come_change_and_go() -> None:
    async with composing() as world:
        await world.define(SIMPLE)
        await world.apply(instance("Simple", "one"))
        await world.apply(instance("Simple", "two"))
        await world.settle()
        assert [await world.state("Simple", name) for name in ("one", "two")] == ["ACTIVE", "ACTIVE"]
        world.withdraw("simples")
        await world.settle()
        await world.patch("Simple", "one", {"spec": {"text": "b"}})
        await world.settle()
        assert (await world.get("ConfigMap", "one"))["data"] == {"text": "a"}
        await world.define(SIMPLE)
        await world.settle()
        assert (await world.get("ConfigMap", "one"))["data"] == {"text": "b"}


@virtual_time
async def test_what_is_remembered_is_bounded_by_what_is_there() -> None:
    async with composing() as world:
        await world.define(SIMPLE)
        for number in range(20):
            await world.apply(instance("Simple", f"n-{number}"))
        await world.settle()
        for number in range(20):
            await world.delete("Simple", f"n-{number}")
        await world.settle()
        assert world.controllers is not None
        assert world.controllers.world.children.size == 0
        assert world.controllers.world.size == 0


@virtual_time
async def test_webhook_that_undoes_what_is_applied_is_not_fought_without_a_pause() -> None:
    """The server never has what was applied. That is said, and tried ever more slowly."""

    def strip(obj: JsonObject) -> None:
        obj["metadata"]["annotations"].pop("team", None)

    async with composing() as world:
        resources = "[{id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {team: edge}}}}]"
        world.mutation = strip
        await world.define(rgd("stripped", "Stripped", "{}", resources))
        await world.apply(instance("Stripped", "demo"))
        await world.settle()
        assert await world.state("Stripped", "demo") == "ERROR"
        message = (await world.conditions("Stripped", "demo"))["Ready"]["message"]
        assert message == "resource config: ConfigMap default/a is changed by others whenever it is applied"
        world.requests.clear()
        await world.settle(3600)
        assert 0 < len(world.requests.writes) <= 25
        world.mutation = None
        await world.settle(1500)
        assert await world.state("Stripped", "demo") == "ACTIVE"
