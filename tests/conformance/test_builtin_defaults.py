"""Built-in kinds: what the server fills in and how it writes values."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.kinds import (
    AUTOSCALERS,
    CLAIMS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    DISRUPTION_BUDGETS,
    ENDPOINT_SLICES,
    JOBS,
    LEASES,
    NETWORK_POLICIES,
    PODS,
    QUOTAS,
    REPLICA_SETS,
    ROLE_BINDINGS,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    Kind,
    deployment,
    pod,
    pod_template,
    service,
)

SELECTOR = {"matchLabels": {"app": "web"}}
CONTAINER: JsonObject = {
    "name": "main",
    "image": "example/web:1",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
}
POD: JsonObject = {
    "containers": [CONTAINER],
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
TEMPLATE: JsonObject = {"metadata": {"labels": {"app": "web"}}, "spec": POD}
ONCE: JsonObject = {"spec": {"restartPolicy": "Never", "containers": pod_template()["spec"]["containers"]}}
RUN_ONCE: JsonObject = {"metadata": {}, "spec": {**POD, "restartPolicy": "Never"}}


@pytest.mark.parametrize(
    ("kind", "body", "spec"),
    [
        (
            DEPLOYMENTS,
            deployment(),
            {
                "replicas": 1,
                "selector": SELECTOR,
                "template": TEMPLATE,
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
                },
                "revisionHistoryLimit": 10,
                "progressDeadlineSeconds": 600,
            },
        ),
        (
            REPLICA_SETS,
            REPLICA_SETS.new("one", spec={"selector": SELECTOR, "template": pod_template()}),
            {"replicas": 1, "selector": SELECTOR, "template": TEMPLATE},
        ),
        (
            STATEFUL_SETS,
            STATEFUL_SETS.new(
                "one", spec={"selector": SELECTOR, "template": pod_template(), "serviceName": "web"}
            ),
            {
                "replicas": 1,
                "selector": SELECTOR,
                "template": TEMPLATE,
                "serviceName": "web",
                "podManagementPolicy": "OrderedReady",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "revisionHistoryLimit": 10,
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            },
        ),
        (
            DAEMON_SETS,
            DAEMON_SETS.new("one", spec={"selector": SELECTOR, "template": pod_template()}),
            {
                "selector": SELECTOR,
                "template": TEMPLATE,
                "updateStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
                },
                "revisionHistoryLimit": 10,
            },
        ),
        (
            CRON_JOBS,
            CRON_JOBS.new("one", spec={"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": ONCE}}}),
            {
                "schedule": "0 * * * *",
                "concurrencyPolicy": "Allow",
                "suspend": False,
                "jobTemplate": {"metadata": {}, "spec": {"template": RUN_ONCE}},
                "successfulJobsHistoryLimit": 3,
                "failedJobsHistoryLimit": 1,
            },
        ),
        (
            NETWORK_POLICIES,
            NETWORK_POLICIES.new("one", spec={"podSelector": {}, "egress": [{}]}),
            {"podSelector": {}, "egress": [{}], "policyTypes": ["Ingress", "Egress"]},
        ),
        (
            AUTOSCALERS,
            AUTOSCALERS.new(
                "one",
                spec={
                    "maxReplicas": 3,
                    "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
                },
            ),
            {
                "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
                "minReplicas": 1,
                "maxReplicas": 3,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {
                            "name": "cpu",
                            "target": {"type": "Utilization", "averageUtilization": 80},
                        },
                    }
                ],
            },
        ),
        (
            CLAIMS,
            CLAIMS.new(
                "one",
                spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}},
            ),
            {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "volumeMode": "Filesystem",
            },
        ),
        (
            QUOTAS,
            QUOTAS.new("one", spec={"hard": {"pods": 3, "cpu": "1500m", "memory": "1.5Gi"}}),
            {"hard": {"pods": "3", "cpu": "1500m", "memory": "1536Mi"}},
        ),
        (
            DISRUPTION_BUDGETS,
            DISRUPTION_BUDGETS.new("one", spec={"minAvailable": "50%", "selector": {}}),
            {"minAvailable": "50%", "selector": {}},
        ),
        (LEASES, LEASES.new("one"), {}),
        (
            SERVICES,
            SERVICES.new("one", spec={"type": "ExternalName", "externalName": "web.example"}),
            {"type": "ExternalName", "externalName": "web.example", "sessionAffinity": "None"},
        ),
    ],
    ids=lambda value: value.plural if isinstance(value, Kind) else "",
)
async def test_spec_is_completed(
    api: Client, namespace: str, kind: Kind, body: JsonObject, spec: JsonObject
) -> None:
    created = (await api.create(kind.path(namespace), body)).expect(201)
    assert created["spec"] == spec


async def test_job_selects_its_own_pods(api: Client, namespace: str) -> None:
    created = (await api.create(JOBS.path(namespace), JOBS.new("one", spec={"template": ONCE}))).expect(201)
    uid, spec = created["metadata"]["uid"], created["spec"]
    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert spec["template"]["metadata"]["labels"] == {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "one",
        "controller-uid": uid,
        "job-name": "one",
    }
    completed = {key: value for key, value in spec.items() if key not in {"selector", "template"}}
    assert completed == {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "manualSelector": False,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }


async def test_pod_is_pending_with_its_defaults(api: Client, namespace: str) -> None:
    created = (await api.create(PODS.path(namespace), pod())).expect(201)
    assert {key: created["spec"][key] for key in POD} == POD
    assert created["spec"]["enableServiceLinks"] is True
    assert created["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


async def test_limits_imply_requests_in_canonical_quantities(api: Client, namespace: str) -> None:
    resources = {"limits": {"cpu": "0.5", "memory": "1.5Gi"}}
    body = pod(spec={"containers": [{"name": "main", "image": "web", "resources": resources}]})
    created = (await api.create(PODS.path(namespace), body)).expect(201)
    (container,) = created["spec"]["containers"]
    assert container["resources"] == {
        "limits": {"cpu": "500m", "memory": "1536Mi"},
        "requests": {"cpu": "500m", "memory": "1536Mi"},
    }
    # An image without a tag means the latest one, which is pulled every time.
    assert container["imagePullPolicy"] == "Always"
    assert created["status"]["qosClass"] == "Guaranteed"


async def test_service_gets_an_address_of_its_own(api: Client, namespace: str) -> None:
    addresses = set()
    for name in ("a", "b"):
        spec = (await api.create(SERVICES.path(namespace), service(name))).expect(201)["spec"]
        assert ipaddress.ip_address(spec["clusterIP"]).is_private
        assert spec["clusterIPs"] == [spec["clusterIP"]]
        addresses.add(spec["clusterIP"])
        completed = {key: value for key, value in spec.items() if key not in {"clusterIP", "clusterIPs"}}
        assert completed == {
            "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}],
            "selector": {"app": "web"},
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        }
    assert len(addresses) == 2


async def test_headless_service_has_no_address(api: Client, namespace: str) -> None:
    spec = (await api.create(SERVICES.path(namespace), service(clusterIP="None"))).expect(201)["spec"]
    assert (spec["clusterIP"], spec["clusterIPs"]) == ("None", ["None"])


@pytest.mark.parametrize(
    ("kind", "extra"),
    [
        ("NodePort", {"externalTrafficPolicy": "Cluster"}),
        ("LoadBalancer", {"externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": True}),
    ],
)
async def test_service_that_is_reachable_from_outside_gets_node_ports(
    api: Client, namespace: str, kind: str, extra: JsonObject
) -> None:
    created = (await api.create(SERVICES.path(namespace), service(type=kind))).expect(201)
    spec = created["spec"]
    assert 30000 <= spec["ports"][0]["nodePort"] <= 32767
    assert {key: spec.get(key) for key in extra} == extra
    assert created["status"] == {"loadBalancer": {}}


async def test_taken_address_is_refused(api: Client, namespace: str) -> None:
    taken = (await api.create(SERVICES.path(namespace), service("a"))).expect(201)["spec"]["clusterIP"]
    status = (await api.create(SERVICES.path(namespace), service("b", clusterIP=taken))).refuse(
        422, "Invalid"
    )
    assert status["message"] == (
        f'Service "b" is invalid: spec.clusterIPs: Invalid value: ["{taken}"]: failed to allocate IP {taken}: '
        "provided IP is already allocated"
    )


async def test_secret_takes_plain_strings(api: Client, namespace: str) -> None:
    body = SECRETS.new("one", stringData={"a": "new", "b": "B"}, data={"a": "b2xk", "c": "Qw=="})
    created = (await api.create(SECRETS.path(namespace), body)).expect(201)
    assert "stringData" not in created
    assert created["data"] == {"a": "bmV3", "b": "Qg==", "c": "Qw=="}
    assert created["type"] == "Opaque"


async def test_subjects_get_their_group(api: Client, namespace: str) -> None:
    subjects: list[Any] = [
        {"kind": "User", "name": "bob"},
        {"kind": "ServiceAccount", "name": "robot", "namespace": namespace},
    ]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    body = ROLE_BINDINGS.new("one", roleRef=role, subjects=subjects)
    created = (await api.create(ROLE_BINDINGS.path(namespace), body)).expect(201)
    assert created["subjects"] == [
        {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bob"},
        {"kind": "ServiceAccount", "name": "robot", "namespace": namespace},
    ]


async def test_endpoint_slice_ports_are_completed(api: Client, namespace: str) -> None:
    body = ENDPOINT_SLICES.new(
        "one", addressType="IPv4", endpoints=[{"addresses": ["10.0.0.1"]}], ports=[{"port": 80}]
    )
    created = (await api.create(ENDPOINT_SLICES.path(namespace), body)).expect(201)
    assert created["ports"] == [{"name": "", "protocol": "TCP", "port": 80}]
    assert created["endpoints"] == [{"addresses": ["10.0.0.1"], "conditions": {}}]


async def test_lease_keeps_microseconds(api: Client, namespace: str) -> None:
    spec = {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2020-01-02T03:04:05.000006Z",
        "renewTime": "2020-01-02T03:04:05.120000Z",
    }
    body = LEASES.new("leader", spec=spec)
    assert (await api.create(LEASES.path(namespace), body)).expect(201)["spec"] == spec
