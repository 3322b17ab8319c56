"""What is wrong with a value, found at the bottom of the tree and carried up to the root.

A check knows nothing of where its value stands: each parent puts its own step in front of the problems it receives.
Valid objects, nearly all of them, therefore pay nothing for paths. Messages quote the path in the notation of
kube-openapi (`spec.ports[0].name`, map keys like fields).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from edgekeeper.schema.field_error import FieldError, required
from edgekeeper.schema.gotext import quote

Steps = tuple[str | int, ...]

NO_FIELD = "<nil>"
"""How the real server prints the path of an error that belongs to no field."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at the node that `steps` lead to; `render` makes the error once the whole path is known."""

    steps: Steps
    render: Callable[[str], FieldError]
    tolerance_steps: Steps = ()
    """The node that must be unchanged for the problem to be forgiven: the same one, or the junctor that found it."""

    def error(self) -> FieldError:
        return self.render(dotted(self.steps))


NOTHING: list[Problem] = []
"""No problem: what most checks answer, so it is not made anew each time. Nobody changes the list of another."""


def under(step: str | int, problems: Iterable[Problem]) -> list[Problem]:
    """The problems of a child, seen from its parent."""
    return [
        Problem((step, *problem.steps), problem.render, (step, *problem.tolerance_steps))
        for problem in problems
    ]


def attribute_here(problems: Iterable[Problem]) -> list[Problem]:
    """Problems below a junctor are the junctor's: whether a branch fits is a question about the whole value."""
    return [replace(problem, tolerance_steps=()) for problem in problems]


def dotted(steps: Steps) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return path.removeprefix(".")


def invalid(value: Any, text: str, kind: str = "Invalid value") -> Problem:
    """`spec.x: Invalid value: 7: spec.x in body <text>`."""
    return Problem((), lambda path: FieldError(path or NO_FIELD, kind, f"{path} in body {text}", value))


def wrong_type(expected: str, found: str) -> Problem:
    """The found type stands where other errors show the value; so does the real server."""
    return invalid(found, f"must be of type {expected}: {quote(found)}", "Type invalid")


def refused(make: Callable[[str], FieldError]) -> Problem:
    """A problem whose message does not repeat the path."""
    return Problem((), lambda path: make(path or NO_FIELD))


def missing(key: str) -> Problem:
    return Problem((), lambda path: required(f"{path}.{key}" if path else key))


def unattributed(make_text: Callable[[str], str]) -> Problem:
    """A problem that the real server reports without a field, naming the path in the text alone."""
    return Problem((), lambda path: FieldError(NO_FIELD, "Invalid value", make_text(path), ""))


def prefixed(errors: Iterable[FieldError], prefix: str) -> list[FieldError]:
    """Errors of a part, seen from the whole: the paths grow, the texts stay as they are."""
    return [
        replace(error, field=prefix if error.field == NO_FIELD else f"{prefix}.{error.field}")
        for error in errors
    ]
