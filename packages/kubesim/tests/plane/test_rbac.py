"""Roles, bindings and the decisions they lead to; aggregation, escalation and the default policy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.auth.authorization import (
    AlwaysAllow,
    Attributes,
    PolicyRule,
    attributes_of,
    refusal,
)
from kubesim.plane.auth.bootstrap import bootstrap_policy
from kubesim.plane.auth.escalation import compacted, confirm_no_escalation, uncovered
from kubesim.plane.auth.rbac import RbacAuthorizer, aggregate, rule_allows
from kubesim.plane.errors import StatusError
from kubesim.plane.request import Request, User
from kubesim.plane.requestinfo import RequestInfo, parse_request_info

GROUP = "rbac.authorization.k8s.io"
ALICE = User("alice", ("devs", "system:authenticated"))
ROBOT = User("system:serviceaccount:apps:robot", ("system:serviceaccounts",))
ADMIN = User("root", ("system:masters",))


@dataclass
class Policy:
    """A source of roles that counts how often it is read."""

    objects: list[JsonObject] = field(default_factory=list)
    number: int = 1
    reads: int = 0

    def version(self) -> int:
        return self.number

    def add(self, *objects: JsonObject) -> None:
        self.objects += objects
        self.number += 1

    def _of(self, kind: str) -> Iterable[JsonObject]:
        self.reads += 1
        return [tree for tree in self.objects if tree["kind"] == kind]

    def roles(self) -> Iterable[JsonObject]:
        return self._of("Role")

    def cluster_roles(self) -> Iterable[JsonObject]:
        return self._of("ClusterRole")

    def role_bindings(self) -> Iterable[JsonObject]:
        return self._of("RoleBinding")

    def cluster_role_bindings(self) -> Iterable[JsonObject]:
        return self._of("ClusterRoleBinding")


def rule(verbs: str, resources: str = "", groups: tuple[str, ...] = ("",), **more: Any) -> JsonObject:
    if resources:
        more |= {"apiGroups": list(groups), "resources": resources.split()}
    return {"verbs": verbs.split(), **more}


def role(name: str, *rules: JsonObject, namespace: str = "", **more: Any) -> JsonObject:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    kind = "Role" if namespace else "ClusterRole"
    return {"kind": kind, "metadata": {**metadata, **more.pop("metadata", {})}, "rules": list(rules), **more}


def binding(
    role_name: str, *subjects: JsonObject, namespace: str = "", kind: str = "ClusterRole"
) -> JsonObject:
    name = f"{role_name}-binding"
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role_name},
        "subjects": list(subjects),
    }


def user(name: str) -> JsonObject:
    return {"kind": "User", "apiGroup": GROUP, "name": name}


def group(name: str) -> JsonObject:
    return {"kind": "Group", "apiGroup": GROUP, "name": name}


def account(name: str, namespace: str = "") -> JsonObject:
    return {"kind": "ServiceAccount", "name": name} | ({"namespace": namespace} if namespace else {})


def may(policy: Policy, who: User, method: str, target: str) -> bool:
    info = parse_request_info(Request.of(method, target))
    return RbacAuthorizer(policy).authorize(attributes_of(who, info)).allowed


# --- rules ---

# rule → the requests it allows, and those it does not
RULES: dict[str, tuple[JsonObject, list[str], list[str]]] = {
    "one verb on one resource": (
        rule("get", "pods"),
        ["GET /api/v1/namespaces/x/pods/p"],
        ["GET /api/v1/namespaces/x/pods", "GET /api/v1/namespaces/x/pods/p/log", "GET /apis/g/v1/pods/p"],
    ),
    "any verb": (
        rule("*", "pods"),
        ["DELETE /api/v1/pods", "GET /api/v1/pods?watch=1", "PATCH /api/v1/namespaces/x/pods/p"],
        ["GET /api/v1/services"],
    ),
    "any group": (rule("list", "things", ("*",)), ["GET /apis/g/v1/things", "GET /api/v1/things"], []),
    "any resource": (
        rule("get", "*"),
        ["GET /api/v1/namespaces/x/pods/p", "GET /api/v1/namespaces/x/pods/p/log"],
        ["GET /apis/g/v1/things/t"],
    ),
    "a subresource": (
        rule("get", "pods/log"),
        ["GET /api/v1/namespaces/x/pods/p/log"],
        ["GET /api/v1/namespaces/x/pods/p", "GET /api/v1/namespaces/x/pods/p/exec"],
    ),
    "a subresource of everything": (
        rule("update", "*/scale", ("*",)),
        ["PUT /apis/apps/v1/namespaces/x/deployments/d/scale"],
        [
            "PUT /apis/apps/v1/namespaces/x/deployments/d",
            "PUT /apis/apps/v1/namespaces/x/deployments/d/status",
        ],
    ),
    "all subresources, which is no pattern": (
        rule("get", "pods/*"),
        [],
        ["GET /api/v1/namespaces/x/pods/p/log", "GET /api/v1/namespaces/x/pods/p"],
    ),
    "names": (
        rule("get list watch delete", "pods", resourceNames=["p", "q"]),
        [
            "GET /api/v1/namespaces/x/pods/p",
            "DELETE /api/v1/namespaces/x/pods/q",
            "GET /api/v1/namespaces/x/pods?fieldSelector=metadata.name=p",
            "GET /api/v1/namespaces/x/pods?watch=1&fieldSelector=metadata.name=p",
        ],
        [
            "GET /api/v1/namespaces/x/pods/r",
            "GET /api/v1/namespaces/x/pods",
            "GET /api/v1/namespaces/x/pods?fieldSelector=metadata.name=r",
            "DELETE /api/v1/namespaces/x/pods?fieldSelector=metadata.name=p",
        ],
    ),
    "a path": (
        rule("get", nonResourceURLs=["/readyz"]),
        ["GET /readyz"],
        ["GET /readyz/etcd", "POST /readyz"],
    ),
    "paths below": (
        rule("get", nonResourceURLs=["/readyz/*"]),
        ["GET /readyz/", "GET /readyz/etcd"],
        ["GET /readyz", "GET /api/v1/pods"],
    ),
    "any path": (rule("*", nonResourceURLs=["*"]), ["GET /", "POST /x/y"], ["GET /api/v1/pods"]),
    "no verb": (rule("", "pods"), [], ["GET /api/v1/pods"]),
}


@pytest.mark.parametrize(("granted", "allowed", "denied"), RULES.values(), ids=RULES)
def test_rule_allows_exactly_what_it_says(granted: JsonObject, allowed: list[str], denied: list[str]) -> None:
    policy = Policy([role("r", granted), binding("r", user("alice"))])
    decisions = {asked: may(policy, ALICE, *asked.split(" ", 1)) for asked in allowed + denied}
    assert decisions == {asked: asked in allowed for asked in allowed + denied}


# --- bindings ---

# subject → (who it names, who it does not)
SUBJECTS: dict[str, tuple[JsonObject, User, User]] = {
    "user": (user("alice"), ALICE, User("bob", ("devs",))),
    "group": (group("devs"), ALICE, User("devs", ())),
    "account": (account("robot", "apps"), ROBOT, User("system:serviceaccount:x:robot", ())),
    "account here": (account("robot"), User("system:serviceaccount:x:robot", ()), ROBOT),
    "unheard-of": ({"kind": "Robot", "name": "alice"}, ADMIN, ALICE),
}


@pytest.mark.parametrize(("subject", "named", "other"), SUBJECTS.values(), ids=SUBJECTS)
def test_binding_grants_to_its_subjects_alone(subject: JsonObject, named: User, other: User) -> None:
    policy = Policy([role("r", rule("list", "pods")), binding("r", subject, namespace="x")])
    assert may(policy, named, "GET", "/api/v1/namespaces/x/pods")
    assert not may(policy, other, "GET", "/api/v1/namespaces/x/pods")


def test_account_without_a_namespace_is_nobody_in_a_cluster_role_binding() -> None:
    policy = Policy([role("r", rule("list", "pods")), binding("r", account("robot"))])
    assert not may(policy, User("system:serviceaccount::robot"), "GET", "/api/v1/pods")


def test_role_binding_grants_in_its_namespace_alone() -> None:
    policy = Policy(
        [
            role("r", rule("list", "pods")),
            role("r", rule("list", "services"), namespace="x"),
            binding("r", user("alice"), namespace="x"),
            binding("r", user("alice"), namespace="y", kind="Role"),
        ]
    )
    assert may(policy, ALICE, "GET", "/api/v1/namespaces/x/pods")
    assert not may(policy, ALICE, "GET", "/api/v1/namespaces/x/services")
    assert not may(policy, ALICE, "GET", "/api/v1/namespaces/y/services")
    assert not may(policy, ALICE, "GET", "/api/v1/pods")


def test_namespace_object_lies_in_itself() -> None:
    policy = Policy([role("r", rule("get", "namespaces")), binding("r", user("alice"), namespace="x")])
    assert may(policy, ALICE, "GET", "/api/v1/namespaces/x")
    assert not may(policy, ALICE, "GET", "/api/v1/namespaces/y")


def test_masters_may_do_everything() -> None:
    assert may(Policy(), ADMIN, "DELETE", "/api/v1/nodes")


def test_decision_tells_which_binding_allowed() -> None:
    policy = Policy(
        [
            role("r", rule("list", "pods")),
            role("r", rule("list", "services"), namespace="x"),
            binding("r", group("devs")),
            binding("r", account("robot"), namespace="apps"),
        ]
    )
    authorizer = RbacAuthorizer(policy)
    cluster_wide = authorizer.authorize(Attributes(ALICE, "list", resource="pods"))
    assert cluster_wide.reason == (
        'RBAC: allowed by ClusterRoleBinding "r-binding" of ClusterRole "r" to Group "devs"'
    )
    local = authorizer.authorize(Attributes(ROBOT, "list", resource="pods", namespace="apps"))
    assert local.reason == (
        'RBAC: allowed by RoleBinding "r-binding/apps" of ClusterRole "r" to ServiceAccount "robot/apps"'
    )


def test_missing_roles_are_told_in_the_reason() -> None:
    policy = Policy(
        [binding("gone", user("alice")), binding("lost", user("alice"), namespace="x", kind="Role")]
    )
    authorizer = RbacAuthorizer(policy)
    assert authorizer.authorize(Attributes(ALICE, "list", resource="pods")).reason == (
        f'RBAC: clusterrole.{GROUP} "gone" not found'
    )
    assert authorizer.authorize(Attributes(ALICE, "list", resource="pods", namespace="x")).reason == (
        f'RBAC: [clusterrole.{GROUP} "gone" not found, role.{GROUP} "lost" not found]'
    )


def test_authorizer_reads_the_policy_once_per_version() -> None:
    policy = Policy([role("r", rule("list", "pods"))])
    authorizer = RbacAuthorizer(policy)
    asked = Attributes(ALICE, "list", resource="pods")
    assert [authorizer.authorize(asked).allowed for _ in range(3)] == [False, False, False]
    assert policy.reads == 4
    policy.add(binding("r", user("alice")))
    assert [authorizer.authorize(asked).allowed for _ in range(3)] == [True, True, True]
    assert policy.reads == 8


def test_rules_for_a_user_come_from_every_binding_once() -> None:
    policy = Policy(
        [
            role("a", rule("list", "pods")),
            role("b", rule("get", nonResourceURLs=["/x"])),
            binding("a", user("alice"), group("devs"), namespace="x"),
            binding("b", group("devs")),
            binding("gone", group("devs")),
        ]
    )
    rules, problems = RbacAuthorizer(policy).rules_for(ALICE, "x")
    assert rules == [PolicyRule(("get",), urls=("/x",)), PolicyRule(("list",), ("",), ("pods",))]
    assert problems == [f'clusterrole.{GROUP} "gone" not found']


# --- refusals ---

MESSAGES = {
    "GET /api/v1/namespaces/x/pods": (
        'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "x"'
    ),
    "GET /apis/apps/v1/deployments": (
        'deployments.apps is forbidden: User "alice" cannot list resource "deployments" '
        'in API group "apps" at the cluster scope'
    ),
    "GET /api/v1/namespaces/x/pods/p/log": (
        'pods "p" is forbidden: User "alice" cannot get resource "pods/log" in API group "" in the namespace "x"'
    ),
    "GET /api/v1/namespaces/x": (
        'namespaces "x" is forbidden: User "alice" cannot get resource "namespaces" '
        'in API group "" in the namespace "x"'
    ),
    "POST /metrics": 'forbidden: User "alice" cannot post path "/metrics"',
    "GET /<b>": 'forbidden: User "alice" cannot get path "/&lt;b&gt;"',
}


@pytest.mark.parametrize(("asked", "message"), MESSAGES.items(), ids=MESSAGES)
def test_refusal_speaks_as_the_real_server(asked: str, message: str) -> None:
    method, target = asked.split(" ", 1)
    info = parse_request_info(Request.of(method, target))
    assert refusal(attributes_of(ALICE, info)).message == message


def test_refusal_names_the_resource_in_its_details() -> None:
    info = parse_request_info(Request.of("GET", "/apis/apps/v1/namespaces/x/deployments/d"))
    status = refusal(attributes_of(ALICE, info), "RBAC: no").status()
    assert (status["code"], status["reason"]) == (403, "Forbidden")
    assert status["details"] == {"name": "d", "group": "apps", "kind": "deployments"}
    assert status["message"].endswith('in the namespace "x": RBAC: no')


# --- aggregation ---


def gathering(name: str, *labels: str, into: str = "") -> JsonObject:
    selectors = [{"matchLabels": {f"to-{label}": "true"}} for label in labels]
    metadata = {"labels": {f"to-{into}": "true"}} if into else {}
    return role(name, metadata=metadata, aggregationRule={"clusterRoleSelectors": selectors})


def labelled(name: str, into: str, *rules: JsonObject) -> JsonObject:
    return role(name, *rules, metadata={"labels": {f"to-{into}": "true"}})


def test_aggregation_gathers_rules_in_order_of_names() -> None:
    roles = [
        labelled("b", "view", rule("get", "pods"), rule("get", "services")),
        labelled("a", "view", rule("get", "things")),
        labelled("c", "other", rule("get", "secrets")),
        gathering("view", "view"),
    ]
    assert aggregate(roles) == {"view": [rule("get", "things"), rule("get", "pods"), rule("get", "services")]}


def test_aggregation_keeps_equal_rules_once() -> None:
    roles = [
        labelled("a", "v", rule("get", "pods")),
        labelled("b", "v", rule("get", "pods")),
        gathering("v", "v"),
    ]
    assert aggregate(roles) == {"v": [rule("get", "pods")]}


def test_aggregation_passes_through_aggregated_roles() -> None:
    roles = [
        gathering("admin", "admin"),
        gathering("edit", "edit", into="admin"),
        gathering("view", "view", into="edit"),
        labelled("z", "view", rule("get", "pods")),
    ]
    assert aggregate(roles) == {name: [rule("get", "pods")] for name in ("admin", "edit", "view")}


def test_aggregation_forgets_rules_that_nobody_contributes() -> None:
    stale = {**gathering("view", "view"), "rules": [rule("get", "pods")]}
    assert aggregate([stale]) == {"view": []}


def test_aggregation_ends_when_roles_gather_each_other() -> None:
    roles = [
        gathering("a", "a", into="b"),
        gathering("b", "b", into="a"),
        labelled("z", "a", rule("get", "pods")),
    ]
    assert aggregate(roles) == {"a": [rule("get", "pods")], "b": [rule("get", "pods")]}


# --- escalation ---


def info_of(resource: str, namespace: str = "", name: str = "") -> RequestInfo:
    return RequestInfo(GROUP, "v1", resource, "", namespace, name, True, "create", "")


def holding(*rules: JsonObject) -> RbacAuthorizer:
    return RbacAuthorizer(Policy([role("held", *rules), binding("held", user("alice"))]))


def test_escalation_allows_granting_what_is_held() -> None:
    authorizer = holding(rule("get list", "pods"), rule("*", "things", ("g",)))
    wanted = role("new", rule("list", "pods"), rule("get delete", "things", ("g",)), namespace="x")
    confirm_no_escalation(authorizer, ALICE, info_of("roles", "x"), wanted)


def test_escalation_lists_exactly_what_is_missing() -> None:
    authorizer = holding(rule("get", "pods"), rule("get", nonResourceURLs=["/a/*"]))
    wanted = role(
        "new",
        rule("get list watch", "pods services"),
        rule("get", "secrets", resourceNames=["s"]),
        rule("get post", nonResourceURLs=["/a/b"]),
    )
    with pytest.raises(StatusError) as refused:
        confirm_no_escalation(authorizer, ALICE, info_of("clusterroles"), wanted)
    assert refused.value.code == 403
    assert refused.value.details == {"name": "new", "group": GROUP, "kind": "clusterroles"}
    assert refused.value.message == (
        f'clusterroles.{GROUP} "new" is forbidden: user "alice" (groups=["devs" "system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}\n'
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["s"], Verbs:["get"]}\n'
        '{APIGroups:[""], Resources:["services"], Verbs:["get" "list" "watch"]}\n'
        '{NonResourceURLs:["/a/b"], Verbs:["post"]}'
    )


def test_escalation_is_open_to_those_who_may_escalate() -> None:
    authorizer = holding(rule("escalate", "clusterroles", (GROUP,)))
    confirm_no_escalation(authorizer, ALICE, info_of("clusterroles"), role("new", rule("*", "*", ("*",))))
    with pytest.raises(StatusError):
        confirm_no_escalation(
            authorizer, ALICE, info_of("roles", "x"), role("new", rule("*", "*"), namespace="x")
        )


def test_binding_needs_the_rights_of_its_role() -> None:
    policy = Policy(
        [
            role("held", rule("get", "pods")),
            role("more", rule("delete", "pods")),
            binding("held", user("alice")),
        ]
    )
    authorizer = RbacAuthorizer(policy)
    confirm_no_escalation(authorizer, ALICE, info_of("clusterrolebindings"), binding("held", user("bob")))
    with pytest.raises(StatusError, match=r"not currently held:\n.*delete"):
        confirm_no_escalation(authorizer, ALICE, info_of("clusterrolebindings"), binding("more", user("bob")))


def test_binding_is_open_to_those_who_may_bind_that_role() -> None:
    policy = Policy(
        [
            role("binder", rule("bind", "clusterroles", (GROUP,), resourceNames=["more"])),
            role("more", rule("delete", "pods")),
            role("most", rule("*", "*")),
            binding("binder", user("alice"), namespace="x"),
        ]
    )
    authorizer = RbacAuthorizer(policy)
    confirm_no_escalation(authorizer, ALICE, info_of("rolebindings", "x"), binding("more", namespace="x"))
    for resource, wanted in [
        ("rolebindings", binding("most", namespace="x")),
        ("clusterrolebindings", binding("more")),
    ]:
        with pytest.raises(StatusError, match="not currently held"):
            confirm_no_escalation(
                authorizer, ALICE, info_of(resource, wanted["metadata"].get("namespace", "")), wanted
            )


@pytest.mark.parametrize("kind", ["ClusterRole", "Role"])
def test_binding_to_a_missing_role_is_not_found(kind: str) -> None:
    wanted = binding("gone", namespace="x", kind=kind)
    with pytest.raises(StatusError) as refused:
        confirm_no_escalation(holding(), ALICE, info_of("rolebindings", "x"), wanted)
    assert (refused.value.code, refused.value.message) == (404, f'rolebindings.{GROUP} "gone" not found')


def test_aggregated_role_needs_full_authority() -> None:
    wanted = gathering("new", "all")
    with pytest.raises(StatusError, match="must have cluster-admin privileges to use the aggregationRule"):
        confirm_no_escalation(holding(rule("get", "*", ("*",))), ALICE, info_of("clusterroles"), wanted)
    everything = holding(rule("*", "*", ("*",)), rule("*", nonResourceURLs=["*"]))
    confirm_no_escalation(everything, ALICE, info_of("clusterroles"), wanted)
    with pytest.raises(StatusError, match="aggregationRule"):
        confirm_no_escalation(holding(), ALICE, info_of("clusterroles"), role("new"), wanted)


def test_escalation_does_not_hinder_the_garbage_collector() -> None:
    old = role("r", rule("*", "*"), metadata={"finalizers": ["a/b"], "uid": "1"})
    new = role("r", rule("*", "*"), metadata={"ownerReferences": [], "uid": "1"})
    confirm_no_escalation(holding(), ALICE, info_of("clusterroles"), new, old)
    with pytest.raises(StatusError):
        confirm_no_escalation(holding(), ALICE, info_of("clusterroles"), {**new, "x": 1}, old)


def test_escalation_concerns_neither_masters_nor_other_groups_nor_open_clusters() -> None:
    everything = role("new", rule("*", "*", ("*",)))
    confirm_no_escalation(holding(), ADMIN, info_of("clusterroles"), everything)
    confirm_no_escalation(AlwaysAllow(), ALICE, info_of("clusterroles"), everything)
    other = RequestInfo("example.org", "v1", "clusterroles", "", "", "", True, "create", "")
    confirm_no_escalation(holding(), ALICE, other, everything)


WORD = st.sampled_from(["a", "b", "*"])
RESOURCE = st.sampled_from(["a", "b", "a/s", "*/s", "*"])
RULE = st.builds(
    PolicyRule,
    st.lists(WORD, min_size=1, max_size=2).map(tuple),
    st.lists(WORD, min_size=1, max_size=2).map(tuple),
    st.lists(RESOURCE, min_size=1, max_size=2).map(tuple),
    st.lists(st.sampled_from(["m", "n"]), max_size=2).map(tuple),
)
ASKED = st.builds(
    Attributes,
    st.just(ALICE),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["a", "b", "c"]),
    st.just("v1"),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["", "s", "t"]),
    st.sampled_from(["", "m", "n", "o"]),
)


@given(held=st.lists(RULE, max_size=3), wanted=RULE, asked=ASKED)
def test_covered_rules_allow_nothing_new(
    held: list[PolicyRule], wanted: PolicyRule, asked: Attributes
) -> None:
    if not uncovered(held, [wanted]) and rule_allows(wanted, asked):
        assert any(rule_allows(rule, asked) for rule in held)


@given(rules=st.lists(RULE, max_size=3))
def test_rules_cover_themselves_and_are_all_missing_from_nothing(rules: list[PolicyRule]) -> None:
    assert uncovered(rules, rules) == []
    missing = uncovered([], rules)
    assert uncovered(compacted(missing), rules) == []


# --- the default policy ---


def default_policy() -> Policy:
    return Policy(bootstrap_policy())


DEFAULTS = {
    "anybody sees health": (User("x", ("system:unauthenticated",)), "GET /readyz", True),
    "strangers see no discovery": (User("x", ("system:unauthenticated",)), "GET /apis", False),
    "users see discovery": (ALICE, "GET /apis/apps/v1", True),
    "users see schemas": (ALICE, "GET /openapi/v3", True),
    "users ask about themselves": (
        ALICE,
        "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        True,
    ),
    "users see nothing else": (ALICE, "GET /api/v1/namespaces/x/pods", False),
}


@pytest.mark.parametrize(("who", "asked", "allowed"), DEFAULTS.values(), ids=DEFAULTS)
def test_default_policy_grants_the_basics(who: User, asked: str, allowed: bool) -> None:
    assert may(default_policy(), who, *asked.split(" ", 1)) is allowed


# request in namespace x → the least of the roles view, edit and admin that allows it
LEAST_ROLE = {
    "GET /api/v1/namespaces/x/pods": "view",
    "GET /api/v1/namespaces/x/pods/p/log": "view",
    "GET /apis/apps/v1/namespaces/x/deployments?watch=1": "view",
    "GET /api/v1/namespaces/x/secrets": "edit",
    "POST /api/v1/namespaces/x/configmaps": "edit",
    "PATCH /apis/apps/v1/namespaces/x/deployments/d/scale": "edit",
    "POST /api/v1/namespaces/x/serviceaccounts/a/token": "edit",
    "POST /apis/rbac.authorization.k8s.io/v1/namespaces/x/roles": "admin",
    "PUT /apis/apps/v1/namespaces/x/deployments/d/status": "",
    "DELETE /api/v1/namespaces/x": "",
    "GET /api/v1/namespaces/y/pods": "",
}


@pytest.mark.parametrize(("asked", "least"), LEAST_ROLE.items(), ids=LEAST_ROLE)
def test_default_roles_build_upon_each_other(asked: str, least: str) -> None:
    allowing = [
        name
        for name in ("view", "edit", "admin")
        if may(
            Policy([*bootstrap_policy(), binding(name, user("alice"), namespace="x")]),
            ALICE,
            *asked.split(" ", 1),
        )
    ]
    order = ["view", "edit", "admin"]
    assert allowing == (order[order.index(least) :] if least else [])


def test_default_policy_is_settled() -> None:
    cluster_roles = [tree for tree in bootstrap_policy() if tree["kind"] == "ClusterRole"]
    by_name = {tree["metadata"]["name"]: tree["rules"] for tree in cluster_roles}
    assert aggregate(cluster_roles) == {name: by_name[name] for name in ("admin", "edit", "view")}
