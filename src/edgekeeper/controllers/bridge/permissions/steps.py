"""The steps for a LambdaPermission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgekeeper.api.lambda_permission import OwnedStatement
from edgekeeper.cloud.aws.lambda_policy import Statement
from edgekeeper.core.delta import ABSENT, Difference
from edgekeeper.core.outcome import Event
from edgekeeper.core.steps import Effect, Sight, Step


@dataclass(frozen=True, slots=True)
class RecordStatements(Step):
    """Write the inventory, before statements are written and after others have disappeared."""

    effect: ClassVar = Effect.RECORD
    at_once: ClassVar = True
    answered: ClassVar = False
    inventory: tuple[OwnedStatement, ...]
    adopted: tuple[str, ...] = ()
    """Statements that were there before, and become the object's."""

    def __str__(self) -> str:
        if self.adopted:
            return f"adopt statements {', '.join(self.adopted)}"
        return "record in the status which statements belong to the object"

    def event(self) -> Event | None:
        if not self.adopted:
            return None
        return Event("Normal", "Adopted", f"adopted statements {', '.join(self.adopted)}: {self.reason}")


@dataclass(frozen=True, slots=True)
class ChangePolicy(Step):
    """Remove statements from the policy of a function, then add others. A statement is changed by both."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    pushes: ClassVar = True
    function: str
    removed: tuple[str, ...] = ()
    added: tuple[Statement, ...] = ()

    def __str__(self) -> str:
        ids = dict.fromkeys((*self.removed, *(one.id for one in self.added)))
        return f"change statements of function {self.function}: {', '.join(ids)}"

    def changes(self) -> tuple[Difference, ...]:
        after = {one.id: f"{one.action} by {one.principal} {one.source_arn}".strip() for one in self.added}
        ids = dict.fromkeys((*self.removed, *after))
        return tuple(
            Difference(
                f"statements[{id_}]", "present" if id_ in self.removed else ABSENT, after.get(id_, ABSENT)
            )
            for id_ in ids
        )

    def event(self) -> Event:
        number = f"{len(self.added)} added, {len(self.removed)} removed"
        return Event("Normal", "PolicyChanged", f"policy of {self.function}: {number}: {self.reason}")


@dataclass(frozen=True, slots=True)
class RemoveStatements(ChangePolicy):
    """Remove statements from a function that the spec does not name any more, or of an object that is being deleted."""

    at_once: ClassVar = True
