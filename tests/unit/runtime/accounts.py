"""Service accounts of an embedded API server, and what they may do."""

from __future__ import annotations

from datetime import timedelta

from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from kubesim.plane.plane import Plane
from kubesim.transport import InProcessTransport

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
READ_METRICS: JsonObject = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
ASK_WHO: JsonObject = {
    "apiGroups": ["authentication.k8s.io"],
    "resources": ["tokenreviews"],
    "verbs": ["create"],
}
ASK_WHETHER: JsonObject = {
    "apiGroups": ["authorization.k8s.io"],
    "resources": ["subjectaccessreviews"],
    "verbs": ["create"],
}


async def account_token(plane: Plane, name: str, lifetime: timedelta = timedelta(hours=1)) -> str:
    """Create a service account and return a token of it."""
    await plane.client.create(ACCOUNTS, {"metadata": {"name": name}})
    request = {"spec": {"expirationSeconds": int(lifetime.total_seconds()), "audiences": None}}
    answer = await plane.client.create(f"{ACCOUNTS}/{name}/token", request)
    token: str = answer["status"]["token"]
    return token


async def grant(plane: Plane, account: str, *rules: JsonObject) -> None:
    """Let an account do what the rules say."""
    await plane.client.create(f"{RBAC}/clusterroles", {"metadata": {"name": account}, "rules": list(rules)})
    binding = {
        "metadata": {"name": account},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": account},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}],
    }
    await plane.client.create(f"{RBAC}/clusterrolebindings", binding)


def client_of(plane: Plane, token: str, clock: Clock) -> KubeClient:
    return KubeClient(InProcessTransport(plane, token), Calls(), clock)
