"""OperatorConfigs: what they change in the operator's Deployment, what they leave alone, and what they say."""

from __future__ import annotations

from copy import deepcopy

import pytest

from edgekeeper.controllers.zerotrust.operator_config import CONDITIONS, KIND, operator_container
from edgekeeper.core.json import JsonObject
from edgekeeper.core.statuslaws import status_violations
from kubesim.virtual import virtual_time
from tests.zerotrust.operator_scene import CONFIG, MANAGER, OWN, OperatorScene, create_pod, scenery

FULL: JsonObject = {
    "replicas": 2,
    "resources": {
        "requests": {"cpu": "200m", "memory": "512Mi"},
        "limits": {"cpu": "1000m", "memory": "1Gi"},
    },
    "affinity": {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "podAffinityTerm": {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {"matchLabels": {"app": "operator"}},
                    },
                }
            ]
        }
    },
    "nodeSelector": {"node-role.kubernetes.io/infra": ""},
    "tolerations": [
        {"key": "dedicated", "operator": "Equal", "value": "infrastructure", "effect": "NoSchedule"}
    ],
    "imagePullPolicy": "Always",
    "environmentVariables": {"pollIntervalSeconds": 30, "logLevel": "DEBUG", "watchNamespaces": "a,b"},
    "priorityClassName": "",
    "podAnnotations": {"prometheus.io/scrape": "true"},
    "podLabels": {"tier": "control"},
}


async def judged(scene: OperatorScene) -> JsonObject:
    """The configuration, whose status obeys the laws of every status."""
    config = await scene.config()
    assert status_violations(config, declaration=CONDITIONS, now=scene.clock.now()) == []
    return config


@virtual_time
async def test_first_configuration_is_applied_completely_and_reported() -> None:
    async with scenery() as scene, scene.operating():
        await scene.configure(**FULL)
        await scene.settle()
        deployment = await scene.deployment()
        pod = deployment["spec"]["template"]["spec"]
        assert deployment["spec"]["replicas"] == 2
        assert pod["affinity"] == FULL["affinity"]
        assert pod["nodeSelector"] == FULL["nodeSelector"]
        assert pod["tolerations"] == FULL["tolerations"]
        assert deployment["spec"]["template"]["metadata"]["annotations"] == FULL["podAnnotations"]
        assert deployment["spec"]["template"]["metadata"]["labels"] == {
            "app": "operator",
            "team": "edge",
            "tier": "control",
        }
        container = await scene.container()
        assert container["resources"] == {
            "requests": {"cpu": "200m", "memory": "512Mi"},
            "limits": {"cpu": "1", "memory": "1Gi"},
        }
        assert container["imagePullPolicy"] == "Always"
        assert await scene.environment() == {
            "LOG_LEVEL": "DEBUG",
            "EXTRA": "kept",
            "POLL_INTERVAL_SECONDS": "30",
            "WATCH_NAMESPACES": "a,b",
        }
        status = (await judged(scene))["status"]
        conditions = await scene.conditions()
        assert (status["observedGeneration"], status["deploymentReady"]) == (1, True)
        assert status["lastAppliedTime"]
        applied, ready = conditions["Applied"], conditions["Ready"]
        assert (applied["status"], applied["reason"]) == ("True", "ConfigurationApplied")
        assert applied["message"] == "OperatorConfig successfully applied to deployment"
        assert (ready["status"], ready["reason"]) == ("True", "DeploymentReady")
        assert ready["message"] == "Operator deployment is ready"
        assert set(conditions) == {"Applied", "Ready"}


@virtual_time
async def test_generation_is_applied_once_and_nothing_is_written_without_a_change() -> None:
    async with scenery() as scene, scene.operating():
        await scene.configure(replicas=2)
        await scene.settle()
        assert len(scene.deployment_writes()) == 1
        before = await scene.config()
        await scene.user.merge_patch(KIND, CONFIG, {"metadata": {"labels": {"a": "b"}}})
        await scene.settle(3600)
        assert len(scene.deployment_writes()) == 1
        assert (await scene.config())["status"] == before["status"]
        await scene.edit(replicas=3)
        await scene.settle()
        assert len(scene.deployment_writes()) == 2
        after = await judged(scene)
        assert after["status"]["observedGeneration"] == 2
        assert after["status"]["lastAppliedTime"] > before["status"]["lastAppliedTime"]
        assert (await scene.deployment())["spec"]["replicas"] == 3


@virtual_time
async def test_restart_does_not_apply_again() -> None:
    async with scenery() as scene:
        async with scene.operating():
            await scene.configure(replicas=2)
            await scene.settle()
        before = await scene.config()
        async with scene.operating():
            await scene.settle()
        assert len(scene.deployment_writes()) == 1
        assert await scene.config() == before


@virtual_time
async def test_configuration_that_changes_nothing_says_so() -> None:
    async with scenery() as scene, scene.operating():
        await scene.configure(replicas=1)
        await scene.settle()
        applied = (await scene.conditions())["Applied"]
        assert (applied["status"], applied["reason"]) == ("True", "NoChangesNeeded")
        assert (await scene.config())["status"]["observedGeneration"] == 1


@virtual_time
async def test_sidecars_and_foreign_fields_stay_as_they_are() -> None:
    async with scenery() as scene, scene.operating():
        sidecar = await scene.container("proxy")
        await scene.configure(
            environmentVariables={"logLevel": "ERROR"}, resources={"limits": {"memory": "1Gi"}}
        )
        await scene.settle()
        assert await scene.container("proxy") == sidecar
        container = await scene.container()
        assert container["resources"] == {"requests": {"cpu": "50m"}, "limits": {"memory": "1Gi"}}
        assert container["image"] == "edgekeeper:1"
        assert await scene.environment() == {"LOG_LEVEL": "ERROR", "EXTRA": "kept"}


@virtual_time
async def test_variables_that_the_described_operator_doubled_become_one() -> None:
    manager = deepcopy(MANAGER)
    manager["spec"]["template"]["spec"]["containers"][1]["env"] += [{"name": "LOG_LEVEL", "value": "DEBUG"}]
    async with scenery(manager) as scene, scene.operating():
        await scene.configure(environmentVariables={"logLevel": "ERROR"})
        await scene.settle()
        assert await scene.environment() == {"LOG_LEVEL": "ERROR", "EXTRA": "kept"}


@virtual_time
async def test_fields_that_are_unset_are_released_and_others_kept() -> None:
    async with scenery() as scene, scene.operating():
        await scene.configure(
            replicas=2,
            nodeSelector={"disk": "ssd"},
            podLabels={"tier": "control"},
            environmentVariables={"pollIntervalSeconds": 30},
        )
        await scene.settle()
        await scene.edit(nodeSelector=None, podLabels=None, environmentVariables=None)
        await scene.settle()
        deployment = await scene.deployment()
        assert "nodeSelector" not in deployment["spec"]["template"]["spec"]
        assert deployment["spec"]["template"]["metadata"]["labels"] == {"app": "operator", "team": "edge"}
        assert await scene.environment() == {"LOG_LEVEL": "INFO", "EXTRA": "kept"}
        assert deployment["spec"]["replicas"] == 2


@virtual_time
async def test_ready_follows_the_rollout_of_the_deployment() -> None:
    async with scenery(alive=False) as scene, scene.operating():
        await scene.roll_out(ready=1)
        await scene.configure(replicas=2)
        await scene.settle()
        ready = (await scene.conditions())["Ready"]
        assert (ready["status"], ready["reason"]) == ("False", "DeploymentNotReady")
        assert ready["message"].endswith(f"Deployment {OWN.name} is being rolled out")
        assert (await scene.conditions())["Applied"]["status"] == "True"
        await scene.roll_out(ready=1)
        assert (await scene.conditions())["Ready"]["message"].endswith("has 1 of 2 replicas ready")
        await scene.roll_out(ready=2)
        assert (await scene.conditions())["Ready"]["reason"] == "DeploymentReady"
        assert (await judged(scene))["status"]["deploymentReady"] is True
        await scene.roll_out(ready=0)
        assert (await scene.conditions())["Ready"]["reason"] == "DeploymentNotReady"
        assert (await judged(scene))["status"]["deploymentReady"] is False
        assert len(scene.deployment_writes()) == 1


@virtual_time
async def test_second_configuration_is_ignored_until_the_first_is_gone() -> None:
    async with scenery() as scene, scene.operating():
        await scene.configure(replicas=2)
        await scene.settle()
        await scene.configure("another", replicas=5)
        await scene.settle()
        applied = (await scene.conditions("another"))["Applied"]
        assert (applied["status"], applied["reason"]) == ("False", "AnotherConfigInUse")
        assert "operator-config is older" in applied["message"]
        assert (await scene.conditions("another"))["Ready"]["status"] == "False"
        assert (await scene.deployment())["spec"]["replicas"] == 2
        assert len(scene.events("AnotherConfigInUse")) == 1
        await scene.user.delete(KIND, CONFIG)
        await scene.settle()
        assert (await scene.conditions("another"))["Applied"]["reason"] == "ConfigurationApplied"
        assert (await scene.deployment())["spec"]["replicas"] == 5


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        (
            {"environmentVariables": {"watchNamespaces": "team-a, Team B"}},
            "InvalidConfiguration",
            "watchNamespaces: 'Team B' is not the name of a namespace",
        ),
        ({"podLabels": {"app": "other"}}, "InvalidObject", "selector"),
        ({"tolerations": [{"operator": "Sometimes"}]}, "InvalidObject", "Sometimes"),
    ],
    ids=["namespaces", "labels of the selector", "tolerations"],
)
@virtual_time
async def test_configuration_that_no_deployment_could_have_is_refused_and_changes_nothing(
    spec: JsonObject, reason: str, words: str
) -> None:
    async with scenery() as scene, scene.operating():
        before = (await scene.deployment())["spec"]
        await scene.configure(**spec)
        await scene.settle()
        applied = (await scene.conditions())["Applied"]
        assert (applied["status"], applied["reason"]) == ("False", reason)
        assert words in applied["message"]
        assert "observedGeneration" not in (await judged(scene))["status"]
        assert (await scene.deployment())["spec"] == before


@virtual_time
async def test_unknown_deployment_is_told_with_the_remedy() -> None:
    async with scenery() as scene, scene.operating(deployment=""):
        await scene.configure(replicas=2)
        await scene.settle()
        applied = (await scene.conditions())["Applied"]
        assert applied["reason"] == "DeploymentNotFound"
        assert "--operator-deployment" in applied["message"]
        assert (await scene.deployment())["spec"]["replicas"] == 1


@virtual_time
async def test_own_deployment_is_found_through_the_owners_of_the_pod() -> None:
    async with scenery() as scene:
        uid = (await scene.deployment())["metadata"]["uid"]
        await create_pod(scene, uid)
        async with scene.operating(pod_name="operator-1-a", deployment="nothing"):
            await scene.configure(replicas=2)
            await scene.settle()
            assert (await scene.deployment())["spec"]["replicas"] == 2


@pytest.mark.parametrize(
    ("names", "annotation", "expected"),
    [
        (["sidecar", "edgekeeper"], "", "edgekeeper"),
        (["sidecar", "manager"], "", "manager"),
        (["one", "two"], "two", "two"),
        (["one", "two"], "", "one"),
        (["one", "two"], "three", "one"),
        (["sidecar", "own"], "", "own"),
    ],
)
def test_container_of_the_operator_is_told_from_sidecars(
    names: list[str], annotation: str, expected: str
) -> None:
    annotations = {"kubectl.kubernetes.io/default-container": annotation} if annotation else {}
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"containers": [{"name": name} for name in names]},
    }
    assert operator_container({"metadata": {"name": "own"}, "spec": {"template": template}}) == expected
