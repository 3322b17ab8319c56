"""The vocabulary of defaults: fixed values for absent fields, and combinations."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeAlias

from edgekeeper.core.json import JsonObject

Fill: TypeAlias = Callable[[JsonObject], None]


def absent(**values: Any) -> Fill:
    """Fill in fixed values where a field is absent. Lists and objects are copied for each use."""
    scalars = {key: value for key, value in values.items() if not isinstance(value, dict | list)}
    trees = {key: value for key, value in values.items() if key not in scalars}

    def fill(target: JsonObject) -> None:
        for key, value in scalars.items():
            if key not in target:
                target[key] = value
        for key, tree in trees.items():
            if key not in target:
                target[key] = deepcopy(tree) if tree else type(tree)()

    return fill


def zero(**values: Any) -> Fill:
    """Fill in fixed values where a field is absent or zero: the types that know no difference between the two."""

    def fill(target: JsonObject) -> None:
        for key, value in values.items():
            if not target.get(key):
                target[key] = value

    return fill


def both(*fills: Fill) -> Fill:
    def fill(target: JsonObject) -> None:
        for one in fills:
            one(target)

    return fill
