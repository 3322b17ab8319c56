"""Values that a definition projects into the status of its instances."""

from __future__ import annotations

from typing import Any

from tests.composition.cluster import each_server
from tests.composition.world import World, composing, instance, rgd

CONFIG = """
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}"}, data: {text: "${schema.spec.text}"}}
"""
SPEC = "{text: string | default=a}"


async def _status(world: World, status: str, resources: str = CONFIG, **changes: Any) -> dict[str, Any]:
    await world.define(rgd("shown", "Shown", SPEC, resources, status))
    await world.apply(instance("Shown", "demo", changes))
    await world.settle()
    found = dict((await world.get("Shown", "demo"))["status"])
    del found["conditions"]
    return found


@each_server
async def test_templates_are_filled_in() -> None:
    async with composing() as world:
        found = await _status(world, '{url: "http://${config.metadata.name}/${config.data.text}"}')
        assert found == {"state": "ACTIVE", "url": "http://demo/a"}


@each_server
async def test_arrays_stay_arrays_at_any_depth() -> None:
    async with composing() as world:
        status = '{list: ["${config.data.text}", "${schema.metadata.name}"], deep: {list: ["${config.data.text}"]}}'
        found = await _status(world, status)
        assert found == {"state": "ACTIVE", "list": ["a", "demo"], "deep": {"list": ["a"]}}


@each_server
async def test_values_of_the_instance_alone_and_mixed_with_resources_follow_it() -> None:
    async with composing() as world:
        status = '{own: "${schema.spec.text}", mixed: "${config.metadata.name + \'-\' + schema.spec.text}"}'
        assert await _status(world, status) == {"state": "ACTIVE", "own": "a", "mixed": "demo-a"}
        await world.patch("Shown", "demo", {"spec": {"text": "b"}})
        await world.settle()
        found = (await world.get("Shown", "demo"))["status"]
        assert (found["own"], found["mixed"]) == ("b", "demo-b")


@each_server
async def test_value_is_there_while_everything_that_it_reads_is() -> None:
    async with composing() as world:
        resources = (
            CONFIG
            + """
- id: deployment
  template:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      selector: {matchLabels: {app: web}}
      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}
"""
        )
        status = '{text: "${config.data.text}", deep: {ready: "${deployment.status.readyReplicas}"}}'
        assert await _status(world, status, resources) == {"state": "ACTIVE", "text": "a"}
        await world.set_status("Deployment", "web", {"replicas": 1, "readyReplicas": 1})
        await world.settle()
        assert (await world.get("Shown", "demo"))["status"]["deep"] == {"ready": 1}
        await world.patch("Deployment", "web", {"status": {"readyReplicas": None}}, subresource="status")
        await world.settle()
        assert "deep" not in (await world.get("Shown", "demo"))["status"]


@each_server
async def test_times_and_bytes_are_what_their_schema_says() -> None:
    """A Secret's data is clear text as a string, and a time stays a time."""
    async with composing() as world:
        resources = """
- id: secret
  template: {apiVersion: v1, kind: Secret, metadata: {name: secret}, stringData: {password: "${schema.spec.text}"}}
- id: copy
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {clear: "${string(secret.data.password)}"}}
"""
        found = await _status(world, '{created: "${secret.metadata.creationTimestamp}"}', resources)
        assert (await world.get("ConfigMap", "copy"))["data"] == {"clear": "a"}
        assert found["created"] == (await world.get("Secret", "secret"))["metadata"]["creationTimestamp"]


@each_server
async def test_all_metadata_of_the_instance_can_be_read() -> None:
    async with composing() as world:
        resources = """
- id: config
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: config, namespace: "${schema.metadata.namespace}"}
    data:
      name: ${schema.metadata.name}
      namespace: ${schema.metadata.namespace}
      uid: ${schema.metadata.uid}
      label: ${schema.metadata.labels.team}
      annotation: ${schema.metadata.annotations["note"]}
      kind: ${schema.apiVersion + '/' + schema.kind}
"""
        await world.define(rgd("shown", "Shown", SPEC, resources))
        written = instance("Shown", "demo")
        written["metadata"] |= {"labels": {"team": "edge"}, "annotations": {"note": "x"}}
        await world.apply(written)
        await world.settle()
        uid = (await world.get("Shown", "demo"))["metadata"]["uid"]
        assert (await world.get("ConfigMap", "config"))["data"] == {
            "name": "demo",
            "namespace": "default",
            "uid": uid,
            "label": "edge",
            "annotation": "x",
            "kind": "kro.run/v1alpha1/Shown",
        }
