"""Who may do what: identities, roles, and the words of a refusal."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Answer, Client, connect, eventually
from tests.conformance.definitions import define
from tests.conformance.kinds import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    Kind,
    config_map,
    deployment,
    unique,
)
from tests.conformance.servers import CERTIFICATE_GROUP, CERTIFICATE_USER, GROUPS, Server

RBAC = "rbac.authorization.k8s.io"


def user(name: str) -> JsonObject:
    return {"kind": "User", "name": name, "apiGroup": RBAC}


def rule(
    *verbs: str, resources: tuple[str, ...] = ("configmaps",), group: str = "", **extra: object
) -> JsonObject:
    return {"verbs": list(verbs), "apiGroups": [group], "resources": list(resources), **extra}


async def grant(api: Client, namespace: str, subject: JsonObject, *rules: JsonObject) -> None:
    """Let the subject follow these rules in the namespace."""
    name = unique("granted")
    (await api.create(ROLES.path(namespace), ROLES.new(name, rules=list(rules)))).expect(201)
    reference = {"apiGroup": RBAC, "kind": "Role", "name": name}
    body = ROLE_BINDINGS.new(name, roleRef=reference, subjects=[subject])
    (await api.create(ROLE_BINDINGS.path(namespace), body)).expect(201)


async def permitted(client: Client, path: str) -> Answer:
    """Wait until a read is permitted: servers learn of new roles a moment later."""

    async def attempt() -> Answer | None:
        answer = await client.get(path)
        return answer if answer.status != 403 else None

    return await eventually(attempt, what=f"{path} is permitted")


async def test_unknown_token_is_unauthorized(api: Client, namespace: str) -> None:
    answer = await api.request("GET", CONFIG_MAPS.path(namespace), headers={"Authorization": "Bearer wrong"})
    status = answer.refuse(401, "Unauthorized", "Unauthorized")
    assert status["metadata"] == {}


@pytest.mark.parametrize(
    ("method", "kind", "name", "action"),
    [
        ("GET", CONFIG_MAPS, "", 'list resource "configmaps" in API group ""'),
        ("GET", CONFIG_MAPS, "one", 'get resource "configmaps" in API group ""'),
        ("POST", CONFIG_MAPS, "", 'create resource "configmaps" in API group ""'),
        ("PUT", DEPLOYMENTS, "one", 'update resource "deployments" in API group "apps"'),
        ("PATCH", DEPLOYMENTS, "one", 'patch resource "deployments" in API group "apps"'),
        ("DELETE", SECRETS, "one", 'delete resource "secrets" in API group ""'),
        ("DELETE", SECRETS, "", 'deletecollection resource "secrets" in API group ""'),
    ],
    ids=["list", "get", "create", "update", "patch", "delete", "deletecollection"],
)
async def test_refusal_says_who_may_not_do_what(
    server: Server, namespace: str, method: str, kind: Kind, name: str, action: str
) -> None:
    async with connect(server, "alice") as alice:
        answer = await alice.request(method, kind.path(namespace, name), {})
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    quoted = f' "{name}"' if name else ""
    status = answer.refuse(
        403,
        "Forbidden",
        f'{resource}{quoted} is forbidden: User "alice" cannot {action} in the namespace "{namespace}"',
    )
    expected = (
        {"kind": kind.plural}
        | ({"name": name} if name else {})
        | ({"group": kind.group} if kind.group else {})
    )
    assert status["details"] == expected


async def test_refusal_at_the_cluster_scope(server: Server) -> None:
    async with connect(server, "alice") as alice:
        (await alice.get(NAMESPACES.path(name="default"))).refuse(
            403,
            "Forbidden",
            'namespaces "default" is forbidden: User "alice" cannot get resource "namespaces" in API group "" '
            'in the namespace "default"',
        )
        (await alice.get(CONFIG_MAPS.path())).refuse(
            403,
            "Forbidden",
            'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" at the cluster scope',
        )


async def test_refusal_of_a_path_that_is_no_resource(server: Server) -> None:
    async with connect(server, "alice") as alice:
        (await alice.get("/metrics")).refuse(
            403, "Forbidden", 'forbidden: User "alice" cannot get path "/metrics"'
        )


async def test_nobody_is_anonymous(server: Server, namespace: str) -> None:
    async with connect(server, None) as nobody:
        status = (await nobody.get(CONFIG_MAPS.path(namespace))).refuse(403, "Forbidden")
    assert 'User "system:anonymous" cannot list resource "configmaps"' in status["message"]


async def test_everybody_logged_in_may_discover(server: Server) -> None:
    async with connect(server, "alice") as alice:
        for path in ("/api", "/apis", "/api/v1", "/apis/apps/v1", "/openapi/v3", "/version"):
            assert (await alice.get(path)).status == 200


async def test_role_permits_its_verbs_in_its_namespace(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    await grant(api, namespace, user("alice"), rule("get", "list"))
    async with connect(api.server, "alice") as alice:
        (await permitted(alice, CONFIG_MAPS.path(namespace))).expect(200)
        (await alice.get(CONFIG_MAPS.path(namespace, "one"))).expect(200)
        (await alice.delete(CONFIG_MAPS.path(namespace, "one"))).refuse(403, "Forbidden")
        (await alice.get(CONFIG_MAPS.path("default"))).refuse(403, "Forbidden")
        (await alice.get(SECRETS.path(namespace))).refuse(403, "Forbidden")


async def test_list_does_not_imply_watch(api: Client, namespace: str) -> None:
    await grant(api, namespace, user("alice"), rule("list"))
    async with connect(api.server, "alice") as alice:
        await permitted(alice, CONFIG_MAPS.path(namespace))
        status = (await alice.get(CONFIG_MAPS.path(namespace), watch="1")).refuse(403, "Forbidden")
    assert 'cannot watch resource "configmaps"' in status["message"]


async def test_role_permits_named_objects_only(api: Client, namespace: str) -> None:
    for name in ("open", "closed"):
        await api.create(CONFIG_MAPS.path(namespace), config_map(name))
    await grant(api, namespace, user("alice"), rule("get", "list", resourceNames=["open"]))
    async with connect(api.server, "alice") as alice:
        (await permitted(alice, CONFIG_MAPS.path(namespace, "open"))).expect(200)
        (await alice.get(CONFIG_MAPS.path(namespace, "closed"))).refuse(403, "Forbidden")
        (await alice.get(CONFIG_MAPS.path(namespace))).refuse(403, "Forbidden")
        only = await alice.get(CONFIG_MAPS.path(namespace), fieldSelector="metadata.name=open")
        assert len(only.expect(200)["items"]) == 1


async def test_subresource_needs_its_own_rule(api: Client, namespace: str) -> None:
    await api.create(DEPLOYMENTS.path(namespace), deployment())
    await grant(api, namespace, user("alice"), rule("get", "patch", resources=("deployments",), group="apps"))
    async with connect(api.server, "alice") as alice:
        path = DEPLOYMENTS.path(namespace, "web")
        await permitted(alice, path)
        (await alice.patch(f"{path}/scale", {"spec": {"replicas": 2}})).refuse(
            403,
            "Forbidden",
            'deployments.apps "web" is forbidden: User "alice" cannot patch resource "deployments/scale" '
            f'in API group "apps" in the namespace "{namespace}"',
        )
        (await alice.patch(path, {"spec": {"replicas": 2}})).expect(200)


@pytest.mark.parametrize(
    "wide",
    [
        {"verbs": ["*"], "apiGroups": [""], "resources": ["configmaps"]},
        {"verbs": ["get"], "apiGroups": ["*"], "resources": ["*"]},
    ],
    ids=["verbs", "resources"],
)
async def test_star_means_all(api: Client, namespace: str, wide: JsonObject) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    await grant(api, namespace, user("alice"), wide)
    async with connect(api.server, "alice") as alice:
        (await permitted(alice, CONFIG_MAPS.path(namespace, "one"))).expect(200)


async def test_groups_can_be_bound(api: Client, namespace: str) -> None:
    group = {"kind": "Group", "name": GROUPS["bob"], "apiGroup": RBAC}
    await grant(api, namespace, group, rule("list"))
    async with connect(api.server, "bob") as bob, connect(api.server, "alice") as alice:
        (await permitted(bob, CONFIG_MAPS.path(namespace))).expect(200)
        (await alice.get(CONFIG_MAPS.path(namespace))).refuse(403, "Forbidden")


async def test_cluster_role_can_be_bound_to_a_namespace(api: Client, namespace: str) -> None:
    name = unique("lister")
    await api.create(CLUSTER_ROLES.path(), CLUSTER_ROLES.new(name, rules=[rule("list")]))
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    body = ROLE_BINDINGS.new(name, roleRef=reference, subjects=[user("alice")])
    await api.create(ROLE_BINDINGS.path(namespace), body)
    async with connect(api.server, "alice") as alice:
        (await permitted(alice, CONFIG_MAPS.path(namespace))).expect(200)
        (await alice.get(CONFIG_MAPS.path())).refuse(403, "Forbidden")


async def test_cluster_binding_reaches_everywhere_until_it_goes(api: Client, namespace: str) -> None:
    kind = await define(api)
    name = unique("lister")
    roles = [rule("list", resources=("widgets",), group=kind.group)]
    await api.create(CLUSTER_ROLES.path(), CLUSTER_ROLES.new(name, rules=roles))
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    body = CLUSTER_ROLE_BINDINGS.new(name, roleRef=reference, subjects=[user("alice")])
    await api.create(CLUSTER_ROLE_BINDINGS.path(), body)
    async with connect(api.server, "alice") as alice:
        (await permitted(alice, kind.path())).expect(200)
        (await alice.get(kind.path(namespace))).expect(200)
        await api.delete(CLUSTER_ROLE_BINDINGS.path(name=name))

        async def refused() -> bool | None:
            return (await alice.get(kind.path())).status == 403 or None

        await eventually(refused, what="the right is gone")


async def test_aggregation_rule_is_kept(api: Client) -> None:
    """Collecting the rules is a controller's work, which the real setup leaves out."""
    selector = {"clusterRoleSelectors": [{"matchLabels": {"collect": unique("x")}}]}
    body = CLUSTER_ROLES.new(unique("collector"), aggregationRule=selector)
    created = (await api.create(CLUSTER_ROLES.path(), body)).expect(201)
    assert created["aggregationRule"] == selector


async def test_client_certificate_names_user_and_groups(api: Client, namespace: str) -> None:
    group = {"kind": "Group", "name": CERTIFICATE_GROUP, "apiGroup": RBAC}
    async with connect(api.server, None, certificate=True) as carol:
        status = (await carol.get(CONFIG_MAPS.path(namespace))).refuse(403, "Forbidden")
        assert f'User "{CERTIFICATE_USER}" cannot list' in status["message"]
        await grant(api, namespace, group, rule("list"))
        (await permitted(carol, CONFIG_MAPS.path(namespace))).expect(200)


async def test_nobody_may_grant_what_he_has_not(api: Client, namespace: str) -> None:
    await grant(api, namespace, user("bob"), rule("create", "list", resources=("roles",), group=RBAC))
    async with connect(api.server, "bob") as bob:
        await permitted(bob, ROLES.path(namespace))
        status = (await bob.create(ROLES.path(namespace), ROLES.new("more", rules=[rule("get")]))).refuse(
            403, "Forbidden"
        )
    assert status["message"] == (
        f'roles.{RBAC} "more" is forbidden: user "bob" (groups=["{GROUPS["bob"]}" "system:authenticated"]) is attempting '
        "to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["configmaps"], Verbs:["get"]}'
    )


async def test_impersonation_needs_permission_and_changes_the_user(api: Client, namespace: str) -> None:
    headers = {"Impersonate-User": "dave"}
    answer = await api.request("GET", CONFIG_MAPS.path(namespace), headers=headers)
    assert 'User "dave" cannot list' in answer.refuse(403, "Forbidden")["message"]
    async with connect(api.server, "alice") as alice:
        answer = await alice.request("GET", CONFIG_MAPS.path(namespace), headers=headers)
    assert 'User "alice" cannot impersonate' in answer.refuse(403, "Forbidden")["message"]


@pytest.mark.parametrize("role", ["cluster-admin", "admin", "edit", "view"])
async def test_default_roles_exist(api: Client, role: str) -> None:
    found = (await api.get(CLUSTER_ROLES.path(name=role))).expect(200)
    assert found["metadata"]["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults"
