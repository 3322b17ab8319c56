"""The Deployments of workers, for an operator that is split into roles: copies of the manager's with another ROLE. Pure.

    cloudflare-zero-trust-operator      manager
    cloudflare-zero-trust-kube-worker, cloudflare-zero-trust-cloudflare-worker

Image, security, scheduling, volumes and environment are the manager's, so that what an OperatorConfig applies to the manager
reaches the workers, too. So is the service account, unless an annotation of the manager's Deployment names another one:

    edgekeeper.io/kube-worker-service-account, edgekeeper.io/cloudflare-worker-service-account

Sidecars are not copied. Labels differ, so that no selector of the manager matches a worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.controllers.zerotrust.operator_config import DEFAULT_CONTAINER, operator_container
from edgekeeper.core.annotations import PREFIX as ANNOTATION_PREFIX
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.kinds import DEPLOYMENT, Key
from edgekeeper.lifecycle.module import Role

WORKERS: Final = (Role.KUBE_WORKER, Role.CLOUDFLARE_WORKER)
FIELD_MANAGER: Final = "edgekeeper-workers"
COMPONENT: Final = "app.kubernetes.io/component"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
IMAGE_DIGEST: Final = f"{PREFIX}image-digest"
_OVERRIDDEN: Final = frozenset({"ROLE", "EDGEKEEPER_ROLE", "POD_NAME"})


def worker_keys(own: Key) -> dict[Role, Key]:
    """The Deployments of the workers that belong to a manager's Deployment."""
    base = own.name.removesuffix("-operator")
    return {role: Key(own.namespace, f"{base}-{role}") for role in WORKERS}


def worker_deployment(
    manager: JsonObject, role: Role, *, live: JsonObject | None, image_digest: str, replicas: int | None
) -> JsonObject:
    """The Deployment of a worker, for server-side apply. `live` is what there is of it: its selector cannot change."""
    labels = _labels(manager, role)
    selector = dig_object(live, "spec", "selector", "matchLabels") or _selector(manager, labels)
    spec: JsonObject = {
        "selector": {"matchLabels": selector},
        "template": _template(manager, role, {**labels, **selector}, image_digest),
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {
        "metadata": {"labels": labels, "ownerReferences": [owner_reference(manager)]},
        "spec": spec,
    }


def owner_reference(manager: JsonObject) -> JsonObject:
    metadata = manager["metadata"]
    return {
        "apiVersion": DEPLOYMENT.api_version,
        "kind": DEPLOYMENT.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


def is_worker_of(deployment: JsonObject, manager: JsonObject) -> bool:
    """Whether the manager's Deployment is the controller of another one."""
    return any(
        dig(owner, "controller") and dig(owner, "uid") == manager["metadata"]["uid"]
        for owner in dig_list(deployment, "metadata", "ownerReferences")
    )


def _labels(manager: JsonObject, role: Role) -> dict[str, str]:
    """The manager's labels with another component; those that its selector needs are changed where nothing else differs."""
    template = dig_object(manager, "spec", "template", "metadata", "labels")
    selector = dig_object(manager, "spec", "selector", "matchLabels")
    labels = {**template, COMPONENT: str(role), MANAGED_BY: "edgekeeper"}
    if all(labels.get(name) == value for name, value in selector.items()):
        name = next(iter(selector), COMPONENT)
        labels[name] = f"{selector.get(name, '')}-{role}".strip("-")
    return labels


def _selector(manager: JsonObject, labels: Mapping[str, str]) -> dict[str, str]:
    names = dig_object(manager, "spec", "selector", "matchLabels")
    return {name: labels[name] for name in (*names, COMPONENT)}


def _template(manager: JsonObject, role: Role, labels: Mapping[str, str], image_digest: str) -> JsonObject:
    template = dig_object(manager, "spec", "template")
    annotations = {
        **dig_object(template, "metadata", "annotations"),
        **({IMAGE_DIGEST: image_digest} if image_digest else {}),
    }
    if DEFAULT_CONTAINER in annotations:
        annotations[DEFAULT_CONTAINER] = str(role)
    pod = deepcopy(dig_object(template, "spec"))
    pod["containers"] = [_container(manager, role)]
    account = dig(manager, "metadata", "annotations", f"{ANNOTATION_PREFIX}{role}-service-account")
    if account:
        pod["serviceAccountName"] = str(account)
        pod.pop("serviceAccount", None)  # the older name of the same field
    return {"metadata": {"labels": dict(labels), "annotations": annotations}, "spec": pod}


def _container(manager: JsonObject, role: Role) -> JsonObject:
    name = operator_container(manager)
    containers = dig_list(manager, "spec", "template", "spec", "containers")
    container: JsonObject = deepcopy(next(each for each in containers if dig(each, "name") == name))
    environment = [each for each in dig_list(container, "env") if dig(each, "name") not in _OVERRIDDEN]
    pod_name = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    container["name"] = str(role)
    container["env"] = [
        *environment,
        {"name": "ROLE", "value": str(role)},
        {"name": "POD_NAME", "valueFrom": pod_name},
    ]
    for field in ("args", "command"):
        if field in container:
            container[field] = list(_without_role(container[field]))
    return container


def _without_role(arguments: list[Any]) -> Iterator[Any]:
    """The arguments without `--role`, which would win over the variable."""
    is_value = False
    for argument in arguments:
        if is_value:
            is_value = False
        elif argument == "--role":
            is_value = True
        elif not str(argument).startswith("--role="):
            yield argument
