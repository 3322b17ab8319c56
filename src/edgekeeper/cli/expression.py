"""Evaluates an expression for `edgekeeper cel`.

The answer has a value or an error. If the expression compiles, it also has a type and dependencies, even if the
evaluation fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from edgekeeper.core.json import JsonObject
from kubecel.display import as_json
from kubecel.environment import Environment
from kubecel.errors import CelError, CompileError, EvaluationError, Issue, Position
from kubecel.program import Program

ErrorClass = Literal["compile", "evaluation"]
_OPEN: Final = "${"
_FIELD: Final = re.compile(r"(?!(?:true|false|null|in)$)[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Answer:
    """The result of an expression."""

    source: str
    """The expression, without `${…}` around it."""
    value: Any = None
    """The value as JSON; undefined if there is an error."""
    error: CelError | None = None
    type: str = ""
    deps: tuple[str, ...] = ()
    """The variables that the expression uses."""
    paths: tuple[str, ...] = ()
    """The paths of the fields that it reads."""
    cost: int = 0

    def summary(self) -> JsonObject:
        """The fields of a batch line: value or error; type and dependencies if the expression compiles."""
        ending = {"value": self.value} if self.error is None else {"error": describe_error(self.error)}
        compiled = {"type": self.type, "deps": list(self.deps)} if self.type else {}
        return {**ending, **compiled}

    def details(self) -> JsonObject:
        """All results for one expression, as `-o json` prints them."""
        return {**self.summary(), **({"paths": list(self.paths), "cost": self.cost} if self.type else {})}


def evaluate(environment: Environment, text: str, variables: Mapping[str, Any]) -> Answer:
    """Compile and evaluate an expression, which may be enclosed in `${…}`."""
    source = text
    try:
        source = unwrap(text)
        program = environment.compile(source)
    except CompileError as error:
        return Answer(source, error=error)
    try:
        outcome = program.measure(variables)
        return _answer(program, outcome.cost, value=as_json(outcome.value))
    except EvaluationError as error:
        return _answer(program, error.cost, error=error)


def _answer(program: Program, cost: int, *, value: Any = None, error: CelError | None = None) -> Answer:
    return Answer(
        source=program.source,
        value=value,
        error=error,
        type=str(program.type),
        deps=tuple(sorted(program.identifiers)),
        paths=tuple(sorted(map(_spelled, program.paths))),
        cost=cost,
    )


def _spelled(path: tuple[str, ...]) -> str:
    """The path in CEL syntax: fields with dots, other keys in brackets."""
    root, *steps = path
    return root + "".join(f".{step}" if _FIELD.fullmatch(step) else f"[{step!r}]" for step in steps)


def describe_error(error: CelError) -> JsonObject:
    """An error as JSON. Lines and columns start at one."""
    described: JsonObject = {
        "class": error_class(error),
        "pending": isinstance(error, EvaluationError) and error.pending,
        "message": error.message,
    }
    if isinstance(error, EvaluationError):
        described["kind"] = error.kind.value
        return described | _place(error.position)
    if isinstance(error, CompileError):
        described["issues"] = [{"message": issue.message} | _place(issue.position) for issue in error.issues]
    return described


def error_class(error: CelError) -> ErrorClass:
    return "compile" if isinstance(error, CompileError) else "evaluation"


def _place(position: Position | None) -> JsonObject:
    return {} if position is None else {"line": position.line, "column": position.column + 1}


def unwrap(text: str) -> str:
    """The expression in `${…}`, or the text itself. Raise CompileError if there is text around the brackets."""
    stripped = text.strip()
    if not stripped.startswith(_OPEN):
        return text.rstrip("\n")
    if _closing(stripped) != len(stripped) - 1:
        raise CompileError([Issue("a template is not an expression: give the content of a single ${…}")])
    return stripped[len(_OPEN) : -1]


def _closing(text: str) -> int | None:
    """The position of the closing bracket. As in kro, brackets in double quotes are skipped, those in single quotes are not."""
    depth, quoted, position = 0, False, 1
    while position < len(text):
        character = text[position]
        if quoted and character == "\\":
            position += 1
        elif character == '"':
            quoted = not quoted
        elif not quoted and character in "{}":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return position
        position += 1
    return None
