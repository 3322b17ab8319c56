"""The rules of a whole definition: may they be written at all?

Beside looking at each rule by itself, this adds up what all rules may cost for the worst object that the schema allows. How
often a rule is evaluated follows from the lists and maps around it; where these are not bounded, from what fits into one
request. A definition whose rules may cost too much is refused before any object exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from edgekeeper.core.json import JsonObject, dig_list, dig_object
from edgekeeper.schema.expressions.examining import Examined, examine
from edgekeeper.schema.expressions.scope import Scope, scope_of
from edgekeeper.schema.expressions.written import WrittenRule
from edgekeeper.schema.field_error import FieldError, forbidden_field, internal_problem, invalid_value
from kubecel.sizes import LARGEST

MOST_PER_RULE: Final = 10_000_000
MOST_PER_DEFINITION: Final = 100_000_000

_WORTH_NAMING: Final = MOST_PER_DEFINITION // 100
_MOST_NAMED: Final = 4
_HOPELESS_FACTOR: Final = 100.0
_CLOSE_FACTOR: Final = 1.5
_ADVICE: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
_KEYWORD: Final = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True)
class _Place:
    """One schema within a definition."""

    schema: JsonObject
    path: str
    is_root: bool = False
    occurrences: int | None = 1
    """How many values may stand here at most; None if nothing bounds them."""
    uncorrelated: str = ""
    """The outermost list around whose items cannot be told from one another after an update."""

    def below(self) -> Iterator[_Place]:
        """The places whose rules are looked at, in the order of the real server."""
        inner = replace(self, is_root=False, occurrences=self._occurrences_below())
        additional, items = self.schema.get("additionalProperties"), self.schema.get("items")
        if isinstance(additional, dict):
            yield replace(inner, schema=additional, path=f"{self.path}.additionalProperties")
        for key, child in dig_object(self.schema, "properties").items():
            if isinstance(child, dict):
                yield replace(inner, schema=child, path=f"{self.path}.properties[{key}]")
        if isinstance(items, dict):
            keyed = self.schema.get("x-kubernetes-list-type") == "map"
            uncorrelated = self.uncorrelated or ("" if keyed else self.path)
            yield replace(inner, schema=items, path=f"{self.path}.items", uncorrelated=uncorrelated)

    def _occurrences_below(self) -> int | None:
        limit: int | None = 1
        if self.schema.get("type") == "array":
            limit = self.schema.get("maxItems")
        elif self.schema.get("type") == "object" and self.schema.get("additionalProperties") is not None:
            limit = self.schema.get("maxProperties")
        if self.occurrences is None or limit is None:
            return None
        return min(LARGEST, self.occurrences * max(0, limit))


@dataclass(slots=True)
class _Expense:
    """What all rules of a definition may cost together."""

    total: int = 0
    named: list[tuple[int, str]] = field(default_factory=list)
    """The most expensive ones, with their paths."""

    def add(self, path: str, cost: int) -> None:
        self.total = min(LARGEST, self.total + cost)
        if cost >= _WORTH_NAMING:
            ranked = sorted([*self.named, (cost, path)], key=lambda one: one[0], reverse=True)
            self.named = ranked[:_MOST_NAMED]

    def errors(self, path: str) -> Iterator[FieldError]:
        if self.total <= MOST_PER_DEFINITION:
            return
        for _, place in self.named:
            why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            yield forbidden_field(place, why)
        what = f"{_KEYWORD} estimated rule cost total for entire OpenAPIv3 schema"
        yield forbidden_field(path, _too_expensive(what, self.total, MOST_PER_DEFINITION))


def definition_errors(
    schema: JsonObject, path: str, broken: Sequence[FieldError], *, lenient: bool
) -> list[FieldError]:
    """Return what is wrong with the rules in a schema. See `RuleCompiler.definition_errors`."""
    survey = _Survey(tuple(error.field for error in broken), lenient, _Expense())
    errors = list(survey.look(_Place(schema, path, is_root=True)))
    return errors + list(survey.expense.errors(path))


@dataclass(frozen=True, slots=True)
class _Survey:
    """One walk over a schema."""

    broken: tuple[str, ...]
    lenient: bool
    expense: _Expense

    def look(self, place: _Place) -> Iterator[FieldError]:
        for below in place.below():
            yield from self.look(below)
        rules = dig_list(place.schema, _KEYWORD)
        if not rules or any(_is_within(path, place.path) for path in self.broken):
            return
        is_object = place.is_root or bool(place.schema.get("x-kubernetes-embedded-resource"))
        scope = scope_of(place.schema, root=is_object)
        if scope is None:
            why = "unable to convert structural schema to CEL declarations"
            what = f"internal error: failed to construct type information for {_KEYWORD} rules: {why}"
            yield internal_problem(f"{place.path}.{_KEYWORD}", what)
            return
        for index, source in enumerate(rules):
            yield from self._examine(
                WrittenRule.of(source), f"{place.path}.{_KEYWORD}[{index}]", place, scope
            )

    def _examine(self, rule: WrittenRule, path: str, place: _Place, scope: Scope) -> Iterator[FieldError]:
        found = examine(rule, scope)
        often = scope.declaration.cardinality if place.occurrences is None else place.occurrences
        yield from self._price(f"{path}.rule", "rule", min(LARGEST, scope.cost(found.rule) * often))
        if found.problem:
            yield invalid_value(f"{path}.rule", rule, found.problem)
        yield from self._examine_message(found, rule, path, scope)
        if found.uses_old and place.uncorrelated:
            why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelated}"
            yield invalid_value(f"{path}.rule", rule.rule, why)
        if not found.uses_old and rule.optional_old_self is not None:
            why = "may not be set if oldSelf is not used in rule"
            yield invalid_value(f"{path}.optionalOldSelf", rule.optional_old_self, why)

    def _examine_message(
        self, found: Examined, rule: WrittenRule, path: str, scope: Scope
    ) -> Iterator[FieldError]:
        where = f"{path}.messageExpression"
        if found.message_problem:
            yield invalid_value(where, rule, found.message_problem)
        elif found.message is not None:
            yield from self._price(where, "messageExpression", scope.cost(found.message))

    def _price(self, path: str, what: str, cost: int) -> Iterator[FieldError]:
        if cost > MOST_PER_RULE and not self.lenient:
            yield forbidden_field(path, _too_expensive(f"estimated {what} cost", cost, MOST_PER_RULE))
        self.expense.add(path, cost)


def _is_within(path: str, place: str) -> bool:
    return path.startswith(place) and path[len(place) : len(place) + 1] in ("", ".", "[")


def _too_expensive(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = f"{factor:.6f}x" if factor < _CLOSE_FACTOR else f"{factor:.1f}x"
    if factor > _HOPELESS_FACTOR:
        shown = f"more than {_HOPELESS_FACTOR:.0f}x"
    return f"{what} exceeds budget by factor of {shown} {_ADVICE}"
