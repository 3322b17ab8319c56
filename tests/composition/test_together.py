"""Definitions and their instances together, as the operator runs them: what a change of the one means for the other."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
    NAMESPACE,
    SERVICE,
    Key,
    Kind,
)
from edgekeeper.kube.transport import ApiRequest, ApiResponse
from kubesim.plane.plane import Plane
from kubesim.transport import InProcessTransport
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server, plane_of
from tests.composition.definitions.scene import WEB_APP, DefinitionScene, config_map, definition, scenery
from tests.composition.definitions.test_kro import install_kro
from tests.composition.definitions.test_kro import set_available as set_kro_available
from tests.composition.definitions.test_rights import READ, TOKEN, grant, restricted

CRD = "webapps.kro.run"


async def instantiate(scene: DefinitionScene, name: str, kind: Kind = WEB_APP) -> None:
    await scene.instantiate(kind, name, {"name": name})


async def child(scene: DefinitionScene, name: str, namespace: str = "default") -> JsonObject | None:
    return await scene.find(CONFIG_MAP, name, namespace)


async def state(scene: DefinitionScene, name: str) -> str:
    return str(dig(await scene.user.get(WEB_APP, Key("default", name)), "status", "state"))


DEPLOYED = [
    {
        "id": "deployment",
        "readyWhen": ["${deployment.status.availableReplicas == deployment.spec.replicas}"],
        "template": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "${schema.spec.name}"},
            "spec": {
                "replicas": "${schema.spec.replicas}",
                "selector": {"matchLabels": {"app": "${schema.spec.name}"}},
                "template": {
                    "metadata": {"labels": {"app": "${schema.spec.name}"}},
                    "spec": {"containers": [{"name": "main", "image": "nginx"}]},
                },
            },
        },
    },
    {
        "id": "service",
        "template": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "${deployment.metadata.name}"},
            "spec": {"selector": {"app": "${schema.spec.name}"}, "ports": [{"port": 80}]},
        },
    },
]


async def set_available(scene: DefinitionScene, replicas: int) -> None:
    """What the controller of Deployments does."""
    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), replicas)
    key = Key("default", "shop")
    await scene.user.merge_patch(DEPLOYMENT, key, {"status": counts}, subresource="status")
    await scene.settle()


@each_server
async def test_definition_and_instance_live_rest_and_go() -> None:
    """From the creation of the kind to its end: a Deployment and, once that is available, its Service."""
    fields = {"name": "string", "replicas": "integer | default=1"}
    pausing = {"metadata": {"annotations": {"kro.run/reconcile": "suspended"}}, "spec": {"replicas": 2}}
    resuming = {"metadata": {"annotations": {"kro.run/reconcile": None}}}
    key = Key("default", "shop")
    async with scenery() as scene, scene.operating(allow_crd_deletion=True):
        await scene.create(definition("web-apps", *DEPLOYED, spec=fields))
        assert (await scene.status())["topologicalOrder"] == ["deployment", "service"]
        assert {status for status, _ in (await scene.conditions()).values()} == {"True"}
        await instantiate(scene, "shop")
        assert await scene.find(SERVICE, "shop") is None
        await set_available(scene, 1)
        assert await scene.find(SERVICE, "shop") is not None
        assert await state(scene, "shop") == "ACTIVE"
        await scene.user.merge_patch(WEB_APP, key, pausing)
        await scene.settle()
        assert dig(await scene.find(DEPLOYMENT, "shop"), "spec", "replicas") == 1
        conditions = dig_list(await scene.find(WEB_APP, "shop"), "status", "conditions")
        assert {one["type"]: one["status"] for one in conditions}["Ready"] == "False"
        await scene.user.merge_patch(WEB_APP, key, resuming)
        await scene.settle()
        assert dig(await scene.find(DEPLOYMENT, "shop"), "spec", "replicas") == 2
        await set_available(scene, 2)
        assert await state(scene, "shop") == "ACTIVE"
        await scene.user.delete(WEB_APP, key)
        await scene.settle()
        for kind in (SERVICE, DEPLOYMENT, WEB_APP):
            assert await scene.find(kind, "shop") is None
        await scene.delete()
        assert not await scene.is_there(DEFINITION_KIND, "web-apps")
        assert not await scene.is_there(CUSTOM_RESOURCE_DEFINITION, CRD)


@each_server
async def test_instances_are_reconciled_with_the_graph_of_the_newest_revision() -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        await instantiate(scene, "shop")
        assert await state(scene, "shop") == "ACTIVE"
        assert dig(await child(scene, "shop"), "data") == {"a": "1"}
        await scene.edit(resources=[config_map(a="2")])
        assert dig(await child(scene, "shop"), "data") == {"a": "2"}
        assert await state(scene, "shop") == "ACTIVE"


@each_server
async def test_instances_follow_while_old_revisions_are_discarded() -> None:
    async with scenery() as scene, scene.operating(rgd_max_graph_revisions=1):
        await scene.create(definition())
        await instantiate(scene, "shop")
        for value in "23456":
            await scene.edit(resources=[config_map(a=value)])
            assert dig(await child(scene, "shop"), "data") == {"a": value}
        assert await scene.numbers() == [6]
        assert await state(scene, "shop") == "ACTIVE"


@each_server
async def test_last_valid_revision_serves_old_and_new_instances_after_an_invalid_edit_and_a_restart() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
            await instantiate(scene, "old")
            await scene.edit(resources=[config_map(a="${unknown.spec}")])
            await instantiate(scene, "new")
            assert await child(scene, "new") is not None
        async with scene.operating():
            await scene.settle()
            await scene.user.delete(CONFIG_MAP, Key("default", "old"))
            await instantiate(scene, "newest")
            assert await child(scene, "old") is not None, "drift is corrected"
            assert await child(scene, "newest") is not None


@virtual_time
async def test_revision_before_a_breaking_change_serves_old_and_new_instances_after_a_restart() -> None:
    fields = {"name": "string | required=true", "port": "integer | default=80"}
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition(spec=fields))
            await instantiate(scene, "old")
            await scene.edit(
                schema={"spec": {**fields, "port": "string"}}, resources=[config_map(a="breaking")]
            )
        async with scene.operating():
            await scene.settle()
            assert await state(scene, "old") == "ACTIVE"
            await scene.user.delete(CONFIG_MAP, Key("default", "old"))
            await instantiate(scene, "new")
            assert dig(await child(scene, "old"), "data") == {"a": "1"}, "drift is corrected"
            assert dig(await child(scene, "new"), "data") == {"a": "1"}
            assert await state(scene, "new") == "ACTIVE"


@virtual_time
async def test_revision_with_all_rights_serves_instances_after_a_restart() -> None:
    """The newest one adds a field, which is installed, and a kind that the operator may not use."""
    secret = {"id": "secret", "template": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}}
    fields = {"name": "string | required=true", "port": "integer | default=80"}
    async with restricted() as scene:
        await grant(scene, "configmaps", [{**READ, "verbs": ["*"]}])
        async with scene.operating(TOKEN):
            await scene.create(definition())
            await instantiate(scene, "old")
            assert await state(scene, "old") == "ACTIVE"
            await scene.edit(schema={"spec": fields}, resources=[config_map(a="2"), secret])
            assert "port" in await scene.crd_fields()
        async with scene.operating(TOKEN):
            await scene.settle()
            await instantiate(scene, "new")
            assert dig(await child(scene, "new"), "data") == {"a": "1"}
            assert await state(scene, "new") == await state(scene, "old") == "ACTIVE"
            assert (await scene.condition("ControllerReady"))[1] == "KindNotPermitted"
            await grant(scene, "secrets", [{**READ, "resources": ["secrets"], "verbs": ["*"]}])
            await scene.settle(60)
            assert dig(await child(scene, "new"), "data") == {"a": "2"}


@virtual_time
async def test_instances_follow_the_namespaces_that_the_process_watches() -> None:
    async with scenery() as scene, scene.operating() as operator:
        await scene.user.create(NAMESPACE, {"metadata": {"name": "other"}})
        await scene.create(definition())
        operator.manager.set_namespaces(["other"])
        await scene.settle()
        await instantiate(scene, "shop")
        assert await child(scene, "shop") is None
        operator.manager.set_namespaces(["other", "default"])
        await scene.settle()
        assert await child(scene, "shop") is not None
        assert await state(scene, "shop") == "ACTIVE"


@virtual_time
async def test_restart_writes_nothing_for_definitions_and_instances_at_rest() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.create(definition())
            await instantiate(scene, "shop")
        scene.writes.clear()
        async with scene.operating():
            await scene.settle(60)
            assert scene.graphs.find("web-apps") is not None
        assert scene.writes == []


@virtual_time
async def test_definition_that_is_deleted_first_goes_after_its_instances_and_nothing_is_stranded() -> None:
    async with scenery() as scene, scene.operating(allow_crd_deletion=True):
        await scene.create(definition())
        await instantiate(scene, "shop")
        await scene.delete()
        assert (
            "1 instance of WebApp still exists, default/shop" in (await scene.condition("DeletionBlocked"))[2]
        )
        assert await child(scene, "shop") is not None
        await scene.user.delete(WEB_APP, Key("default", "shop"))
        await scene.settle(30)
        assert await child(scene, "shop") is None
        assert not await scene.is_there(DEFINITION_KIND, "web-apps")
        assert not await scene.is_there(CUSTOM_RESOURCE_DEFINITION, CRD)


@virtual_time
async def test_instances_are_left_alone_while_kro_is_found_running() -> None:
    async with scenery() as scene:
        await install_kro(scene, available=0)
        async with scene.operating(composition="auto"):
            await scene.create(definition())
            await instantiate(scene, "shop")
            assert await child(scene, "shop") is not None
            await set_kro_available(scene, 1)
            scene.writes.clear()
            await scene.user.delete(CONFIG_MAP, Key("default", "shop"))
            await instantiate(scene, "other")
            await scene.settle(60)
            assert scene.writes == []
            assert await child(scene, "shop") is None
            await set_kro_available(scene, 0)
            await scene.settle(30)
            assert await child(scene, "shop") is not None
            assert await child(scene, "other") is not None


class _SlowWrites(InProcessTransport):
    """A way to the server that takes a while, and notes what arrives there while kro is running."""

    def __init__(self, plane: Plane, token: str, seen: _Seen) -> None:
        super().__init__(plane, token or plane.admin_token)
        self._seen = seen

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        if request.method != "GET" and "/events" not in request.path:
            if self._seen.kro_is_running:
                self._seen.late.append(f"{request.method} {request.path}")
            self._seen.sent += 1
            await asyncio.sleep(0.02)
        return await super().send(request, deadline)


@dataclass
class _Seen:
    kro_is_running: bool = False
    late: list[str] = field(default_factory=list)
    """Writes that the operator sent while kro was running."""
    sent: int = 0


@pytest.mark.parametrize("moment", [step / 100 for step in range(1, 13)])
def test_nothing_is_written_once_kro_is_available_in_the_midst_of_passes(moment: float) -> None:
    """A definition with twenty instances of two resources, so that passes of both halves are under way."""

    @virtual_time
    async def scenario() -> None:
        seen = _Seen()
        async with scenery() as scene:
            scene.connect = lambda token: _SlowWrites(plane_of(scene.cluster), token, seen)
            await install_kro(scene, available=0)
            async with scene.operating(composition="auto"):
                two = config_map("second", "${config.metadata.name}-second")
                await scene.create(definition("web-apps", config_map(), two))
                for number in range(20):
                    body = {"metadata": {"name": f"n{number}"}, "spec": {"name": f"n{number}"}}
                    await scene.user.create(WEB_APP, body, namespace="default")
                seen.sent = 0
                await scene.user.merge_patch(
                    DEFINITION_KIND, Key("", "web-apps"), {"spec": {"resources": [config_map(a="2"), two]}}
                )
                await asyncio.sleep(moment)
                await set_kro_available(scene, 1, settle=0)
                seen.kro_is_running = True
                before = seen.sent
                await scene.settle(120)
                assert seen.late == []
                await set_kro_available(scene, 0)
                seen.kro_is_running = False
                await scene.settle(60)
                assert seen.sent > before, "there was something left to do"
                assert all([await state(scene, f"n{number}") == "ACTIVE" for number in range(20)])

    scenario()


@virtual_time
async def test_children_stay_in_the_namespaces_that_the_installation_allows() -> None:
    elsewhere = config_map()
    elsewhere["template"]["metadata"]["namespace"] = "kube-system"
    async with scenery() as scene, scene.operating(composition_allowed_namespaces=("shared",)):
        await scene.create(definition("web-apps", elsewhere))
        assert (await scene.status())["state"] == "Active"
        await instantiate(scene, "shop")
        assert await state(scene, "shop") != "ACTIVE"
        assert await child(scene, "shop", "kube-system") is None


@virtual_time
async def test_bad_definition_does_not_hold_up_others() -> None:
    async with scenery() as scene, scene.operating():
        bad = [definition(f"bad-{n}", config_map(a="${unknown.x}"), kind=f"Bad{n}") for n in range(5)]
        await asyncio.gather(*(scene.user.create(DEFINITION_KIND, one) for one in bad))
        await scene.create(definition())
        await instantiate(scene, "shop")
        assert await state(scene, "shop") == "ACTIVE"


@each_server
async def test_definitions_that_a_definition_creates_have_the_types_that_its_instances_say() -> None:
    inner = {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": "${schema.spec.name}"},
        "spec": {
            "schema": {
                "apiVersion": "v1alpha1",
                "kind": "${schema.spec.kind}",
                "spec": {"value": "${schema.spec.type}"},
            },
            "resources": [
                {
                    "id": "config",
                    "template": {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"name": '${"${schema.metadata.name}"}'},
                    },
                }
            ],
        },
    }
    fields = {"name": "string", "kind": "string", "type": "string"}
    outer = definition("factories", {"id": "made", "template": inner}, spec=fields, kind="Factory")
    factory = Kind("kro.run", "v1alpha1", "Factory", "factories")
    types = {"integer": "integer", "string": "string", "boolean": "boolean", "[]string": "array"}
    async with scenery() as scene, scene.operating():
        await scene.create(outer)
        assert (await scene.status("factories"))["state"] == "Active"
        for number, written in enumerate(types):
            spec = {"name": f"made-{number}", "kind": f"Made{number}", "type": written}
            body = {"metadata": {"name": f"f{number}"}, "spec": spec}
            await scene.user.create(factory, body, namespace="default")
        await scene.settle(30)
        for number, expected in enumerate(types.values()):
            assert (await scene.status(f"made-{number}"))["state"] == "Active"
            assert (await scene.crd_fields(f"made{number}s.kro.run"))["value"]["type"] == expected
