"""What the server adds to new objects and keeps from old ones."""

from __future__ import annotations

from copy import deepcopy
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.kinds import builtin_resources
from kubesim.plane.kinds.prepare.pod import quality_of_service

RESOURCES = {one.kind: one for one in builtin_resources() if one.group != "events.k8s.io"}


def create(kind: str, name: str = "x", **fields: Any) -> JsonObject:
    resource = RESOURCES[kind]
    tree: JsonObject = {
        "apiVersion": resource.api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "d",
            "uid": "u-1",
            "creationTimestamp": "2024-01-01T00:00:00Z",
        },
        **deepcopy(fields),
    }
    resource.schema.default(tree)
    resource.strategy.default(tree)
    tree.pop("status", None)
    resource.strategy.prepare_create(tree)
    return tree


def update(old: JsonObject, **changes: Any) -> JsonObject:
    """Replace an object with what a client sends that knows nothing of what the server filled in."""
    resource = RESOURCES[old["kind"]]
    new: JsonObject = {
        "apiVersion": old["apiVersion"],
        "kind": old["kind"],
        "metadata": deepcopy(old["metadata"]),
    }
    new |= deepcopy(changes)
    resource.schema.default(new)
    resource.strategy.default(new)
    if "status" in old:
        new["status"] = deepcopy(old["status"])
    resource.strategy.prepare_update(new, old)
    return new


SPEC: JsonObject = {"selector": {"a": "b"}, "ports": [{"port": 80}]}


def test_service_gets_an_address_of_the_service_network() -> None:
    address = create("Service", spec=SPEC)["spec"]["clusterIP"]
    assert ip_address(address) in ip_network("10.96.0.0/12")


def test_service_gets_the_same_address_each_time() -> None:
    assert create("Service", spec=SPEC) == create("Service", spec=SPEC)


def test_services_of_other_names_get_other_addresses() -> None:
    addresses = {create("Service", f"s{number}", spec=SPEC)["spec"]["clusterIP"] for number in range(200)}
    assert len(addresses) > 195


@given(st.lists(st.integers(min_value=1, max_value=65_535), min_size=1, max_size=20, unique=True))
def test_node_ports_are_distinct_and_of_their_range(ports: list[int]) -> None:
    spec = {"type": "NodePort", "ports": [{"name": f"p{port}", "port": port} for port in ports]}
    allocated = [port["nodePort"] for port in create("Service", spec=spec)["spec"]["ports"]]
    assert len(set(allocated)) == len(ports)
    assert all(30_000 <= port <= 32_767 for port in allocated)


def test_node_port_that_was_asked_for_is_kept() -> None:
    spec = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 31_000}]}
    assert create("Service", spec=spec)["spec"]["ports"][0]["nodePort"] == 31_000


def test_replaced_service_keeps_what_was_allocated() -> None:
    spec = {**SPEC, "type": "NodePort"}
    old = create("Service", spec=spec)
    assert update(old, spec=spec)["spec"] == old["spec"]


def test_service_that_becomes_external_gives_its_address_back() -> None:
    old = create("Service", spec=SPEC)
    spec = update(old, spec={"type": "ExternalName", "externalName": "example.com"})["spec"]
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & spec.keys()


def test_service_that_stops_being_external_gets_an_address() -> None:
    old = create("Service", spec={"type": "ExternalName", "externalName": "example.com"})
    assert update(old, spec=SPEC)["spec"]["clusterIP"]


def test_service_that_becomes_internal_loses_its_node_ports_and_balancer() -> None:
    old = create("Service", spec={**SPEC, "type": "LoadBalancer"})
    old["status"] = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}
    changed = deepcopy(old["spec"]) | {"type": "ClusterIP"}
    new = update(old, spec=changed)
    assert new["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert not {"allocateLoadBalancerNodePorts", "externalTrafficPolicy"} & new["spec"].keys()
    assert new["status"] == {"loadBalancer": {}}


def test_balancer_keeps_its_status_when_the_service_is_replaced() -> None:
    old = create("Service", spec={**SPEC, "type": "LoadBalancer"})
    old["status"] = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}
    assert update(old, spec={**SPEC, "type": "LoadBalancer"})["status"] == old["status"]


def test_local_traffic_needs_a_health_port_and_keeps_it() -> None:
    spec = {**SPEC, "type": "LoadBalancer", "externalTrafficPolicy": "Local"}
    old = create("Service", spec=spec)
    assert old["spec"]["healthCheckNodePort"] >= 30_000
    assert update(old, spec=spec)["spec"]["healthCheckNodePort"] == old["spec"]["healthCheckNodePort"]


def test_namespace_holds_itself_back_and_bears_its_name() -> None:
    tree = create("Namespace", "team")
    assert tree["spec"] == {"finalizers": ["kubernetes"]}
    assert tree["status"] == {"phase": "Active"}
    assert tree["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}


def test_namespace_keeps_its_finalizers_whatever_an_update_says() -> None:
    old = create("Namespace", "team")
    assert update(old, spec={"finalizers": ["mine"]})["spec"]["finalizers"] == ["kubernetes"]
    old["spec"] = {}
    assert update(old, spec={"finalizers": ["mine"]})["spec"] == {}


def test_plain_text_of_a_secret_is_stored_encoded() -> None:
    tree = create("Secret", stringData={"a": "text", "b": "ü"}, data={"a": "b3RoZXI=", "c": "eA=="})
    assert tree["data"] == {"a": "dGV4dA==", "b": "w7w=", "c": "eA=="}
    assert "stringData" not in tree


def test_job_selects_the_pods_that_carry_its_uid() -> None:
    tree = create("Job", spec={"template": {"spec": {"restartPolicy": "Never"}}})
    assert tree["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}}
    labels = tree["spec"]["template"]["metadata"]["labels"]
    assert labels == {
        "job-name": "x",
        "batch.kubernetes.io/job-name": "x",
        "controller-uid": "u-1",
        "batch.kubernetes.io/controller-uid": "u-1",
    }


def test_job_with_a_selector_of_its_own_is_left_alone() -> None:
    spec = {
        "manualSelector": True,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}},
    }
    tree = create("Job", spec=spec)
    assert tree["spec"]["selector"] == {"matchLabels": {"a": "b"}}
    assert tree["spec"]["template"]["metadata"]["labels"] == {"a": "b"}


def test_labels_of_job_and_pods_are_separate_objects() -> None:
    tree = create("Job", spec={"template": {"metadata": {"labels": {"a": "b"}}}})
    assert tree["metadata"]["labels"] == tree["spec"]["template"]["metadata"]["labels"]
    assert tree["metadata"]["labels"] is not tree["spec"]["template"]["metadata"]["labels"]


def test_daemon_set_counts_the_generations_of_its_template() -> None:
    annotation = "deprecated.daemonset.template.generation"
    old = create("DaemonSet", spec={"template": {"metadata": {"labels": {"a": "b"}}}})
    same = update(old, spec={"template": {"metadata": {"labels": {"a": "b"}}}})
    other = update(old, spec={"template": {"metadata": {"labels": {"a": "c"}}}})
    counted = [tree["metadata"]["annotations"][annotation] for tree in (old, same, other)]
    assert counted == ["1", "1", "2"]


def test_claim_names_its_source_in_both_fields() -> None:
    source = {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "a"}
    assert create("PersistentVolumeClaim", spec={"dataSource": source})["spec"]["dataSourceRef"] == source
    assert create("PersistentVolumeClaim", spec={"dataSourceRef": source})["spec"]["dataSource"] == source


def test_service_account_refers_to_secrets_by_name_only() -> None:
    tree = create("ServiceAccount", secrets=[{"name": "a", "namespace": "b"}])
    assert tree["secrets"] == [{"name": "a"}]


def test_custom_resource_definition_notes_the_version_it_stores() -> None:
    versions = [
        {"name": "v1", "served": True, "storage": False},
        {"name": "v2", "served": True, "storage": True},
    ]
    assert create("CustomResourceDefinition", spec={"versions": versions})["status"]["storedVersions"] == [
        "v2"
    ]


def pod_with(*resources: JsonObject) -> JsonObject:
    return {"spec": {"containers": [{"resources": one} for one in resources]}}


FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("pod", "quality"),
    [
        pytest.param(pod_with({}), "BestEffort", id="nothing said"),
        pytest.param(pod_with({"requests": {"cpu": "0"}}), "BestEffort", id="nothing asked"),
        pytest.param(pod_with({"requests": {"example.com/gpu": "1"}}), "BestEffort", id="no compute asked"),
        pytest.param(pod_with({"requests": {"cpu": "1"}}), "Burstable", id="request only"),
        pytest.param(pod_with({"requests": FULL, "limits": FULL}), "Guaranteed", id="all fixed"),
        pytest.param(
            pod_with({"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": FULL}),
            "Guaranteed",
            id="same amounts",
        ),
        pytest.param(
            pod_with({"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": FULL}),
            "Burstable",
            id="less asked",
        ),
        pytest.param(
            pod_with({"requests": FULL, "limits": FULL}, {}), "Burstable", id="one container is free"
        ),
    ],
)
def test_quality_of_service_follows_requests_and_limits(pod: JsonObject, quality: str) -> None:
    assert quality_of_service(pod) == quality


def test_pod_with_a_toleration_of_its_own_gets_no_other() -> None:
    spec = {"containers": [], "tolerations": [{"operator": "Exists"}]}
    assert create("Pod", spec=spec)["spec"]["tolerations"] == [{"operator": "Exists"}]


def test_gated_pod_says_why_it_waits() -> None:
    status = create("Pod", spec={"containers": [], "schedulingGates": [{"name": "g"}]})["status"]
    assert status["conditions"][0]["reason"] == "SchedulingGated"
    assert status["conditions"][0]["lastTransitionTime"] == "2024-01-01T00:00:00Z"


@pytest.mark.parametrize("kind", sorted(kind for kind, one in RESOURCES.items() if one.status))
def test_new_objects_do_not_share_their_status(kind: str) -> None:
    one, two = create(kind), create(kind)
    one["status"]["touched"] = True
    assert "touched" not in two["status"]
