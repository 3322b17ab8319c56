"""What instances may have: kinds, namespaces and rights; one that may not have something says so, and others go on."""

from __future__ import annotations

from edgekeeper.controllers.composition.instance_controllers import InstanceOptions
from edgekeeper.controllers.composition.instance_plan import Limits
from edgekeeper.core.json import JsonObject
from kubesim.virtual import virtual_time
from tests.composition.world import composing, instance, rgd

PLACED = rgd(
    "placed",
    "Placed",
    "{place: string}",
    """
- {id: here, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: here}}}
- {id: there, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: there, namespace: "${schema.spec.place}"}}}
""",
)
BOUND = rgd(
    "bound",
    "Bound",
    "{}",
    """
- {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${schema.metadata.name}"}}}
- id: binding
  template:
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: admins}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
    subjects: []
""",
)


@virtual_time
async def test_children_are_only_in_namespaces_that_the_installation_allows() -> None:
    options = InstanceOptions(limits=Limits(namespaces=frozenset({"shared"})))
    async with composing(options) as world:
        await world.namespace("shared", "kube-secrets")
        await world.define(PLACED)
        await world.apply(instance("Placed", "demo", {"place": "kube-secrets"}))
        await world.settle()
        assert await world.children("Placed", "demo") == {"ConfigMap default/here"}
        found = (await world.conditions("Placed", "demo"))["Ready"]
        assert (found["status"], found["reason"]) == ("False", "NamespaceNotPermitted")
        assert "children in namespace kube-secrets are not allowed" in found["message"]
        await world.patch("Placed", "demo", {"spec": {"place": "shared"}})
        await world.settle()
        assert await world.exists("ConfigMap", "shared/there")
        assert await world.state("Placed", "demo") == "ACTIVE"


ALL = ["get", "list", "watch", "create", "patch", "update", "delete"]
RIGHTS: list[JsonObject] = [
    {"apiGroups": ["kro.run"], "resources": ["*"], "verbs": ALL},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ALL},
    {
        "apiGroups": ["apiextensions.k8s.io"],
        "resources": ["customresourcedefinitions"],
        "verbs": ["list", "watch"],
    },
]
SECRETS: JsonObject = {"apiGroups": [""], "resources": ["secrets"], "verbs": ALL}


@virtual_time
async def test_kind_that_may_not_be_watched_stops_its_instances_and_no_others() -> None:
    """The message is the rule that is missing; once it is granted, the instance goes on by itself."""
    async with composing(rights=RIGHTS) as world:
        secret = "[{id: secret, template: {apiVersion: v1, kind: Secret, metadata: {name: secret}}}]"
        config = "[{id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}}}]"
        await world.define(rgd("secrets", "Secretive", "{}", secret))
        await world.define(rgd("configs", "Open", "{}", config))
        await world.apply(instance("Secretive", "demo"))
        await world.apply(instance("Open", "demo"))
        await world.settle(30)
        assert await world.state("Open", "demo") == "ACTIVE"
        assert await world.state("Secretive", "demo") == "ERROR"
        found = (await world.conditions("Secretive", "demo"))["Ready"]
        assert found["reason"] == "KindNotPermitted"
        assert 'apiGroups: [""], resources: ["secrets"]' in found["message"]
        await world.permit([*RIGHTS, SECRETS])
        await world.settle(900)
        assert await world.state("Secretive", "demo") == "ACTIVE"
        assert await world.exists("Secret", "secret")


@virtual_time
async def test_right_to_write_that_is_missing_is_reported_by_the_resource() -> None:
    async with composing(rights=[*RIGHTS, {**SECRETS, "verbs": ["get", "list", "watch"]}]) as world:
        both = """
- {id: secret, template: {apiVersion: v1, kind: Secret, metadata: {name: secret}}}
- {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}}}
"""
        await world.define(rgd("both", "Both", "{}", both))
        await world.apply(instance("Both", "demo"))
        await world.settle()
        assert await world.exists("ConfigMap", "config")
        assert await world.state("Both", "demo") == "ERROR"
        message = (await world.conditions("Both", "demo"))["Ready"]["message"]
        assert message.startswith("resource secret:")
        assert "secrets" in message
        assert "forbidden" in message
        await world.permit([*RIGHTS, SECRETS])
        await world.settle(600)
        assert await world.state("Both", "demo") == "ACTIVE"


@virtual_time
async def test_inventory_keeps_a_kind_whose_objects_may_not_be_seen() -> None:
    """It left the definition when the operator lost the right to it: its objects are still there."""
    async with composing(rights=[*RIGHTS, SECRETS], operating=False) as world:
        both = """
- {id: secret, template: {apiVersion: v1, kind: Secret, metadata: {name: secret}}}
- {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}}}
"""
        async with world.operating():
            await world.define(rgd("both", "Both", "{}", both))
            await world.apply(instance("Both", "demo"))
            await world.settle()
        await world.permit(RIGHTS)
        await world.define(rgd("both", "Both", "{}", both.strip().splitlines()[1]))
        async with world.operating():
            await world.settle(30)
            notes = (await world.get("Both", "demo"))["metadata"]["annotations"]
            assert notes["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap,Secret"
            await world.delete("Both", "demo")
            await world.settle(30)
            found = (await world.conditions("Both", "demo"))["ResourcesReady"]
            assert found["reason"] == "KindNotPermitted"
            assert found["message"].startswith("deletion is blocked: secrets may not be listed")
            await world.permit([*RIGHTS, SECRETS])
            await world.settle(900)
            assert not await world.exists("Both", "demo")
            assert not await world.exists("Secret", "secret")


@virtual_time
async def test_process_that_is_limited_to_namespaces_looks_nowhere_else() -> None:
    """With rights for these namespaces alone; instances elsewhere, and children elsewhere, are none of its business."""
    async with composing(rights=RIGHTS[2:], operating=False) as world:
        await world.namespace("one", "two", "three")
        group = "rbac.authorization.k8s.io"
        for place in ("one", "two"):
            role = {"name": "operator", "namespace": place}
            await world.apply(
                {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": role, "rules": RIGHTS[:2]}
            )
            await world.apply(
                {
                    "apiVersion": f"{group}/v1",
                    "kind": "RoleBinding",
                    "metadata": role,
                    "roleRef": {"apiGroup": group, "kind": "Role", "name": "operator"},
                    "subjects": [{"apiGroup": group, "kind": "User", "name": "operator"}],
                }
            )
        world.namespaces = ("one", "two")
        async with world.operating():
            await world.define(PLACED)
            await world.apply(instance("Placed", "inside", {"place": "two"}, namespace="one"))
            await world.apply(instance("Placed", "outside", {"place": "three"}, namespace="two"))
            await world.settle()
            await world.delete("ConfigMap", "one/here")
            await world.apply(instance("Placed", "foreign", {"place": "two"}, namespace="three"))
            await world.settle()
            assert await world.state("Placed", "one/inside") == "ACTIVE"
            assert await world.names("ConfigMap") == ["one/here", "two/here", "two/there"]
            found = (await world.conditions("Placed", "two/outside"))["Ready"]
            assert found["reason"] == "NamespaceNotPermitted"
            assert "status" not in await world.get("Placed", "three/foreign")
            await world.delete("Placed", "one/inside")
            await world.settle()
            assert not await world.exists("Placed", "one/inside")
            assert await world.names("ConfigMap") == ["two/here"]
