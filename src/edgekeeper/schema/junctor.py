"""`anyOf`, `oneOf`, `allOf` and `not`.

When no branch fits, the real server shows the errors of the branch that "matched best", which means: passed through the
most validators. `_weight` counts them its way; it only runs when there is an error to explain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from edgekeeper.core.json import dig_list
from edgekeeper.schema.formats import format_test
from edgekeeper.schema.gotext import quote
from edgekeeper.schema.node import Node
from edgekeeper.schema.problem import Problem, attribute_here, unattributed
from edgekeeper.schema.table import TYPE_NAMES, Table

Check: TypeAlias = Callable[[Any], list[Problem]]
Compile: TypeAlias = Callable[[Node], Table[Check]]
Branch: TypeAlias = tuple[Node, Table[Check]]


def check_junctors(node: Node, kind: type, compile_branch: Compile) -> Check | None:
    checks = [
        check
        for check in (
            _any_of(_branches(node, "anyOf", compile_branch), kind),
            _one_of(_branches(node, "oneOf", compile_branch)),
            _all_of(_branches(node, "allOf", compile_branch)),
            _none_of(node, compile_branch),
        )
        if check is not None
    ]
    if len(checks) <= 1:
        return checks[0] if checks else None
    return lambda value: [problem for check in checks for problem in check(value)]


def _branches(node: Node, keyword: str, compile_branch: Compile) -> list[Branch]:
    nodes = [node.child(schema) for schema in dig_list(node.source, keyword)]
    return [(branch, compile_branch(branch)) for branch in nodes]


def _run(branch: Branch, value: Any) -> list[Problem]:
    check = branch[1].get(type(value))
    return check(value) if check is not None else []


def _any_of(branches: list[Branch], kind: type) -> Check | None:
    always_fits = any(not table.pending and kind not in table for _, table in branches)
    if not branches or always_fits:
        return None
    verdict = unattributed(lambda path: f"{quote(path)} must validate at least one schema (anyOf)")

    def check(value: Any) -> list[Problem]:
        failures = []
        for branch in branches:
            found = _run(branch, value)
            if not found:
                return []
            failures.append((branch, found))
        return [verdict, *_best(failures, value)]

    return check


def _one_of(branches: list[Branch]) -> Check | None:
    if not branches:
        return None

    def check(value: Any) -> list[Problem]:
        results = [(branch, _run(branch, value)) for branch in branches]
        fitting = sum(not found for _, found in results)
        if fitting == 1:
            return []
        if fitting:
            return [_not_one(f"Found {fitting} valid alternatives")]
        return [_not_one("Found none valid"), *_best(results, value)]

    return check


def _not_one(reason: str) -> Problem:
    return unattributed(lambda path: f"{quote(path)} must validate one and only one schema (oneOf). {reason}")


def _all_of(branches: list[Branch]) -> Check | None:
    if not branches:
        return None

    def check(value: Any) -> list[Problem]:
        results = [_run(branch, value) for branch in branches]
        problems = [problem for found in results for problem in attribute_here(found)]
        if not problems:
            return []
        suffix = ". None validated" if all(results) else ""
        verdict = unattributed(lambda path: f"{quote(path)} must validate all the schemas (allOf){suffix}")
        return [*problems, verdict]

    return check


def _none_of(node: Node, compile_branch: Compile) -> Check | None:
    if not isinstance(node.source.get("not"), dict):
        return None
    forbidden = node.child(node.source["not"])
    branch = (forbidden, compile_branch(forbidden))
    verdict = unattributed(lambda path: f"{quote(path)} must not validate the schema (not)")
    return lambda value: [] if _run(branch, value) else [verdict]


def _best(failures: list[tuple[Branch, list[Problem]]], value: Any) -> list[Problem]:
    _, found = max(failures, key=lambda failure: _weight(failure[0][0], value))
    return attribute_here(found)


def _weight(node: Node, value: Any) -> int:
    """How many validators of kube-openapi take part in comparing `value` with `node`, and pass."""
    name = TYPE_NAMES[type(value)]
    fits_type = not node.types or name in node.types or (name == "integer" and "number" in node.types)
    if value is None:
        return int(fits_type or node.nullable)
    weight = 4 + (1 + fits_type if node.types else 0)
    if isinstance(value, str):
        weight += 1 + (format_test(str(node.source.get("format") or "")) is not None)
    elif isinstance(value, list):
        weight += 2 + sum(_weight(node.items, item) for item in value if node.items is not None)
    elif isinstance(value, dict):
        weight += 1 + sum(
            _weight(child, value[key]) for key, child in node.properties.items() if key in value
        )
    elif name in ("integer", "number"):
        weight += 2
    for keyword in ("anyOf", "oneOf", "allOf"):
        weights = [_weight(node.child(schema), value) for schema in dig_list(node.source, keyword)]
        weight += (sum(weights) if keyword == "allOf" else max(weights)) if weights else 0
    return weight
