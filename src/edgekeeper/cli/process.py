"""What a process that does nothing but serve tells Python's garbage collector."""

from __future__ import annotations

import gc

_ALLOCATIONS = 20_000
_GENERATIONS = 20


def settle_garbage_collection() -> None:
    """Look for garbage less often, and never again among what exists now.

    The server keeps objects as bytes, which cannot be part of a cycle, and its requests leave none behind. Searching
    for cycles every 700 allocations costs a tenth of the time of a create, for nothing. It concerns the whole process,
    so it is for programs to call, not for libraries.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, _GENERATIONS, _GENERATIONS)
