"""Built-in kinds: what cannot change any more, and what changes along."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import MERGE_PATCH, STRATEGIC_PATCH, Client
from tests.conformance.kinds import (
    CLAIMS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVENTS,
    JOBS,
    LEASES,
    NEW_EVENTS,
    PODS,
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

FROZEN = "Forbidden: field is immutable when `immutable` is set"
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
ONCE = {"spec": {**pod_template()["spec"], "restartPolicy": "Never"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
STATEFUL = {"selector": {"matchLabels": {"app": "web"}}, "template": pod_template(), "serviceName": "web"}


@pytest.mark.parametrize(
    ("kind", "body", "patch", "problem"),
    [
        (
            DEPLOYMENTS,
            deployment("one"),
            {
                "spec": {
                    "selector": {"matchLabels": {"x": "y"}},
                    "template": {"metadata": {"labels": {"x": "y"}}},
                }
            },
            'spec.selector: Invalid value: {"matchLabels":{"app":"web","x":"y"}}: field is immutable',
        ),
        (
            CONFIG_MAPS,
            CONFIG_MAPS.new("one", immutable=True, data={"a": "b"}),
            {"data": {"a": "c"}},
            f"data: {FROZEN}",
        ),
        (CONFIG_MAPS, CONFIG_MAPS.new("one", immutable=True), {"immutable": False}, f"immutable: {FROZEN}"),
        (
            SECRETS,
            SECRETS.new("one", immutable=True, stringData={"a": "b"}),
            {"stringData": {"a": "c"}},
            f"data: {FROZEN}",
        ),
        (
            SECRETS,
            SECRETS.new("one"),
            {"type": "other"},
            'type: Invalid value: "other": field is immutable',
        ),
        (
            SERVICES,
            service("one"),
            {"spec": {"clusterIP": "None"}},
            'spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set',
        ),
        (
            PODS,
            pod("one"),
            {"spec": {"containers": [{"name": "main", "command": ["x"]}]}},
            "spec: Forbidden: pod updates may not change fields other than",
        ),
        (
            JOBS,
            JOBS.new("one", spec={"template": ONCE}),
            {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "other"}]}}}},
            "spec.template: Invalid value: {",
        ),
        (
            STATEFUL_SETS,
            STATEFUL_SETS.new("one", spec=STATEFUL),
            {"spec": {"serviceName": "other"}},
            "spec: Forbidden: updates to statefulset spec for fields other than 'replicas'",
        ),
        (
            ROLE_BINDINGS,
            ROLE_BINDINGS.new("one", roleRef=ROLE),
            {"roleRef": {"name": "writer"}},
            "roleRef: Invalid value: {",
        ),
        (
            CLAIMS,
            CLAIMS.new("one", spec=CLAIM),
            {"spec": {"accessModes": ["ReadWriteMany"]}},
            "spec: Forbidden: spec is immutable after creation except resources.requests",
        ),
    ],
    ids=[
        "deployment-selector",
        "config-map-data",
        "config-map-flag",
        "secret-data",
        "secret-type",
        "service-address",
        "pod-command",
        "job-template",
        "stateful-set-service",
        "binding-role",
        "claim-mode",
    ],
)
async def test_field_is_immutable(
    api: Client, namespace: str, kind: Kind, body: JsonObject, patch: JsonObject, problem: str
) -> None:
    (await api.create(kind.path(namespace), body)).expect(201)
    answer = await api.patch(kind.path(namespace, "one"), patch, content_type=STRATEGIC_PATCH)
    (cause,) = answer.refuse(422, "Invalid")["details"]["causes"]
    assert f"{cause['field']}: {cause['message']}".startswith(problem)


async def test_immutable_objects_keep_mutable_metadata(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new("one", immutable=True, data={"a": "b"})
    await api.create(CONFIG_MAPS.path(namespace), body)
    patch = {"metadata": {"labels": {"a": "b"}}}
    assert (await api.patch(CONFIG_MAPS.path(namespace, "one"), patch)).expect(200)["metadata"]["labels"] == {
        "a": "b"
    }


async def test_pod_image_can_change(api: Client, namespace: str) -> None:
    await api.create(PODS.path(namespace), pod())
    patch = {"spec": {"containers": [{"name": "main", "image": "example/web:2"}]}}
    answer = await api.patch(PODS.path(namespace, "web"), patch, content_type=STRATEGIC_PATCH)
    assert answer.expect(200)["spec"]["containers"][0]["image"] == "example/web:2"


async def test_service_keeps_its_address_when_replaced_without(api: Client, namespace: str) -> None:
    before = (await api.create(SERVICES.path(namespace), service())).expect(201)
    after = (await api.put(SERVICES.path(namespace, "web"), service(ports=[{"port": 81}]))).expect(200)
    assert after["spec"]["clusterIP"] == before["spec"]["clusterIP"]
    assert after["spec"]["ports"][0]["port"] == 81


async def test_service_gains_and_loses_node_ports_with_its_type(api: Client, namespace: str) -> None:
    await api.create(SERVICES.path(namespace), service())
    path = SERVICES.path(namespace, "web")
    opened = (await api.patch(path, {"spec": {"type": "NodePort"}})).expect(200)["spec"]
    assert 30000 <= opened["ports"][0]["nodePort"] <= 32767
    closed = (await api.patch(path, {"spec": {"type": "ClusterIP"}})).expect(200)["spec"]
    assert "nodePort" not in closed["ports"][0]
    assert closed["clusterIP"] == opened["clusterIP"]


async def test_service_loses_its_address_as_external_name(api: Client, namespace: str) -> None:
    await api.create(SERVICES.path(namespace), service())
    patch = {
        "spec": {"type": "ExternalName", "externalName": "web.example", "clusterIP": None, "clusterIPs": None}
    }
    spec = (await api.patch(SERVICES.path(namespace, "web"), patch)).expect(200)["spec"]
    assert spec == {
        "type": "ExternalName",
        "externalName": "web.example",
        "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}],
        "selector": {"app": "web"},
        "sessionAffinity": "None",
    }


async def test_secret_strings_merge_into_its_data(api: Client, namespace: str) -> None:
    await api.create(SECRETS.path(namespace), SECRETS.new("one", stringData={"a": "A"}))
    patched = await api.patch(
        SECRETS.path(namespace, "one"), {"stringData": {"b": "B"}}, content_type=MERGE_PATCH
    )
    assert patched.expect(200)["data"] == {"a": "QQ==", "b": "Qg=="}


async def test_lease_is_renewed_under_a_lock(api: Client, namespace: str) -> None:
    spec = {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2020-01-02T03:04:05.000000Z"}
    first = (await api.create(LEASES.path(namespace), LEASES.new("leader", spec=spec))).expect(201)
    path = LEASES.path(namespace, "leader")
    (await api.put(path, {**first, "spec": {**spec, "holderIdentity": "b"}})).expect(200)
    (await api.put(path, {**first, "spec": {**spec, "holderIdentity": "c"}})).refuse(409, "Conflict")
    assert (await api.get(path)).expect(200)["spec"]["holderIdentity"] == "b"


async def test_event_is_one_object_in_both_groups(api: Client, namespace: str) -> None:
    about = {"kind": "ConfigMap", "name": "one", "namespace": namespace}
    body = NEW_EVENTS.new(
        "happened",
        regarding=about,
        reason="Tested",
        note="it was tested",
        type="Normal",
        action="Testing",
        eventTime="2020-01-02T03:04:05.000006Z",
        reportingController="conformance.example/suite",
        reportingInstance="suite-1",
    )
    created = (await api.create(NEW_EVENTS.path(namespace), body)).expect(201)
    old = (await api.get(EVENTS.path(namespace, "happened"))).expect(200)
    assert old["metadata"]["uid"] == created["metadata"]["uid"]
    assert (old["apiVersion"], old["involvedObject"], old["message"]) == ("v1", about, "it was tested")
    assert (old["reportingComponent"], old["reportingInstance"]) == ("conformance.example/suite", "suite-1")
    assert "regarding" not in old
    await api.delete(EVENTS.path(namespace, "happened"))
    (await api.get(NEW_EVENTS.path(namespace, "happened"))).refuse(
        404, "NotFound", 'events.events.k8s.io "happened" not found'
    )


async def test_old_event_is_readable_in_the_new_group(api: Client, namespace: str) -> None:
    about = {"kind": "ConfigMap", "name": "one", "namespace": namespace}
    body = EVENTS.new(
        "happened",
        involvedObject=about,
        reason="Tested",
        message="it was tested",
        type="Warning",
        source={"component": "suite"},
        firstTimestamp="2020-01-02T03:04:05Z",
        lastTimestamp="2020-01-02T03:04:06Z",
        count=2,
    )
    (await api.create(EVENTS.path(namespace), body)).expect(201)
    new = (await api.get(NEW_EVENTS.path(namespace, "happened"))).expect(200)
    assert (new["regarding"], new["note"], new["deprecatedCount"]) == (about, "it was tested", 2)
    assert new["deprecatedSource"] == {"component": "suite"}
    assert new["deprecatedFirstTimestamp"] == "2020-01-02T03:04:05Z"


async def test_event_can_be_selected_by_what_it_is_about(api: Client, namespace: str) -> None:
    for name in ("a", "b"):
        about = {"kind": "ConfigMap", "name": name, "namespace": namespace}
        await api.create(
            EVENTS.path(namespace), EVENTS.new(f"about-{name}", involvedObject=about, type="Normal")
        )
    selector = "involvedObject.kind=ConfigMap,involvedObject.name=b"
    items = (await api.get(EVENTS.path(namespace), fieldSelector=selector)).expect(200)["items"]
    assert [item["metadata"]["name"] for item in items] == ["about-b"]
