"""Rights that instances need: asked for when a definition is accepted, reported with the rule, and looked at again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import yaml

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key, Kind
from kubesim.plane.plane import PlaneConfig
from kubesim.plane.request import User
from kubesim.virtual import LoopClock, virtual_time
from tests.composition.definitions.scene import DefinitionScene, config_map, definition, scenery

ROLE = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)
BINDING = Kind(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
TOKEN = "of-the-operator"
EVERYTHING = ["*"]
OWN_RULES = [
    {"apiGroups": ["kro.run", "internal.kro.run"], "resources": EVERYTHING, "verbs": EVERYTHING},
    {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": EVERYTHING},
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": EVERYTHING},
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
]
READ = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}


@asynccontextmanager
async def restricted() -> AsyncIterator[DefinitionScene]:
    """A cluster in which the operator has the rights that it needs for itself, and none on kinds of others."""
    clock = LoopClock()
    config = PlaneConfig(
        simulators=frozenset(),
        gateway_api=False,
        now=clock.now,
        auth=True,
        tokens={TOKEN: User("edgekeeper", ())},
    )
    async with scenery(config) as scene:
        await grant(scene, "own", OWN_RULES)
        yield scene


async def grant(scene: DefinitionScene, name: str, rules: list[JsonObject]) -> None:
    await scene.user.create(ROLE, {"metadata": {"name": name}, "rules": rules})
    await scene.user.create(
        BINDING,
        {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": ROLE.group, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "User", "apiGroup": ROLE.group, "name": "edgekeeper"}],
        },
    )


@virtual_time
async def test_missing_rights_are_reported_with_the_rule_that_grants_them() -> None:
    async with restricted() as scene, scene.operating(TOKEN):
        await scene.create(definition())
        status, reason, message = await scene.condition("ControllerReady")
        assert (status, reason) == ("False", "KindNotPermitted")
        assert message.startswith("not permitted: get, list, watch, create, patch, delete configmaps. ")
        role = yaml.safe_load(message.partition(":\n")[2])
        assert role == {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {
                "name": "edgekeeper-web-apps",
                "labels": {"rbac.kro.run/aggregate-to-controller": "true"},
            },
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["configmaps"],
                    "verbs": ["get", "list", "watch", "create", "patch", "delete"],
                }
            ],
        }
        conditions = await scene.conditions()
        assert conditions["GraphAccepted"] == ("True", "Valid")
        assert conditions["KindReady"] == ("True", "Ready")
        assert (await scene.status())["state"] == "Inactive"
        served = scene.graphs.find("web-apps")
        assert served is not None
        assert served.graph is None, "nothing is created, but instances can be deleted"
        await grant(scene, "added", role["rules"])
        await scene.settle(65)
        assert (await scene.status())["state"] == "Active"


@virtual_time
async def test_only_the_missing_verbs_are_asked_for_and_references_need_to_be_read_only() -> None:
    async with restricted() as scene, scene.operating(TOKEN):
        await grant(scene, "read", [READ])
        reference = {
            "id": "shared",
            "externalRef": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}},
        }
        await scene.create(definition("readers", reference, kind="Reader"))
        assert (await scene.status("readers"))["state"] == "Active"
        await scene.create(definition())
        message = (await scene.condition("ControllerReady"))[2]
        assert message.startswith("not permitted: create, patch, delete configmaps. ")
        assert (await scene.status("readers"))["state"] == "Active", "nobody else suffers"


@virtual_time
async def test_change_that_needs_more_rights_leaves_the_earlier_revision_in_force() -> None:
    async with restricted() as scene, scene.operating(TOKEN):
        await grant(scene, "all", [{**READ, "verbs": EVERYTHING}])
        await scene.create(definition())
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "${schema.spec.name}"}}
        await scene.edit(resources=[config_map(), {"id": "secret", "template": secret}])
        assert (await scene.conditions())["ControllerReady"] == ("False", "KindNotPermitted")
        served = scene.graphs.find("web-apps")
        assert served is not None
        assert served.revision == 1
        assert await scene.numbers() == [1, 2]


@virtual_time
async def test_rights_that_are_taken_away_are_noticed() -> None:
    async with restricted() as scene, scene.operating(TOKEN):
        await grant(scene, "all", [{**READ, "verbs": EVERYTHING}])
        await scene.create(definition())
        assert (await scene.status())["state"] == "Active"
        await scene.user.delete(BINDING, Key("", "all"))
        await scene.settle(5000)
        assert (await scene.conditions())["ControllerReady"] == ("False", "KindNotPermitted")
