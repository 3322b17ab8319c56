"""What an instance itself bears: the finalizer, labels and the inventory. They are written before anything is created."""

from __future__ import annotations

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.inventory import Inventory, apply_set_id
from edgekeeper.controllers.composition.registry import ServedGraph
from edgekeeper.core.json import dig_list, dig_object
from edgekeeper.core.outcome import ApplyWrite
from edgekeeper.runtime.contract import Request


def missing_marks(request: Request, served: ServedGraph, inventory: Inventory) -> ApplyWrite | None:
    """The write that gives an instance its marks, with this inventory; None if it has them."""
    apply_set = apply_set_id(served.kind, request.key)
    wanted = labels.instance_labels(served.definition, served.uid, apply_set)
    notes = inventory.annotations(apply_set)
    metadata = dig_object(request.object, "metadata")
    if (
        labels.FINALIZER in dig_list(metadata, "finalizers")
        and wanted.items() <= dig_object(metadata, "labels").items()
        and notes.items() <= dig_object(metadata, "annotations").items()
    ):
        return None
    fields = {"finalizers": [labels.FINALIZER], "labels": wanted, "annotations": notes}
    return ApplyWrite({"metadata": fields}, labels.PARENT_MANAGER)
