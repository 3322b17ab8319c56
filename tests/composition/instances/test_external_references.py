"""Objects of others that definitions refer to, by name or by selector: read and followed, never changed or deleted."""

from __future__ import annotations

from edgekeeper.controllers.composition.instance_controllers import InstanceOptions
from edgekeeper.controllers.composition.instance_plan import Limits
from edgekeeper.core.json import JsonObject
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.world import composing, instance, rgd


def config(name: str, data: dict[str, str], *, namespace: str = "default", **labels: str) -> JsonObject:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


BY_NAME = rgd(
    "readers",
    "Reader",
    "{source: string}",
    """
- id: source
  externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.spec.source}"}}
- id: copy
  template: {apiVersion: v1, kind: Secret, metadata: {name: copy}, stringData: {text: "${source.data.text}"}}
""",
    '{text: "${source.data.text}"}',
)


@each_server
async def test_object_is_waited_for_followed_and_never_changed() -> None:
    async with composing() as world:
        await world.define(BY_NAME)
        await world.apply(instance("Reader", "demo", {"source": "theirs"}))
        await world.settle()
        assert await world.state("Reader", "demo") == "IN_PROGRESS"
        message = (await world.conditions("Reader", "demo"))["Ready"]["message"]
        assert "resource source waits for ConfigMap default/theirs to exist" in message
        before = await world.apply(config("theirs", {"text": "one"}))
        await world.settle()
        assert (await world.get("Reader", "demo"))["status"]["text"] == "one"
        assert await world.state("Reader", "demo") == "ACTIVE"
        await world.apply(config("theirs", {"text": "two"}))
        await world.settle()
        assert (await world.get("Reader", "demo"))["status"]["text"] == "two"
        await world.delete("Reader", "demo")
        await world.settle()
        assert not await world.exists("Secret", "copy")
        after = await world.get("ConfigMap", "theirs")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["data"] == {"text": "two"}
        assert "kro.run/owned" not in after["metadata"].get("labels", {})


@each_server
async def test_object_of_a_custom_kind_is_found_by_expressions() -> None:
    async with composing() as world:
        await world.install("""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Database, plural: databases, singular: database, listKind: DatabaseList}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {size: {type: integer}}}
            status: {type: object, properties: {endpoint: {type: string}}}
""")
        await world.namespace("data")
        resources = """
- id: database
  externalRef: {apiVersion: example.com/v1, kind: Database, metadata: {name: "db-${schema.spec.name}", namespace: "${schema.spec.place}"}}
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {endpoint: "${database.status.endpoint}"}}
"""
        await world.define(rgd("users", "User", "{name: string, place: string}", resources))
        await world.apply(instance("User", "demo", {"name": "main", "place": "data"}))
        await world.apply(
            {
                "apiVersion": "example.com/v1",
                "kind": "Database",
                "metadata": {"name": "db-main", "namespace": "data"},
                "spec": {"size": 1},
            }
        )
        await world.settle()
        assert not await world.exists("ConfigMap", "config")
        await world.set_status("Database", "data/db-main", {"endpoint": "db.example.com"})
        await world.settle()
        assert (await world.get("ConfigMap", "config"))["data"] == {"endpoint": "db.example.com"}


def selecting(
    selector: str, namespace: str = "", listed: str = "found.map(one, one.metadata.name)"
) -> JsonObject:
    place = f", namespace: {namespace}" if namespace else ""
    return rgd(
        "selectors",
        "Selecting",
        '{team: string | default=edge, teams: "[]string"}',
        f"""
- id: found
  externalRef: {{apiVersion: v1, kind: ConfigMap, metadata: {{selector: {selector}{place}}}}}
- id: list
  template: {{apiVersion: v1, kind: Secret, metadata: {{name: list}}, stringData: {{names: "${{{listed}.join(',')}}"}}}}
""",
        f'{{names: "${{{listed}}}"}}',
    )


@each_server
async def test_empty_selector_finds_all_objects_of_a_namespace() -> None:
    async with composing() as world:
        await world.namespace("other")
        for name, place in (("b", "default"), ("a", "default"), ("c", "other")):
            await world.apply(config(name, {}, namespace=place))
        await world.define(selecting("{}", "default"))
        await world.apply(instance("Selecting", "demo"))
        await world.settle()
        assert (await world.get("Selecting", "demo"))["status"]["names"] == ["a", "b"]


@each_server
async def test_selector_without_a_namespace_finds_objects_in_all() -> None:
    async with composing() as world:
        await world.namespace("other")
        await world.apply(config("a", {}, team="edge"))
        await world.apply(config("c", {}, namespace="other", team="edge"))
        await world.apply(config("d", {}, team="core"))
        await world.define(selecting("{matchLabels: {team: '${schema.spec.team}'}}"))
        await world.apply(instance("Selecting", "demo"))
        await world.settle()
        assert (await world.get("Selecting", "demo"))["status"]["names"] == ["a", "c"]


@virtual_time
async def test_selector_finds_objects_only_where_the_installation_allows_it() -> None:
    options = InstanceOptions(limits=Limits(namespaces=frozenset({"shared"})))
    async with composing(options) as world:
        for name, place in (("a", "default"), ("b", "shared"), ("c", "other")):
            if place != "default":
                await world.namespace(place)
            await world.apply(config(name, {}, namespace=place, team="edge"))
        await world.define(selecting("{matchLabels: {team: edge}}"))
        await world.apply(instance("Selecting", "demo"))
        await world.settle()
        assert (await world.get("Selecting", "demo"))["status"]["names"] == ["a", "b"]


@each_server
async def test_collection_of_others_follows_those_that_come_change_and_go() -> None:
    async with composing() as world:
        expression = "{matchExpressions: [{key: team, operator: In, values: ['${schema.spec.team}', core]}]}"
        await world.define(selecting(expression))
        await world.apply(instance("Selecting", "demo"))
        await world.settle()
        assert (await world.get("Selecting", "demo"))["status"]["names"] == []
        await world.apply(config("a", {}, team="edge"))
        await world.apply(config("b", {}, team="core"))
        await world.apply(config("c", {}, team="sales"))
        await world.settle()
        assert (await world.get("Selecting", "demo"))["status"]["names"] == ["a", "b"]
        await world.apply(config("a", {}, team="sales"))
        await world.settle()
        assert (await world.get("Selecting", "demo"))["status"]["names"] == ["b"]
        await world.delete("ConfigMap", "b")
        await world.settle()
        assert (await world.get("Selecting", "demo"))["status"]["names"] == []


@each_server
async def test_collection_of_others_can_be_sorted_by_a_field() -> None:
    async with composing() as world:
        await world.define(
            selecting(
                "{matchLabels: {team: edge}}",
                listed="found.sortBy(one, one.data.rank).map(one, one.metadata.name)",
            )
        )
        for name, rank in (("a", "3"), ("b", "1"), ("c", "2")):
            await world.apply(config(name, {"rank": rank}, team="edge"))
        await world.apply(instance("Selecting", "demo"))
        await world.settle()
        assert (await world.get("Selecting", "demo"))["status"]["names"] == ["b", "c", "a"]
        await world.apply(config("b", {"rank": "9"}, team="edge"))
        await world.settle()
        assert (await world.get("Selecting", "demo"))["status"]["names"] == ["c", "a", "b"]


@each_server
async def test_instance_that_another_one_refers_to_stays_reconciled_after_that_is_deleted() -> None:
    async with composing() as world:
        producer = """
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}"}, data: {text: "${schema.spec.text}"}}
"""
        await world.define(
            rgd("producers", "Producer", "{text: string}", producer, '{text: "${config.data.text}"}')
        )
        consumer = """
- id: producer
  externalRef: {apiVersion: kro.run/v1alpha1, kind: Producer, metadata: {name: "${schema.spec.producer}"}}
- id: copy
  template: {apiVersion: v1, kind: Secret, metadata: {name: copy}, stringData: {text: "${producer.status.text}"}}
"""
        await world.define(rgd("consumers", "Consumer", "{producer: string}", consumer))
        await world.apply(instance("Producer", "main", {"text": "one"}))
        await world.apply(instance("Consumer", "demo", {"producer": "main"}))
        await world.settle()
        assert await world.state("Consumer", "demo") == "ACTIVE"
        await world.delete("Consumer", "demo")
        await world.settle()
        assert not await world.exists("Secret", "copy")
        await world.patch("Producer", "main", {"spec": {"text": "two"}})
        await world.settle()
        assert (await world.get("ConfigMap", "main"))["data"] == {"text": "two"}
        await world.delete("ConfigMap", "main")
        await world.settle()
        assert await world.exists("ConfigMap", "main")
