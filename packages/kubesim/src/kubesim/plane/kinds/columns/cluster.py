"""Columns of disruption budgets, priorities, storage, leases and webhook configurations."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig
from kubesim.plane.kinds.columns.cell import AGE, NAME, Cell, count, decorated_name, number, of, text
from kubesim.plane.resource import Column


def _or_not_applicable(*path: str) -> Cell:
    def cell(tree: JsonObject) -> str:
        value = dig(tree, *path)
        return "N/A" if value is None else str(value)

    return cell


_WEBHOOKS = (NAME, count("Webhooks", "webhooks"), AGE)

COLUMNS: dict[str, tuple[Column, ...]] = {
    "PodDisruptionBudget": (
        NAME,
        of("Min Available", _or_not_applicable("spec", "minAvailable")),
        of("Max Unavailable", _or_not_applicable("spec", "maxUnavailable")),
        number("Allowed Disruptions", "status", "disruptionsAllowed"),
        AGE,
    ),
    "PriorityClass": (
        NAME,
        number("Value", "value"),
        of("Global-Default", lambda tree: bool(tree.get("globalDefault")), kind="boolean"),
        AGE,
        text("PreemptionPolicy", "preemptionPolicy"),
    ),
    "StorageClass": (
        decorated_name(
            "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"
        ),
        text("Provisioner", "provisioner"),
        text("ReclaimPolicy", "reclaimPolicy", empty="Delete"),
        text("VolumeBindingMode", "volumeBindingMode", empty="Immediate"),
        of("AllowVolumeExpansion", lambda tree: bool(tree.get("allowVolumeExpansion"))),
        AGE,
    ),
    "Lease": (NAME, text("Holder", "spec", "holderIdentity"), AGE),
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}
