"""Finalizers: keep an object in the cluster until its external resources have been cleaned up.

Expected flow
    1. An object is created. Its first pass adds our finalizer, in a write of its own, and ends.
    2. The next pass sees the finalizer in the store and creates the first external resource.
    3. The object is deleted. The server sets `deletionTimestamp` and keeps the object because of the finalizer.
    4. Passes clean up, one step each (`Finalizing.finalize`), until one has nothing left to do or to write.
    5. That pass removes our finalizer and no other, and the server deletes the object unless it has other finalizers.

Guarantees
    - No external resource is created before the finalizer is stored, so none is left behind by a deletion.
    - An object that is being deleted never gets our finalizer, and is never reconciled, only finalized.
    - Each change of the list carries the resourceVersion that was read, so that a finalizer which another client has
      added or removed since then is neither lost nor restored.
    - Once our finalizer is removed, the object gets no further pass.

Assumptions
    - The name of the finalizer is used by nothing else, and is the same in every version of this program.

Caveats
    - Users can remove finalizers. The external resources are then found by their ownership marks.
    - A finalizer whose controller is not running keeps its object, and its namespace, indefinitely.
"""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.outcome import MetadataWrite


def is_deleting(obj: JsonObject) -> bool:
    """Whether the object has a deletionTimestamp."""
    return dig(obj, "metadata", "deletionTimestamp") is not None


def has_finalizer(obj: JsonObject, finalizer: str) -> bool:
    return finalizer in dig_list(obj, "metadata", "finalizers")


def claim(finalizer: str) -> MetadataWrite:
    """The write that adds our finalizer."""
    return MetadataWrite(add_finalizers=(finalizer,))


def release(finalizer: str) -> MetadataWrite:
    """The write that removes our finalizer, when nothing is left to clean up."""
    return MetadataWrite(remove_finalizers=(finalizer,))


def changed_finalizers(obj: JsonObject, write: MetadataWrite) -> list[str]:
    """The object's finalizers after `write`, in their order. None is added to an object that is being deleted."""
    present = dig_list(obj, "metadata", "finalizers")
    kept = [name for name in present if name not in write.remove_finalizers]
    if is_deleting(obj):
        return kept
    return kept + [name for name in dict.fromkeys(write.add_finalizers) if name not in kept]
