"""Rejects ResourceGraphDefinitions on admission: the problems that `edgekeeper validate` reports, and kinds that are not allowed.

A kind that is not served yet is no problem here: it may be installed later, and the conditions say that it is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edgekeeper.api.composition import DefinitionSpec
from edgekeeper.controllers.composition.definition_observe import name_problems, read_spec
from edgekeeper.controllers.composition.definition_options import CompositionOptions
from edgekeeper.controllers.composition.graph import Problem as GraphProblem
from edgekeeper.controllers.composition.graph import compile_definition
from edgekeeper.controllers.composition.schemas import KnownSchemas
from edgekeeper.controllers.composition.served_schemas import ServedSchemas, graph_options, kind_refusals
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.runtime.validation import Problem, User


class DefinitionValidator:
    """The rules for ResourceGraphDefinitions. `is_active` says whether they are ours, not those of a running kro."""

    def __init__(
        self, schemas: ServedSchemas, options: CompositionOptions, is_active: Callable[[], bool]
    ) -> None:
        self._schemas = schemas
        self._options = options
        self._is_active = is_active

    async def validate(self, old: JsonObject | None, new: JsonObject | None, user: User) -> Sequence[Problem]:
        if new is None or not self._is_active():
            return []
        spec = read_spec(new)
        if isinstance(spec, GraphProblem):
            found = [spec]
        else:
            found = [*name_problems(str(dig(new, "metadata", "name") or "")), *await self._problems(spec)]
        return [Problem(one.path, one.message) for one in found]

    async def _problems(self, spec: DefinitionSpec) -> list[GraphProblem]:
        known = KnownSchemas(await self._schemas.of(spec))
        options = graph_options(self._options, kinds_must_be_known=False)
        compilation = compile_definition(spec, known, options)
        return [*compilation.problems, *kind_refusals(spec, self._options)]
