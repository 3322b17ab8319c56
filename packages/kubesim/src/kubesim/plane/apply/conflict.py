"""How an apply is refused: conflicts with other managers, and configurations that make no sense.

StatusError
  ├ ApplyError      the configuration itself is at fault
  └ ApplyConflict   another manager owns a field that the configuration wants to change
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from edgekeeper.core.json import JsonObject
from kubesim.plane.apply.element import Path, go_quoted, shown_path
from kubesim.plane.apply.managers import UPDATE, ManagerId
from kubesim.plane.errors import StatusError


class ApplyError(StatusError):
    """An applied configuration that cannot be merged. 400 where the request is at fault, else 500 as the real one."""

    def __init__(self, message: str, *, code: int = 500) -> None:
        super().__init__(code, "BadRequest" if code == 400 else "", message)


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field that another manager owns."""

    manager: ManagerId
    path: Path

    @property
    def field(self) -> str:
        return shown_path(self.path)

    @property
    def owner(self) -> str:
        """The manager as messages name it."""
        shown = go_quoted(self.manager.name)
        if self.manager.subresource:
            shown = f"{shown} with subresource {go_quoted(self.manager.subresource)}"
        if self.manager.operation == UPDATE:
            shown = f"{shown} using {self.manager.api_version}"
        return shown


class ApplyConflict(StatusError):  # noqa: N818  (the API's own word for it)
    """409: fields of others would change, and the applier did not force it."""

    def __init__(self, conflicts: Iterable[Conflict]) -> None:
        self.conflicts = sorted(conflicts, key=lambda conflict: conflict.manager.identifier)
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {c.owner}", "field": c.field}
            for c in self.conflicts
        ]
        super().__init__(409, "Conflict", _message(self.conflicts), details={"causes": causes})
        self.causes: list[JsonObject] = causes


def _message(conflicts: Sequence[Conflict]) -> str:
    if len(conflicts) == 1:
        only = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {only.owner}: {only.field}"
    lines: list[str] = []
    for owner, group in groupby(conflicts, key=lambda conflict: conflict.owner):
        lines += [f"conflicts with {owner}:", *(f"- {conflict.field}" for conflict in group)]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
