"""The routes of a fleet with everything that they need, and the operator that keeps them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.cli.assembly import OperatorOptions
from edgekeeper.cloud.cloudflare.sender import Sender
from edgekeeper.cloud.rates import CLOUDFLARE, DEFAULT_RATES
from edgekeeper.controllers.zerotrust.modules import ZERO_TRUST_MODULES
from edgekeeper.controllers.zerotrust.worker import TENANT
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import HTTP_ROUTE
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.options import RuntimeOptions, ServerOptions

BUDGET = DEFAULT_RATES[CLOUDFLARE].rate
"""Calls per second that the operator allows itself: a bit less than Cloudflare does."""
HOME, ROUTES = "edgekeeper-system", "web"
ZONE_NAME = "example.com"
CLUSTER = "bench"
DRIFT_INTERVAL = timedelta(minutes=5)


class Site(msgspec.Struct, frozen=True):
    """Where a fleet is served."""

    kubeconfig: str
    cloudflare: str


def options(sender: Sender) -> OperatorOptions:
    """The defaults of `edgekeeper run`, without servers and signals."""
    server = ServerOptions(health_address=None, metrics_address=None, webhook_address=None)
    return OperatorOptions(
        RuntimeOptions(server=server),
        CommonOptions(cluster=CLUSTER, namespace=HOME, drift_interval=DRIFT_INTERVAL),
        modules=ZERO_TRUST_MODULES,
        signals=False,
        cloudflare_url="http://localhost/client/v4",
        cloudflare_sender=sender,
    )


def namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def token_secret(value: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "cloudflare", "namespace": HOME},
        "stringData": {"token": value},
    }


def tenant(account_id: str, tunnel_id: str) -> JsonObject:
    return {
        "apiVersion": TENANT.api_version,
        "kind": TENANT.kind,
        "metadata": {"name": "main", "namespace": HOME},
        "spec": {"accountId": account_id, "tunnelId": tunnel_id, "credentialRef": {"name": "cloudflare"}},
    }


def route(number: int, *, access: bool, **annotations: Any) -> JsonObject:
    """One published route; if asked for, behind Access."""
    named = {"enabled": "true", "tenant": "main", "hostname": f"n{number:05}.{ZONE_NAME}"}
    if access:
        named |= {"accessApp": "true", "allowEmails": f"n{number}@{ZONE_NAME}"}
    rule = {"backendRefs": [{"name": "app", "port": 8080}]}
    return {
        "apiVersion": HTTP_ROUTE.api_version,
        "kind": HTTP_ROUTE.kind,
        "metadata": {
            "name": name_of(number),
            "namespace": ROUTES,
            "annotations": prefixed({**named, **annotations}),
        },
        "spec": {"parentRefs": [{"name": "gateway"}], "rules": [rule]},
    }


def name_of(number: int) -> str:
    return f"route-{number:05}"


def prefixed(annotations: dict[str, Any]) -> dict[str, Any]:
    return {f"{PREFIX}{name}": value for name, value in annotations.items()}
