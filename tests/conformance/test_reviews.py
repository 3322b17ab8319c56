"""Asking about access instead of trying: reviews of permissions and of tokens."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client, connect, eventually
from tests.conformance.kinds import CONFIG_MAPS, Kind
from tests.conformance.servers import GROUPS, TOKENS, Server
from tests.conformance.test_access import grant, permitted, rule, user

AUTHORIZATION = "authorization.k8s.io"
SELF_REVIEWS = Kind(AUTHORIZATION, "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False)
REVIEWS = Kind(AUTHORIZATION, "v1", "subjectaccessreviews", "SubjectAccessReview", False)
LOCAL_REVIEWS = Kind(AUTHORIZATION, "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview")
RULES_REVIEWS = Kind(AUTHORIZATION, "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", False)
TOKEN_REVIEWS = Kind("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", False)
SELF = Kind("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", False)


def attributes(namespace: str, verb: str = "list") -> JsonObject:
    return {"namespace": namespace, "verb": verb, "resource": "configmaps"}


async def self_review(client: Client, spec: JsonObject) -> JsonObject:
    answer = await client.create(SELF_REVIEWS.path(), SELF_REVIEWS.new(spec=spec))
    status: JsonObject = answer.expect(201)["status"]
    return status


async def test_administrator_may_do_everything(api: Client, namespace: str) -> None:
    answer = await api.create(
        SELF_REVIEWS.path(), SELF_REVIEWS.new(spec={"resourceAttributes": attributes(namespace)})
    )
    review = answer.expect(201)
    assert (review["kind"], review["apiVersion"]) == ("SelfSubjectAccessReview", f"{AUTHORIZATION}/v1")
    assert review["spec"]["resourceAttributes"] == attributes(namespace)
    assert review["status"]["allowed"] is True


async def test_own_rights_can_be_asked_for(api: Client, namespace: str) -> None:
    await grant(api, namespace, user("alice"), rule("list"))
    async with connect(api.server, "alice") as alice:
        await permitted(alice, CONFIG_MAPS.path(namespace))
        may = await self_review(alice, {"resourceAttributes": attributes(namespace)})
        may_not = await self_review(alice, {"resourceAttributes": attributes(namespace, "delete")})
    assert may["allowed"] is True
    assert may["reason"].startswith('RBAC: allowed by RoleBinding "granted-')
    assert may_not == {"allowed": False}


async def test_paths_can_be_asked_for(server: Server) -> None:
    async with connect(server, "alice") as alice:
        version = await self_review(alice, {"nonResourceAttributes": {"path": "/version", "verb": "get"}})
        metrics = await self_review(alice, {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}})
    assert version["allowed"] is True
    assert metrics["allowed"] is False


async def test_rights_of_others_can_be_asked_for(api: Client, namespace: str) -> None:
    await grant(api, namespace, user("dora"), rule("list"))

    async def review(name: str, verb: str) -> bool:
        spec = {"user": name, "resourceAttributes": attributes(namespace, verb)}
        body = (await api.create(REVIEWS.path(), REVIEWS.new(spec=spec))).expect(201)
        allowed: bool = body["status"]["allowed"]
        return allowed

    async def known() -> bool | None:
        return await review("dora", "list") or None

    await eventually(known, what="the role is known")
    assert await review("dora", "delete") is False
    assert await review("emil", "list") is False


async def test_rights_of_a_group_can_be_asked_for(api: Client, namespace: str) -> None:
    spec = {"user": "x", "groups": ["system:masters"], "resourceAttributes": attributes(namespace, "delete")}
    body = (await api.create(REVIEWS.path(), REVIEWS.new(spec=spec))).expect(201)
    assert body["status"]["allowed"] is True


async def test_local_review_is_about_its_namespace(api: Client, namespace: str) -> None:
    spec = {"user": "emil", "resourceAttributes": attributes(namespace)}
    body = (await api.create(LOCAL_REVIEWS.path(namespace), LOCAL_REVIEWS.new(spec=spec))).expect(201)
    assert body["status"]["allowed"] is False


async def test_others_may_not_be_asked_about_without_permission(server: Server, namespace: str) -> None:
    async with connect(server, "alice") as alice:
        spec = {"user": "bob", "resourceAttributes": attributes(namespace)}
        status = (await alice.create(REVIEWS.path(), REVIEWS.new(spec=spec))).refuse(403, "Forbidden")
    assert 'cannot create resource "subjectaccessreviews"' in status["message"]


async def test_review_must_ask_something(api: Client) -> None:
    (await api.create(SELF_REVIEWS.path(), SELF_REVIEWS.new(spec={}))).refuse(
        422,
        "Invalid",
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: '
        "exactly one of nonResourceAttributes or resourceAttributes must be specified",
    )


async def test_own_rules_can_be_listed(api: Client, namespace: str) -> None:
    await grant(api, namespace, user("alice"), rule("list", "get", resourceNames=["one"]))
    async with connect(api.server, "alice") as alice:
        await permitted(alice, CONFIG_MAPS.path(namespace, "one"))
        answer = await alice.create(RULES_REVIEWS.path(), RULES_REVIEWS.new(spec={"namespace": namespace}))
    status = answer.expect(201)["status"]
    expected = {
        "verbs": ["list", "get"],
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["one"],
    }
    assert expected in status["resourceRules"]
    assert status["incomplete"] is False
    assert any("/version" in item["nonResourceURLs"] for item in status["nonResourceRules"])


async def test_token_is_identified(api: Client) -> None:
    spec = {"token": TOKENS["alice"]}
    status = (await api.create(TOKEN_REVIEWS.path(), TOKEN_REVIEWS.new(spec=spec))).expect(201)["status"]
    assert status["authenticated"] is True
    assert status["user"]["username"] == "alice"
    assert status["user"]["groups"] == [GROUPS["alice"], "system:authenticated"]


async def test_unknown_token_is_not_authenticated(api: Client) -> None:
    spec = {"token": "nonsense"}
    status = (await api.create(TOKEN_REVIEWS.path(), TOKEN_REVIEWS.new(spec=spec))).expect(201)["status"]
    assert status.get("authenticated", False) is False
    assert status["user"] == {}


async def test_everybody_may_ask_who_he_is(server: Server) -> None:
    async with connect(server, "bob") as bob:
        status = (await bob.create(SELF.path(), SELF.new())).expect(201)["status"]
    assert status["userInfo"]["username"] == "bob"
    assert status["userInfo"]["groups"] == [GROUPS["bob"], "system:authenticated"]


async def test_reviews_leave_no_object_behind(api: Client) -> None:
    body = SELF_REVIEWS.new(spec={"nonResourceAttributes": {"path": "/version", "verb": "get"}})
    review = (await api.create(SELF_REVIEWS.path(), body)).expect(201)
    assert not {"uid", "resourceVersion", "creationTimestamp"} & set(review["metadata"])
    (await api.get(SELF_REVIEWS.path())).refuse(405, "MethodNotAllowed")
