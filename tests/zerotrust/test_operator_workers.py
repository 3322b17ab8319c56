"""Workers of an operator that is split into roles: their Deployments are copies of the manager's."""

from __future__ import annotations

from copy import deepcopy

import pytest

from edgekeeper.controllers.zerotrust.operator_workers import owner_reference, worker_deployment, worker_keys
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import DEPLOYMENT, Key
from edgekeeper.lifecycle.module import Role
from kubesim.virtual import virtual_time
from tests.zerotrust.operator_scene import HOME, MANAGER, OWN, create_pod, scenery

KUBE = Key(HOME, "cloudflare-zero-trust-kube-worker")
CLOUDFLARE = Key(HOME, "cloudflare-zero-trust-cloudflare-worker")
WORKERS = {KUBE: "kube-worker", CLOUDFLARE: "cloudflare-worker"}


@virtual_time
async def test_manager_creates_both_workers_without_any_configuration() -> None:
    async with scenery() as scene:
        manager = await scene.deployment()
        await create_pod(scene, manager["metadata"]["uid"])
        async with scene.operating("manager", pod_name="operator-1-a"):
            await scene.settle()
        for key, role in WORKERS.items():
            worker = await scene.deployment(key)
            assert worker["metadata"]["ownerReferences"] == [owner_reference(manager)]
            assert worker["metadata"]["labels"]["app.kubernetes.io/component"] == role
            assert worker["spec"]["replicas"] == 1
            template = worker["spec"]["template"]
            assert template["metadata"]["annotations"] == {
                "cfzt.cloudflare.com/image-digest": "sha256:operator"
            }
            (container,) = template["spec"]["containers"]
            assert (container["name"], container["image"]) == (role, "edgekeeper:1")
            assert container["args"] == ["run", "--leader-elect"]
            assert template["spec"]["serviceAccountName"] == "edgekeeper"
            assert template["spec"]["volumes"] == [{"name": "tmp", "emptyDir": {}}]
            assert container["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - in a pod
            environment = {entry["name"]: entry for entry in container["env"]}
            assert environment["ROLE"]["value"] == role
            assert environment["POD_NAME"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
            assert environment["EXTRA"]["value"] == "kept"
            assert len(environment) == len(container["env"])
            assert len(scene.events("WorkerCreated")) == 2


@virtual_time
async def test_workers_are_never_selected_by_the_manager() -> None:
    async with scenery() as scene, scene.operating("manager"):
        await scene.settle()
        selector = MANAGER["spec"]["selector"]["matchLabels"]
        for key in WORKERS:
            worker = (await scene.deployment(key))["spec"]
            labels = worker["template"]["metadata"]["labels"]
            assert not selector.items() <= labels.items()
            assert worker["selector"]["matchLabels"].items() <= labels.items()


@virtual_time
async def test_configuration_reaches_the_workers() -> None:
    async with scenery() as scene, scene.operating("manager"):
        await scene.settle()
        await scene.configure(
            replicas=2,
            resources={"limits": {"memory": "1Gi"}},
            nodeSelector={"disk": "ssd"},
            environmentVariables={"logLevel": "DEBUG", "watchNamespaces": "a"},
            podLabels={"tier": "control"},
        )
        await scene.settle()
        for key, role in WORKERS.items():
            worker = (await scene.deployment(key))["spec"]
            assert worker["replicas"] == 2
            assert worker["template"]["spec"]["nodeSelector"] == {"disk": "ssd"}
            assert worker["template"]["metadata"]["labels"]["tier"] == "control"
            container = await scene.container(role, key)
            assert container["resources"]["limits"] == {"memory": "1Gi"}
            environment = await scene.environment(role, key)
            assert (environment["LOG_LEVEL"], environment["WATCH_NAMESPACES"]) == ("DEBUG", "a")
            assert environment["ROLE"] == role
        await scene.edit(nodeSelector=None)
        await scene.settle()
        assert "nodeSelector" not in (await scene.deployment(KUBE))["spec"]["template"]["spec"]
        assert (await scene.config())["status"]["deploymentReady"] is True


@virtual_time
async def test_ready_waits_for_the_workers() -> None:
    async with scenery(alive=False) as scene, scene.operating("manager"):
        await scene.configure(podLabels={"tier": "control"})
        await scene.settle()
        await scene.roll_out(ready=1)
        message = (await scene.conditions())["Ready"]["message"]
        assert f"Deployment {KUBE.name}" in message
        await scene.roll_out(KUBE, ready=1)
        await scene.roll_out(CLOUDFLARE, ready=1)
        assert (await scene.conditions())["Ready"]["status"] == "True"


@virtual_time
async def test_workers_follow_the_manager_and_what_others_change_or_delete_is_put_back() -> None:
    async with scenery() as scene, scene.operating("manager"):
        await scene.settle()
        await scene.user.json_patch(
            DEPLOYMENT,
            OWN,
            [{"op": "replace", "path": "/spec/template/spec/containers/1/image", "value": "edgekeeper:2"}],
        )
        await scene.settle()
        assert (await scene.container("kube-worker", KUBE))["image"] == "edgekeeper:2"
        await scene.user.json_patch(
            DEPLOYMENT,
            KUBE,
            [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "evil:1"}],
        )
        await scene.user.delete(DEPLOYMENT, CLOUDFLARE)
        await scene.settle()
        assert (await scene.container("kube-worker", KUBE))["image"] == "edgekeeper:2"
        assert await scene.is_there(CLOUDFLARE)
        writes = len(scene.writes)
        await scene.settle(3600)
        assert len(scene.writes) == writes, "at rest nothing is written"


@virtual_time
async def test_restart_writes_nothing_to_workers_that_are_as_wanted() -> None:
    async with scenery() as scene:
        async with scene.operating("manager"):
            await scene.settle()
        before = await scene.deployment(KUBE)
        async with scene.operating("manager"):
            await scene.settle()
        assert await scene.deployment(KUBE) == before


@virtual_time
async def test_deployment_of_others_with_the_name_of_a_worker_is_left_alone() -> None:
    foreign = deepcopy(MANAGER)
    foreign["metadata"]["name"] = KUBE.name
    async with scenery() as scene:
        await scene.user.create(DEPLOYMENT, foreign)
        before = (await scene.deployment(KUBE))["spec"]
        async with scene.operating("manager"):
            await scene.settle(3600)
        assert (await scene.deployment(KUBE))["spec"] == before
        assert await scene.is_there(CLOUDFLARE)
        (event,) = scene.events("DeploymentConflict")
        assert KUBE.name in event


@virtual_time
async def test_one_process_has_no_workers_and_ends_those_of_an_earlier_split() -> None:
    async with scenery() as scene:
        async with scene.operating("manager"):
            await scene.settle()
        assert await scene.is_there(KUBE)
        async with scene.operating():
            await scene.settle()
        assert not await scene.is_there(KUBE)
        assert not await scene.is_there(CLOUDFLARE)
        assert await scene.is_there(OWN)


@pytest.mark.parametrize(
    ("own", "kube"),
    [
        ("cloudflare-zero-trust-operator", "cloudflare-zero-trust-kube-worker"),
        ("edgekeeper", "edgekeeper-kube-worker"),
    ],
)
def test_workers_are_named_after_the_manager(own: str, kube: str) -> None:
    assert worker_keys(Key("x", own))[Role.KUBE_WORKER] == Key("x", kube)


@pytest.mark.parametrize(
    "arguments", [["run", "--role", "manager", "-x"], ["run", "-x", "--role=manager"], ["run", "-x"]]
)
def test_role_among_the_arguments_is_not_copied(arguments: list[str]) -> None:
    manager: JsonObject = deepcopy(MANAGER)
    manager["metadata"]["uid"] = "1"
    manager["spec"]["template"]["spec"]["containers"][1]["args"] = arguments
    worker = worker_deployment(manager, Role.KUBE_WORKER, live=None, image_digest="", replicas=None)
    assert worker["spec"]["template"]["spec"]["containers"][0]["args"] == ["run", "-x"]


@pytest.mark.parametrize("role", [Role.KUBE_WORKER, Role.CLOUDFLARE_WORKER])
def test_worker_has_the_service_account_that_the_manager_names_for_it(role: Role) -> None:
    manager = deepcopy(MANAGER)
    manager["metadata"].update(uid="1", annotations={f"edgekeeper.io/{role}-service-account": "less"})
    manager["spec"]["template"]["spec"].update(serviceAccountName="edgekeeper", serviceAccount="edgekeeper")

    def accounts(of: Role) -> tuple[object, object]:
        worker = worker_deployment(manager, of, live=None, image_digest="", replicas=None)
        pod = worker["spec"]["template"]["spec"]
        return pod.get("serviceAccountName"), pod.get("serviceAccount")

    assert accounts(role) == ("less", None)
    (other,) = {Role.KUBE_WORKER, Role.CLOUDFLARE_WORKER} - {role}
    assert accounts(other) == ("edgekeeper", "edgekeeper"), "without an annotation it is the manager's"
