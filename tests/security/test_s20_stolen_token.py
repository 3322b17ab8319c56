"""S-20: whoever has a token of the operator, or a role of the chart, can do what the table of rights says and no more.

The whole list of rights is compared with the table in tests/conformance/test_installation.py, also by kubectl. Here the
token is used for what a thief would try.
"""

from __future__ import annotations

import pytest

from edgekeeper.cli.kinds import MODULES
from edgekeeper.cli.rbac import editable_kinds, readable_kinds
from edgekeeper.controllers.zerotrust.route_index import TENANT
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.kube.errors import ForbiddenError, NotFoundError
from edgekeeper.kube.kinds import SECRET, Key
from tests.security.installation import HOME, Site, installed, until

VICTIM = "victim"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ADMIN = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
THIEF = {"kind": "ServiceAccount", "name": "edgekeeper", "namespace": HOME}
POD: JsonObject = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
RULE = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}

ATTEMPTS: dict[str, tuple[str, str, JsonObject | None]] = {
    "read a Secret of a team": ("GET", f"/api/v1/namespaces/{VICTIM}/secrets/database", None),
    "list the Secrets of a team": ("GET", f"/api/v1/namespaces/{VICTIM}/secrets", None),
    "list the Secrets of the cluster": ("GET", "/api/v1/secrets", None),
    "watch the Secrets of the cluster": ("GET", "/api/v1/secrets?watch=1", None),
    "write a Secret of a team": ("POST", f"/api/v1/namespaces/{VICTIM}/secrets", {"metadata": {"name": "x"}}),
    "list ConfigMaps of a team": ("GET", f"/api/v1/namespaces/{VICTIM}/configmaps", None),
    "become an administrator": (
        "POST",
        f"{RBAC}/clusterrolebindings",
        {"metadata": {"name": "x"}, "roleRef": ADMIN, "subjects": [THIEF]},
    ),
    "bind a role in a namespace": (
        "POST",
        f"{RBAC}/namespaces/{VICTIM}/rolebindings",
        {"metadata": {"name": "x"}, "roleRef": ADMIN, "subjects": [THIEF]},
    ),
    "widen its own role": ("PATCH", f"{RBAC}/clusterroles/edgekeeper", {"rules": [RULE]}),
    "add to the aggregated role": (
        "POST",
        f"{RBAC}/clusterroles",
        {
            "metadata": {"name": "x", "labels": {"rbac.kro.run/aggregate-to-controller": "true"}},
            "rules": [RULE],
        },
    ),
    "get a token of another account": (
        "POST",
        f"/api/v1/namespaces/{VICTIM}/serviceaccounts/default/token",
        {"spec": {}},
    ),
    "get a fresh token of its own": (
        "POST",
        f"/api/v1/namespaces/{HOME}/serviceaccounts/edgekeeper/token",
        {"spec": {}},
    ),
    "run a pod for a team": ("POST", f"/api/v1/namespaces/{VICTIM}/pods", POD),
    "run a pod beside itself": ("POST", f"/api/v1/namespaces/{HOME}/pods", POD),
    "read pods of a team": ("GET", f"/api/v1/namespaces/{VICTIM}/pods", None),
    "delete a namespace": ("DELETE", f"/api/v1/namespaces/{VICTIM}", None),
    "list namespaces": ("GET", "/api/v1/namespaces", None),
    "read nodes": ("GET", "/api/v1/nodes", None),
    "open another webhook": (
        "POST",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        {"metadata": {"name": "x"}},
    ),
    "change the webhooks of others": (
        "PATCH",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/of-others",
        {"webhooks": []},
    ),
    "delete definitions of kinds": (
        "DELETE",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/distributiontenants.cloudfront-tenant-operator.io",
        None,
    ),
    "change a Deployment of a team": (
        "PATCH",
        f"/apis/apps/v1/namespaces/{VICTIM}/deployments/x",
        {"spec": {}},
    ),
    "delete tenants": (
        "DELETE",
        f"/apis/cloudfront-tenant-operator.io/v1alpha1/namespaces/{VICTIM}/distributiontenants/x",
        None,
    ),
    "take the Lease of others": (
        "PUT",
        f"/apis/coordination.k8s.io/v1/namespaces/{VICTIM}/leases/x",
        {"metadata": {"name": "x"}},
    ),
}


async def test_stolen_token_of_the_operator_is_refused_everything_else() -> None:
    async with installed(VICTIM) as site:
        database = {"metadata": {"name": "database"}, "stringData": {"password": "p"}}
        await site.admin.create(SECRET, database, namespace=VICTIM)
        token = await site.token(HOME, "edgekeeper")
        for what, (method, path, body) in ATTEMPTS.items():
            assert await site.send(token, method, path, body) == 403, what


async def test_thief_can_neither_be_somebody_else_nor_ask_without_a_token() -> None:
    async with installed(VICTIM) as site:
        token = await site.token(HOME, "edgekeeper")
        for user in ("system:admin", f"system:serviceaccount:{VICTIM}:default", "kubernetes-admin"):
            headers = {"Impersonate-User": user}
            assert await site.send(token, "GET", "/api/v1/secrets", headers=headers) == 403, user
        assert await site.send("", "GET", "/api/v1/secrets") in (401, 403)


@pytest.mark.parametrize("role", ["edgekeeper-viewer", "edgekeeper-editor"])
async def test_people_write_neither_status_nor_what_the_operator_acts_on(role: str) -> None:
    """Who may write a status could forge a record of ownership; who may write tasks, use the operator's token."""
    async with installed(VICTIM) as site:
        for each in {"edgekeeper-viewer", role}:  # `edit` and `admin` have both
            await site.bind(VICTIM, "person", each)
        token = await site.token(VICTIM, "person")
        editable = {kind.kind for kind in editable_kinds(MODULES)} if role.endswith("editor") else set()
        for kind in readable_kinds(MODULES):
            place = f"namespaces/{VICTIM}/" if kind.namespaced else ""
            path = f"/apis/{kind.api_version}/{place}{kind.plural}"
            assert await site.send(token, "GET", path) == 200, kind.kind
            body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "x"}}
            assert (await site.send(token, "POST", path, body) != 403) == (kind.kind in editable), kind.kind
            assert await site.send(token, "PATCH", f"{path}/x/status", {"status": {}}) == 403, kind.kind


async def test_tenant_whose_secret_may_not_be_read_names_the_remedy_and_goes_on_with_it() -> None:
    """The price of rights in listed namespaces only: a namespace that is not listed must be told."""
    async with installed("apps") as site, site.running():
        token = {"metadata": {"name": "token"}, "stringData": {"token": site.estate.token.value}}
        await site.admin.create(SECRET, token, namespace="apps")
        spec = {
            "accountId": site.estate.account.id,
            "tunnelId": site.estate.tunnel,
            "credentialRef": {"name": "token"},
        }
        await site.admin.create(TENANT, {"metadata": {"name": "main"}, "spec": spec}, namespace="apps")
        await until(lambda: says(site, "CredentialNotFound", "add apps to secrets.namespaces"))
        await bind_secrets(site, "apps")
        await until(lambda: says(site, "ReconcileSuccess", ""))


async def says(site: Site, reason: str, text: str) -> bool:
    found = await site.admin.get(TENANT, Key("apps", "main"))
    conditions = dig_list(found, "status", "conditions")
    return any(one["reason"] == reason and text in one["message"] for one in conditions)


async def bind_secrets(site: Site, namespace: str) -> None:
    """What `secrets.namespaces` makes."""
    role = {**ADMIN, "name": "edgekeeper-secrets"}
    binding = {"metadata": {"name": "edgekeeper-secrets"}, "roleRef": role, "subjects": [THIEF]}
    await site.plane.client.create(f"{RBAC}/namespaces/{namespace}/rolebindings", binding)


async def test_operator_itself_sees_a_secret_of_a_listed_namespace_only() -> None:
    async with installed(VICTIM, "apps") as site:
        await bind_secrets(site, "apps")
        thief = site.client(await site.token(HOME, "edgekeeper"))
        for namespace in ("apps", HOME):
            with pytest.raises(NotFoundError):
                await thief.get(SECRET, Key(namespace, "any"))
        with pytest.raises(ForbiddenError):
            await thief.get(SECRET, Key(VICTIM, "any"))
