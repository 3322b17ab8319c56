"""Replacing, patching and applying: what a path, a body and the live object must agree on."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.plane.plane import Plane
from kubesim.plane.webhook import AdmissionRequest
from packages.kubesim.tests.plane.cluster import (
    CONFIG_MAPS,
    DEFINITIONS,
    WIDGETS,
    config_map,
    define,
    definition,
    version,
    widget,
)

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
SERVICES = "/api/v1/namespaces/default/services"
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


async def refusal(
    plane: Plane, method: str, target: str, body: Any, media_type: str = "application/json"
) -> StatusError:
    with pytest.raises(StatusError) as refused:
        await plane.client.call(method, target, body, media_type)
    return refused.value


def identified(**metadata: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


REPLACEMENTS: dict[str, tuple[JsonObject, int, str]] = {
    "nameless": (identified(), 400, "name must be provided"),
    "other-name": (identified(name="b"), 400, "the name of the object (b) does not match the name on the URL (a)"),
    "other-namespace": (identified(name="a", namespace="x"), 400, "the namespace of the provided object does not match"),
    "odd-version": (identified(name="a", resourceVersion="x"), 500, 'parsing "x": invalid syntax'),
    "old-version": (identified(name="a", resourceVersion="1"), 409, "the object has been modified"),
    "other-uid": (identified(name="a", uid="x"), 409, "Precondition failed: UID"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "code", "why"), REPLACEMENTS.values(), ids=REPLACEMENTS.keys())
async def test_replacement_must_mean_the_object_of_its_path(
    plane: Plane, body: JsonObject, code: int, why: str
) -> None:
    await plane.client.create(CONFIG_MAPS, config_map("a", k="v"))
    error = await refusal(plane, "PUT", f"{CONFIG_MAPS}/a", body)
    assert error.code == code
    assert why in error.message
    assert (await plane.client.get(f"{CONFIG_MAPS}/a"))["data"] == {"k": "v"}


async def test_replacement_of_a_custom_object_insists_on_a_version(plane: Plane) -> None:
    await define(plane)
    await plane.client.create(WIDGETS, widget("w", size=1))
    error = await refusal(plane, "PUT", f"{WIDGETS}/w", widget("w", size=2))
    assert error.code == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in error.message


async def test_some_kinds_are_created_by_replacing_what_is_not_there(plane: Plane) -> None:
    tree = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    created = await plane.client.replace(f"{SERVICES}/s", tree)
    assert created["spec"]["clusterIP"]
    again = await plane.client.replace(
        f"{SERVICES}/s", {**created, "metadata": {**created["metadata"], "labels": {"a": "b"}}}
    )
    assert again["metadata"]["uid"] == created["metadata"]["uid"]


PATCHES: dict[str, tuple[str, Any, int, str]] = {
    "rename": (MERGE, {"metadata": {"name": "b"}}, 400, "does not match the name on the URL"),
    "unname": (MERGE, {"metadata": {"name": None}}, 400, "name must be provided"),
    "other-uid": (MERGE, {"metadata": {"uid": "x"}}, 422, "metadata.uid: Invalid value"),
    "old-version": (MERGE, {"metadata": {"resourceVersion": "1"}}, 409, "the object has been modified"),
    "other-kind": (MERGE, {"kind": "Pod"}, 422, "patch: Invalid value"),
    "wrong-type": (MERGE, {"data": 5}, 422, "patch: Invalid value"),
    "failed-test": (JSON_PATCH, [{"op": "test", "path": "/data/k", "value": "x"}], 422, ""),
    "unknown-kind-of-patch": ("application/x-patch", {}, 415, ""),
    "apply-other-kind": (APPLY, {"apiVersion": "v1", "kind": "Pod"}, 400, "invalid object type"),
    "apply-other-name": (APPLY, identified(name="b"), 400, "does not match the name on the URL"),
}  # fmt: skip


@pytest.mark.parametrize(("media_type", "patch", "code", "why"), PATCHES.values(), ids=PATCHES.keys())
async def test_patch_must_lead_to_the_object_of_its_path(
    plane: Plane, media_type: str, patch: Any, code: int, why: str
) -> None:
    await plane.client.create(CONFIG_MAPS, config_map("a", k="v"))
    error = await refusal(plane, "PATCH", f"{CONFIG_MAPS}/a?fieldManager=m", patch, media_type)
    assert (error.code, why in error.message) == (code, True), error.message
    assert (await plane.client.get(f"{CONFIG_MAPS}/a"))["data"] == {"k": "v"}


@pytest.mark.parametrize(
    ("query", "media_type", "why"),
    [
        ("", APPLY, "fieldManager: Required value"),
        ("fieldManager=" + "m" * 200, APPLY, "fieldManager: Too long"),
        ("fieldManager=%07", APPLY, "should only contain printable characters"),
        ("force=true", MERGE, "may not be specified for non-apply patch"),
        ("dryRun=Some", MERGE, "dryRun: Unsupported value"),
    ],
)
async def test_options_of_a_patch_are_checked(plane: Plane, query: str, media_type: str, why: str) -> None:
    await plane.client.create(CONFIG_MAPS, config_map("a"))
    error = await refusal(plane, "PATCH", f"{CONFIG_MAPS}/a?{query}", config_map("a", k="v"), media_type)
    assert error.code == 422
    assert why in error.message


async def test_strict_patch_refuses_unknown_fields(plane: Plane) -> None:
    await plane.client.create(CONFIG_MAPS, config_map("a"))
    target = f"{CONFIG_MAPS}/a?fieldValidation=Strict"
    error = await refusal(plane, "PATCH", target, {"nonsense": 1}, MERGE)
    assert error.code == 422
    assert 'strict decoding error: unknown field "nonsense"' in error.message


async def test_applied_object_is_created_merged_and_contested(plane: Plane) -> None:
    target = f"{CONFIG_MAPS}/a"
    created = await plane.client.apply(target, config_map("a", k="1"), manager="one")
    assert created["data"] == {"k": "1"}
    merged = await plane.client.apply(target, config_map("a", other="2"), manager="two")
    assert merged["data"] == {"k": "1", "other": "2"}
    with pytest.raises(StatusError) as refused:
        await plane.client.apply(target, config_map("a", k="3"), manager="two")
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
    forced = await plane.client.apply(target, config_map("a", k="3"), manager="two", force=True)
    assert forced["data"] == {"k": "3"}


async def test_apply_creates_neither_another_uid_nor_a_subresource(plane: Plane) -> None:
    await define(plane)
    error = await refusal(plane, "PATCH", f"{CONFIG_MAPS}/a?fieldManager=m", identified(uid="x"), APPLY)
    assert error.code == 409
    assert "uid mismatch" in error.message
    error = await refusal(plane, "PATCH", f"{WIDGETS}/w/status?fieldManager=m", widget("w"), APPLY)
    assert error.code == 404


async def test_custom_kinds_take_no_strategic_patch(plane: Plane) -> None:
    await define(plane)
    await plane.client.create(WIDGETS, widget("w"))
    error = await refusal(plane, "PATCH", f"{WIDGETS}/w", {}, "application/strategic-merge-patch+json")
    assert error.code == 415


async def test_scale_can_be_patched_in_every_way_but_applied(plane: Plane) -> None:
    await define(plane, definition(versions=[version("v1", subresources={"scale": SCALE})]))
    await plane.client.create(WIDGETS, widget("w", replicas=1))
    target = f"{WIDGETS}/w/scale"
    operations = [{"op": "replace", "path": "/spec/replicas", "value": 2}]
    assert (await plane.client.call("PATCH", target, operations, JSON_PATCH))["spec"] == {"replicas": 2}
    assert (await plane.client.merge(target, {"spec": {"replicas": 3}}))["spec"] == {"replicas": 3}
    assert (await plane.client.get(f"{WIDGETS}/w"))["metadata"]["generation"] == 3
    error = await refusal(plane, "PATCH", target, {"spec": {"replicas": "many"}}, MERGE)
    assert error.code in (400, 422)
    assert (await refusal(plane, "GET", f"{WIDGETS}/none/scale", None)).code == 404


class Mutating:
    """Adds a label to everything, and a warning."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def may_mutate(self) -> bool:
        return True

    def may_validate(self) -> bool:
        return False

    async def mutate(self, request: AdmissionRequest) -> tuple[JsonObject | None, list[str]]:
        self.asked.append(f"{request.operation} {request.resource}/{request.name}")
        if request.object is None:
            return None, []
        metadata = {**request.object["metadata"], "labels": {"mutated": "true"}, "uid": "mine"}
        return {**request.object, "metadata": metadata}, ["mutated"]


async def test_what_webhooks_change_goes_through_the_same_rules(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhooks = Mutating()
    monkeypatch.setattr(plane.cluster.admission, "webhooks", webhooks)
    created = await plane.client.create(CONFIG_MAPS, config_map("a"))
    assert created["metadata"]["labels"] == {"mutated": "true"}
    assert created["metadata"]["uid"] != "mine"
    changed = await plane.client.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
    assert changed["metadata"]["uid"] == created["metadata"]["uid"]
    assert webhooks.asked == ["CREATE configmaps/a", "UPDATE configmaps/a"]
    monkeypatch.undo()


async def test_written_definitions_of_wrong_types_are_refused(plane: Plane) -> None:
    for spec in (None, 5, {"names": 5}, {"versions": [5]}):
        tree = {**definition(), "spec": spec}
        assert (await refusal(plane, "POST", DEFINITIONS, tree)).code in (400, 422)
