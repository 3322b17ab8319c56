"""What can go wrong with an expression, and where.

    CelError
      ├ CompileError       the text is not an expression of the environment: syntax and types, all issues at once
      └ EvaluationError    the expression is sound, but not for these values; `kind` says in which way

An evaluation error of one of four kinds means that data is not there *yet* (`pending`): a status which nobody has
written so far. Everything else will not go away by waiting.

Positions are kept as offsets in code points, because that is all a closure needs to carry; line and column are worked
out when somebody looks. `render` draws the caret in the layout which users of CEL know from other tools.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

_SNIPPET_PREFIX = " | "


class ErrorKind(Enum):
    """The ways in which an evaluation can fail."""

    NO_SUCH_KEY = "no such key"
    NO_SUCH_FIELD = "no such field"
    NO_SUCH_ATTRIBUTE = "no such attribute"
    INDEX_OUT_OF_BOUNDS = "index out of bounds"
    NO_SUCH_OVERLOAD = "no such overload"
    DIVISION_BY_ZERO = "division by zero"
    OVERFLOW = "overflow"
    INVALID_ARGUMENT = "invalid argument"
    CONVERSION = "conversion"
    DUPLICATE_KEY = "duplicate key"
    UNSUPPORTED_KEY = "unsupported key"
    OPTIONAL_NONE = "optional.none() dereference"
    COST_EXCEEDED = "cost exceeded"
    TOO_DEEP = "too deep"
    TOO_LARGE = "too large"

    # Members compare by identity; the hash that `Enum` computes from the name is of no use to us.
    __hash__ = object.__hash__


PENDING_KINDS = frozenset(
    {
        ErrorKind.NO_SUCH_KEY,
        ErrorKind.NO_SUCH_FIELD,
        ErrorKind.NO_SUCH_ATTRIBUTE,
        ErrorKind.INDEX_OUT_OF_BOUNDS,
    }
)
"""Data is missing that may arrive later."""

LIMIT_KINDS = frozenset({ErrorKind.COST_EXCEEDED, ErrorKind.TOO_DEEP, ErrorKind.TOO_LARGE})
"""The evaluation was stopped; `&&` and `||` must not turn such an error into a result."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a source text. Lines count from 1, columns from 0, offsets from 0, all in code points."""

    offset: int
    line: int
    column: int


def locate(source: str, offset: int) -> Position:
    """Work out line and column of an offset."""
    start = source.rfind("\n", 0, offset) + 1
    return Position(offset, source.count("\n", 0, offset) + 1, offset - start)


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that is wrong with an expression."""

    message: str
    position: Position | None = None

    def render(self, source: str) -> str:
        """Describe the issue with the line it is about and a caret below the place."""
        if self.position is None:
            return f"ERROR: <input>:-1:0: {self.message}"
        head = f"ERROR: <input>:{self.position.line}:{self.position.column + 1}: {self.message}"
        lines = source.split("\n")
        line = lines[self.position.line - 1].replace("\t", " ")
        caret = "." * self.position.column + "^"
        return f"{head}\n{_SNIPPET_PREFIX}{line}\n{_SNIPPET_PREFIX}{caret}"


class CelError(Exception):
    """An expression cannot be compiled or evaluated."""

    def __init__(self, message: str, position: Position | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position

    def render(self, source: str) -> str:
        """Describe the error over several lines, with a caret."""
        return Issue(self.message, self.position).render(source)


class CompileError(CelError):
    """The text is not a valid expression of its environment."""

    def __init__(self, issues: Iterable[Issue]) -> None:
        self.issues = tuple(issues)
        """In the order of the source; never empty."""
        first = self.issues[0]
        super().__init__("; ".join(issue.message for issue in self.issues), first.position)

    def render(self, source: str) -> str:
        return "\n".join(issue.render(source) for issue in self.issues)


class EvaluationError(CelError):
    """The expression has no value for these variables."""

    def __init__(self, kind: ErrorKind, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.offset = offset
        """Where in the source it happened, as far as that is known."""
        self.cost = 0
        """What the evaluation had cost by then."""

    @property
    def pending(self) -> bool:
        """Whether data is missing that may arrive later."""
        return self.kind in PENDING_KINDS

    def place(self, source: str) -> None:
        """Fill in the position, once the source is at hand."""
        if self.offset is not None and self.position is None:
            self.position = locate(source, self.offset)


def no_such_key(key: object, offset: int | None = None) -> EvaluationError:
    return EvaluationError(ErrorKind.NO_SUCH_KEY, f"no such key: {key}", offset)


def no_such_overload(offset: int | None = None) -> EvaluationError:
    return EvaluationError(ErrorKind.NO_SUCH_OVERLOAD, "no such overload", offset)


def invalid_argument(message: str) -> EvaluationError:
    return EvaluationError(ErrorKind.INVALID_ARGUMENT, message)


def conversion_error(message: str) -> EvaluationError:
    return EvaluationError(ErrorKind.CONVERSION, message)


def overflow(what: str) -> EvaluationError:
    """What is one of `integer`, `unsigned integer`, `duration` and `timestamp`."""
    return EvaluationError(ErrorKind.OVERFLOW, f"{what} overflow")
