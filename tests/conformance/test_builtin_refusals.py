"""Built-in kinds: what they require and what they do not accept."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.kinds import (
    AUTOSCALERS,
    CLAIMS,
    CLUSTER_ROLE_BINDINGS,
    CONFIG_MAPS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    EVENTS,
    INGRESSES,
    JOBS,
    LEASES,
    NEW_EVENTS,
    PODS,
    REPLICA_SETS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
    VALIDATING_WEBHOOKS,
    Kind,
    deployment,
    pod,
    pod_template,
    service,
)

SELECTOR_MISMATCH = (
    "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"
)
NO_CONTAINERS = "spec.template.spec.containers: Required value"
RESTART_POLICY = 'restartPolicy: Required value: valid values: "OnFailure", "Never"'
PORT = "must be between 1 and 65535, inclusive"
KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


def containers(**container: Any) -> JsonObject:
    return pod(spec={"containers": [{"name": "main", "image": "example/web:1", **container}]})


def in_brackets(problems: list[str]) -> str:
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"


async def refused(api: Client, namespace: str, kind: Kind, body: JsonObject) -> str:
    """What is wrong with the object, without the part that names it."""
    status = (await api.create(kind.path(namespace if kind.namespaced else ""), body)).refuse(422, "Invalid")
    group = f".{kind.group}" if kind.group and kind is not NEW_EVENTS else ""
    prefix = f'{kind.kind}{group} "{body["metadata"]["name"]}" is invalid: '
    message: str = status["message"]
    assert message.startswith(prefix), message
    return message.removeprefix(prefix)


@pytest.mark.parametrize(
    ("kind", "problems"),
    [
        (PODS, ["spec.containers: Required value"]),
        (SERVICES, ["spec.ports: Required value"]),
        (DEPLOYMENTS, ["spec.selector: Required value", SELECTOR_MISMATCH, NO_CONTAINERS]),
        (REPLICA_SETS, ["spec.selector: Required value", SELECTOR_MISMATCH, NO_CONTAINERS]),
        (STATEFUL_SETS, ["spec.selector: Required value", SELECTOR_MISMATCH, NO_CONTAINERS]),
        (DAEMON_SETS, [SELECTOR_MISMATCH, NO_CONTAINERS]),
        (JOBS, [NO_CONTAINERS, f"spec.template.spec.{RESTART_POLICY}"]),
        (
            CRON_JOBS,
            [
                "spec.schedule: Required value",
                "spec.jobTemplate.spec.template.spec.containers: Required value",
                f"spec.jobTemplate.spec.template.spec.{RESTART_POLICY}",
            ],
        ),
        (INGRESSES, ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]),
        (
            AUTOSCALERS,
            [
                "spec.maxReplicas: Required value: must be set and greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
                "spec.scaleTargetRef.kind: Required value",
                "spec.scaleTargetRef.name: Required value",
                'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
            ],
        ),
        (
            CLAIMS,
            [
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ],
        ),
        (ENDPOINT_SLICES, ["addressType: Required value"]),
        (EVENTS, ['involvedObject.namespace: Invalid value: "": does not match event.namespace']),
        (
            ROLE_BINDINGS,
            [
                'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
                "roleRef.name: Required value",
            ],
        ),
        (
            CLUSTER_ROLE_BINDINGS,
            [
                'roleRef.kind: Unsupported value: "": supported values: "ClusterRole"',
                "roleRef.name: Required value",
            ],
        ),
    ],
    ids=lambda value: value.plural if isinstance(value, Kind) else "",
)
async def test_required_fields_of_an_empty_object(
    api: Client, namespace: str, kind: Kind, problems: list[str]
) -> None:
    assert await refused(api, namespace, kind, kind.new("empty")) == in_brackets(problems)


@pytest.mark.parametrize(
    ("kind", "body", "problems"),
    [
        (
            DEPLOYMENTS,
            deployment(selector={"matchLabels": {"app": "other"}}),
            [
                'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`'
            ],
        ),
        (
            DEPLOYMENTS,
            deployment(replicas=-1),
            ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            JOBS,
            JOBS.new("one", spec={"template": pod_template()}),
            [f"spec.template.spec.{RESTART_POLICY}"],
        ),
        (
            PODS,
            containers(ports=[{"containerPort": 70000}]),
            [f"spec.containers[0].ports[0].containerPort: Invalid value: 70000: {PORT}"],
        ),
        (PODS, containers(image=""), ["spec.containers[0].image: Required value"]),
        (
            SERVICES,
            service(ports=[{"port": 0}]),
            [
                f"spec.ports[0].port: Invalid value: 0: {PORT}",
                f"spec.ports[0].targetPort: Invalid value: 0: {PORT}",
            ],
        ),
        (
            SERVICES,
            service(ports=[{"port": 80}, {"port": 81}]),
            ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
        ),
        (
            SERVICES,
            service(type="Magic"),
            [
                'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'
            ],
        ),
        (SERVICES, SERVICES.new("one", spec={"type": "ExternalName"}), ["spec.externalName: Required value"]),
        (
            INGRESSES,
            INGRESSES.new(
                "one",
                spec={"rules": [{"http": {"paths": [{"path": "x", "pathType": "Prefix", "backend": {}}]}}]},
            ),
            [
                'spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path',
                'spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required',
            ],
        ),
        (
            AUTOSCALERS,
            AUTOSCALERS.new(
                "one",
                spec={
                    "minReplicas": 5,
                    "maxReplicas": 3,
                    "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
                },
            ),
            ["spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"],
        ),
        (
            CONFIG_MAPS,
            CONFIG_MAPS.new("one", data={"a b": "x"}),
            [f'data[a b]: Invalid value: "a b": {KEY}'],
        ),
        (
            CONFIG_MAPS,
            CONFIG_MAPS.new("one", data={"a": "x"}, binaryData={"a": "eA=="}),
            ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
        ),
        (
            SECRETS,
            SECRETS.new("one", type="kubernetes.io/tls"),
            ["data[tls.crt]: Required value", "data[tls.key]: Required value"],
        ),
        (
            SECRETS,
            SECRETS.new("one", type="kubernetes.io/basic-auth"),
            ["data[username]: Required value", "data[password]: Required value"],
        ),
        (
            LEASES,
            LEASES.new("one", spec={"leaseDurationSeconds": 0}),
            ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
        ),
        (
            ROLES,
            ROLES.new("one", rules=[{"verbs": ["get"]}]),
            [
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ],
        ),
        (
            VALIDATING_WEBHOOKS,
            VALIDATING_WEBHOOKS.new("one", webhooks=[{"name": "x"}]),
            [
                'webhooks[0].name: Invalid value: "x": should be a domain with at least three segments separated by dots',
                "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
                "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
                "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
            ],
        ),
    ],
    ids=[
        "deployment-selector",
        "deployment-replicas",
        "job-restart-policy",
        "pod-port",
        "pod-image",
        "service-port",
        "service-port-names",
        "service-type",
        "service-external-name",
        "ingress-path",
        "autoscaler-bounds",
        "config-map-key",
        "config-map-twice",
        "secret-tls",
        "secret-basic-auth",
        "lease-duration",
        "role-rule",
        "webhook",
    ],
)
async def test_invalid_content_is_named(
    api: Client, namespace: str, kind: Kind, body: JsonObject, problems: list[str]
) -> None:
    assert await refused(api, namespace, kind, body) == in_brackets(problems)


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (SECRETS, SECRETS.new("one", data={"a": "%%%"}), "illegal base64 data at input byte 0"),
        (
            PODS,
            containers(resources={"limits": {"cpu": "lots"}}),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            LEASES,
            LEASES.new("one", spec={"acquireTime": "2020-01-01T00:00:00Z"}),
            'parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
        ),
    ],
    ids=["base64", "quantity", "micro-time"],
)
async def test_unreadable_content_cannot_be_handled(
    api: Client, namespace: str, kind: Kind, body: JsonObject, message: str
) -> None:
    (await api.create(kind.path(namespace), body)).refuse(
        400,
        "BadRequest",
        f'{kind.kind} in version "v1" cannot be handled as a {kind.kind}: {message}',
    )
