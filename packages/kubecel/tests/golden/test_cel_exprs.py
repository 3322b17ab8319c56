"""Expressions of every sort that kro was asked about, with its answers."""

from __future__ import annotations

import json
from typing import Any

from kubecel import environments
from kubecel.environment import Environment
from kubecel.errors import CompileError, EvaluationError
from kubecel.library.kro.omission import Omission
from kubecel.standard.times import format_duration, format_timestamp
from kubecel.types import DYN
from kubecel.values import Duration, Optional, Timestamp
from tests.golden.reading import golden_file, golden_rows


def test_expressions_have_the_type_value_and_dependencies_that_kro_reports() -> None:
    context = json.loads(golden_file("cel_context.json").read_text())
    environment = environments.kro().extend(variables=dict.fromkeys(context, DYN))
    rows = golden_rows("cel_exprs.jsonl")
    differences = {row["id"]: report for row in rows if (report := difference(environment, context, row))}
    assert not differences, "\n".join(f"{name}: {report}" for name, report in differences.items())


def difference(environment: Environment, context: dict[str, Any], row: dict[str, Any]) -> str | None:
    """How our answer differs from the expected one, if it does."""
    expression = row["expr"]
    try:
        program = environment.compile(expression)
    except CompileError as error:
        return None if "compile_error" in row else f"{expression} does not compile: {error}"
    if "compile_error" in row:
        return f"{expression} compiles, but should not: {row['compile_error']}"
    if sorted(program.identifiers) != sorted(row["deps"]):
        return f"{expression} depends on {sorted(program.identifiers)}, not {row['deps']}"
    if str(program.type) != row["type"]:
        return f"{expression} is of type {program.type}, not {row['type']}"
    try:
        value = as_json(program.evaluate(context))
    except EvaluationError as error:
        return _error_difference(expression, error, row)
    if "eval_error" in row:
        return f"{expression} is {value}, not an error: {row['eval_error']}"
    return None if value == row["value"] else f"{expression} is {value}, not {row['value']}"


PENDING = ("no such key", "no such field", "no such attribute", "index out of bounds")


def _error_difference(expression: str, error: EvaluationError, row: dict[str, Any]) -> str | None:
    if "eval_error" not in row:
        return f"{expression} fails: {error}"
    expected = any(phrase in row["eval_error"] for phrase in PENDING)
    if error.pending == expected:
        return None
    return f"{expression} fails with {error}, which should {'' if expected else 'not '}be pending"


def as_json(value: Any) -> Any:
    """A value as kro puts it into an object."""
    if isinstance(value, Optional):
        return as_json(value.value) if value.present else None
    if isinstance(value, list | tuple):
        return [as_json(element) for element in value]
    if isinstance(value, dict):
        return {key: as_json(element) for key, element in value.items()}
    if isinstance(value, Omission):
        return {}  # a structure without fields, to a printer that does not know it
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Duration):
        return format_duration(value)
    return value
