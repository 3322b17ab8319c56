"""What expressions in a schema can see: `self`, the value at their place, and `oldSelf`, what stood there before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from edgekeeper.core.json import JsonObject
from kubecel.checker import CheckedAst
from kubecel.environment import Environment
from kubecel.environments import kubernetes
from kubecel.estimate import estimate
from kubecel.schema import Declaration, declare
from kubecel.sizes import NOTHING
from kubecel.types import optional_of

SELF: Final = "self"
OLD_SELF: Final = "oldSelf"

_TYPE_NAME: Final = "selfType"
"""Of objects in messages. The real server appends a number that changes all the time, so that nobody relies on it."""


@dataclass(frozen=True)
class Scope:
    """One place in a schema."""

    declaration: Declaration

    def environment(self, *, optional: bool) -> Environment:
        """The names that a rule may use. `optional`: it wants to be asked about values that are new as well."""
        return self._for_new_values if optional else self._for_changes

    def cost(self, checked: CheckedAst | None) -> int:
        """What an expression costs for the largest values that the schema allows; no expression costs nothing."""
        if checked is None:
            return 0
        return estimate(checked, self.declaration.size_at, presence_test_cost=NOTHING).max

    @cached_property
    def _for_changes(self) -> Environment:
        seen = self.declaration.type
        return kubernetes().extend(variables={SELF: seen, OLD_SELF: seen})

    @cached_property
    def _for_new_values(self) -> Environment:
        seen = self.declaration.type
        return kubernetes().extend(variables={SELF: seen, OLD_SELF: optional_of(seen)})


def scope_of(schema: JsonObject, *, root: bool) -> Scope | None:
    """The scope of a place, or None if expressions cannot see what stands there. `root`: it is a whole object."""
    declaration = declare(schema, _TYPE_NAME, resource=root)
    return None if declaration is None else Scope(declaration)
