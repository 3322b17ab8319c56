"""Simulators: what the rest of a cluster would do, where it is switched on."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.controllers.simulate import (
    SIMULATORS,
    daemon_set_status,
    deployment_status,
    job_status,
    replica_set_status,
    service_status,
    stateful_set_status,
)
from kubesim.plane.plane import Plane
from packages.kubesim.tests.plane.cluster import running

NOW = "2030-01-02T03:04:05Z"
APPS = "/apis/apps/v1/namespaces/default"
SELECTOR = {"matchLabels": {"a": "b"}}


def template(**spec: Any) -> JsonObject:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers, **spec}}


OBJECTS: dict[str, tuple[str, str, JsonObject]] = {
    "deployments": ("workloads", f"{APPS}/deployments", {"selector": SELECTOR, "replicas": 3, "template": template()}),
    "replicasets": ("workloads", f"{APPS}/replicasets", {"selector": SELECTOR, "replicas": 3, "template": template()}),
    "statefulsets": ("workloads", f"{APPS}/statefulsets", {"selector": SELECTOR, "serviceName": "s", "replicas": 3, "template": template()}),
    "daemonsets": ("workloads", f"{APPS}/daemonsets", {"selector": SELECTOR, "template": template()}),
    "jobs": ("jobs", "/apis/batch/v1/namespaces/default/jobs", {"template": template(restartPolicy="Never")}),
    "services": ("loadbalancers", "/api/v1/namespaces/default/services", {"type": "LoadBalancer", "ports": [{"port": 80}]}),
}  # fmt: skip


async def settled(plane: Plane, target: str, spec: JsonObject, name: str = "x") -> JsonObject:
    """Create an object and see what has become of it."""
    await plane.client.create(target, {"metadata": {"name": name}, "spec": spec})
    await plane.settle()
    return await plane.client.get(f"{target}/{name}")


@pytest.mark.parametrize(("simulator", "target", "spec"), OBJECTS.values(), ids=OBJECTS.keys())
async def test_simulated_kind_comes_to_life_where_switched_on(
    simulator: str, target: str, spec: JsonObject, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(simulators=frozenset({simulator})) as plane:
        tree = await settled(plane, target, spec)
        revision = plane.store.revision
        await plane.client.merge(f"{target}/x", {"metadata": {"labels": {"touched": "true"}}})
        await plane.settle()
        assert (await plane.client.get(f"{target}/x"))["status"] == tree["status"]
        assert plane.store.revision == revision + 1
    assert any(tree["status"].values())
    assert not caplog.records


@pytest.mark.parametrize(("simulator", "target", "spec"), OBJECTS.values(), ids=OBJECTS.keys())
async def test_kind_is_left_alone_where_switched_off(simulator: str, target: str, spec: JsonObject) -> None:
    async with running(simulators=frozenset(SIMULATORS) - {simulator}) as plane:
        tree = await settled(plane, target, spec)
    assert "conditions" not in tree.get("status", {})
    assert not tree.get("status", {}).get("loadBalancer")
    assert "readyReplicas" not in tree.get("status", {})


async def test_rollout_is_observed_at_every_generation() -> None:
    target = OBJECTS["deployments"][1]
    async with running(simulators=frozenset({"workloads"})) as plane:
        await settled(plane, target, OBJECTS["deployments"][2])
        await plane.client.merge(f"{target}/x", {"spec": {"replicas": 5}})
        await plane.settle()
        status = (await plane.client.get(f"{target}/x"))["status"]
        assert (status["observedGeneration"], status["readyReplicas"]) == (2, 5)
        await plane.client.merge(f"{target}/x", {"spec": {"replicas": 0}})
        await plane.settle()
        status = (await plane.client.get(f"{target}/x"))["status"]
    assert (status["observedGeneration"], status.get("readyReplicas")) == (3, None)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="address-of-the-pool"),
        pytest.param({"clusterIP": "10.96.7.7"}, id="own-address"),
        pytest.param({"clusterIP": "fd00::7", "ipFamilies": ["IPv6"]}, id="ipv6"),
    ],
)
async def test_load_balancer_has_an_address_and_keeps_it(
    spec: JsonObject, caplog: pytest.LogCaptureFixture
) -> None:
    target = OBJECTS["services"][1]
    async with running(simulators=frozenset({"loadbalancers"})) as plane:
        service = await settled(plane, target, {**OBJECTS["services"][2], **spec})
        (ingress,) = service["status"]["loadBalancer"]["ingress"]
        assert not ip_address(ingress["ip"]).is_global
        await plane.client.merge(f"{target}/x", {"spec": {"ports": [{"port": 81}]}})
        await plane.settle()
        after = await plane.client.get(f"{target}/x")
    assert after["status"]["loadBalancer"]["ingress"] == [ingress]
    assert not caplog.records


def tree(**spec: Any) -> JsonObject:
    return {"metadata": {"name": "x", "generation": 4}, "spec": spec}


def test_statuses_observe_the_generation() -> None:
    for status_of in (deployment_status, replica_set_status, stateful_set_status, daemon_set_status):
        assert status_of(tree(replicas=2), NOW)["observedGeneration"] == 4


@pytest.mark.parametrize("status_of", [deployment_status, replica_set_status, stateful_set_status])
def test_workload_without_replicas_has_none_ready(status_of: Any) -> None:
    assert "readyReplicas" not in status_of(tree(replicas=0), NOW)
    assert status_of(tree(replicas=2), NOW)["readyReplicas"] == 2


def test_deployment_conditions_keep_their_times() -> None:
    first = deployment_status(tree(replicas=1), NOW)
    later = deployment_status({**tree(replicas=1), "status": first}, "2031-01-01T00:00:00Z")
    assert later == first


def test_job_completes_unless_it_is_suspended() -> None:
    assert job_status(tree(suspend=True), NOW) is None
    status = job_status(tree(completions=3), NOW)
    assert status is not None
    assert status["succeeded"] == 3
    assert [one["type"] for one in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert job_status({**tree(completions=3), "status": status}, "2031-01-01T00:00:00Z") == status


@pytest.mark.parametrize("kind", ["ClusterIP", "NodePort", "ExternalName"])
def test_other_services_have_no_balancer(kind: str) -> None:
    assert service_status(tree(type=kind), NOW) is None
