"""Columns of the kinds that run pods."""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.kinds.age import Since, parse_moment
from kubesim.plane.kinds.columns.cell import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    condition_is_true,
    containers,
    count,
    few,
    format_labels,
    number,
    of,
    ratio,
    selector,
    text,
)
from kubesim.plane.kinds.convert.autoscaler import to_v2
from kubesim.plane.resource import Column

_TEMPLATE = ("spec", "template", "spec")
_JOB_STATES = {
    "Complete": "Complete",
    "Failed": "Failed",
    "": "Terminating",
    "Suspended": "Suspended",
    "FailureTarget": "FailureTarget",
    "SuccessCriteriaMet": "SuccessCriteriaMet",
}
"""Conditions of a job in order of precedence; deletion, which is none, has its place among them."""


def _job_state(job: JsonObject) -> str:
    for condition, state in _JOB_STATES.items():
        holds = condition_is_true(job, condition) if condition else dig(job, "metadata", "deletionTimestamp")
        if holds:
            return state
    return "Running"


def _job_completions(job: JsonObject) -> str:
    succeeded = dig(job, "status", "succeeded") or 0
    completions, parallelism = dig(job, "spec", "completions"), dig(job, "spec", "parallelism") or 0
    if completions is not None:
        return f"{succeeded}/{completions}"
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(job: JsonObject) -> str | Since:
    start, end = dig(job, "status", "startTime"), parse_moment(dig(job, "status", "completionTime"))
    if not start:
        return ""
    return Since(start).render(end) if end else Since(start)


def _last_schedule(cron_job: JsonObject) -> str | Since:
    last = dig(cron_job, "status", "lastScheduleTime")
    return Since(last) if last else NONE


def _suspended(cron_job: JsonObject) -> str:
    suspend = dig(cron_job, "spec", "suspend")
    return UNSET if suspend is None else str(suspend)


def _revision_controller(revision: JsonObject) -> str:
    for owner in dig_list(revision, "metadata", "ownerReferences"):
        if dig(owner, "controller"):
            group = str(owner["apiVersion"]).rpartition("/")[0]
            kind = f"{owner['kind']}.{group}" if group else owner["kind"]
            return f"{kind.lower()}/{owner['name']}"
    return NONE


def _autoscaler_targets(autoscaler: JsonObject) -> str:
    specs = dig_list(autoscaler, "spec", "metrics")
    statuses = dig_list(autoscaler, "status", "currentMetrics")
    shown = [_metric(one, dig(statuses, index)) for index, one in enumerate(specs)]
    return few(shown, len(shown), limit=2, separator=", ") or NONE


def _metric(spec: JsonObject, status: Any) -> str:
    kind = str(dig(spec, "type") or "")
    field = kind[:1].lower() + kind[1:]
    if field not in ("external", "pods", "object", "resource", "containerResource"):
        return "<unknown type>"
    target, current = dig_object(spec, field, "target"), dig_object(status, field, "current")
    if field in ("resource", "containerResource"):
        return f"{dig(spec, field, 'name')}: {_resource_metric(target, current)}"
    if field == "pods":
        return f"{current.get('averageValue', UNKNOWN)}/{target.get('averageValue', '')}"
    if "averageValue" in target:
        return f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']} (avg)"
    return f"{current.get('value', UNKNOWN)}/{target.get('value', '')}"


def _resource_metric(target: JsonObject, current: JsonObject) -> str:
    if "averageValue" in target:
        return f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']}"
    return f"{_percent(current, UNKNOWN)}/{_percent(target, '<auto>')}"


def _percent(metric: JsonObject, absent: str) -> str:
    return f"{metric['averageUtilization']}%" if "averageUtilization" in metric else absent


def _scale_target(autoscaler: JsonObject) -> str:
    target = dig_object(autoscaler, "spec", "scaleTargetRef")
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def _smallest_scale(autoscaler: JsonObject) -> str:
    minimum = dig(autoscaler, "spec", "minReplicas")
    return UNSET if minimum is None else str(minimum)


def _autoscaler(targets: Column) -> tuple[Column, ...]:
    return (
        NAME,
        of("Reference", _scale_target),
        targets,
        of("MinPods", _smallest_scale),
        number("MaxPods", "spec", "maxReplicas", kind="string"),
        number("Replicas", "status", "currentReplicas", kind="string"),
        AGE,
    )


COLUMNS: dict[str, tuple[Column, ...]] = {
    "Deployment": (
        NAME,
        of("Ready", ratio(("status", "readyReplicas"), ("spec", "replicas"))),
        number("Up-to-date", "status", "updatedReplicas", kind="string"),
        number("Available", "status", "availableReplicas", kind="string"),
        AGE,
        *containers(*_TEMPLATE),
        selector("spec", "selector", empty=""),
    ),
    "ReplicaSet": (
        NAME,
        number("Desired", "spec", "replicas"),
        number("Current", "status", "replicas"),
        number("Ready", "status", "readyReplicas"),
        AGE,
        *containers(*_TEMPLATE),
        selector("spec", "selector"),
    ),
    "StatefulSet": (
        NAME,
        of("Ready", ratio(("status", "readyReplicas"), ("spec", "replicas"))),
        AGE,
        *containers(*_TEMPLATE),
    ),
    "DaemonSet": (
        NAME,
        number("Desired", "status", "desiredNumberScheduled"),
        number("Current", "status", "currentNumberScheduled"),
        number("Ready", "status", "numberReady"),
        number("Up-to-date", "status", "updatedNumberScheduled"),
        number("Available", "status", "numberAvailable"),
        of("Node Selector", lambda tree: format_labels(dig(tree, *_TEMPLATE, "nodeSelector"))),
        AGE,
        *containers(*_TEMPLATE),
        selector("spec", "selector"),
    ),
    "ControllerRevision": (
        NAME,
        of("Controller", _revision_controller),
        number("Revision", "revision", kind="string"),
        AGE,
    ),
    "Job": (
        NAME,
        of("Status", _job_state),
        of("Completions", _job_completions),
        of("Duration", _job_duration),
        AGE,
        *containers(*_TEMPLATE),
        selector("spec", "selector"),
    ),
    "CronJob": (
        NAME,
        text("Schedule", "spec", "schedule"),
        text("Timezone", "spec", "timeZone", empty=NONE),
        of("Suspend", _suspended, kind="boolean"),
        count("Active", "status", "active"),
        of("Last Schedule", _last_schedule),
        AGE,
        *containers("spec", "jobTemplate", "spec", "template", "spec"),
        selector("spec", "jobTemplate", "spec", "selector"),
    ),
    "HorizontalPodAutoscaler": _autoscaler(of("Targets", _autoscaler_targets)),
    "HorizontalPodAutoscaler.v1.autoscaling": _autoscaler(
        of("Targets", lambda tree: _autoscaler_targets(to_v2(tree)))
    ),
}
