"""S-14: compositions create nothing that the installation does not allow, whoever asks for it and however it is written.

The attacker writes instances, and here definitions too. What is watched is the store of the server: every object that is
not the operator's own has to be of an allowed kind, in an allowed namespace, after every single write.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import cycle, islice, product
from typing import Any

import pytest

from edgekeeper.controllers.composition.labels import OWNED, label_of
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import NAMESPACE, Key, Kind
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from kubesim.virtual import virtual_time
from tests.composition.cluster import plane_of
from tests.composition.definitions.scene import WEB_APP, DefinitionScene, config_map, definition, scenery
from tests.composition.definitions.test_admission import judged
from tests.composition.definitions.test_rights import TOKEN, grant, restricted
from tests.crash.sampling import ALL

RBAC = "rbac.authorization.k8s.io"
ALLOWED_KINDS = ("ConfigMap", "WebApp.kro.run")
SHARED, VICTIM = "shared", "victim"
ROLE_REF = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}

FORBIDDEN: dict[str, JsonObject] = {
    "RoleBinding": {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "roleRef": ROLE_REF},
    "Role": {"apiVersion": f"{RBAC}/v1", "kind": "Role", "rules": []},
    "ClusterRole": {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "rules": []},
    "ClusterRoleBinding": {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "roleRef": ROLE_REF},
    "ValidatingWebhookConfiguration": {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "webhooks": [],
    },
    "MutatingWebhookConfiguration": {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "webhooks": [],
    },
    "CustomResourceDefinition": {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
    },
    "Namespace": {"apiVersion": "v1", "kind": "Namespace"},
    "ServiceAccount": {"apiVersion": "v1", "kind": "ServiceAccount"},
    "Secret": {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}},
    "Pod": {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a", "image": "b"}]}},
    "Deployment": {"apiVersion": "apps/v1", "kind": "Deployment"},
    "ResourceGraphDefinition": {"apiVersion": "kro.run/v1alpha1", "kind": "ResourceGraphDefinition"},
    "GraphRevision": {"apiVersion": "internal.kro.run/v1alpha1", "kind": "GraphRevision"},
}

Guise = Callable[[JsonObject], list[JsonObject]]


def resource(body: JsonObject, **more: Any) -> JsonObject:
    return {"id": "evil", "template": {**body, "metadata": {"name": "evil"}}, **more}


GUISES: dict[str, Guise] = {
    "plain": lambda body: [resource(body)],
    "beside what is allowed": lambda body: [config_map(), resource(body)],
    "in a collection": lambda body: [
        {
            "id": "evil",
            "forEach": [{"letter": '${["a", "b"]}'}],
            "template": {**body, "metadata": {"name": "${letter}"}},
        }
    ],
    "never included": lambda body: [resource(body, includeWhen=["${false}"])],
    "after another": lambda body: [config_map(), resource(body, dependsOn=["config"])],
    "kept at the end": lambda body: [resource(body, deletionPolicy="Orphan")],
    "as a reference": lambda body: [
        {
            "id": "evil",
            "externalRef": {
                "apiVersion": body["apiVersion"],
                "kind": body["kind"],
                "metadata": {"name": "evil"},
            },
        },
    ],
}


class Guard:
    """Notes every object that is written as a child: the plural of its kind, its namespace and its name."""

    def __init__(self, scene: DefinitionScene) -> None:
        self.children: set[tuple[str, str, str]] = set()
        plane_of(scene.cluster).store.listen(self._observe)

    def _observe(self, resource: GroupResource, event: Event) -> None:
        obj = event.item.decode()
        if label_of(obj, "kro.run/node-id") or label_of(obj, "kro.run/instance-id"):
            place = str(dig(obj, "metadata", "namespace") or "")
            self.children.add((resource.plural, place, obj["metadata"]["name"]))

    @property
    def kinds(self) -> set[str]:
        return {kind for kind, _, _ in self.children}

    @property
    def places(self) -> set[str]:
        return {place for _, place, _ in self.children}


async def furnish(scene: DefinitionScene) -> Guard:
    for name in (SHARED, VICTIM):
        await scene.user.create(NAMESPACE, {"metadata": {"name": name}})
    return Guard(scene)


async def instantiate(scene: DefinitionScene, name: str = "demo", kind: Kind = WEB_APP, **spec: Any) -> None:
    body = {"metadata": {"name": name}, "spec": {"name": name, **spec}}
    await scene.user.create(kind, body, namespace="default")
    await scene.settle()


def sampled(rows: Collection[str], columns: Collection[str]) -> list[tuple[str, str]]:
    """All pairs under `EDGEKEEPER_CRASH=all`, else each row and each column once."""
    if ALL:
        return list(product(rows, columns))
    count = max(len(rows), len(columns))
    return [*islice(zip(cycle(rows), cycle(columns), strict=False), count)]


# Kinds


@pytest.mark.parametrize(("kind", "guise"), sampled(FORBIDDEN, GUISES))
@virtual_time
async def test_kind_outside_the_allow_list_is_refused_in_every_guise(kind: str, guise: str) -> None:
    body = definition("web-apps", *GUISES[guise](FORBIDDEN[kind]))
    async with scenery() as scene, scene.operating(composition_allowed_kinds=ALLOWED_KINDS) as operator:
        guard = await furnish(scene)
        assert any(
            "is not allowed by --composition-allowed-kinds" in one.message
            for one in await judged(operator, body)
        )
        await scene.create(body)  # where the webhook is off
        status, _, message = await scene.condition("GraphAccepted")
        assert status == "False"
        assert f"kind {kind}" in message
        assert "--composition-allowed-kinds" in message
        served = scene.graphs.find("web-apps")
        assert served is None or served.graph is None
        assert guard.children == set()


@virtual_time
async def test_forbidden_kind_cannot_be_reached_through_an_allowed_composition() -> None:
    inner = definition("inner", resource(FORBIDDEN["Secret"]))
    outer_child = {
        "id": "app",
        "template": {
            "apiVersion": "kro.run/v1alpha1",
            "kind": "WebApp",
            "metadata": {"name": "${schema.spec.name}"},
            "spec": {"name": "x"},
        },
    }
    outer = definition("outer", outer_child, kind="Outer")
    async with scenery() as scene, scene.operating(composition_allowed_kinds=ALLOWED_KINDS):
        guard = await furnish(scene)
        await scene.create(inner)
        await scene.create(outer)
        assert (await scene.status("inner"))["state"] == "Inactive"
        assert (await scene.status("outer"))["state"] == "Inactive"
        assert guard.children == set()


@pytest.mark.parametrize("field", ["kind", "apiVersion"])
@virtual_time
async def test_kind_is_not_chosen_by_an_expression(field: str) -> None:
    body = config_map()
    body["template"][field] = "${schema.spec.name}"
    async with scenery() as scene, scene.operating():
        guard = await furnish(scene)
        await scene.create(definition("web-apps", body))
        assert (await scene.condition("GraphAccepted"))[0] == "False"
        assert guard.children == set()


@virtual_time
async def test_kind_that_is_no_longer_allowed_is_not_created_any_more() -> None:
    """Neither by the definition as it is, nor by an earlier revision of it; what exists stays as it is."""
    both = definition("web-apps", config_map(), resource(FORBIDDEN["Secret"]))
    both["spec"]["resources"][1]["template"]["metadata"]["name"] = "${schema.spec.name}"
    async with scenery() as scene:
        guard = await furnish(scene)
        async with scene.operating():
            await scene.create(both)
            await instantiate(scene, "old")
            assert guard.kinds == {"configmaps", "secrets"}
        async with scene.operating(composition_allowed_kinds=ALLOWED_KINDS):
            await scene.settle(60)
            await instantiate(scene, "new")
            await scene.edit(resources=[config_map(a="${unknown.field}")])
            await instantiate(scene, "newer")
            await scene.settle(60)
        assert {name for kind, _, name in guard.children if kind == "secrets"} == {"old"}


@pytest.mark.parametrize("kind", ["RoleBinding", "ClusterRole", "ValidatingWebhookConfiguration", "Secret"])
@virtual_time
async def test_without_an_allow_list_rights_of_the_operator_are_the_limit(kind: str) -> None:
    """The definition reports the rule, and nothing is created."""
    config_maps = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}
    async with restricted() as scene, scene.operating(TOKEN):
        await grant(scene, "config-maps", [config_maps])
        guard = await furnish(scene)
        await scene.create(definition("web-apps", config_map(), resource(FORBIDDEN[kind])))
        assert (await scene.conditions())["ControllerReady"] == ("False", "KindNotPermitted")
        await instantiate(scene)
        assert guard.children == set()


# Namespaces

PLACES: dict[str, JsonObject] = {
    "written": {"metadata": {"name": "evil", "namespace": VICTIM}},
    "from the instance": {"metadata": {"name": "evil", "namespace": "${schema.spec.place}"}},
    "composed": {"metadata": {"name": "evil", "namespace": '${"vic" + "tim"}'}},
    "from another child": {"metadata": {"name": "evil", "namespace": "${config.data.place}"}},
}


@pytest.mark.parametrize(("place", "kind"), sampled(PLACES, ("ConfigMap", "Secret", "RoleBinding", "Role")))
@virtual_time
async def test_children_are_in_no_namespace_outside_the_allow_list(place: str, kind: str) -> None:
    body = {**FORBIDDEN.get(kind, {"apiVersion": "v1", "kind": "ConfigMap"}), **PLACES[place]}
    fields = {"name": "string", "place": "string | default=victim"}
    resources = [config_map(place="${schema.spec.place}"), {"id": "evil", "template": body}]
    async with scenery() as scene, scene.operating(composition_allowed_namespaces=(SHARED,)):
        guard = await furnish(scene)
        await scene.create(definition("web-apps", *resources, spec=fields))
        await instantiate(scene)
        found = await scene.user.get(WEB_APP, Key("default", "demo"))
        (ready,) = [one for one in found["status"]["conditions"] if one["type"] == "Ready"]
        assert (ready["status"], ready["reason"]) == ("False", "NamespaceNotPermitted")
        assert "namespace victim" in ready["message"]
        assert guard.places <= {"default"}


@virtual_time
async def test_no_object_of_a_collection_is_outside_of_the_allowed_namespaces() -> None:
    """Where one of them would be, none is created."""
    each = {
        "id": "parts",
        "forEach": [{"place": "${schema.spec.places}"}],
        "template": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "each", "namespace": "${place}"},
        },
    }
    fields = {"name": "string", "places": "[]string"}
    async with scenery() as scene, scene.operating(composition_allowed_namespaces=(SHARED,)):
        guard = await furnish(scene)
        await scene.create(definition("web-apps", each, spec=fields))
        await instantiate(scene, places=["default", SHARED, VICTIM])
        assert guard.children == set()
        await scene.user.merge_patch(
            WEB_APP, Key("default", "demo"), {"spec": {"places": ["default", SHARED]}}
        )
        await scene.settle()
        assert guard.children == {("configmaps", "default", "each"), ("configmaps", SHARED, "each")}


@virtual_time
async def test_cluster_scoped_instance_has_no_namespace_of_its_own() -> None:
    kind = Kind("kro.run", "v1alpha1", "Wide", "wides", namespaced=False)
    placed = config_map()
    placed["template"]["metadata"]["namespace"] = "${schema.spec.place}"
    body = definition(
        "wides", placed, spec={"name": "string", "place": "string"}, kind="Wide", scope="Cluster"
    )
    async with scenery() as scene, scene.operating(composition_allowed_namespaces=(SHARED,)):
        guard = await furnish(scene)
        await scene.create(body)
        for place in (VICTIM, "default", SHARED):
            await scene.user.create(
                kind, {"metadata": {"name": place}, "spec": {"name": "evil", "place": place}}
            )
        await scene.settle()
        assert guard.places == {SHARED}
        assert label_of(await scene.crd("wides.kro.run"), OWNED) == "true"
