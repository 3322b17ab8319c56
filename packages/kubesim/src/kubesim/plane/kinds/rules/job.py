"""Rules of Jobs and CronJobs."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.schema.field_error import invalid_value, required, unsupported_value
from kubesim.plane.kinds.rules.check import (
    Errors,
    immutable,
    not_negative,
    one_of,
    optional_of,
    selector,
)
from kubesim.plane.kinds.rules.pod import template
from kubesim.plane.kinds.rules.schedule import schedule_problem
from kubesim.plane.kinds.rules.workload import MISMATCH, selects

_LONGEST_CRON_JOB_NAME = 52
"""Eleven letters less than a label: the time of each run is appended to the names of its jobs."""

_FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates", "affinity")


def job(new: JsonObject, old: JsonObject | None) -> Errors:
    spec = dig_object(new, "spec")
    if old is None:
        yield from _generated_labels(new)
    yield from _job_spec("spec", spec)
    chosen = spec.get("selector")
    if chosen is None:
        yield required("spec.selector")
    else:
        yield from selector("spec.selector", chosen)
    if selects(chosen, dig_object(spec, "template")) is False:
        labels = dig(spec, "template", "metadata", "labels")
        yield invalid_value("spec.template.metadata.labels", labels, MISMATCH)
    if old is not None:
        yield from _update(spec, dig_object(old, "spec"))


def _generated_labels(new: JsonObject) -> Errors:
    """Labels that identify the job's pods must be its own."""
    if dig(new, "spec", "manualSelector"):
        return
    labels = dig_object(new, "spec", "template", "metadata", "labels")
    uid, name = dig(new, "metadata", "uid"), dig(new, "metadata", "name")
    expected = {
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    for key, value in expected.items():
        if labels.get(key) != value:
            yield invalid_value(f"spec.template.metadata.labels[{key}]", labels, f"must be '{value}'")
    chosen = dig(new, "spec", "selector")
    if chosen is not None and selects(chosen, {"metadata": {"labels": expected}}) is False:
        yield invalid_value("spec.selector", chosen, "`selector` not auto-generated")


def _job_spec(path: str, spec: JsonObject) -> Errors:
    yield from not_negative(
        spec,
        path,
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    )
    yield from _completion_mode(path, spec)
    yield from optional_of(
        f"{path}.podReplacementPolicy", spec.get("podReplacementPolicy"), ("Failed", "TerminatingOrFailed")
    )
    yield from template(f"{path}.template", dig_object(spec, "template"))
    policy = dig(spec, "template", "spec", "restartPolicy")
    where = f"{path}.template.spec.restartPolicy"
    if policy in ("Always", "", None):
        yield required(where, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield unsupported_value(where, policy, ("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and policy != "Never":
        yield invalid_value(where, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _completion_mode(path: str, spec: JsonObject) -> Errors:
    mode = spec.get("completionMode")
    yield from optional_of(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed" and "completions" not in spec:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    if mode == "NonIndexed":
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if field in spec:
                yield invalid_value(f"{path}.{field}", spec[field], "requires indexed completion mode")


def _update(spec: JsonObject, before: JsonObject) -> Errors:
    if spec.get("completionMode") != "Indexed":
        yield from immutable("spec.completions", spec.get("completions"), before.get("completions"))
    yield from immutable("spec.selector", spec.get("selector"), before.get("selector"))
    new, old = spec.get("template"), before.get("template")
    if before.get("suspend"):
        new, old = _unscheduled(new), _unscheduled(old)
    yield from immutable("spec.template", new, old)
    for field in _FIXED:
        yield from immutable(f"spec.{field}", spec.get(field), before.get(field))


def _unscheduled(tree: Any) -> JsonObject:
    """A suspended job may still be moved: where its pods run is not compared."""
    return {key: value for key, value in dig_object(tree, "spec").items() if key not in _SCHEDULING}


def cron_job(new: JsonObject, old: JsonObject | None) -> Errors:
    spec = dig_object(new, "spec")
    yield from _schedule(spec, dig(old, "spec", "schedule") or "")
    yield from not_negative(spec, "spec", "startingDeadlineSeconds")
    if old is None or dig(old, "spec", "timeZone") != spec.get("timeZone"):
        yield from _time_zone(spec.get("timeZone"))
    policies = ("Allow", "Forbid", "Replace")
    yield from one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), policies)
    yield from _job_template(dig_object(spec, "jobTemplate", "spec"))
    yield from not_negative(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    name = dig(new, "metadata", "name") or ""
    if old is None and len(name) > _LONGEST_CRON_JOB_NAME:
        yield invalid_value(
            "metadata.name", name, f"must be no more than {_LONGEST_CRON_JOB_NAME} characters"
        )


def _job_template(spec: JsonObject) -> Errors:
    path = "spec.jobTemplate.spec"
    yield from _job_spec(path, spec)
    if "selector" in spec:
        yield invalid_value(f"{path}.selector", spec["selector"], "`selector` will be auto-generated")
    if spec.get("manualSelector"):
        yield unsupported_value(f"{path}.manualSelector", True, ("nil", "false"))


def _schedule(spec: JsonObject, before: str) -> Errors:
    text = spec.get("schedule") or ""
    if not text:
        yield required("spec.schedule")
        return
    if problem := schedule_problem(text):
        yield invalid_value("spec.schedule", text, problem)
    if "TZ" not in text:
        return
    if "TZ" not in before:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid_value("spec.schedule", text, why)
    elif spec.get("timeZone") is not None:
        why = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        yield invalid_value("spec.schedule", text, why)


def _time_zone(zone: Any) -> Errors:
    if zone is None:
        return
    if not zone:
        yield invalid_value("spec.timeZone", zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid_value("spec.timeZone", zone, why)
    elif not _is_zone(zone):
        yield invalid_value("spec.timeZone", zone, f"unknown time zone {zone}")


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True
