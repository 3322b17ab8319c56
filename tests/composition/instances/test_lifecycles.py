"""Whole lives of instances: created as others become ready, changed, repaired, deleted in reverse."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from tests.composition.cluster import each_server
from tests.composition.world import World, composing, instance, rgd


def cloud_kind(kind: str) -> JsonObject:
    """A kind as ACK has them: any spec, and a status that somebody else writes."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": free, "status": free}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.cloud.example.com"},
        "spec": {
            "group": "cloud.example.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def _install(world: World, *kinds: str) -> None:
    for kind in kinds:
        await world.install(cloud_kind(kind))


@each_server
async def test_deployment_with_its_service_lives_and_dies() -> None:
    async with composing(simulators=frozenset({"workloads"})) as world:
        resources = """
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
        spec: {containers: [{name: main, image: "${schema.spec.image}", ports: [{containerPort: "${schema.spec.port}"}]}]}
- id: service
  template:
    apiVersion: v1
    kind: Service
    metadata: {name: "${deployment.metadata.name}"}
    spec: {selector: {app: "${deployment.spec.selector.matchLabels.app}"}, ports: [{port: "${schema.spec.port}"}]}
"""
        spec = "{name: string, image: string, replicas: integer | default=1, port: integer | default=80}"
        status = '{available: "${deployment.status.availableReplicas}", address: "${service.spec.clusterIP}"}'
        await world.define(rgd("services", "DeploymentService", spec, resources, status))
        await world.apply(instance("DeploymentService", "demo", {"name": "web", "image": "nginx:1"}))
        await world.settle()
        found = (await world.get("DeploymentService", "demo"))["status"]
        assert (found["state"], found["available"]) == ("ACTIVE", 1)
        assert found["address"] == (await world.get("Service", "web"))["spec"]["clusterIP"]
        await world.patch(
            "DeploymentService", "demo", {"spec": {"replicas": 3, "port": 8080, "image": "nginx:2"}}
        )
        await world.settle()
        deployment = await world.get("Deployment", "web")
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        assert (deployment["spec"]["replicas"], container["image"]) == (3, "nginx:2")
        assert [port["containerPort"] for port in container["ports"]] == [8080]
        assert [port["port"] for port in (await world.get("Service", "web"))["spec"]["ports"]] == [8080]
        assert (await world.get("DeploymentService", "demo"))["status"]["available"] == 3
        await world.delete("DeploymentService", "demo")
        await world.settle()
        assert not await world.exists("Deployment", "web")
        assert not await world.exists("Service", "web")
        assert not await world.exists("DeploymentService", "demo")


@each_server
async def test_network_grows_as_its_parts_get_their_ids() -> None:
    async with composing() as world:
        await _install(world, "VPC", "Subnet", "SecurityGroup")
        resources = """
- id: vpc
  template: {apiVersion: cloud.example.com/v1alpha1, kind: VPC, metadata: {name: "${schema.spec.name}"}, spec: {cidr: 192.168.0.0/16}}
- id: subnets
  forEach: [{zone: "${schema.spec.zones}"}]
  template:
    apiVersion: cloud.example.com/v1alpha1
    kind: Subnet
    metadata: {name: "${schema.spec.name}-${zone}"}
    spec: {zone: "${zone}", vpcID: "${vpc.status.vpcID}"}
- id: group
  template:
    apiVersion: cloud.example.com/v1alpha1
    kind: SecurityGroup
    metadata: {name: "${schema.spec.name}"}
    spec: {vpcID: "${vpc.status.vpcID}"}
"""
        status = (
            '{network: {vpc: "${vpc.status.vpcID}", subnets: "${subnets.map(one, one.status.subnetID)}"}}'
        )
        await world.define(rgd("networks", "Network", '{name: string, zones: "[]string"}', resources, status))
        await world.apply(instance("Network", "demo", {"name": "net", "zones": ["a", "b"]}))
        await world.settle()
        assert await world.children("Network", "demo") == {"VPC default/net"}
        assert "network" not in (await world.get("Network", "demo"))["status"]
        await world.set_status("VPC", "net", {"vpcID": "vpc-1"})
        await world.settle()
        assert len(await world.children("Network", "demo")) == 4
        assert (await world.get("Subnet", "net-a"))["spec"] == {"zone": "a", "vpcID": "vpc-1"}
        for zone in ("a", "b"):
            await world.set_status("Subnet", f"net-{zone}", {"subnetID": f"subnet-{zone}"})
        await world.settle()
        found = (await world.get("Network", "demo"))["status"]
        assert found["network"] == {"vpc": "vpc-1", "subnets": ["subnet-a", "subnet-b"]}
        assert found["state"] == "ACTIVE"
        await world.delete("Network", "demo")
        await world.settle()
        assert not await world.exists("VPC", "net")
        assert not await world.exists("Network", "demo")


@each_server
async def test_cluster_of_many_parts_is_built_in_order_and_taken_down_in_reverse() -> None:
    """Each part waits for the ids of those before it; each has a finalizer, as kinds with something outside do."""
    async with composing() as world:
        kinds = ("VPC", "Gateway", "RouteTable", "Subnet", "CloudRole", "Cluster", "NodeGroup")
        await _install(world, *kinds)
        lines = []
        before = ""
        for kind in kinds:
            name = kind[0].lower() + kind[1:] + "Part"
            needs = f'needs: "${{{before}.status.id}}"' if before else 'needs: ""'
            lines.append(
                f"- {{id: {name}, template: {{apiVersion: cloud.example.com/v1alpha1, kind: {kind}, "
                f'metadata: {{name: "${{schema.spec.name}}", finalizers: [cloud.example.com/{kind.lower()}]}}, spec: {{{needs}}}}}}}'
            )
            before = name
        await world.define(rgd("clusters", "BigCluster", "{name: string}", "\n".join(lines)))
        await world.apply(instance("BigCluster", "demo", {"name": "big"}))
        for number, kind in enumerate(kinds):
            await world.settle()
            assert len(await world.children("BigCluster", "demo")) == number + 1
            assert (await world.get(kind, "big"))["spec"]["needs"] == (f"id-{number - 1}" if number else "")
            await world.set_status(kind, "big", {"id": f"id-{number}"})
        await world.settle()
        assert await world.state("BigCluster", "demo") == "ACTIVE"
        await world.delete("BigCluster", "demo")
        for kind in reversed(kinds):
            await world.settle()
            going = [each for each in kinds if await _is_going(world, each)]
            assert going == [kind]
            await world.patch(kind, "big", {"metadata": {"finalizers": None}})
        await world.settle()
        assert not await world.exists("BigCluster", "demo")


async def _is_going(world: World, kind: str) -> bool:
    found = await world.find(kind, "big")
    return found is not None and "deletionTimestamp" in found["metadata"]


@each_server
async def test_changes_of_an_instance_reach_its_objects() -> None:
    """Values change, lists shrink, and fields that are no longer set are given up."""
    async with composing() as world:
        resources = """
- id: deployment
  template:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: ${schema.spec.replicas}
      selector: {matchLabels: {app: web}}
      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx, args: "${schema.spec.args}"}]}}
"""
        await world.define(rgd("updates", "Updated", '{replicas: integer, args: "[]string"}', resources))
        await world.apply(instance("Updated", "demo", {"replicas": 1, "args": ["a", "b"]}))
        await world.settle()
        await world.patch("Updated", "demo", {"spec": {"replicas": 2, "args": ["b"]}})
        await world.settle()
        deployment = await world.get("Deployment", "web")
        assert deployment["spec"]["replicas"] == 2
        assert deployment["spec"]["template"]["spec"]["containers"][0]["args"] == ["b"]
        await world.patch("Deployment", "web", {"spec": {"replicas": 9}})
        await world.settle()
        assert (await world.get("Deployment", "web"))["spec"]["replicas"] == 2


@each_server
async def test_change_of_a_secret_wakes_its_instance() -> None:
    """Whose content is read only because expressions use it."""
    async with composing() as world:
        resources = """
- id: secret
  template: {apiVersion: v1, kind: Secret, metadata: {name: secret}, stringData: {mine: x}}
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {theirs: "${string(secret.data.?theirs.orValue(b'none'))}"}}
"""
        await world.define(rgd("secrets", "Secretive", "{}", resources))
        await world.apply(instance("Secretive", "demo"))
        await world.settle()
        assert (await world.get("ConfigMap", "config"))["data"] == {"theirs": "none"}
        await world.patch("Secret", "secret", {"data": {"theirs": "eQ==", "mine": "ZHJpZnQ="}})
        await world.settle()
        assert (await world.get("ConfigMap", "config"))["data"] == {"theirs": "y"}
        assert (await world.get("Secret", "secret"))["data"]["mine"] == "eA=="
