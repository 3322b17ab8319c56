"""Instances within instances, instances of cluster scope, and instances of several definitions side by side."""

from __future__ import annotations

from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.world import composing, instance, rgd

INNER = rgd(
    "inners",
    "Inner",
    "{text: string}",
    """
- id: config
  readyWhen: ["${config.data.?done.orValue('no') == 'yes'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}"}, data: {text: "${schema.spec.text}"}}
""",
    '{text: "${config.data.text}"}',
)
OUTER = rgd(
    "outers",
    "Outer",
    "{text: string}",
    """
- id: inner
  readyWhen: ["${inner.status.state == 'ACTIVE'}"]
  template: {apiVersion: kro.run/v1alpha1, kind: Inner, metadata: {name: "${schema.metadata.name}-inner"}, spec: {text: "${schema.spec.text}"}}
- id: secret
  template: {apiVersion: v1, kind: Secret, metadata: {name: "${schema.metadata.name}"}, stringData: {text: "${inner.status.text}"}}
""",
)


@each_server
async def test_child_that_is_an_instance_itself_is_waited_for_and_followed() -> None:
    async with composing() as world:
        await world.define(INNER)
        await world.define(OUTER)
        await world.apply(instance("Outer", "demo", {"text": "a"}))
        await world.settle()
        assert await world.state("Outer", "demo") == "IN_PROGRESS"
        message = (await world.conditions("Outer", "demo"))["Ready"]["message"]
        assert "Inner default/demo-inner is not ready" in message
        assert "ConfigMap default/demo-inner is not ready" in message, "what the child says itself"
        await world.patch("ConfigMap", "demo-inner", {"data": {"done": "yes"}})
        await world.settle()
        assert await world.state("Outer", "demo") == "ACTIVE"
        await world.patch("Outer", "demo", {"spec": {"text": "b"}})
        await world.settle()
        assert (await world.get("ConfigMap", "demo-inner"))["data"]["text"] == "b"
        world.requests.clear()
        await world.settle(3600)
        assert world.requests.writes == []


@each_server
async def test_deleting_the_outermost_instance_deletes_everything_below_it() -> None:
    async with composing() as world:
        await world.define(INNER)
        await world.define(OUTER)
        await world.apply(instance("Outer", "demo", {"text": "a"}))
        await world.settle()
        await world.patch("ConfigMap", "demo-inner", {"data": {"done": "yes"}})
        await world.settle()
        await world.delete("Outer", "demo")
        await world.settle()
        for kind in ("Outer", "Inner", "Secret", "ConfigMap"):
            assert await world.names(kind) == [], kind


@virtual_time
async def test_deletion_of_the_outer_names_what_holds_the_inner() -> None:
    async with composing() as world:
        await world.define(INNER)
        await world.define(OUTER)
        await world.apply(instance("Outer", "demo", {"text": "a"}))
        await world.settle()
        await world.patch("ConfigMap", "demo-inner", {"metadata": {"finalizers": ["tests.io/hold"]}})
        await world.delete("Outer", "demo")
        await world.settle(90)
        message = (await world.conditions("Outer", "demo"))["ResourcesReady"]["message"]
        assert "Inner default/demo-inner is held by kro.run/finalizer" in message
        assert "ConfigMap default/demo-inner is held by tests.io/hold" in message
        await world.patch("ConfigMap", "demo-inner", {"metadata": {"finalizers": None}})
        await world.settle()
        assert not await world.exists("Outer", "demo")


CLUSTER = rgd(
    "platforms",
    "Platform",
    "{place: string, source: string}",
    """
- id: space
  template: {apiVersion: v1, kind: Namespace, metadata: {name: "${schema.spec.place}"}}
- id: source
  externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.spec.source}", namespace: default}}
- id: config
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: config, namespace: "${space.metadata.name}"}
    data: {text: "${source.data.text}"}
""",
    scope="Cluster",
)


@each_server
async def test_instance_of_cluster_scope_has_children_in_namespaces_and_in_none() -> None:
    async with composing() as world:
        await world.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}, "data": {"text": "x"}}
        )
        await world.define(CLUSTER)
        await world.apply(instance("Platform", "demo", {"place": "team", "source": "theirs"}, namespace=""))
        await world.settle()
        assert await world.state("Platform", "demo") == "ACTIVE"
        assert await world.children("Platform", "demo") == {"Namespace team", "ConfigMap team/config"}
        notes = (await world.get("Platform", "demo"))["metadata"]["annotations"]
        assert notes["applyset.kubernetes.io/additional-namespaces"] == "team"
        await world.delete("ConfigMap", "team/config")
        await world.settle()
        assert (await world.get("ConfigMap", "team/config"))["data"] == {"text": "x"}
        await world.delete("Platform", "demo")
        await world.settle()
        assert not await world.exists("Platform", "demo")
        assert not await world.exists("Namespace", "team")


@each_server
async def test_empty_namespace_of_a_child_is_named_with_its_field() -> None:
    async with composing() as world:
        await world.define(
            rgd(
                "places",
                "Place",
                '{place: string | default=""}',
                """
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: "${schema.spec.place}"}}
""",
                scope="Cluster",
            )
        )
        await world.apply(instance("Place", "demo", {"place": ""}, namespace=""))
        await world.settle()
        assert await world.state("Place", "demo") == "ERROR"
        message = (await world.conditions("Place", "demo"))["Ready"]["message"]
        assert message == "resource config: metadata.namespace of ConfigMap (${schema.spec.place}) is empty"


@each_server
async def test_instances_of_the_same_name_and_different_kinds_do_not_concern_each_other() -> None:
    async with composing() as world:
        for kind in ("Left", "Right"):
            resources = f"""
- id: config
  template: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: "{kind.lower()}-${{schema.metadata.name}}"}}, data: {{a: b}}}}
"""
            await world.define(rgd(f"{kind.lower()}s", kind, "{}", resources))
            await world.apply(instance(kind, "demo"))
        await world.settle()
        world.requests.clear()
        await world.delete("ConfigMap", "left-demo")
        await world.settle()
        assert await world.names("ConfigMap") == ["left-demo", "right-demo"]
        assert world.requests.writes == ["PATCH configmaps default/left-demo"]


@each_server
async def test_definition_may_create_definitions_of_other_kinds() -> None:
    """A CustomResourceDefinition as a child is one like any other."""
    async with composing() as world:
        resources = """
- id: definition
  template:
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: widgets.example.com}
    spec:
      group: example.com
      scope: Namespaced
      names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
      versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""
        await world.define(rgd("kinds", "Kindly", "{}", resources))
        await world.apply(instance("Kindly", "demo"))
        await world.settle()
        assert await world.state("Kindly", "demo") == "ACTIVE"
        assert await world.names("Widget") == []
        await world.delete("Kindly", "demo")
        await world.settle()
        assert not await world.exists("CustomResourceDefinition", "widgets.example.com")
