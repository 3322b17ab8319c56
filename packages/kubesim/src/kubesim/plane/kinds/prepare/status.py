"""The status of new objects. Clients cannot choose it; the server writes out an empty one of the kind's type."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from edgekeeper.core.json import JsonObject
from kubesim.plane.kinds.definitions import definitions
from kubesim.plane.kinds.shape import shape_of


def empty_status(definition: str) -> Callable[[JsonObject], None]:
    """Return the hook that gives a new object the empty status of its type."""
    blank: list[JsonObject] = []

    def reset(tree: JsonObject) -> None:
        if not blank:
            reference: str = definitions()[definition]["properties"]["status"]["$ref"]
            blank.append(shape_of(reference.rpartition("/")[2])({}))
        tree["status"] = deepcopy(blank[0])

    return reset
