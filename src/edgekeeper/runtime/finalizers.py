"""Finalizers: how an object stays until what it stands for has been cleaned up.

Expected flow
    1. Somebody creates an object. Its first pass adds our finalizer, in a write of its own, and ends.
    2. The next pass sees the finalizer in the store and makes the first thing outside the cluster.
    3. Somebody deletes the object. The server sets `deletionTimestamp` and keeps it, since a finalizer is left.
    4. Passes clean up, one step each (`Finalizing.finalize`), until one has nothing left to do or to write.
    5. That pass removes our finalizer and no other, and the object goes, unless other finalizers hold it.

Guarantees
    - Nothing is made for an object that could vanish without us noticing: the finalizer is stored first.
    - An object that is being deleted never gets our finalizer, and is never reconciled as if it were to stay.
    - Each change of the list carries the resourceVersion that was read, so that a finalizer which somebody else has
      added or removed since then is neither lost nor brought back.
    - Once our finalizer is gone we have nothing more to do with the object.

Assumptions
    - The finalizer's name is ours alone, and the same in every version of this program.

Caveats
    - People can remove finalizers. What was made for the object is then found by the marks of ownership it carries.
    - A finalizer whose controller is not running keeps its object, and its namespace, for ever.
"""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.outcome import MetadataWrite


def is_deleting(obj: JsonObject) -> bool:
    """Whether somebody has asked for the object to go."""
    return dig(obj, "metadata", "deletionTimestamp") is not None


def has_finalizer(obj: JsonObject, finalizer: str) -> bool:
    return finalizer in dig_list(obj, "metadata", "finalizers")


def claim(finalizer: str) -> MetadataWrite:
    """Keep the object until `release`."""
    return MetadataWrite(add_finalizers=(finalizer,))


def release(finalizer: str) -> MetadataWrite:
    """Let the object go: nothing is left to clean up."""
    return MetadataWrite(remove_finalizers=(finalizer,))


def changed_finalizers(obj: JsonObject, write: MetadataWrite) -> list[str]:
    """The object's finalizers after `write`, in their order. None is added to an object that is being deleted."""
    present = dig_list(obj, "metadata", "finalizers")
    kept = [name for name in present if name not in write.remove_finalizers]
    if is_deleting(obj):
        return kept
    return kept + [name for name in dict.fromkeys(write.add_finalizers) if name not in kept]
