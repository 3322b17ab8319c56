"""The whole server without a socket: verbs, conflicts, generations, finalizers, dry runs, and that it repeats itself."""

from __future__ import annotations

from uuid import UUID

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.plane.plane import Plane
from kubesim.plane.request import Request
from packages.kubesim.tests.plane.cluster import (
    CONFIG_MAPS,
    DEFINITIONS,
    NAMESPACES,
    WIDGETS,
    config_map,
    define,
    definition,
    exists,
    names,
    running,
    version,
    widget,
)

TIME = "2030-01-02T03:04:05Z"


async def test_started_plane_is_ready_and_has_what_every_cluster_has(plane: Plane) -> None:
    assert (await plane.handle(Request.of("GET", "/readyz"))).body == b"ok"
    namespaces = await plane.client.get(NAMESPACES)
    assert names(namespaces) == ["default", "kube-node-lease", "kube-public", "kube-system"]
    roles = await plane.client.get("/apis/rbac.authorization.k8s.io/v1/clusterroles")
    assert {"admin", "cluster-admin", "edit", "view"} <= set(names(roles))


async def test_plane_is_not_ready_before_its_start_and_after_its_end() -> None:
    async with running() as plane:
        pass
    assert (await plane.handle(Request.of("GET", "/readyz"))).status == 500


async def test_created_object_bears_what_the_server_alone_decides(plane: Plane) -> None:
    posted = config_map("a", k="v")
    posted["metadata"] |= {"uid": "mine", "creationTimestamp": "1999-01-01T00:00:00Z", "generation": 9}
    created = await plane.client.create(CONFIG_MAPS, posted)
    metadata = created["metadata"]
    assert metadata["uid"] not in ("", "mine")
    assert metadata["creationTimestamp"] == TIME
    assert metadata["namespace"] == "default"
    assert "generation" not in metadata
    assert metadata["resourceVersion"] == str(plane.store.revision)
    assert created == await plane.client.get(f"{CONFIG_MAPS}/a")


async def test_object_is_created_once(plane: Plane) -> None:
    await plane.client.create(CONFIG_MAPS, config_map("a"))
    with pytest.raises(StatusError) as refused:
        await plane.client.create(CONFIG_MAPS, config_map("a"))
    assert (refused.value.code, refused.value.reason) == (409, "AlreadyExists")


async def test_generated_names_differ_and_begin_as_asked(plane: Plane) -> None:
    posted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "job-"}}
    created = [await plane.client.create(CONFIG_MAPS, posted) for _ in range(20)]
    generated = {tree["metadata"]["name"] for tree in created}
    assert len(generated) == 20
    assert all(name.startswith("job-") and len(name) == 9 for name in generated)


@pytest.mark.parametrize(
    ("method", "content_type", "body"),
    [
        pytest.param("PUT", "application/json", config_map("gone"), id="replace"),
        pytest.param("PATCH", "application/merge-patch+json", {"data": {}}, id="patch"),
        pytest.param("GET", "", None, id="get"),
        pytest.param("DELETE", "", None, id="delete"),
    ],
)
async def test_missing_object_is_not_found(
    plane: Plane, method: str, content_type: str, body: JsonObject | None
) -> None:
    with pytest.raises(StatusError) as refused:
        await plane.client.call(method, f"{CONFIG_MAPS}/gone", body, content_type)
    assert (refused.value.code, refused.value.message) == (404, 'configmaps "gone" not found')


async def test_replacement_of_a_version_that_is_gone_conflicts(plane: Plane) -> None:
    first = await plane.client.create(CONFIG_MAPS, config_map("a", k="1"))
    await plane.client.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "2"}})
    with pytest.raises(StatusError) as refused:
        await plane.client.replace(f"{CONFIG_MAPS}/a", {**first, "data": {"k": "3"}})
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
    assert (await plane.client.get(f"{CONFIG_MAPS}/a"))["data"] == {"k": "2"}


async def test_replacement_of_another_uid_conflicts(plane: Plane) -> None:
    created = await plane.client.create(CONFIG_MAPS, config_map("a"))
    created["metadata"] = {"name": "a", "uid": "b8d3a3ee-0000-4000-8000-000000000000"}
    with pytest.raises(StatusError, match="Precondition failed: UID") as refused:
        await plane.client.replace(f"{CONFIG_MAPS}/a", created)
    assert refused.value.code == 409


async def test_write_that_changes_nothing_makes_no_new_version(plane: Plane) -> None:
    created = await plane.client.create(CONFIG_MAPS, config_map("a", k="v"))
    before = plane.store.revision
    assert await plane.client.replace(f"{CONFIG_MAPS}/a", created) == created
    assert await plane.client.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}}) == created
    assert plane.store.revision == before


async def test_generation_counts_changes_of_the_spec_alone(plane: Plane) -> None:
    await define(plane)
    path = f"{WIDGETS}/w"
    generations = [(await plane.client.create(WIDGETS, widget("w", size=1)))["metadata"]["generation"]]
    for target, patch in (
        (path, {"metadata": {"labels": {"a": "b"}}}),
        (f"{path}/status", {"status": {"phase": "Up"}}),
        (path, {"spec": {"size": 2}}),
        (path, {"status": {"phase": "ignored"}}),
        (path, {"spec": {"size": 2}}),
        (path, {"spec": None}),
    ):
        generations.append((await plane.client.merge(target, patch))["metadata"]["generation"])
    assert generations == [1, 1, 1, 2, 2, 2, 3]
    assert (await plane.client.get(path))["status"] == {"phase": "Up"}


async def test_status_is_written_through_its_own_endpoint_only(plane: Plane) -> None:
    await define(plane)
    posted = {**widget("w", size=1), "status": {"phase": "Up"}}
    created = await plane.client.create(WIDGETS, posted)
    assert "status" not in created
    changed = {**created, "spec": {"size": 5}, "status": {"phase": "Up"}}
    written = await plane.client.replace(f"{WIDGETS}/w/status", changed)
    assert (written["spec"], written["status"]) == ({"size": 1}, {"phase": "Up"})


async def test_object_with_a_finalizer_stays_until_it_is_gone(plane: Plane) -> None:
    tree = config_map("a")
    tree["metadata"]["finalizers"] = ["example.com/hold"]
    await plane.client.create(CONFIG_MAPS, tree)
    marked = await plane.client.delete(f"{CONFIG_MAPS}/a")
    assert marked["metadata"]["deletionTimestamp"] == TIME
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    again = await plane.client.delete(f"{CONFIG_MAPS}/a")
    assert again == marked
    with pytest.raises(StatusError, match="no new finalizers can be added"):
        await plane.client.merge(
            f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
        )
    await plane.client.merge(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": []}})
    assert not await exists(plane, f"{CONFIG_MAPS}/a")


async def test_deletion_timestamp_cannot_be_taken_back(plane: Plane) -> None:
    tree = config_map("a")
    tree["metadata"]["finalizers"] = ["example.com/hold"]
    await plane.client.create(CONFIG_MAPS, tree)
    await plane.client.delete(f"{CONFIG_MAPS}/a")
    after = await plane.client.merge(
        f"{CONFIG_MAPS}/a", {"metadata": {"deletionTimestamp": None}, "data": {"k": "v"}}
    )
    assert (after["metadata"]["deletionTimestamp"], after["data"]) == (TIME, {"k": "v"})


@pytest.mark.parametrize(
    ("preconditions", "label"),
    [({"uid": "other"}, "UID"), ({"resourceVersion": "1"}, "ResourceVersion")],
)
async def test_deletion_of_another_object_than_meant_conflicts(
    plane: Plane, preconditions: JsonObject, label: str
) -> None:
    await plane.client.create(CONFIG_MAPS, config_map("a"))
    with pytest.raises(StatusError, match=f"the {label} in the precondition") as refused:
        await plane.client.delete(f"{CONFIG_MAPS}/a", {"preconditions": preconditions})
    assert refused.value.code == 409
    assert await exists(plane, f"{CONFIG_MAPS}/a")


async def test_pod_on_a_node_ends_gracefully(plane: Plane) -> None:
    pods = "/api/v1/namespaces/default/pods"
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 12}
    await plane.client.create(pods, {"metadata": {"name": "p"}, "spec": spec})
    marked = (await plane.client.delete(f"{pods}/p"))["metadata"]
    assert (marked["deletionGracePeriodSeconds"], marked["deletionTimestamp"]) == (12, "2030-01-02T03:04:17Z")
    shorter = (await plane.client.delete(f"{pods}/p", {"gracePeriodSeconds": 3}))["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 3
    await plane.client.delete(f"{pods}/p", {"gracePeriodSeconds": 0})
    assert not await exists(plane, f"{pods}/p")


async def test_pod_may_ask_for_more_time_than_there_is(plane: Plane) -> None:
    pods = "/api/v1/namespaces/default/pods"
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    await plane.client.create(pods, {"metadata": {"name": "p"}, "spec": spec})
    marked = (await plane.client.delete(f"{pods}/p", {"gracePeriodSeconds": 2**62}))["metadata"]
    assert marked["deletionTimestamp"].startswith("2322-")


async def test_collection_is_deleted_as_far_as_the_selectors_choose(plane: Plane) -> None:
    for name, tier in (("a", "x"), ("b", "y"), ("c", "x")):
        tree = config_map(name)
        tree["metadata"]["labels"] = {"tier": tier}
        await plane.client.create(CONFIG_MAPS, tree)
    deleted = await plane.client.delete(f"{CONFIG_MAPS}?labelSelector=tier%3Dx")
    assert names(deleted) == ["a", "c"]
    assert names(await plane.client.get(CONFIG_MAPS)) == ["b"]


DRY_RUNS: list[tuple[str, str, str, JsonObject | None]] = [
    ("POST", CONFIG_MAPS, "application/json", config_map("new")),
    ("PUT", f"{CONFIG_MAPS}/a", "application/json", config_map("a", k="new")),
    ("PATCH", f"{CONFIG_MAPS}/a", "application/merge-patch+json", {"data": {"k": "new"}}),
    ("PATCH", f"{CONFIG_MAPS}/a", "application/strategic-merge-patch+json", {"data": {"k": "new"}}),
    ("PATCH", f"{CONFIG_MAPS}/new", "application/apply-patch+yaml", config_map("new", k="v")),
    ("DELETE", f"{CONFIG_MAPS}/a", "", None),
    ("DELETE", CONFIG_MAPS, "", None),
]


@pytest.mark.parametrize(
    ("method", "target", "content_type", "body"),
    DRY_RUNS,
    ids=[f"{m}-{t[-6:]}-{c[12:17]}" for m, t, c, _ in DRY_RUNS],
)
async def test_dry_run_answers_as_if_and_changes_nothing(
    plane: Plane, method: str, target: str, content_type: str, body: JsonObject | None
) -> None:
    await plane.client.create(CONFIG_MAPS, config_map("a", k="v"))
    before = plane.store.revision, await plane.client.get(CONFIG_MAPS)
    answer = await plane.client.call(method, f"{target}?dryRun=All&fieldManager=m", body, content_type)
    assert (plane.store.revision, await plane.client.get(CONFIG_MAPS)) == before
    if method != "DELETE":
        assert answer["metadata"]["name"] in ("a", "new")
        assert answer["metadata"]["uid"]


async def test_scale_is_one_view_of_the_object(plane: Plane) -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    await define(plane, definition(versions=[version("v1", subresources={"status": {}, "scale": scale})]))
    await plane.client.create(WIDGETS, widget("w", replicas=2))
    shown = await plane.client.get(f"{WIDGETS}/w/scale")
    assert (shown["kind"], shown["spec"], shown["status"]) == ("Scale", {"replicas": 2}, {"replicas": 0})
    shown["spec"]["replicas"] = 5
    assert (await plane.client.replace(f"{WIDGETS}/w/scale", shown))["spec"] == {"replicas": 5}
    assert (await plane.client.get(f"{WIDGETS}/w"))["spec"] == {"replicas": 5}
    with pytest.raises(StatusError) as refused:
        await plane.client.replace(f"{WIDGETS}/w/scale", shown)
    assert refused.value.code == 409
    with pytest.raises(StatusError, match="must be greater than or equal to 0"):
        await plane.client.merge(f"{WIDGETS}/w/scale", {"spec": {"replicas": -1}})


async def test_subresources_that_do_not_exist_are_not_found(plane: Plane) -> None:
    await plane.client.create(CONFIG_MAPS, config_map("a"))
    for subresource in ("status", "scale", "finalize", "log"):
        with pytest.raises(StatusError, match="could not find the requested resource") as refused:
            await plane.client.get(f"{CONFIG_MAPS}/a/{subresource}")
        assert refused.value.code == 404


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("POST", f"{CONFIG_MAPS}/a"),
        ("PUT", CONFIG_MAPS),
        ("PATCH", CONFIG_MAPS),
        ("DELETE", NAMESPACES),
    ],
)
async def test_verb_that_does_not_go_with_the_path_is_not_allowed(
    plane: Plane, method: str, target: str
) -> None:
    with pytest.raises(StatusError) as refused:
        await plane.client.call(method, target, config_map("a"))
    assert (refused.value.code, refused.value.reason) == (405, "MethodNotAllowed")


async def test_unknown_groups_and_unknown_resources_differ(plane: Plane) -> None:
    answer = await plane.handle(Request.of("GET", "/apis/nobody.example.com/v1/things"))
    assert (answer.status, answer.body) == (404, b"404 page not found\n")
    answer = await plane.handle(Request.of("GET", "/apis/apps/v1/things"))
    assert (answer.status, answer.json()["reason"]) == (404, "NotFound")


async def test_pretty_answers_are_indented(plane: Plane) -> None:
    answer = await plane.handle(Request.of("GET", f"{NAMESPACES}/default?pretty=true"))
    assert answer.body.startswith(b'{\n  "kind": "Namespace"')


async def script(plane: Plane) -> list[JsonObject]:
    """A bit of everything; what came of it."""
    await define(plane)
    for number in range(3):
        await plane.client.create(WIDGETS, widget(f"w{number}", size=number))
        posted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "c-"}}
        await plane.client.create(CONFIG_MAPS, posted)
    await plane.client.apply(f"{WIDGETS}/w1", widget("w1", replicas=3), manager="m")
    await plane.client.delete(f"{WIDGETS}/w2")
    await plane.client.create(NAMESPACES, {"metadata": {"name": "short-lived"}})
    await plane.client.delete(f"{NAMESPACES}/short-lived")
    await plane.settle()
    places = (
        WIDGETS,
        CONFIG_MAPS,
        NAMESPACES,
        DEFINITIONS,
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    )
    return [await plane.client.get(place) for place in places]


async def test_planes_with_one_source_of_randomness_repeat_each_other() -> None:
    async with running(seed=3) as one, running(seed=3) as other:
        assert await script(one) == await script(other)


async def test_planes_with_another_source_of_randomness_differ() -> None:
    async with running(seed=3) as one, running(seed=4) as other:
        default = f"{NAMESPACES}/default"
        first, second = await one.client.get(default), await other.client.get(default)
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


async def test_uids_are_version_4_uuids(plane: Plane) -> None:
    uids = {UUID(plane.cluster.new_uid()) for _ in range(100)}
    assert len(uids) == 100
    assert all(uid.version == 4 and uid.variant == "specified in RFC 4122" for uid in uids)


async def test_gateway_api_is_installed_where_wanted() -> None:
    async with running(gateway_api=True) as plane:
        groups = await plane.client.get("/apis")
        assert "gateway.networking.k8s.io" in [group["name"] for group in groups["groups"]]
        established = await plane.client.get(f"{DEFINITIONS}/gateways.gateway.networking.k8s.io")
        conditions = {one["type"]: one["status"] for one in established["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}


async def test_mistakes_of_the_server_are_told_as_such_and_logged(
    plane: Plane, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_arguments: object) -> None:
        raise RuntimeError("a bug")

    plane.cluster.admission.guards.append(broken)
    answer = await plane.handle(Request.of("POST", CONFIG_MAPS, config_map("a")))
    assert (answer.status, answer.json()["reason"]) == (500, "InternalError")
    assert b"a bug" not in answer.body
    assert [record.getMessage() for record in caplog.records] == [f"request failed: POST {CONFIG_MAPS}"]
