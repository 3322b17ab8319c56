"""Definitions with three and with five children, their instances, and the operator that reconciles them."""

from __future__ import annotations

from typing import Any, Final

from edgekeeper.cli.assembly import OperatorOptions
from edgekeeper.controllers.composition.module import DefinitionModule, RevisionModule
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.options import RuntimeOptions, ServerOptions

NAMESPACE: Final = "default"
DEFINITION: Final = "web-apps"
WEB_APP: Final = Kind("kro.run", "v1alpha1", "WebApp", "webapps")
CONTROLLERS: Final = (DefinitionModule(), RevisionModule())
"""Of composition, and of nothing else: kro does nothing else either."""
CHILD_PLURALS: Final = ("configmaps", "deployments", "services", "serviceaccounts", "secrets")

_NAME = "${schema.spec.name}"


def options() -> OperatorOptions:
    """The defaults of `edgekeeper run`, without servers and signals."""
    server = ServerOptions(health_address=None, metrics_address=None, webhook_address=None)
    return OperatorOptions(
        RuntimeOptions(server=server), CommonOptions(cluster="bench"), modules=CONTROLLERS, signals=False
    )


def definition(
    children: int, name: str = DEFINITION, kind: str = WEB_APP.kind, **settings: str
) -> JsonObject:
    """A web application of three or five objects in three waves. `settings` are further entries of its ConfigMap."""
    resources = [_config(settings), _deployment(), _service(), _account(), _secret()]
    fields = {
        "name": "string | required=true",
        "text": "string | default=hello",
        "replicas": "integer | default=1",
    }
    status = {"address": "${service.spec.clusterIP}", "replicas": "${deployment.spec.replicas}"}
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": name},
        "spec": {
            "schema": {"kind": kind, "apiVersion": "v1alpha1", "spec": fields, "status": status},
            "resources": resources[:children],
        },
    }


def _config(settings: dict[str, str]) -> JsonObject:
    return _resource("config", "v1", "ConfigMap", _NAME, data={"text": "${schema.spec.text}", **settings})


def _deployment() -> JsonObject:
    container = {
        "name": "web",
        "image": "nginx:1.27",
        "envFrom": [{"configMapRef": {"name": "${config.metadata.name}"}}],
        "ports": [{"containerPort": 8080}],
        "resources": {"limits": {"cpu": "0.5", "memory": "64Mi"}},
    }
    pod = {"metadata": {"labels": {"app": _NAME}}, "spec": {"containers": [container]}}
    spec = {
        "replicas": "${schema.spec.replicas}",
        "selector": {"matchLabels": {"app": _NAME}},
        "template": pod,
    }
    return _resource("deployment", "apps/v1", "Deployment", _NAME, spec=spec)


def _service() -> JsonObject:
    spec = {
        "selector": {"app": "${deployment.spec.selector.matchLabels.app}"},
        "ports": [{"port": 80, "targetPort": 8080}],
    }
    ready = ['${service.spec.clusterIP != ""}']
    return {**_resource("service", "v1", "Service", _NAME, spec=spec), "readyWhen": ready}


def _account() -> JsonObject:
    return _resource("account", "v1", "ServiceAccount", _NAME)


def _secret() -> JsonObject:
    return _resource("secret", "v1", "Secret", _NAME, stringData={"login": _NAME})


def _resource(id_: str, api_version: str, kind: str, name: str, **fields: Any) -> JsonObject:
    template = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}
    return {"id": id_, "template": template}


def instance(number: int) -> JsonObject:
    return {
        "apiVersion": WEB_APP.api_version,
        "kind": WEB_APP.kind,
        "metadata": {"name": name_of(number)},
        "spec": {"name": name_of(number)},
    }


def name_of(number: int) -> str:
    return f"app-{number:05}"


def key_of(number: int) -> Key:
    return Key(NAMESPACE, name_of(number))
