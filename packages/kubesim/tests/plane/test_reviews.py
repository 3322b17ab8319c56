"""Questions about access and identity, and the answers in their status."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.auth.authentication import Authenticator
from kubesim.plane.auth.authorization import AlwaysAllow, Attributes, Decision, PolicyRule
from kubesim.plane.auth.certificates import new_key
from kubesim.plane.auth.reviews import (
    local_subject_access_review,
    self_subject_access_review,
    self_subject_review,
    self_subject_rules_review,
    subject_access_review,
    token_request,
    token_review,
)
from kubesim.plane.auth.tokens import ISSUER, ServiceAccount, ServiceAccountTokens
from kubesim.plane.errors import StatusError
from kubesim.plane.request import User

NOW = datetime(2030, 1, 1, 12, 30, tzinfo=UTC)
ALICE = User("alice", ("devs",), "7", {"team": ("a", "b")})
ROBOT = ServiceAccount("apps", "robot", "uid-1")
GET_PODS = {"verb": "get", "resource": "pods", "namespace": "x"}


class Scribe(AlwaysAllow):
    """Notes what it is asked, and answers as it is told."""

    def __init__(self, decision: Decision | None = None) -> None:
        self.decision = decision or Decision(True, "because")
        self.asked: list[Attributes] = []

    def authorize(self, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        return self.decision


def review(kind: str, spec: JsonObject, group: str = "authorization", **metadata: Any) -> JsonObject:
    return {"kind": kind, "apiVersion": f"{group}.k8s.io/v1", "metadata": metadata, "spec": spec}


# --- access reviews ---


def test_self_subject_access_review_asks_about_the_caller() -> None:
    scribe = Scribe()
    attributes = {
        "verb": "update",
        "group": "apps",
        "version": "v1",
        "resource": "deployments",
        "subresource": "scale",
        "name": "d",
        "namespace": "x",
    }
    posted = review("SelfSubjectAccessReview", {"resourceAttributes": attributes})
    answer = self_subject_access_review(posted, ALICE, scribe)
    assert answer == {**posted, "status": {"allowed": True, "reason": "because"}}
    assert scribe.asked == [Attributes(ALICE, "update", "apps", "v1", "deployments", "scale", "d", "x")]


def test_access_review_of_a_path() -> None:
    scribe = Scribe(Decision(False))
    spec = {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}
    answer = self_subject_access_review(review("SelfSubjectAccessReview", spec), ALICE, scribe)
    assert answer["status"] == {"allowed": False}
    assert scribe.asked == [Attributes(ALICE, "get", path="/metrics", is_resource=False)]


def test_subject_access_review_asks_about_somebody_else() -> None:
    scribe = Scribe()
    spec = {
        "resourceAttributes": GET_PODS,
        "user": "bob",
        "groups": ["ops"],
        "uid": "9",
        "extra": {"k": ["v"]},
    }
    subject_access_review(review("SubjectAccessReview", spec), scribe)
    assert scribe.asked[0].user == User("bob", ("ops",), "9", {"k": ("v",)})
    assert scribe.asked[0].version == "*"


def test_local_subject_access_review_stays_in_its_namespace() -> None:
    posted = review(
        "LocalSubjectAccessReview", {"resourceAttributes": GET_PODS, "user": "bob"}, namespace="x"
    )
    assert local_subject_access_review(posted, "x", Scribe())["status"]["allowed"]
    with pytest.raises(StatusError, match=r"spec\.resourceAttributes\.namespace must match namespace: y"):
        local_subject_access_review(posted, "y", Scribe())


def test_local_subject_access_review_takes_its_namespace_from_the_path() -> None:
    spec = {"resourceAttributes": GET_PODS, "user": "bob"}
    answer = local_subject_access_review(review("LocalSubjectAccessReview", spec), "x", Scribe())
    assert answer["metadata"] == {"namespace": "x"}


PATH = {"verb": "get", "path": "/x"}
INVALID_SELF: dict[str, tuple[JsonObject, JsonObject, str]] = {
    "neither": (
        {},
        {},
        (
            "spec.resourceAttributes: Invalid value: null: "
            "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        ),
    ),
    "both": (
        {"resourceAttributes": GET_PODS, "nonResourceAttributes": PATH},
        {},
        (
            'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: '
            "cannot be specified in combination with resourceAttributes"
        ),
    ),
    "metadata": (
        {"resourceAttributes": GET_PODS},
        {"name": "n"},
        'metadata: Invalid value: {"name":"n"}: must be empty',
    ),
    "empty selector": (
        {"resourceAttributes": {**GET_PODS, "labelSelector": {}}},
        {},
        (
            "spec.resourceAttributes.labelSelector.requirements: Required value: "
            "when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required"
        ),
    ),
    "two selectors": (
        {"resourceAttributes": {**GET_PODS, "fieldSelector": {"rawSelector": "a=b", "requirements": [{}]}}},
        {},
        (
            'spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a=b": '
            "may not specified at the same time as requirements"
        ),
    ),
}


@pytest.mark.parametrize(("spec", "metadata", "problem"), INVALID_SELF.values(), ids=INVALID_SELF)
def test_access_review_must_make_sense(spec: JsonObject, metadata: JsonObject, problem: str) -> None:
    with pytest.raises(StatusError) as refusal:
        self_subject_access_review(review("SelfSubjectAccessReview", spec, **metadata), ALICE, Scribe())
    assert refusal.value.code == 422
    assert refusal.value.message == f'.authorization.k8s.io "" is invalid: {problem}'


def test_access_review_may_carry_managed_fields() -> None:
    posted = review(
        "SelfSubjectAccessReview", {"resourceAttributes": GET_PODS}, managedFields=[{"manager": "kubectl"}]
    )
    assert self_subject_access_review(posted, ALICE, Scribe())["status"]["allowed"]


def test_subject_access_review_needs_a_subject() -> None:
    with pytest.raises(StatusError) as refusal:
        subject_access_review(review("SubjectAccessReview", {"resourceAttributes": GET_PODS}), Scribe())
    assert (
        'spec.user: Invalid value: "": at least one of user or group must be specified'
        in refusal.value.message
    )


INVALID_LOCAL = {
    "another namespace": (
        {"resourceAttributes": GET_PODS},
        'spec.resourceAttributes.namespace: Invalid value: "x": must match metadata.namespace',
    ),
    "a path": (
        {"nonResourceAttributes": PATH},
        'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request',
    ),
}


@pytest.mark.parametrize(("spec", "problem"), INVALID_LOCAL.values(), ids=INVALID_LOCAL)
def test_local_subject_access_review_must_be_local(spec: JsonObject, problem: str) -> None:
    posted = review("LocalSubjectAccessReview", {**spec, "user": "bob"}, namespace="y")
    with pytest.raises(StatusError) as refusal:
        local_subject_access_review(posted, "y", Scribe())
    assert refusal.value.message.endswith(problem)


def test_local_subject_access_review_allows_no_other_metadata() -> None:
    posted = review(
        "LocalSubjectAccessReview", {"resourceAttributes": GET_PODS, "user": "bob"}, namespace="x", name="n"
    )
    with pytest.raises(StatusError, match="must be empty except for namespace"):
        local_subject_access_review(posted, "x", Scribe())


# --- rules and self ---


def test_rules_review_lists_rules_of_both_kinds() -> None:
    class Holder(AlwaysAllow):
        def rules_for(self, user: User, namespace: str) -> tuple[list[PolicyRule], list[str]]:
            assert (user, namespace) == (ALICE, "x")
            named = PolicyRule(("get",), ("",), ("pods",), ("p",))
            return [named, PolicyRule(("get",), urls=("/x",))], ["a", "b"]

    answer = self_subject_rules_review(review("SelfSubjectRulesReview", {"namespace": "x"}), ALICE, Holder())
    assert answer == {
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {},
        "status": {
            "resourceRules": [
                {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"]}
            ],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
            "incomplete": False,
            "evaluationError": "[a, b]",
        },
    }


def test_rules_review_of_an_open_cluster_shows_everything() -> None:
    answer = self_subject_rules_review(review("", {"namespace": "x"}), ALICE, AlwaysAllow())
    assert answer["status"]["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]


def test_rules_review_needs_a_namespace() -> None:
    with pytest.raises(StatusError, match="no namespace on request"):
        self_subject_rules_review(review("SelfSubjectRulesReview", {}), ALICE, AlwaysAllow())


def test_self_subject_review_tells_who_one_is() -> None:
    answer = self_subject_review(review("SelfSubjectReview", {}, "authentication"), ALICE, NOW)
    assert answer["metadata"] == {"creationTimestamp": "2030-01-01T12:30:00Z"}
    assert answer["status"]["userInfo"] == {
        "username": "alice",
        "uid": "7",
        "groups": ["devs"],
        "extra": {"team": ["a", "b"]},
    }


# --- tokens ---


@pytest.fixture
def tokens() -> ServiceAccountTokens:
    return ServiceAccountTokens(new_key(), lambda namespace, name: "uid-1")


@pytest.fixture
def authenticator(tokens: ServiceAccountTokens) -> Authenticator:
    return Authenticator({"letmein": User("alice")}, None, tokens, lambda: NOW)


def ask_about(token: str, authenticator: Authenticator, *audiences: str) -> JsonObject:
    spec: JsonObject = {"token": token} | ({"audiences": list(audiences)} if audiences else {})
    status: JsonObject = token_review(review("TokenReview", spec, "authentication"), authenticator)["status"]
    return status


def test_token_review_tells_whose_token_it_is(authenticator: Authenticator) -> None:
    assert ask_about("letmein", authenticator) == {
        "authenticated": True,
        "user": {"username": "alice", "groups": ["system:authenticated"]},
        "audiences": [ISSUER],
    }


def test_token_review_tells_why_a_token_is_worthless(authenticator: Authenticator) -> None:
    assert ask_about("wrong", authenticator) == {"user": {}, "error": "invalid bearer token"}


def test_token_review_minds_audiences(authenticator: Authenticator, tokens: ServiceAccountTokens) -> None:
    token = tokens.issue_token(ROBOT, ["vault"], timedelta(hours=1), NOW)
    assert ask_about(token, authenticator, "vault", "other")["audiences"] == ["vault"]
    assert ask_about(token, authenticator) == {
        "user": {},
        "error": "[invalid bearer token, token audiences "
        f'["vault"] is invalid for the target audiences ["{ISSUER}"]]',
    }


def test_token_review_needs_a_token(authenticator: Authenticator) -> None:
    with pytest.raises(StatusError, match="token is required for TokenReview in authentication"):
        ask_about("", authenticator)


def request_for(**spec: Any) -> JsonObject:
    return review("TokenRequest", spec, "authentication")


def test_token_request_issues_a_token_that_works(tokens: ServiceAccountTokens) -> None:
    answer = token_request(request_for(), ROBOT, tokens, NOW)
    assert answer["spec"] == {"expirationSeconds": 3600, "audiences": [ISSUER], "boundObjectRef": None}
    assert answer["status"]["expirationTimestamp"] == "2030-01-01T13:30:00Z"
    assert answer["metadata"] == {
        "name": "robot",
        "namespace": "apps",
        "uid": "uid-1",
        "creationTimestamp": "2030-01-01T12:30:00Z",
    }
    verified = tokens.verify(answer["status"]["token"], (), NOW)
    assert verified is not None
    assert verified.user.name == "system:serviceaccount:apps:robot"


def test_token_request_honours_audiences_and_lifetime(tokens: ServiceAccountTokens) -> None:
    answer = token_request(request_for(audiences=["vault"], expirationSeconds=600), ROBOT, tokens, NOW)
    assert answer["status"]["expirationTimestamp"] == "2030-01-01T12:40:00Z"
    verified = tokens.verify(answer["status"]["token"], ["vault"], NOW)
    assert verified is not None
    assert verified.audiences == ("vault",)


@pytest.mark.parametrize(
    ("seconds", "why"),
    [
        (599, "may not specify a duration less than 10 minutes"),
        (2**32 + 1, "may not specify a duration larger than 2^32 seconds"),
    ],
)
def test_token_request_has_limits(tokens: ServiceAccountTokens, seconds: int, why: str) -> None:
    with pytest.raises(StatusError) as refusal:
        token_request(request_for(expirationSeconds=seconds), ROBOT, tokens, NOW)
    assert refusal.value.message == (
        f'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: {seconds}: {why}'
    )


@pytest.mark.parametrize(
    ("metadata", "code", "why"),
    [
        (
            {"name": "other"},
            422,
            'metadata.name: Invalid value: "other": must match the service account name',
        ),
        (
            {"namespace": "y"},
            422,
            'metadata.namespace: Invalid value: "y": must match the service account namespace',
        ),
        (
            {"uid": "2"},
            409,
            "the UID in the token request (2) does not match the UID of the service account (uid-1)",
        ),
    ],
)
def test_token_request_must_be_for_its_account(
    tokens: ServiceAccountTokens, metadata: JsonObject, code: int, why: str
) -> None:
    with pytest.raises(StatusError) as refusal:
        token_request(review("TokenRequest", {}, "authentication", **metadata), ROBOT, tokens, NOW)
    assert refusal.value.code == code
    assert why in refusal.value.message


@pytest.mark.parametrize(
    "spec", [{"expirationSeconds": "1h"}, {"audiences": "vault"}, {"audiences": [1]}, "x"]
)
def test_token_request_must_be_one(tokens: ServiceAccountTokens, spec: Any) -> None:
    with pytest.raises(StatusError, match="cannot be handled as a TokenRequest") as refusal:
        token_request({**request_for(), "spec": spec}, ROBOT, tokens, NOW)
    assert refusal.value.code == 400


def test_reviews_leave_the_posted_object_alone(tokens: ServiceAccountTokens) -> None:
    posted = request_for()
    token_request(posted, ROBOT, tokens, NOW)
    assert posted == request_for()
