"""Expressions in templates, and values of instances that merely look like some."""

from __future__ import annotations

from typing import Any

from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.world import World, composing, instance, rgd

CARRIER = rgd(
    "carriers",
    "Carrier",
    "{text: string}",
    """
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {text: "${schema.spec.text}"}}
- id: copy
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {text: "${config.data.text}"}}
""",
    '{text: "${config.data.text}"}',
)


async def _carried(world: World, text: str) -> list[Any]:
    await world.define(CARRIER)
    await world.apply(instance("Carrier", "demo", {"text": text}))
    await world.settle()
    assert await world.state("Carrier", "demo") == "ACTIVE"
    children = [(await world.get("ConfigMap", name))["data"]["text"] for name in ("config", "copy")]
    return [*children, (await world.get("Carrier", "demo"))["status"]["text"]]


@each_server
async def test_value_with_brackets_is_carried_as_it_is() -> None:
    async with composing() as world:
        assert await _carried(world, "a ${HOME} b") == ["a ${HOME} b"] * 3


@each_server
async def test_value_that_names_a_resource_is_not_evaluated() -> None:
    async with composing() as world:
        text = "${config.metadata.uid}"
        assert await _carried(world, text) == [text] * 3


@each_server
async def test_annotation_with_brackets_does_no_harm() -> None:
    async with composing() as world:
        await world.define(CARRIER)
        written = instance("Carrier", "demo", {"text": "x"})
        written["metadata"]["annotations"] = {"note": "${schema.spec.nothing}"}
        await world.apply(written)
        await world.settle()
        assert await world.state("Carrier", "demo") == "ACTIVE"


async def _data(world: World, spec: str, data: str, given: dict[str, Any], *, omit: bool = False) -> Any:
    resources = f"""
- id: config
  template: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: config}}, data: {data}}}
"""
    await world.define(rgd("evaluated", "Evaluated", spec, resources), omit_allowed=omit)
    await world.apply(instance("Evaluated", "demo", given))
    await world.settle()
    return (await world.get("ConfigMap", "config"))["data"]


@each_server
async def test_strings_are_formatted() -> None:
    async with composing() as world:
        data = """{a: "${'%s-%d'.format([schema.spec.name, schema.spec.count])}"}"""
        found = await _data(world, "{name: string, count: integer}", data, {"name": "x", "count": 3})
        assert found == {"a": "x-3"}


@each_server
async def test_comprehensions_with_two_variables_are_evaluated() -> None:
    async with composing() as world:
        found = await _data(
            world,
            '{tags: "map[string]string", names: "[]string"}',
            """{a: "${schema.spec.tags.transformMap(k, v, v + '!').b}", """
            """b: "${schema.spec.tags.transformMapEntry(k, v, {v: k})['1']}", """
            """c: "${schema.spec.names.transformList(i, n, string(i) + n).join(',')}"}""",
            {"tags": {"a": "1", "b": "2"}, "names": ["x", "y"]},
        )
        assert found == {"a": "2!", "b": "a", "c": "0x,1y"}


@each_server
async def test_omitted_field_is_not_there_and_not_ours() -> None:
    async with composing() as world:
        data = """{a: x, b: "${has(schema.spec.text) ? schema.spec.text : omit()}"}"""
        assert await _data(world, "{text: string}", data, {}, omit=True) == {"a": "x"}
        await world.patch("ConfigMap", "config", {"data": {"b": "theirs"}})
        await world.settle()
        assert (await world.get("ConfigMap", "config"))["data"] == {"a": "x", "b": "theirs"}
        await world.patch("Evaluated", "demo", {"spec": {"text": "ours"}})
        await world.settle()
        assert (await world.get("ConfigMap", "config"))["data"] == {"a": "x", "b": "ours"}


@each_server
async def test_omitted_element_of_an_array_is_not_there() -> None:
    async with composing() as world:
        resources = """
- id: pod
  template:
    apiVersion: v1
    kind: Pod
    metadata: {name: pod}
    spec: {containers: [{name: main, image: busybox, args: ["one", "${has(schema.spec.text) ? schema.spec.text : omit()}", "three"]}]}
"""
        await world.define(rgd("omitted", "Omitted", "{text: string}", resources), omit_allowed=True)
        await world.apply(instance("Omitted", "demo"))
        await world.settle()
        assert (await world.get("Pod", "pod"))["spec"]["containers"][0]["args"] == ["one", "three"]


@each_server
async def test_unknown_fields_below_an_object_are_kept_and_can_be_read() -> None:
    async with composing() as world:
        data = """{a: "${schema.spec.values.deep.text}", b: "${string(schema.spec.values.list[1])}"}"""
        given = {"values": {"deep": {"text": "x"}, "list": [1, 2]}}
        assert await _data(world, "{values: object}", data, given) == {"a": "x", "b": "2"}
        assert (await world.get("Evaluated", "demo"))["spec"] == given


@virtual_time
async def test_expression_that_costs_too_much_is_an_error_of_its_instance_alone() -> None:
    async with composing() as world:
        resources = """
- id: config
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "${schema.metadata.name}"}
    data: {n: "${string(schema.spec.n.map(a, schema.spec.n.map(b, schema.spec.n.map(c, a + b + c).size()).size()).size())}"}
"""
        await world.define(rgd("bombs", "Bomb", '{n: "[]integer"}', resources))
        await world.apply(instance("Bomb", "bad", {"n": list(range(300))}))
        await world.apply(instance("Bomb", "good", {"n": [1, 2]}))
        await world.settle()
        assert await world.state("Bomb", "bad") == "ERROR"
        assert "cost" in (await world.conditions("Bomb", "bad"))["Ready"]["message"]
        assert await world.state("Bomb", "good") == "ACTIVE"
