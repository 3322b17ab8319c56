"""CloudflareZeroTrustOperatorConfig: how the operator's own Deployments are run."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta

from edgekeeper.api.definition import AGE, Column, CustomKind
from edgekeeper.api.shared import ATOMIC_LIST, CamelStruct
from edgekeeper.api.zerotrust import GROUP, VERSION
from edgekeeper.api.zerotrust_settings import Conditions, LogLevel

Cpu = Annotated[str, Meta(pattern="^[0-9]+m?$")]
Memory = Annotated[str, Meta(pattern="^[0-9]+(Mi|Gi|M|G)$")]


class ResourceAmounts(CamelStruct, frozen=True):
    """CPU and memory."""

    cpu: Cpu | None = None
    memory: Memory | None = None


class Resources(CamelStruct, frozen=True):
    """What the operator's containers ask for, and may use at most."""

    requests: ResourceAmounts | None = None
    limits: ResourceAmounts | None = None


class EnvironmentVariables(CamelStruct, frozen=True):
    """How the operator works. Taken over while it runs, where that is possible."""

    poll_interval_seconds: Annotated[int, Meta(ge=10, le=3600)] | None = None
    log_level: LogLevel | None = None
    watch_namespaces: Annotated[
        str | None, Meta(description="Namespaces of routes, separated by commas; empty for all.")
    ] = None


class OperatorConfigSpec(CamelStruct, frozen=True):
    """How the operator's own Deployments shall be. What is not set is left alone."""

    replicas: Annotated[int, Meta(ge=1, le=10)] | None = None
    resources: Resources | None = None
    affinity: dict[str, Any] | None = None
    node_selector: dict[str, str] | None = None
    tolerations: Annotated[list[dict[str, Any]] | None, Meta(extra_json_schema=ATOMIC_LIST)] = None
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    environment_variables: EnvironmentVariables | None = None
    priority_class_name: str | None = None
    pod_annotations: dict[str, str] | None = None
    pod_labels: dict[str, str] | None = None


class OperatorConfigStatus(CamelStruct, frozen=True):
    """What became of the configuration."""

    observed_generation: int | None = None
    last_applied_time: datetime | None = None
    deployment_ready: bool | None = None
    conditions: Conditions = []


class OperatorConfig(CamelStruct, frozen=True):
    """The object as its controller reads it."""

    spec: OperatorConfigSpec
    status: OperatorConfigStatus = OperatorConfigStatus()


OPERATOR_CONFIG = CustomKind(
    group=GROUP,
    version=VERSION,
    kind="CloudflareZeroTrustOperatorConfig",
    plural="cloudflarezerotrustoperatorconfigs",
    description="How the operator's own Deployments are run. One object in the operator's namespace.",
    spec=OperatorConfigSpec,
    status=OperatorConfigStatus,
    columns=(
        Column("Replicas", ".spec.replicas", "integer"),
        Column("CPU Request", ".spec.resources.requests.cpu"),
        Column("Memory Request", ".spec.resources.requests.memory"),
        Column("Ready", ".status.deploymentReady", "boolean"),
        Column("Last Applied", ".status.lastAppliedTime", "date"),
        AGE,
    ),
    short_names=("cfztconfig", "operatorconfig"),
    categories=("edge",),
)
