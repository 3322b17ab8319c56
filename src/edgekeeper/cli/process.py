"""Tunes Python's garbage collector for long-running processes."""

from __future__ import annotations

import gc

_ALLOCATIONS = 20_000
_GENERATIONS = 20


def settle_garbage_collection() -> None:
    """Collect less often, and exclude all objects that exist now.

    The embedded server stores objects as bytes, which cannot be part of a cycle, and its requests create no cycles. With
    Python's default of 700 allocations, the search for cycles takes a tenth of the time of a create. The settings apply to
    the whole process, so entry points call this, and libraries do not.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, _GENERATIONS, _GENERATIONS)
