"""New jobs: unless a job brings its own selector, it selects the pods that carry its uid."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig_object

_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")


def select_own_pods(job: JsonObject) -> None:
    """Label the pod template with the job's name and uid, and select that uid. Needs `metadata.uid`."""
    spec = dig_object(job, "spec")
    if spec.get("manualSelector"):
        return
    metadata = dig_object(job, "metadata")
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    template = spec.setdefault("template", {}).setdefault("metadata", {})
    labels = dig_object(template, "labels")
    generated = dict.fromkeys(_NAME_LABELS, name) | dict.fromkeys(_UID_LABELS, uid)
    template["labels"] = generated | labels
    if not metadata.get("labels") or metadata["labels"] is labels:
        # A job without labels of its own carries those of its pods.
        metadata["labels"] = dict(template["labels"])
    selector = spec.setdefault("selector", {})
    selector["matchLabels"] = {_UID_LABELS[1]: uid, **dig_object(selector, "matchLabels")}
