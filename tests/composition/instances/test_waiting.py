"""What instances wait for: readiness of other resources, data that is not there yet, objects that are going."""

from __future__ import annotations

from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.world import composing, instance, rgd

DEPLOYED = """
- id: deployment
  readyWhen: ["${deployment.status.availableReplicas > 0}"]
  template:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 1
      selector: {matchLabels: {app: web}}
      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}
- id: service
  template:
    apiVersion: v1
    kind: Service
    metadata: {name: "${deployment.metadata.name}"}
    spec: {selector: {app: web}, ports: [{port: 80}]}
- id: account
  template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}
"""


@each_server
async def test_dependents_wait_until_what_they_depend_on_is_ready() -> None:
    """Others do not, and the message names the resource, its condition and what its object says itself."""
    async with composing() as world:
        await world.define(rgd("webs", "Web", "{}", DEPLOYED))
        await world.apply(instance("Web", "demo"))
        await world.settle()
        assert await world.children("Web", "demo") == {"Deployment default/web", "ServiceAccount default/web"}
        assert await world.state("Web", "demo") == "IN_PROGRESS"
        condition = {
            "type": "Available",
            "status": "False",
            "reason": "MinimumReplicasUnavailable",
            "message": "Deployment does not have minimum availability.",
        }
        await world.set_status("Deployment", "web", {"conditions": [condition]})
        await world.settle()
        message = (await world.conditions("Web", "demo"))["Ready"]["message"]
        assert "resource deployment: Deployment default/web is not ready" in message
        assert "MinimumReplicasUnavailable: Deployment does not have minimum availability." in message
        await world.set_status(
            "Deployment", "web", {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
        )
        await world.settle()
        assert await world.exists("Service", "web")
        assert await world.state("Web", "demo") == "ACTIVE"


@each_server
async def test_resource_waits_for_all_that_it_depends_on() -> None:
    async with composing() as world:
        resources = """
- id: one
  readyWhen: ["${one.data.?done.orValue('no') == 'yes'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1"}}
- id: two
  readyWhen: ["${two.data.?done.orValue('no') == 'yes'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {a: "2"}}
- id: both
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: both}, data: {a: "${one.data.a + two.data.a}"}}
"""
        await world.define(rgd("joins", "Join", "{}", resources))
        await world.apply(instance("Join", "demo"))
        for name in ("one", "two"):
            await world.settle()
            assert not await world.exists("ConfigMap", "both")
            await world.patch("ConfigMap", name, {"data": {"done": "yes"}})
        await world.settle()
        assert (await world.get("ConfigMap", "both"))["data"] == {"a": "12"}


@virtual_time
async def test_resource_waits_for_what_it_names_in_depends_on() -> None:
    async with composing() as world:
        resources = """
- id: late
  dependsOn: [early]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: late}}
- id: early
  readyWhen: ["${early.data.?done.orValue('no') == 'yes'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: early}, data: {a: b}}
"""
        await world.define(rgd("queues", "Queued", "{}", resources))
        await world.apply(instance("Queued", "demo"))
        await world.settle()
        assert await world.names("ConfigMap") == ["early"]
        await world.patch("ConfigMap", "early", {"data": {"done": "yes"}})
        await world.settle()
        assert await world.names("ConfigMap") == ["early", "late"]


@each_server
async def test_data_that_is_not_there_yet_is_waited_for_while_others_go_on() -> None:
    async with composing() as world:
        resources = """
- id: deployment
  template:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      selector: {matchLabels: {app: web}}
      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}
- id: report
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: report}, data: {n: "${string(deployment.status.readyReplicas)}"}}
- id: other
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}
"""
        await world.define(rgd("pendings", "Pending", "{}", resources))
        await world.apply(instance("Pending", "demo"))
        await world.settle()
        assert await world.names("ConfigMap") == ["other"]
        assert await world.state("Pending", "demo") == "IN_PROGRESS"
        found = (await world.conditions("Pending", "demo"))["ResourcesReady"]
        assert (found["status"], found["reason"]) == ("False", "NotReady")
        assert "resource report: waits for data: no such key: readyReplicas" in found["message"]
        await world.set_status("Deployment", "web", {"replicas": 3, "readyReplicas": 3})
        await world.settle()
        assert (await world.get("ConfigMap", "report"))["data"] == {"n": "3"}
        assert await world.state("Pending", "demo") == "ACTIVE"


@virtual_time
async def test_optional_field_that_is_not_set_is_named() -> None:
    """An instance that would wait for ever says for what."""
    async with composing() as world:
        resources = """
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: "${schema.spec.text}", b: "${schema.spec.?other.orValue('x')}"}}
"""
        await world.define(rgd("unsets", "Unset", "{text: string, other: string}", resources))
        await world.apply(instance("Unset", "demo"))
        await world.settle()
        assert await world.state("Unset", "demo") == "IN_PROGRESS"
        message = (await world.conditions("Unset", "demo"))["Ready"]["message"]
        assert message == "resource config: waits for schema.spec.text, which is not set"
        await world.patch("Unset", "demo", {"spec": {"text": "here"}})
        await world.settle()
        assert (await world.get("ConfigMap", "config"))["data"] == {"a": "here", "b": "x"}


@virtual_time
async def test_error_that_waiting_does_not_cure_is_one() -> None:
    async with composing() as world:
        resources = """
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: "${string(10 / schema.spec.number)}"}}
- id: other
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}
"""
        await world.define(rgd("divisions", "Division", "{number: integer}", resources))
        await world.apply(instance("Division", "demo", {"number": 0}))
        await world.settle()
        assert await world.names("ConfigMap") == ["other"]
        assert await world.state("Division", "demo") == "ERROR"
        assert (
            "resource config: division by zero"
            in (await world.conditions("Division", "demo"))["Ready"]["message"]
        )
        await world.patch("Division", "demo", {"spec": {"number": 5}})
        await world.settle()
        assert (await world.get("ConfigMap", "config"))["data"] == {"a": "2"}
        assert await world.state("Division", "demo") == "ACTIVE"


@each_server
async def test_nothing_is_created_that_depends_on_an_object_that_is_being_deleted() -> None:
    async with composing() as world:
        resources = """
- id: first
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: first, finalizers: [tests.io/hold]}, data: {a: "${schema.spec.text}"}}
- id: second
  includeWhen: ["${schema.spec.more}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {a: "${first.data.a}"}}
"""
        await world.define(
            rgd("endings", "Ending", "{text: string, more: boolean | default=false}", resources)
        )
        await world.apply(instance("Ending", "demo", {"text": "x"}))
        await world.settle()
        await world.delete("ConfigMap", "first")
        await world.patch("Ending", "demo", {"spec": {"more": True}})
        await world.settle()
        assert not await world.exists("ConfigMap", "second")
        found = (await world.conditions("Ending", "demo"))["ResourcesReady"]
        assert (found["reason"], found["message"]) == (
            "ResourceDeleting",
            "ConfigMap default/first is being deleted; waiting for it or others: second",
        )
        before = (await world.get("ConfigMap", "first"))["metadata"]["uid"]
        await world.patch("ConfigMap", "first", {"metadata": {"finalizers": None}})
        await world.settle()
        assert (await world.get("ConfigMap", "first"))["metadata"]["uid"] != before
        assert await world.exists("ConfigMap", "second")
        assert await world.state("Ending", "demo") == "ACTIVE"
