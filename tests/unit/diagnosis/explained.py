"""Explanations of objects in a world where the operator has done what it can, as people read them."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from edgekeeper.api.bridge import API_GATEWAY_DOMAIN
from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.api.definition import CustomKind
from edgekeeper.api.lambda_permission import LAMBDA_PERMISSION
from edgekeeper.cli.explain import answer
from edgekeeper.cli.explain_output import Printer
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject
from edgekeeper.diagnosis.explaining import Explanation
from edgekeeper.kube.client import KubeClient
from kubesim.transport import InProcessTransport
from tests.platform.world import APPS, HOME, World
from tests.tenants.estate import DISTRIBUTION
from tests.unit.diagnosis.read_only import ReadOnly, confirm_no_writes

NO_DEFINITIONS = "None"
"""For `platform`: a world without compositions."""


def tenant(name: str, domain: str, namespace: str = APPS, **spec: Any) -> JsonObject:
    body = {"distributionId": DISTRIBUTION, "domains": [{"domain": domain}], **spec}
    return _of_ours(DISTRIBUTION_TENANT, name, body, namespace)


def route(name: str, **annotations: str) -> JsonObject:
    """An HTTPRoute that is published as `name.example.com`."""
    named = {"enabled": "true", **annotations}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {
            "name": name,
            "namespace": APPS,
            "annotations": {f"cfzt.cloudflare.com/{key}": value for key, value in named.items()},
        },
        "spec": {
            "hostnames": [f"{name}.example.com"],
            "rules": [{"backendRefs": [{"name": name, "port": 80}]}],
        },
    }


def permission(name: str, function: JsonObject) -> JsonObject:
    statement = {"statementId": "api", "principal": "apigateway.amazonaws.com"}
    return _of_ours(LAMBDA_PERMISSION, name, {"functionRef": function, "permissions": [statement]})


def domain(name: str, api: JsonObject) -> JsonObject:
    return _of_ours(API_GATEWAY_DOMAIN, name, {"domain": f"{name}.example.com", "apiRef": api})


def _of_ours(kind: CustomKind, name: str, spec: JsonObject, namespace: str = APPS) -> JsonObject:
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": f"{kind.group}/{kind.version}",
        "kind": kind.kind,
        "metadata": metadata,
        "spec": spec,
    }


def broken_definition() -> JsonObject:
    """A ResourceGraphDefinition that uses a field which its schema does not have."""
    template = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "${schema.spec.nothing}"}}
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": "broken"},
        "spec": {
            "schema": {"apiVersion": "v1alpha1", "kind": "Broken", "spec": {"name": "string"}},
            "resources": [{"id": "config", "template": template}],
        },
    }


def previous_operator() -> JsonObject:
    """The Deployment of the operator that DistributionTenants were made for."""
    labels = {"app.kubernetes.io/name": "cloudfront-tenant-operator"}
    pod = {"containers": [{"name": "manager", "image": "cloudfront-tenant-operator:1"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "old", "namespace": HOME, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


async def explained(world: World, target: str, namespace: str = APPS) -> tuple[Explanation, str]:
    """The explanation and its text. Only reads reach the server, and no cloud is there to be called."""
    client = KubeClient(ReadOnly(InProcessTransport(world.plane)), Calls(), world.clock)
    kind, _, name = target.partition("/")
    explanation = await answer(client, world.clock, kind, name, namespace)
    confirm_no_writes()
    return explanation, text_of(explanation, world)


def text_of(explanation: Explanation, world: World) -> str:
    stream = StringIO()
    Printer(Console(file=stream, width=2000, color_system=None), world.clock.now()).print(explanation)
    return stream.getvalue()


async def says(world: World, target: str, *texts: str, namespace: str = APPS) -> str:
    """Wait until the explanation has all of these texts; return it."""
    text = ""
    for _ in range(40):
        _, text = await explained(world, target, namespace)
        if all(part in text for part in texts):
            return text
        await world.elapse(seconds=15)
    missing = [part for part in texts if part not in text]
    raise AssertionError(f"{missing} is not in the explanation of {target}:\n{text}")
