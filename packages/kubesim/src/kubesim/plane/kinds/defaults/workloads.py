"""Defaults of the kinds that run pods: Deployments, StatefulSets, Jobs, autoscalers."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.kinds.convert.autoscaler import (
    CPU_FIELD,
    DEFAULT_CPU_UTILIZATION,
    METRICS_ANNOTATION,
)
from kubesim.plane.kinds.defaults.fill import Fill, absent, both, zero

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_ROLLING_UPDATE = "RollingUpdate"
_LARGEST_INT32 = 2**31 - 1


def _rolling_update(**values: int | str) -> Fill:
    """A rolling update is the usual strategy and has parameters of its own."""
    parameters = absent(**values)

    def fill(strategy: JsonObject) -> None:
        if not strategy.get("type"):
            strategy["type"] = _ROLLING_UPDATE
        if strategy["type"] == _ROLLING_UPDATE:
            parameters(strategy.setdefault("rollingUpdate", {}))

    return fill


def _stateful_set_strategy(strategy: JsonObject) -> None:
    """Unlike the others, a StatefulSet that names the strategy itself gets no parameters."""
    if not strategy.get("type"):
        strategy["type"] = _ROLLING_UPDATE
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == _ROLLING_UPDATE and isinstance(strategy.get("rollingUpdate"), dict):
        strategy["rollingUpdate"].setdefault("partition", 0)


def _claim_templates(spec: JsonObject) -> None:
    for claim in dig_list(spec, "volumeClaimTemplates"):
        if isinstance(claim, dict):
            claim.setdefault("apiVersion", "v1")
            claim.setdefault("kind", "PersistentVolumeClaim")


def count_template(daemon_set: JsonObject, count: str) -> None:
    """Note in an annotation, a field of an API long gone, how often the template has changed."""
    metadata = daemon_set["metadata"]
    metadata["annotations"] = {**dig_object(metadata, "annotations"), TEMPLATE_GENERATION: count}


def _daemon_set(tree: JsonObject) -> None:
    count_template(tree, dig(tree, "metadata", "annotations", TEMPLATE_GENERATION) or "0")


def _old_autoscaler(autoscaler: JsonObject) -> None:
    """The older version has one metric of its own; others it only carries along."""
    if not dig(autoscaler, "metadata", "annotations", METRICS_ANNOTATION):
        autoscaler["spec"].setdefault(CPU_FIELD, DEFAULT_CPU_UTILIZATION)


def _job(job: JsonObject) -> None:
    spec = dig_object(job, "spec")
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    _JOB(spec)
    spec.setdefault("backoffLimit", _LARGEST_INT32 if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    template_labels = dig(spec, "template", "metadata", "labels")
    if template_labels and not dig(job, "metadata", "labels"):
        # The very same map: labels the server adds to the template then show on the job as well.
        job["metadata"]["labels"] = template_labels


_JOB = absent(parallelism=1, completionMode="NonIndexed", suspend=False, manualSelector=False)

_SCALE_UP = absent(
    stabilizationWindowSeconds=0,
    selectPolicy="Max",
    policies=[
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
)
_SCALE_DOWN = absent(selectPolicy="Max", policies=[{"type": "Percent", "value": 100, "periodSeconds": 15}])
_CPU_METRIC = {
    "type": "Resource",
    "resource": {
        "name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": DEFAULT_CPU_UTILIZATION},
    },
}


def _autoscaler_behavior(behavior: JsonObject) -> None:
    _SCALE_UP(behavior.setdefault("scaleUp", {}))
    _SCALE_DOWN(behavior.setdefault("scaleDown", {}))


DEFAULTS: dict[str, Fill] = {
    "api.apps.v1.DeploymentSpec": absent(replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600),
    "api.apps.v1.DeploymentStrategy": _rolling_update(maxUnavailable="25%", maxSurge="25%"),
    "api.apps.v1.DaemonSet": _daemon_set,
    "api.apps.v1.DaemonSetSpec": absent(revisionHistoryLimit=10),
    "api.apps.v1.DaemonSetUpdateStrategy": _rolling_update(maxUnavailable=1, maxSurge=0),
    "api.apps.v1.ReplicaSetSpec": absent(replicas=1),
    "api.apps.v1.StatefulSetSpec": both(
        absent(replicas=1, revisionHistoryLimit=10, persistentVolumeClaimRetentionPolicy={}),
        zero(podManagementPolicy="OrderedReady"),
        _claim_templates,
    ),
    "api.apps.v1.StatefulSetUpdateStrategy": _stateful_set_strategy,
    "api.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy": zero(
        whenDeleted="Retain", whenScaled="Retain"
    ),
    "api.batch.v1.Job": _job,
    "api.batch.v1.CronJobSpec": both(
        absent(suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1),
        zero(concurrencyPolicy="Allow"),
    ),
    "api.batch.v1.PodFailurePolicyOnPodConditionsPattern": zero(status="True"),
    "api.autoscaling.v1.HorizontalPodAutoscaler": _old_autoscaler,
    "api.autoscaling.v1.HorizontalPodAutoscalerSpec": absent(minReplicas=1),
    "api.autoscaling.v2.HorizontalPodAutoscalerSpec": absent(minReplicas=1, metrics=[_CPU_METRIC]),
    "api.autoscaling.v2.HorizontalPodAutoscalerBehavior": _autoscaler_behavior,
}
