"""CloudflareZeroTrustOperatorConfig: how the operator's own Deployments are run."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta

from edgekeeper.api.definition import AGE, Column, CustomKind
from edgekeeper.api.shared import ATOMIC_LIST, CamelStruct, Conditions
from edgekeeper.api.zerotrust import GROUP, VERSION
from edgekeeper.api.zerotrust_settings import LogLevel

Cpu = Annotated[str, Meta(pattern="^[0-9]+m?$")]
Memory = Annotated[str, Meta(pattern="^[0-9]+(Mi|Gi|M|G)$")]


class ResourceAmounts(CamelStruct, frozen=True):
    """CPU and memory."""

    cpu: Annotated[Cpu | None, Meta(description="The CPU, such as 500m or 2.")] = None
    memory: Annotated[Memory | None, Meta(description="The memory, such as 256Mi.")] = None


class Resources(CamelStruct, frozen=True):
    """What the operator's containers ask for, and may use at most."""

    requests: ResourceAmounts | None = None
    limits: ResourceAmounts | None = None


class EnvironmentVariables(CamelStruct, frozen=True):
    """How the operator works. Taken over while it runs, where that is possible."""

    poll_interval_seconds: Annotated[
        Annotated[int, Meta(ge=10, le=3600)] | None,
        Meta(description="How often objects for which nothing has changed are reconciled, in seconds."),
    ] = None
    log_level: Annotated[LogLevel | None, Meta(description="The log level of the operator.")] = None
    watch_namespaces: Annotated[
        str | None, Meta(description="Namespaces of routes, separated by commas; empty for all.")
    ] = None


class OperatorConfigSpec(CamelStruct, frozen=True):
    """How the operator's own Deployments shall be. What is not set is left alone."""

    replicas: Annotated[
        Annotated[int, Meta(ge=1, le=10)] | None, Meta(description="The number of pods of each Deployment.")
    ] = None
    resources: Resources | None = None
    affinity: Annotated[dict[str, Any] | None, Meta(description="The affinity of the pods.")] = None
    node_selector: Annotated[dict[str, str] | None, Meta(description="The node selector of the pods.")] = None
    tolerations: Annotated[
        list[dict[str, Any]] | None,
        Meta(extra_json_schema=ATOMIC_LIST, description="The tolerations of the pods."),
    ] = None
    image_pull_policy: Annotated[
        Literal["Always", "IfNotPresent", "Never"] | None, Meta(description="When the image is pulled.")
    ] = None
    environment_variables: EnvironmentVariables | None = None
    priority_class_name: Annotated[str | None, Meta(description="The priority class of the pods.")] = None
    pod_annotations: Annotated[
        dict[str, str] | None, Meta(description="Annotations of the pods, in addition to their own.")
    ] = None
    pod_labels: Annotated[
        dict[str, str] | None, Meta(description="Labels of the pods, in addition to their own.")
    ] = None


class OperatorConfigStatus(CamelStruct, frozen=True):
    """What became of the configuration."""

    observed_generation: Annotated[int | None, Meta(description="The last generation that was applied.")] = (
        None
    )
    last_applied_time: Annotated[
        datetime | None, Meta(description="When the Deployments were last changed.")
    ] = None
    deployment_ready: Annotated[
        bool | None, Meta(description="Whether the rollout of the Deployments is complete.")
    ] = None
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
