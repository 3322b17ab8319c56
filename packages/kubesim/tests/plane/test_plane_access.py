"""Who may do what on a plane that asks: authentication, RBAC, escalation and webhooks wired together."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.call import Call
from kubesim.plane.client import InProcessClient
from kubesim.plane.errors import StatusError, bad_request
from kubesim.plane.plane import Plane
from kubesim.plane.request import Request, User
from packages.kubesim.tests.plane.cluster import CONFIG_MAPS, NAMESPACES, config_map, exists, running

RBAC = "/apis/rbac.authorization.k8s.io/v1"
TOKENS = {"alice-token": User("alice", ("devs",)), "bob-token": User("bob")}


@pytest.fixture
async def guarded() -> AsyncIterator[Plane]:
    async with running(auth=True, tokens=TOKENS) as plane:
        yield plane


def acting(plane: Plane, token: str) -> InProcessClient:
    return InProcessClient(plane.handle, token)


async def grant(plane: Plane, user: str, role: str) -> None:
    """Bind a user to a cluster role in the default namespace."""
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "ClusterRole", "name": role, "apiGroup": "rbac.authorization.k8s.io"}
    tree = {"metadata": {"name": f"{user}-{role}"}, "subjects": [subject], "roleRef": reference}
    await plane.client.create(f"{RBAC}/namespaces/default/rolebindings", tree)


async def test_open_plane_asks_nobody_for_a_name(plane: Plane) -> None:
    answer = await plane.handle(Request.of("GET", NAMESPACES))
    assert answer.status == 200


async def test_guarded_plane_knows_its_administrator(guarded: Plane) -> None:
    assert (await guarded.client.create(CONFIG_MAPS, config_map("a")))["metadata"]["name"] == "a"


@pytest.mark.parametrize(("token", "code"), [("wrong", 401), ("", 403), ("alice-token", 403)])
async def test_guarded_plane_turns_others_away(guarded: Plane, token: str, code: int) -> None:
    with pytest.raises(StatusError) as refused:
        await acting(guarded, token).get(CONFIG_MAPS)
    assert refused.value.code == code


async def test_health_and_discovery_are_open_to_those_they_should_be(guarded: Plane) -> None:
    assert (await guarded.handle(Request.of("GET", "/readyz"))).status == 200
    assert (await acting(guarded, "alice-token").get("/apis"))["kind"] == "APIGroupList"


async def test_grants_count_from_the_next_request_on(guarded: Plane) -> None:
    alice = acting(guarded, "alice-token")
    await grant(guarded, "alice", "edit")
    await alice.create(CONFIG_MAPS, config_map("a"))
    await guarded.client.delete(f"{RBAC}/namespaces/default/rolebindings/alice-edit")
    with pytest.raises(StatusError) as refused:
        await alice.get(f"{CONFIG_MAPS}/a")
    assert refused.value.code == 403


async def test_nobody_grants_more_than_they_have(guarded: Plane) -> None:
    await grant(guarded, "alice", "admin")
    alice = acting(guarded, "alice-token")
    roles = f"{RBAC}/namespaces/default/roles"
    rule = {"apiGroups": ["rbac.example.com"], "resources": ["*"], "verbs": ["*"]}
    greedy = {"metadata": {"name": "greedy"}, "rules": [rule]}
    with pytest.raises(
        StatusError, match="attempting to grant RBAC permissions not currently held"
    ) as refused:
        await alice.create(roles, greedy)
    assert refused.value.code == 403
    assert not await exists(guarded, f"{roles}/greedy")
    modest = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    await alice.create(roles, {"metadata": {"name": "modest"}, "rules": [modest]})
    with pytest.raises(StatusError, match="attempting to grant RBAC permissions not currently held"):
        await alice.merge(f"{roles}/modest", {"rules": [rule]})


async def test_open_plane_lets_everybody_grant_everything(plane: Plane) -> None:
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    await plane.client.create(f"{RBAC}/clusterroles", {"metadata": {"name": "all"}, "rules": [rule]})
    assert await exists(plane, f"{RBAC}/clusterroles/all")


async def test_own_controllers_work_on_a_guarded_plane(guarded: Plane) -> None:
    await guarded.client.create(NAMESPACES, {"metadata": {"name": "doomed"}})
    await guarded.client.create("/api/v1/namespaces/doomed/configmaps", config_map("a"))
    await guarded.client.delete(f"{NAMESPACES}/doomed")
    await guarded.settle()
    assert not await exists(guarded, f"{NAMESPACES}/doomed")


async def test_missing_namespace_is_told_before_later_guards_speak(plane: Plane) -> None:
    asked: list[str] = []

    def note(call: Call, operation: str, _new: JsonObject | None, _old: JsonObject | None) -> None:
        asked.append(f"{operation} {call.resource.plural}")

    plane.cluster.admission.guards.append(note)
    with pytest.raises(StatusError, match="not found"):
        await plane.client.create("/api/v1/namespaces/nowhere/configmaps", config_map("a"))
    assert asked == []
    await plane.client.create(CONFIG_MAPS, config_map("a"))
    await plane.client.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
    await plane.client.delete(f"{CONFIG_MAPS}/a")
    assert asked == ["CREATE configmaps", "UPDATE configmaps", "DELETE configmaps"]


async def test_guard_that_objects_keeps_the_object_as_it_was(plane: Plane) -> None:
    await plane.client.create(CONFIG_MAPS, config_map("a", k="v"))

    def object_to_all(*_: object) -> None:
        raise bad_request("not today")

    plane.cluster.admission.guards.append(object_to_all)
    revision = plane.store.revision
    for method, target, body in (
        ("POST", CONFIG_MAPS, config_map("b")),
        ("PUT", f"{CONFIG_MAPS}/a", config_map("a", k="new")),
        ("DELETE", f"{CONFIG_MAPS}/a", None),
        ("DELETE", CONFIG_MAPS, None),
    ):
        with pytest.raises(StatusError, match="not today"):
            await plane.client.call(method, target, body)
    assert plane.store.revision == revision


async def test_validation_speaks_before_admission(plane: Plane) -> None:
    def object_to_all(*_: object) -> None:
        raise bad_request("not today")

    plane.cluster.admission.guards.append(object_to_all)
    with pytest.raises(StatusError) as refused:
        await plane.client.create(CONFIG_MAPS, config_map("Not A Name"))
    assert refused.value.code == 422


async def test_webhook_that_cannot_be_reached_fails_as_its_policy_says(plane: Plane) -> None:
    hook = {
        "name": "check.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/check"},
        "rules": [
            {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    await plane.client.create(
        path, {"metadata": {"name": "check"}, "webhooks": [{**hook, "failurePolicy": "Fail"}]}
    )
    with pytest.raises(StatusError, match=r'failed calling webhook "check\.example\.com"') as refused:
        await plane.client.create(CONFIG_MAPS, config_map("a"))
    assert refused.value.code == 500
    await plane.client.merge(f"{path}/check", {"webhooks": [{**hook, "failurePolicy": "Ignore"}]})
    await plane.client.create(CONFIG_MAPS, config_map("a"))
    await plane.client.delete(f"{path}/check")
    await plane.client.create(CONFIG_MAPS, config_map("b"))


async def test_reviews_are_answered_and_not_stored(guarded: Plane) -> None:
    await grant(guarded, "alice", "view")
    review = {
        "spec": {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "configmaps"}}
    }
    reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert (await acting(guarded, "alice-token").create(reviews, review))["status"]["allowed"] is True
    denied = await acting(guarded, "bob-token").create(reviews, review)
    assert denied["status"]["allowed"] is False
    with pytest.raises(StatusError) as refused:
        await guarded.client.get(reviews)
    assert refused.value.code == 405


async def test_token_of_a_service_account_dies_with_it(guarded: Plane) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    await guarded.client.create(accounts, {"metadata": {"name": "robot"}})
    issued = await guarded.client.create(f"{accounts}/robot/token", {"spec": {"audiences": []}})
    robot = acting(guarded, issued["status"]["token"])
    reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = await robot.create(reviews, {})
    assert answer["status"]["userInfo"]["username"] == "system:serviceaccount:default:robot"
    await guarded.client.delete(f"{accounts}/robot")
    with pytest.raises(StatusError) as refused:
        await robot.create(reviews, {})
    assert refused.value.code == 401
    with pytest.raises(StatusError) as refused:
        await guarded.client.create(f"{accounts}/robot/token", {"spec": {"audiences": []}})
    assert refused.value.code == 404


async def test_client_certificate_stands_for_its_user(guarded: Plane) -> None:
    certificate, key = guarded.client_certificate("carol", "team")
    assert b"PRIVATE KEY" in key
    request = Request.of("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    request.peer_certificate = ssl.PEM_cert_to_DER_cert(certificate.decode())
    user = (await guarded.handle(request)).json()["status"]["userInfo"]
    assert (user["username"], user["groups"]) == ("carol", ["team", "system:authenticated"])
