"""What `edgekeeper cel` finds out about an expression, before anybody prints it.

An answer is a value or an error, with whatever is known besides: an expression that compiles has a type and
dependencies even if its data is not there yet.
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
    """What came of an expression."""

    source: str
    """The expression, without the brackets it may have been wrapped in."""
    value: Any = None
    """In terms of JSON; of no meaning if there is an error."""
    error: CelError | None = None
    type: str = ""
    deps: tuple[str, ...] = ()
    """The variables it uses."""
    paths: tuple[str, ...] = ()
    """The fields of them that it reads."""
    cost: int = 0

    def summary(self) -> JsonObject:
        """The line of a batch: value or error, and of expressions that compile type and dependencies."""
        ending = {"value": self.value} if self.error is None else {"error": describe_error(self.error)}
        known = {"type": self.type, "deps": list(self.deps)} if self.type else {}
        return {**ending, **known}

    def details(self) -> JsonObject:
        """All results for one expression, as `-o json` prints them."""
        return {**self.summary(), **({"paths": list(self.paths), "cost": self.cost} if self.type else {})}


def evaluate(environment: Environment, text: str, variables: Mapping[str, Any]) -> Answer:
    """Compile and evaluate an expression; it may be wrapped in `${…}`."""
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
    """A path as an author writes it: fields by dots, other keys in brackets."""
    root, *steps = path
    return root + "".join(f".{step}" if _FIELD.fullmatch(step) else f"[{step!r}]" for step in steps)


def describe_error(error: CelError) -> JsonObject:
    """An error for programs. Lines and columns count from one."""
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
    """The expression in `${…}`, or the text itself; raises `CompileError` if there is more around it."""
    stripped = text.strip()
    if not stripped.startswith(_OPEN):
        return text.rstrip("\n")
    if _closing(stripped) != len(stripped) - 1:
        raise CompileError(
            [Issue("a template is not an expression: evaluate about what is in one pair of ${…}")]
        )
    return stripped[len(_OPEN) : -1]


def _closing(text: str) -> int | None:
    """Where the bracket that opens a text is closed. As in kro, brackets do not count in double quotes only."""
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
