"""Labels, annotations, the finalizer and field managers of composition: those of kro, so that either can take over.

    on instances     finalizer, owner labels, the ApplySet's id and its inventory (see `inventory`)
    on children      whose they are, which node they belong to, and in which wave they are deleted

Values of labels have at most 63 characters. What is longer is shortened and gets a hash at its end; whose a child is
follows from the UID of the instance, which is always complete.
"""

from __future__ import annotations

import hashlib
from typing import Final

from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.kube.kinds import Key, Kind

KRO_VERSION: Final = "v0.9.3"
"""The version of kro that we behave as."""
FINALIZER: Final = "kro.run/finalizer"
PARENT_MANAGER: Final = "kro.run/applyset-parent"
"""The field manager of what we write on instances."""
CHILD_MANAGER: Final = "kro.run/applyset"
"""The field manager of children."""

OWNED: Final = "kro.run/owned"
VERSION: Final = "kro.run/kro-version"
DEFINITION_ID: Final = "kro.run/resource-graph-definition-id"
DEFINITION_NAME: Final = "kro.run/resource-graph-definition-name"
INSTANCE_ID: Final = "kro.run/instance-id"
INSTANCE_NAME: Final = "kro.run/instance-name"
INSTANCE_NAMESPACE: Final = "kro.run/instance-namespace"
INSTANCE_GROUP: Final = "kro.run/instance-group"
INSTANCE_VERSION: Final = "kro.run/instance-version"
INSTANCE_KIND: Final = "kro.run/instance-kind"
NODE_ID: Final = "kro.run/node-id"
COLLECTION_INDEX: Final = "kro.run/collection-index"
COLLECTION_SIZE: Final = "kro.run/collection-size"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
PART_OF: Final = "applyset.kubernetes.io/part-of"
APPLY_SET_ID: Final = "applyset.kubernetes.io/id"

RECONCILE: Final = "kro.run/reconcile"
"""Annotation of an instance: `suspended` or `disabled` stops its reconciliation."""
APPLY_ORDER: Final = "internal.kro.run/apply-order"
"""Annotation of a child: the wave in which it is deleted, the highest first."""
APPLIED_HASH: Final = "internal.edgekeeper.io/applied-hash"
"""Annotation of a child: the hash of what was applied last."""
DELETION_POLICY: Final = "internal.edgekeeper.io/deletion-policy"
"""Annotation of a child: `Orphan` if it stays when its instance goes."""
ORPHAN: Final = "Orphan"

OWNED_SELECTOR: Final = f"{OWNED}=true"
_LONGEST: Final = 63
_SUSPENDED: Final = ("suspended", "disabled")


def label_value(text: str) -> str:
    """A text as the value of a label: shortened, with a hash of all of it, if it is too long."""
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    return f"{text[: _LONGEST - len(digest) - 1].rstrip('-_.')}-{digest}"


def instance_labels(definition: str, definition_uid: str, apply_set: str) -> dict[str, str]:
    """The labels that we keep on an instance."""
    return {
        OWNED: "true",
        VERSION: KRO_VERSION,
        DEFINITION_ID: definition_uid,
        DEFINITION_NAME: label_value(definition),
        APPLY_SET_ID: apply_set,
    }


def child_labels(kind: Kind, instance: JsonObject, node: str, apply_set: str) -> dict[str, str]:
    """The labels of a child of an instance of this kind."""
    metadata = dig_object(instance, "metadata")
    return {
        OWNED: "true",
        VERSION: KRO_VERSION,
        INSTANCE_ID: str(metadata.get("uid", "")),
        INSTANCE_NAME: label_value(str(metadata.get("name", ""))),
        INSTANCE_NAMESPACE: str(metadata.get("namespace", "")),
        INSTANCE_GROUP: label_value(kind.group),
        INSTANCE_VERSION: kind.version,
        INSTANCE_KIND: label_value(kind.kind),
        NODE_ID: label_value(node),
        MANAGED_BY: "kro",
        PART_OF: apply_set,
    }


CHILD_LABELS: Final = (
    OWNED,
    VERSION,
    INSTANCE_ID,
    INSTANCE_NAME,
    INSTANCE_NAMESPACE,
    INSTANCE_GROUP,
    INSTANCE_VERSION,
    INSTANCE_KIND,
    NODE_ID,
    MANAGED_BY,
    PART_OF,
    COLLECTION_INDEX,
    COLLECTION_SIZE,
)
CHILD_ANNOTATIONS: Final = (APPLY_ORDER, APPLIED_HASH, DELETION_POLICY)


def is_suspended(instance: JsonObject) -> bool:
    value = dig_object(instance, "metadata", "annotations").get(RECONCILE)
    return isinstance(value, str) and value.casefold() in _SUSPENDED


def label_of(obj: JsonObject, name: str) -> str:
    """The value of a label; empty where there is none."""
    value = dig_object(obj, "metadata", "labels").get(name)
    return value if isinstance(value, str) else ""


def annotation_of(obj: JsonObject, name: str) -> str:
    """The value of an annotation; empty where there is none."""
    value = dig_object(obj, "metadata", "annotations").get(name)
    return value if isinstance(value, str) else ""


def apply_order_of(obj: JsonObject) -> int:
    """The deletion wave of a child. Where it is missing or invalid the child is in the last one, zero."""
    text = annotation_of(obj, APPLY_ORDER)
    return int(text) if text.isascii() and text.isdigit() and len(text) < _LONGEST else 0


def owner_of(obj: JsonObject) -> str:
    """The instance that a child belongs to, as people would name it."""
    kind, name = label_of(obj, INSTANCE_KIND), label_of(obj, INSTANCE_NAME)
    if not kind or not name:
        return f"the ApplySet {label_of(obj, PART_OF)}"
    return f"{kind} {Key(label_of(obj, INSTANCE_NAMESPACE), name)}"


def released(obj: JsonObject) -> JsonObject:
    """The merge patch that removes our marks from a child and leaves everything else."""
    metadata: JsonObject = {"resourceVersion": dig(obj, "metadata", "resourceVersion")}
    for field, names in (("labels", CHILD_LABELS), ("annotations", CHILD_ANNOTATIONS)):
        present = dig_object(obj, "metadata", field)
        if gone := {name: None for name in names if name in present}:
            metadata[field] = gone
    return {"metadata": metadata}
