"""All passes of one kind behind the `Schema` protocol."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.schema.check import Check, compile_check, run
from edgekeeper.schema.decode import Decode, TypeMismatch, compile_decode
from edgekeeper.schema.default import Default, compile_default
from edgekeeper.schema.embedded import inspect_embedded
from edgekeeper.schema.field_error import FieldError, invalid_value
from edgekeeper.schema.node import Definitions, Node
from edgekeeper.schema.problem import NO_FIELD, Problem, dotted, prefixed
from edgekeeper.schema.prune import Prune, compile_root_prune
from edgekeeper.schema.ratchet import is_tolerated
from edgekeeper.schema.rules import Budget, RuleCompiler, inspect_rules
from edgekeeper.schema.table import Table
from edgekeeper.schema.unique import inspect_uniqueness
from edgekeeper.schema.walk import Walk, compile_walk, walk

_BLOCKS_RULES = frozenset({"Unsupported value", "Required value", "Too long", "Too many", "Type invalid"})
_RULES_SKIPPED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def compile_schema(
    source: JsonObject,
    *,
    rules: RuleCompiler | None = None,
    definitions: Mapping[str, JsonObject] | None = None,
) -> CompiledSchema:
    """Compile the schema of a kind.

    `definitions` marks a built-in kind and resolves its references; pass one `Definitions` to all kinds to share work.
    """
    known = definitions if isinstance(definitions, Definitions | None) else Definitions(definitions)
    named = Node(source, known).child(source)
    name = named.name or str(dig(dig_list(named.source, "x-kubernetes-group-version-kind"), 0, "kind") or "")
    return CompiledSchema(Node(named.source, known, name, root=True), source, rules)


class CompiledSchema:
    """The schema of one kind and version. Each pass is compiled when it is first needed."""

    def __init__(self, root: Node, source: JsonObject, rules: RuleCompiler | None) -> None:
        self.source = source
        self._root = root
        self._rule_compiler = rules
        self._rule_budget = Budget()

    def zero(self) -> JsonObject | None:
        """A custom resource is nothing before a client creates it."""
        return None

    def prune(self, value: JsonObject) -> list[str]:
        """Remove unknown fields, and nulls where null is no value; return the paths of the unknown fields."""
        removed = self._prune[dict](value)
        return sorted(map(dotted, removed)) if removed else []

    def default(self, value: JsonObject) -> None:
        """Fill in defaults in place."""
        fill = self._default.get(dict)
        if fill is not None:
            fill(value)

    def validate(self, value: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
        """Return what is wrong with `value`; what an update leaves unchanged is forgiven."""
        problems = run(self._check, value)
        errors = _errors(_introduced(self._root, problems, value, old)) if problems else []
        errors += walk(self._embedded, value)
        return self._finish(errors, value, old)

    def validate_status(self, value: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
        """Validate a write of the status subresource: the status alone is compared with its schema."""
        node = self._root.properties.get("status")
        errors: list[FieldError] = []
        if node is not None and "status" in value:
            problems = run(compile_check(node), value["status"])
            before = old.get("status") if old is not None else None
            errors = prefixed(_errors(_introduced(node, problems, value["status"], before)), "status")
        return self._finish(errors, value, old)

    def type_errors(self, value: JsonObject) -> list[TypeMismatch]:
        """Return what Go's decoder would stumble over; for built-in kinds, before anything else."""
        visit = self._decode.get(dict)
        return visit(value) if visit is not None else []

    def _finish(
        self, errors: list[FieldError], value: JsonObject, old: JsonObject | None
    ) -> list[FieldError]:
        """Add what concerns the object as a whole: list uniqueness, unless it was broken before, and rules."""
        if (repeated := walk(self._unique, value)) and not (old is not None and walk(self._unique, old)):
            errors += repeated
        if self._rules:
            if any(error.problem in _BLOCKS_RULES for error in errors):
                errors.append(invalid_value(NO_FIELD, None, _RULES_SKIPPED))
            else:
                self._rule_budget.refill()
                errors += walk(self._rules, value, old)
        return errors

    @cached_property
    def _prune(self) -> Table[Prune]:
        return compile_root_prune(self._root)

    @cached_property
    def _default(self) -> Table[Default]:
        return compile_default(self._root)

    @cached_property
    def _check(self) -> Table[Check]:
        return compile_check(self._root)

    @cached_property
    def _decode(self) -> Table[Decode]:
        return compile_decode(self._root)

    @cached_property
    def _embedded(self) -> Walk:
        return compile_walk(self._root, inspect_embedded)

    @cached_property
    def _unique(self) -> Walk:
        return compile_walk(self._root, inspect_uniqueness)

    @cached_property
    def _rules(self) -> Walk:
        if self._rule_compiler is None:
            return Table()
        return compile_walk(self._root, inspect_rules(self._rule_compiler, self._rule_budget))


def _introduced(node: Node, problems: list[Problem], value: object, old: object) -> list[Problem]:
    if old is None:
        return problems
    return [problem for problem in problems if not is_tolerated(node, value, old, problem.tolerance_steps)]


def _errors(problems: list[Problem]) -> list[FieldError]:
    """Render each problem once: junctors meet the same one in several branches."""
    by_text = {str(error): error for error in (problem.error() for problem in problems)}
    return list(by_text.values())
