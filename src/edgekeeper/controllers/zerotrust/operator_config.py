"""What an OperatorConfig means: fields of the operator's Deployment, settings of running processes, conditions. Pure.

Only what is set is part of the result. The fields are applied under a field manager of their own, so that what was set and
no longer is gets released, and everything else in the Deployment (sidecars, foreign environment variables) stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from edgekeeper.api.zerotrust_operator_config import (
    OPERATOR_CONFIG,
    EnvironmentVariables,
    OperatorConfig,
    OperatorConfigSpec,
)
from edgekeeper.core.conditions import Declaration
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.module import kind_of

KIND: Final = kind_of(OPERATOR_CONFIG)
NAME: Final = "cloudflarezerotrustoperatorconfig"
FIELD_MANAGER: Final = "edgekeeper-operator-config"

APPLIED: Final = "Applied"
ROLLED_OUT: Final = "RolledOut"
"""Explains Ready, and is not published itself."""
CONDITIONS: Final = Declaration(
    required=(APPLIED, ROLLED_OUT),
    unpublished=(ROLLED_OUT,),
    ready_reason="DeploymentReady",
    ready_message="Operator deployment is ready",
)
CONFIGURATION_APPLIED: Final = "ConfigurationApplied"
APPLIED_MESSAGE: Final = "OperatorConfig successfully applied to deployment"
NO_CHANGES_NEEDED: Final = "NoChangesNeeded"
NO_CHANGES_MESSAGE: Final = "Deployment already matches the OperatorConfig"
NOT_READY: Final = "DeploymentNotReady"
IGNORED: Final = "AnotherConfigInUse"
INVALID: Final = "InvalidConfiguration"

DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
_CONTAINER_NAMES: Final = ("edgekeeper", "operator", "manager")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


# Which of several counts


def key_of(obj: JsonObject) -> Key:
    return Key(dig(obj, "metadata", "namespace") or "", obj["metadata"]["name"])


def config_in_use(configs: Iterable[JsonObject]) -> JsonObject | None:
    """The oldest of the configurations of a namespace: the only one that counts."""
    return min(configs, key=_age, default=None)


def _age(obj: JsonObject) -> tuple[str, str]:
    return str(dig(obj, "metadata", "creationTimestamp") or ""), str(dig(obj, "metadata", "name"))


def read_config(obj: JsonObject) -> OperatorConfig:
    """The object as typed. Raise msgspec.ValidationError where it does not fit."""
    return msgspec.convert(obj, OperatorConfig)


# The Deployment


def deployment_fields(spec: OperatorConfigSpec, container: str) -> JsonObject:
    """The fields of the operator's Deployment that the configuration sets, for server-side apply."""
    parse_namespaces(spec.environment_variables)
    pod = _set_only(
        affinity=spec.affinity,
        nodeSelector=spec.node_selector,
        tolerations=spec.tolerations,
        priorityClassName=spec.priority_class_name,
        containers=_containers(spec, container),
    )
    metadata = _set_only(labels=spec.pod_labels, annotations=spec.pod_annotations)
    template = _set_only(metadata=metadata or None, spec=pod or None)
    fields = _set_only(replicas=spec.replicas, template=template or None)
    return {"spec": fields} if fields else {}


def _containers(spec: OperatorConfigSpec, name: str) -> list[JsonObject] | None:
    resources = msgspec.to_builtins(spec.resources) if spec.resources is not None else None
    fields = _set_only(
        imagePullPolicy=spec.image_pull_policy,
        resources=resources or None,
        env=_environment(spec.environment_variables) or None,
    )
    return [{"name": name, **fields}] if fields else None


def _environment(variables: EnvironmentVariables | None) -> list[JsonObject]:
    if variables is None:
        return []
    values = {
        "POLL_INTERVAL_SECONDS": variables.poll_interval_seconds,
        "LOG_LEVEL": variables.log_level,
        "WATCH_NAMESPACES": variables.watch_namespaces,
    }
    return [{"name": name, "value": str(value)} for name, value in values.items() if value is not None]


def _set_only(**fields: object) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}


def operator_container(deployment: JsonObject) -> str:
    """The name of the operator's container among those of its Deployment: sidecars are not ours to configure.

    The one that the Deployment declares as its default, else one with a usual name, else the first one.
    """
    template = dig(deployment, "spec", "template")
    names = [str(dig(each, "name")) for each in dig_list(template, "spec", "containers")]
    usual = (
        dig(template, "metadata", "annotations", DEFAULT_CONTAINER),
        dig(deployment, "metadata", "name"),
        *_CONTAINER_NAMES,
    )
    return next((name for name in usual if name in names), names[0] if names else "operator")


def rollout_problem(deployment: JsonObject | None, name: str) -> str:
    """What is missing until all replicas of a Deployment are ready as it is declared now; empty where nothing is."""
    if deployment is None:
        return f"Deployment {name} does not exist yet"
    wanted = dig(deployment, "spec", "replicas")
    wanted = wanted if isinstance(wanted, int) else 1
    if (dig(deployment, "status", "observedGeneration") or 0) < (
        dig(deployment, "metadata", "generation") or 0
    ):
        return f"Deployment {name} is being rolled out"
    updated = dig(deployment, "status", "updatedReplicas") or 0
    ready = dig(deployment, "status", "readyReplicas") or 0
    if min(updated, ready) < wanted:
        return f"Deployment {name} has {min(updated, ready)} of {wanted} replicas ready"
    return ""


# Running processes


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """The settings that a running process can take over."""

    log_level: str
    namespaces: tuple[str, ...]
    """Empty for all."""
    resync: timedelta | None
    """None for the interval of each controller."""


def process_settings(spec: OperatorConfigSpec, start: ProcessSettings) -> ProcessSettings:
    """The settings of a process that was started with `start`. Raise Stall where the configuration is invalid."""
    variables = spec.environment_variables or EnvironmentVariables()
    namespaces = parse_namespaces(variables)
    seconds = variables.poll_interval_seconds
    return ProcessSettings(
        start.log_level if variables.log_level is None else variables.log_level,
        start.namespaces if namespaces is None else namespaces,
        start.resync if seconds is None else timedelta(seconds=seconds),
    )


def parse_namespaces(variables: EnvironmentVariables | None) -> tuple[str, ...] | None:
    """The watched namespaces; None where nothing is said. Raise Stall for what no process would start with."""
    if variables is None or variables.watch_namespaces is None:
        return None
    names = tuple(part.strip() for part in variables.watch_namespaces.split(",") if part.strip())
    for name in names:
        if not _NAMESPACE.fullmatch(name):
            raise Stall(
                INVALID,
                f"spec.environmentVariables.watchNamespaces: {name!r} is not the name of a namespace;"
                " write names such as team-a,team-b, or nothing for all",
            )
    return names
