"""What instances cost: requests to create one, at rest, after a restart, and when something changes."""

from __future__ import annotations

from kubesim.virtual import virtual_time
from tests.composition.world import World, composing, instance, rgd

APP = rgd(
    "apps",
    "App",
    "{name: string, replicas: integer | default=1, text: string | default=hello}",
    """
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.spec.name}"}, data: {text: "${schema.spec.text}"}}
- id: deployment
  readyWhen: ["${deployment.status.availableReplicas == deployment.spec.replicas}"]
  template:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: "${schema.spec.name}"}
    spec:
      replicas: ${schema.spec.replicas}
      selector: {matchLabels: {app: "${schema.spec.name}"}}
      template:
        metadata: {labels: {app: "${schema.spec.name}"}}
        spec: {containers: [{name: web, image: nginx, resources: {limits: {cpu: "0.5", memory: 64Mi}}}]}
- id: service
  template:
    apiVersion: v1
    kind: Service
    metadata: {name: "${schema.spec.name}"}
    spec: {selector: {app: "${deployment.spec.selector.matchLabels.app}"}, ports: [{port: 80, targetPort: 8080}]}
""",
    '{address: "${service.spec.clusterIP}", available: "${deployment.status.availableReplicas}"}',
)
LIVELY = frozenset({"workloads"})


async def _created(world: World, count: int = 1) -> None:
    await world.define(APP)
    await world.settle()
    world.requests.clear()
    for number in range(count):
        await world.apply(instance("App", f"app-{number}", {"name": f"app-{number}"}))
    await world.settle()
    for number in range(count):
        assert await world.state("App", f"app-{number}") == "ACTIVE"


@virtual_time
async def test_creating_an_instance_with_three_children_costs_eight_requests_and_five_writes_at_most() -> (
    None
):
    """Of which one marks the instance, three apply children, and one writes the status."""
    async with composing() as world:
        plain = rgd(
            "trios",
            "Trio",
            "{}",
            """
- {id: one, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}-1"}, data: {a: b}}}
- {id: two, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${one.metadata.name}-2"}, data: {a: "${one.data.a}"}}}
- {id: three, template: {apiVersion: v1, kind: Secret, metadata: {name: "${two.metadata.name}-3"}, stringData: {a: "${two.data.a}"}}}
""",
        )
        await world.define(plain)
        await world.settle()
        await world.apply(instance("Trio", "warm"))
        await world.settle()
        world.requests.clear()
        await world.apply(instance("Trio", "demo"))
        await world.settle()
        assert await world.state("Trio", "demo") == "ACTIVE"
        assert len(world.requests.calls) <= 8, world.requests.calls
        assert len(world.requests.writes) <= 5, world.requests.writes


@virtual_time
async def test_instance_whose_deployment_becomes_ready_soon_costs_no_more() -> None:
    """The status is written once objects that were just applied had a moment to become ready."""
    async with composing(simulators=LIVELY) as world:
        await _created(world, 2)
        world.requests.clear()
        await world.apply(instance("App", "demo", {"name": "demo"}))
        await world.settle()
        assert await world.state("App", "demo") == "ACTIVE"
        assert len(world.requests.calls) <= 8, world.requests.calls
        assert len(world.requests.writes) <= 5, world.requests.writes


@virtual_time
async def test_instances_at_rest_cost_no_request() -> None:
    """But for the lists by which every informer confirms now and then what it has."""
    async with composing(simulators=LIVELY) as world:
        await _created(world, 3)
        world.requests.clear()
        await world.settle(24 * 3600)
        assert [call for call in world.requests.calls if not call.startswith("LIST")] == []


@virtual_time
async def test_restart_writes_nothing() -> None:
    """Whatever the server has made of quantities, defaults and write-only fields."""
    async with composing(simulators=LIVELY, operating=False) as world:
        async with world.operating():
            await _created(world, 3)
        world.requests.clear()
        async with world.operating():
            await world.settle()
            assert world.requests.writes == []


@virtual_time
async def test_restart_lists_many_children_and_reads_none_by_itself() -> None:
    async with composing(simulators=LIVELY, operating=False) as world:
        async with world.operating():
            await _created(world, 40)
        world.requests.clear()
        async with world.operating():
            await world.settle()
            assert world.requests.writes == []
            assert len(world.requests.calls) < 20, world.requests.calls


@virtual_time
async def test_changing_one_field_costs_three_requests_at_most() -> None:
    async with composing(simulators=LIVELY) as world:
        await _created(world)
        world.requests.clear()
        await world.patch("App", "app-0", {"spec": {"text": "other"}})
        await world.settle()
        assert (await world.get("ConfigMap", "app-0"))["data"] == {"text": "other"}
        assert len(world.requests.calls) <= 3, world.requests.calls


@virtual_time
async def test_changing_a_definition_writes_each_changed_child_once() -> None:
    async with composing(simulators=LIVELY) as world:
        await _created(world, 50)
        world.requests.clear()
        changed = rgd("apps", "App", "{}", "[]")
        changed["spec"] = {**APP["spec"], "resources": [*APP["spec"]["resources"]]}
        first = dict(changed["spec"]["resources"][0])
        first["template"] = {**first["template"], "data": {"text": "${schema.spec.text}", "more": "yes"}}
        changed["spec"]["resources"][0] = first
        await world.define(changed)
        await world.settle()
        applied = [write for write in world.requests.writes if write.startswith("PATCH configmaps")]
        assert sorted(applied) == sorted(f"PATCH configmaps default/app-{number}" for number in range(50))
        assert world.requests.calls == world.requests.writes == applied
