"""Forgive what was wrong before: an update is not blamed for values that it leaves as they were.

Schemas become stricter while objects exist. An error is dropped if the value it is about, or anything around it, is the
same as its counterpart in the old object.
"""

from __future__ import annotations

from typing import Any

from edgekeeper.schema.correlate import is_same, old_items
from edgekeeper.schema.node import Node
from edgekeeper.schema.problem import Steps


def is_tolerated(node: Node, value: Any, old: Any, steps: Steps) -> bool:
    """Tell whether the value at `steps`, or one on the way there, is the same in the old object."""
    here: Node | None = node
    for step in steps:
        if is_same(here, value, old):
            return True
        if here is None:
            return False
        if isinstance(step, int):
            before = old_items(here, old)(value[step])
            if before is None:
                return False
            here, value, old = here.items, value[step], before
        else:
            if not isinstance(old, dict) or step not in old:
                return False
            here, value, old = here.properties.get(step, here.additional), value[step], old[step]
    return is_same(here, value, old)
