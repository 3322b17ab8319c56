"""Status and scale: two views of an object that leave the rest of it alone."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.definitions import define, version
from tests.conformance.kinds import CONFIG_MAPS, DEPLOYMENTS, Kind, config_map, deployment

SCALES = Kind("autoscaling", "v1", "scales", "Scale")
SCALED: JsonObject = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"count": {"type": "integer"}}},
        "status": {
            "type": "object",
            "properties": {"count": {"type": "integer"}, "selector": {"type": "string"}},
        },
    },
}


async def with_status(api: Client) -> Kind:
    return await define(api, version(subresources={"status": {}}))


async def with_scale(api: Client) -> Kind:
    scale = {
        "specReplicasPath": ".spec.count",
        "statusReplicasPath": ".status.count",
        "labelSelectorPath": ".status.selector",
    }
    return await define(api, version(schema=SCALED, subresources={"status": {}, "scale": scale}))


async def test_status_update_leaves_the_rest_alone(api: Client, namespace: str) -> None:
    kind = await with_status(api)
    created = (await api.create(kind.path(namespace), kind.new("one", spec={"size": 1}))).expect(201)
    body = {**created, "spec": {"size": 99}, "status": {"ready": True}}
    body["metadata"] = {**created["metadata"], "labels": {"new": "label"}}
    updated = (await api.put(kind.path(namespace, "one", "status"), body)).expect(200)
    assert (updated["spec"], updated["status"]) == ({"size": 1}, {"ready": True})
    assert "labels" not in updated["metadata"]


async def test_object_update_leaves_the_status_alone(api: Client, namespace: str) -> None:
    kind = await with_status(api)
    await api.create(kind.path(namespace), kind.new("one", spec={"size": 1}))
    path = kind.path(namespace, "one")
    reported = (await api.patch(f"{path}/status", {"status": {"ready": True}})).expect(200)
    updated = (await api.put(path, {**reported, "spec": {"size": 2}, "status": {"ready": False}})).expect(200)
    assert (updated["spec"], updated["status"]) == ({"size": 2}, {"ready": True})


async def test_status_can_be_read_as_the_whole_object(api: Client, namespace: str) -> None:
    kind = await with_status(api)
    created = (await api.create(kind.path(namespace), kind.new("one", spec={"size": 1}))).expect(201)
    assert (await api.get(kind.path(namespace, "one", "status"))).expect(200) == created


async def test_status_of_a_built_in_kind(api: Client, namespace: str) -> None:
    await api.create(DEPLOYMENTS.path(namespace), deployment(replicas=2))
    path = DEPLOYMENTS.path(namespace, "web", "status")
    patch = {"spec": {"replicas": 9}, "status": {"replicas": 2, "readyReplicas": 1, "observedGeneration": 1}}
    updated = (await api.patch(path, patch)).expect(200)
    assert updated["spec"]["replicas"] == 2
    assert updated["status"]["readyReplicas"] == 1
    assert updated["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("status", "problems"),
    [
        (
            {"replicas": 1, "availableReplicas": 1},
            ["availableReplicas: Invalid value: 1: cannot be greater than readyReplicas"],
        ),
        (
            {"replicas": 1, "readyReplicas": 2},
            ["readyReplicas: Invalid value: 2: cannot be greater than status.replicas"],
        ),
        (
            {"updatedReplicas": 1, "availableReplicas": 1},
            [
                "updatedReplicas: Invalid value: 1: cannot be greater than status.replicas",
                "availableReplicas: Invalid value: 1: cannot be greater than status.replicas",
                "availableReplicas: Invalid value: 1: cannot be greater than readyReplicas",
            ],
        ),
        ({"replicas": -1}, ["replicas: Invalid value: -1: must be greater than or equal to 0"]),
    ],
)
async def test_counts_in_the_status_of_a_deployment_go_together(
    api: Client, namespace: str, status: JsonObject, problems: list[str]
) -> None:
    await api.create(DEPLOYMENTS.path(namespace), deployment())
    answer = await api.patch(DEPLOYMENTS.path(namespace, "web", "status"), {"status": status})
    message = answer.refuse(422, "Invalid")["message"]
    for problem in problems:
        assert f"status.{problem}" in message


async def test_status_is_locked_optimistically_too(api: Client, namespace: str) -> None:
    kind = await with_status(api)
    created = (await api.create(kind.path(namespace), kind.new("one"))).expect(201)
    path = kind.path(namespace, "one", "status")
    (await api.put(path, {**created, "status": {"ready": True}})).expect(200)
    (await api.put(path, {**created, "status": {"ready": False}})).refuse(409, "Conflict")


async def test_status_is_validated(api: Client, namespace: str) -> None:
    kind = await with_status(api)
    await api.create(kind.path(namespace), kind.new("one"))
    answer = await api.patch(kind.path(namespace, "one", "status"), {"status": {"ready": "yes"}})
    status = answer.refuse(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "status.ready"


async def test_kind_without_status_has_no_such_path(api: Client, namespace: str) -> None:
    kind = await define(api)
    await api.create(kind.path(namespace), kind.new("one"))
    assert (await api.get(kind.path(namespace, "one", "status"))).status == 404
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    assert (await api.get(CONFIG_MAPS.path(namespace, "one", "status"))).status == 404


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_status_can_be_neither_created_nor_deleted(api: Client, namespace: str, method: str) -> None:
    await api.create(DEPLOYMENTS.path(namespace), deployment())
    answer = await api.request(method, DEPLOYMENTS.path(namespace, "web", "status"), {})
    answer.refuse(405, "MethodNotAllowed")


async def test_scale_shows_replicas_and_selector(api: Client, namespace: str) -> None:
    created = (await api.create(DEPLOYMENTS.path(namespace), deployment(replicas=3))).expect(201)
    scale = (await api.get(DEPLOYMENTS.path(namespace, "web", "scale"))).expect(200)
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 0, "selector": "app=web"}
    for shared in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp"):
        assert scale["metadata"][shared] == created["metadata"][shared]


async def test_scale_changes_the_replicas(api: Client, namespace: str) -> None:
    await api.create(DEPLOYMENTS.path(namespace), deployment(replicas=3))
    path = DEPLOYMENTS.path(namespace, "web")
    patched = (await api.patch(f"{path}/scale", {"spec": {"replicas": 5}})).expect(200)
    assert (patched["kind"], patched["spec"]) == ("Scale", {"replicas": 5})
    scaled = (await api.get(path)).expect(200)
    assert (scaled["spec"]["replicas"], scaled["metadata"]["generation"]) == (5, 2)


async def test_scale_can_be_replaced_with_a_lock(api: Client, namespace: str) -> None:
    await api.create(DEPLOYMENTS.path(namespace), deployment(replicas=3))
    path = DEPLOYMENTS.path(namespace, "web", "scale")
    scale = (await api.get(path)).expect(200)
    assert (await api.put(path, {**scale, "spec": {"replicas": 4}})).expect(200)["spec"] == {"replicas": 4}
    (await api.put(path, {**scale, "spec": {"replicas": 5}})).refuse(409, "Conflict")


async def test_negative_scale_is_refused(api: Client, namespace: str) -> None:
    await api.create(DEPLOYMENTS.path(namespace), deployment())
    answer = await api.patch(DEPLOYMENTS.path(namespace, "web", "scale"), {"spec": {"replicas": -1}})
    status = answer.refuse(422, "Invalid")
    assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in status["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            SCALES.new("other", spec={"replicas": 2}),
            "the name of the object (other) does not match the name on the URL (web)",
        ),
        (
            SCALES.new(spec={"replicas": 2}),
            "the name of the object (web based on URL) was undeterminable: name must be provided",
        ),
        (
            SCALES.new("web", spec={"replicas": "many"}),
            (
                'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal string into Go struct field '
                "ScaleSpec.spec.replicas of type int32"
            ),
        ),
    ],
    ids=["other-name", "no-name", "no-number"],
)
async def test_scale_must_fit_the_object(api: Client, namespace: str, body: JsonObject, message: str) -> None:
    await api.create(DEPLOYMENTS.path(namespace), deployment())
    (await api.put(DEPLOYMENTS.path(namespace, "web", "scale"), body)).refuse(400, "BadRequest", message)


async def test_scale_can_be_applied(api: Client, namespace: str) -> None:
    await api.apply(DEPLOYMENTS.path(namespace, "web"), deployment(), "owner")
    path = DEPLOYMENTS.path(namespace, "web", "scale")
    body = SCALES.new("web", spec={"replicas": 3})
    applied = (await api.apply(path, body, "scaler", force=True)).expect(200)
    assert (applied["kind"], applied["spec"]) == ("Scale", {"replicas": 3})
    (await api.apply(path, SCALES.new("web", spec={"replicas": 4}), "rival")).refuse(
        409,
        "Conflict",
        'Apply failed with 1 conflict: conflict with "scaler" with subresource "scale": .spec.replicas',
    )


async def test_scale_of_a_missing_object_is_not_found(api: Client, namespace: str) -> None:
    (await api.get(DEPLOYMENTS.path(namespace, "absent", "scale"))).refuse(404, "NotFound")


async def test_scale_of_a_custom_kind_follows_its_paths(api: Client, namespace: str) -> None:
    kind = await with_scale(api)
    await api.create(kind.path(namespace), kind.new("one", spec={"count": 2}))
    path = kind.path(namespace, "one")
    await api.patch(f"{path}/status", {"status": {"count": 1, "selector": "app=one"}})
    scale = (await api.get(f"{path}/scale")).expect(200)
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 1, "selector": "app=one"})
    assert (await api.patch(f"{path}/scale", {"spec": {"replicas": 7}})).expect(200)["spec"] == {
        "replicas": 7
    }
    assert (await api.get(path)).expect(200)["spec"] == {"count": 7}


async def test_scale_of_a_custom_object_needs_its_replicas(api: Client, namespace: str) -> None:
    kind = await with_scale(api)
    await api.create(kind.path(namespace), kind.new("one"))
    (await api.get(kind.path(namespace, "one", "scale"))).refuse(
        500, "InternalError", 'Internal error occurred: the spec replicas field ".spec.count" does not exist'
    )


async def test_replicas_of_a_custom_kind_are_never_negative(api: Client, namespace: str) -> None:
    """The scale subresource implies it, whatever the schema says."""
    kind = await with_scale(api)
    status = (await api.create(kind.path(namespace), kind.new("one", spec={"count": -1}))).refuse(
        422, "Invalid"
    )
    assert status["message"] == (
        f'Widget.{kind.group} "one" is invalid: .spec.count: Invalid value: -1: should be a non-negative integer'
    )
