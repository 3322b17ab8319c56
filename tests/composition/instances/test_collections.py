"""Collections: one object for each element of a list, or each combination of elements of several."""

from __future__ import annotations

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.instance_controllers import InstanceOptions
from edgekeeper.controllers.composition.instance_plan import Limits
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.world import composing, instance, rgd

MAPS = rgd(
    "maps",
    "Maps",
    '{values: "[]string", enabled: boolean | default=true}',
    """
- id: configs
  forEach: [{value: "${schema.spec.values}"}]
  includeWhen: ["${schema.spec.enabled}"]
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "${schema.metadata.name}-${value}"}
    data: {value: "${value}"}
""",
    '{names: "${configs.map(one, one.metadata.name)}"}',
)


@each_server
async def test_collection_has_one_object_for_each_element_in_their_order() -> None:
    async with composing() as world:
        await world.define(MAPS)
        await world.apply(instance("Maps", "demo", {"values": ["c", "a", "b"]}))
        await world.settle()
        assert await world.names("ConfigMap") == ["demo-a", "demo-b", "demo-c"]
        assert (await world.get("ConfigMap", "demo-c"))["data"] == {"value": "c"}
        found = await world.get("Maps", "demo")
        assert found["status"]["names"] == ["demo-c", "demo-a", "demo-b"]
        assert found["status"]["state"] == "ACTIVE"


@each_server
async def test_objects_of_a_collection_are_labelled_with_their_place() -> None:
    async with composing() as world:
        await world.define(MAPS)
        await world.apply(instance("Maps", "demo", {"values": ["a", "b"]}))
        await world.settle()
        for index, name in enumerate(("demo-a", "demo-b")):
            marks = (await world.get("ConfigMap", name))["metadata"]["labels"]
            assert marks[labels.COLLECTION_INDEX] == str(index)
            assert marks[labels.COLLECTION_SIZE] == "2"
            assert marks[labels.NODE_ID] == "configs"


@each_server
async def test_collection_grows_and_shrinks_with_its_list() -> None:
    async with composing() as world:
        await world.define(MAPS)
        await world.apply(instance("Maps", "demo", {"values": ["a", "b", "c"]}))
        await world.settle()
        await world.patch("Maps", "demo", {"spec": {"values": ["a"]}})
        await world.settle()
        assert await world.names("ConfigMap") == ["demo-a"]
        await world.patch("Maps", "demo", {"spec": {"values": ["a", "d"]}})
        await world.settle()
        assert await world.names("ConfigMap") == ["demo-a", "demo-d"]


@each_server
async def test_object_that_others_create_under_a_former_name_is_left_alone() -> None:
    async with composing() as world:
        await world.define(MAPS)
        await world.apply(instance("Maps", "demo", {"values": ["a", "b"]}))
        await world.settle()
        await world.patch("Maps", "demo", {"spec": {"values": ["a"]}})
        await world.settle()
        world.requests.clear()
        await world.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "demo-b"}, "data": {"x": "y"}}
        )
        await world.settle()
        assert (await world.get("ConfigMap", "demo-b"))["data"] == {"x": "y"}
        assert world.requests.calls == []


@each_server
async def test_collection_of_two_lists_has_every_combination() -> None:
    async with composing() as world:
        await world.define(
            rgd(
                "grids",
                "Grid",
                '{regions: "[]string", tiers: "[]string"}',
                """
- id: cells
  forEach: [{region: "${schema.spec.regions}"}, {tier: "${schema.spec.tiers}"}]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${region}-${tier}"}, data: {r: "${region}", t: "${tier}"}}
""",
            )
        )
        await world.apply(instance("Grid", "demo", {"regions": ["eu", "us"], "tiers": ["a", "b"]}))
        await world.settle()
        assert await world.names("ConfigMap") == ["eu-a", "eu-b", "us-a", "us-b"]
        place = (await world.get("ConfigMap", "us-a"))["metadata"]["labels"][labels.COLLECTION_INDEX]
        assert place == "2", "the last list changes fastest"


@each_server
async def test_collection_follows_its_condition() -> None:
    async with composing() as world:
        await world.define(MAPS)
        await world.apply(instance("Maps", "demo", {"values": ["a", "b"], "enabled": False}))
        await world.settle()
        assert await world.names("ConfigMap") == []
        assert await world.state("Maps", "demo") == "ACTIVE"
        for enabled in (True, False):
            await world.patch("Maps", "demo", {"spec": {"enabled": enabled}})
            await world.settle()
            assert await world.names("ConfigMap") == (["demo-a", "demo-b"] if enabled else [])


@each_server
async def test_empty_collection_is_ready_and_can_be_referred_to() -> None:
    async with composing() as world:
        resources = """
- id: configs
  forEach: [{value: "${schema.spec.values}"}]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "each-${value}"}}
- id: summary
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: summary}, data: {count: "${string(size(configs))}"}}
"""
        await world.define(rgd("empties", "Empty", '{values: "[]string"}', resources))
        await world.apply(instance("Empty", "demo", {"values": []}))
        await world.settle()
        assert (await world.get("ConfigMap", "summary"))["data"] == {"count": "0"}
        assert await world.state("Empty", "demo") == "ACTIVE"


CHAIN = rgd(
    "cascades",
    "Cascade",
    '{values: "[]string", prefix: string | default=p}',
    """
- id: base
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: base}, data: {prefix: "${schema.spec.prefix}"}}
- id: firsts
  forEach: [{value: "${schema.spec.values}"}]
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "first-${value}"}
    data: {text: "${base.data.prefix}-${value}"}
- id: seconds
  forEach: [{one: "${firsts}"}]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "second-${one.metadata.name}"}, data: {text: "${one.data.text}"}}
- id: all
  template: {apiVersion: v1, kind: Secret, metadata: {name: all}, stringData: {names: "${seconds.map(s, s.data.text).join(',')}"}}
""",
)


@each_server
async def test_collections_follow_other_resources_and_collections_up_and_down() -> None:
    async with composing() as world:
        await world.define(CHAIN)
        await world.apply(instance("Cascade", "demo", {"values": ["a", "b"]}))
        await world.settle()
        assert await world.names("ConfigMap") == [
            "base",
            "first-a",
            "first-b",
            "second-first-a",
            "second-first-b",
        ]
        assert (await world.get("ConfigMap", "second-first-b"))["data"] == {"text": "p-b"}
        await world.patch("Cascade", "demo", {"spec": {"values": ["a", "b", "c"], "prefix": "q"}})
        await world.settle()
        assert (await world.get("ConfigMap", "second-first-c"))["data"] == {"text": "q-c"}
        assert (await world.get("ConfigMap", "second-first-a"))["data"] == {"text": "q-a"}
        await world.patch("Cascade", "demo", {"spec": {"values": ["c"]}})
        await world.settle()
        assert await world.names("ConfigMap") == ["base", "first-c", "second-first-c"]
        assert await world.state("Cascade", "demo") == "ACTIVE"


@each_server
async def test_dependents_wait_until_each_object_of_a_collection_is_ready() -> None:
    """Each is judged by itself, as `each`."""
    async with composing() as world:
        resources = """
- id: configs
  forEach: [{value: "${schema.spec.values}"}]
  readyWhen: ["${each.data.?done.orValue('no') == 'yes'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "each-${value}"}, data: {value: "${value}"}}
- id: after
  template: {apiVersion: v1, kind: Secret, metadata: {name: "after-${configs[0].data.value}"}}
"""
        await world.define(rgd("judged", "Judged", '{values: "[]string"}', resources))
        await world.apply(instance("Judged", "demo", {"values": ["a", "b"]}))
        await world.settle()
        await world.patch("ConfigMap", "each-a", {"data": {"done": "yes"}})
        await world.settle()
        assert not await world.exists("Secret", "after-a")
        assert await world.state("Judged", "demo") == "IN_PROGRESS"
        assert "each-b" in (await world.conditions("Judged", "demo"))["Ready"]["message"]
        await world.patch("ConfigMap", "each-b", {"data": {"done": "yes"}})
        await world.settle()
        assert await world.exists("Secret", "after-a")
        assert await world.state("Judged", "demo") == "ACTIVE"


@each_server
async def test_instance_is_in_progress_until_its_collection_is_ready_though_nobody_depends_on_it() -> None:
    async with composing() as world:
        resources = """
- id: configs
  forEach: [{value: "${schema.spec.values}"}]
  readyWhen: ["${each.data.?done.orValue('no') == 'yes'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "each-${value}"}, data: {value: "${value}"}}
"""
        await world.define(rgd("lonely", "Lonely", '{values: "[]string"}', resources))
        await world.apply(instance("Lonely", "demo", {"values": ["a"]}))
        await world.settle()
        assert await world.state("Lonely", "demo") == "IN_PROGRESS"
        await world.patch("ConfigMap", "each-a", {"data": {"done": "yes"}})
        await world.settle()
        assert await world.state("Lonely", "demo") == "ACTIVE"


@each_server
async def test_collection_over_namespaces_is_kept_and_deleted_in_all_of_them() -> None:
    """Drift is repaired in each, and the deletion of the instance empties each."""
    async with composing() as world:
        await world.namespace("one", "two")
        resources = """
- id: configs
  forEach: [{place: "${schema.spec.places}"}]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: shared, namespace: "${place}"}, data: {a: b}}
"""
        await world.define(rgd("spans", "Span", '{places: "[]string"}', resources))
        await world.apply(instance("Span", "demo", {"places": ["one", "two"]}))
        await world.settle()
        notes = (await world.get("Span", "demo"))["metadata"]["annotations"]
        assert notes["applyset.kubernetes.io/additional-namespaces"] == "one,two"
        for place in ("one", "two"):
            await world.patch("ConfigMap", f"{place}/shared", {"data": {"a": "drifted"}})
        await world.settle()
        for place in ("one", "two"):
            assert (await world.get("ConfigMap", f"{place}/shared"))["data"] == {"a": "b"}
        await world.delete("Span", "demo")
        await world.settle()
        assert await world.names("ConfigMap") == []
        assert not await world.exists("Span", "demo")


@each_server
async def test_drift_of_any_object_of_a_collection_is_repaired() -> None:
    async with composing() as world:
        await world.define(MAPS)
        await world.apply(instance("Maps", "demo", {"values": ["a", "b", "c"]}))
        await world.settle()
        for name in ("demo-a", "demo-b"):
            await world.patch("ConfigMap", name, {"data": {"value": "drifted"}})
        await world.delete("ConfigMap", "demo-c")
        await world.settle()
        for value in "abc":
            assert (await world.get("ConfigMap", f"demo-{value}"))["data"] == {"value": value}


@each_server
async def test_deleting_an_instance_deletes_its_collection() -> None:
    async with composing() as world:
        await world.define(MAPS)
        await world.apply(instance("Maps", "demo", {"values": ["a", "b", "c"]}))
        await world.settle()
        await world.delete("Maps", "demo")
        await world.settle()
        assert await world.names("ConfigMap") == []
        assert not await world.exists("Maps", "demo")


@each_server
async def test_collection_beyond_the_limit_is_refused_and_creates_nothing() -> None:
    async with composing(InstanceOptions(limits=Limits(collection_size=3))) as world:
        await world.define(MAPS)
        await world.apply(instance("Maps", "demo", {"values": ["a", "b", "c", "d"]}))
        await world.settle()
        assert await world.names("ConfigMap") == []
        assert await world.state("Maps", "demo") == "ERROR"
        assert "3 objects at most" in (await world.conditions("Maps", "demo"))["Ready"]["message"]
        await world.patch("Maps", "demo", {"spec": {"values": ["a", "b", "c"]}})
        await world.settle()
        assert await world.state("Maps", "demo") == "ACTIVE"


@virtual_time
async def test_two_objects_of_a_collection_may_not_be_the_same() -> None:
    async with composing() as world:
        await world.define(MAPS)
        await world.apply(instance("Maps", "demo", {"values": ["a", "a"]}))
        await world.settle()
        assert await world.names("ConfigMap") == []
        assert await world.state("Maps", "demo") == "ERROR"
