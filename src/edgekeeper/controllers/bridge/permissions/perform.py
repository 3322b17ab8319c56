"""Change the policy of a function: at most one call for each statement, and one that confirms the result.

The first write carries the RevisionId that was read: if somebody else was quicker, nothing is written and the next pass
decides again. If Lambda refuses a statement, the others are written all the same, unless the policy is full.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import msgspec

from edgekeeper.api.lambda_permission import OwnedStatement
from edgekeeper.cloud.aws.error_table import NAME_CONFLICT
from edgekeeper.cloud.aws.lambda_policy import Statement
from edgekeeper.controllers.bridge.permissions.observe import Observer
from edgekeeper.controllers.bridge.permissions.snapshot import SeenPolicy, Snapshot
from edgekeeper.controllers.bridge.permissions.steps import ChangePolicy, RecordStatements
from edgekeeper.core.errors import Conflict, Stall
from edgekeeper.core.steps import Step

POLICY_FULL: Final = "PolicyLengthExceeded"


@dataclass(frozen=True)
class Performer:
    """Performs steps."""

    observer: Observer

    async def perform(self, step: Step, snapshot: Snapshot) -> Snapshot:
        match step:
            case RecordStatements():
                self.observer.remembered[snapshot.uid] = snapshot.policies
                return replace(snapshot, inventory=step.inventory)
            case ChangePolicy():
                return await self._change(step, snapshot)
        raise TypeError(f"not a step of this kind: {step}")

    async def _change(self, step: ChangePolicy, snapshot: Snapshot) -> Snapshot:
        policies, seen = self.observer.policies(step.function), snapshot.policies[step.function]
        revision = seen.revision_id
        for obsolete in step.removed:
            await policies.remove(step.function, obsolete, revision_id=revision)
            revision = ""  # our own write has made another one of it
        refused: dict[str, Stall] = {}
        for statement in step.added:
            if any(refusal.reason == POLICY_FULL for refusal in refused.values()):
                break
            try:
                await self._add(step.function, statement, revision, is_read=seen.is_read)
                revision = ""
            except Stall as refusal:
                refused[statement.id] = refusal
        return await self._confirmed(step, snapshot, refused)

    async def _add(self, function: str, statement: Statement, revision: str, *, is_read: bool) -> None:
        try:
            await self.observer.policies(function).add(function, statement, revision_id=revision)
        except Conflict as conflict:
            if is_read:
                raise
            text = (
                f"statement {statement.id} exists, and IAM denies reading it: allow lambda:GetPolicy, "
                "or remove the statement"
            )
            raise Stall(NAME_CONFLICT, text) from conflict

    async def _confirmed(self, step: ChangePolicy, snapshot: Snapshot, refused: dict[str, Stall]) -> Snapshot:
        """The snapshot after the change, with the policy as it is read again. Raise Conflict if it is not as written."""
        written = {one.id: one.fingerprint for one in step.added if one.id not in refused}
        seen = snapshot.policies[step.function]
        if not seen.is_read:
            kept = {id_: one for id_, one in seen.statements.items() if id_ not in step.removed}
            seen = replace(seen, statements={**kept, **written})
        elif written:
            seen = await self.observer.read(snapshot, step.function)
        else:
            kept = {id_: one for id_, one in seen.statements.items() if id_ not in step.removed}
            seen = replace(seen, statements=kept, revision_id="")
        _confirm(step, seen, written, refused)
        after, inventory = {**snapshot.policies, step.function: seen}, _inventory(step, snapshot, written)
        return replace(snapshot, policies=after, inventory=inventory, refused=refused)


def _confirm(
    step: ChangePolicy, seen: SeenPolicy, written: dict[str, str], refused: dict[str, Stall]
) -> None:
    """Raise Conflict if the policy does not have what was written."""
    is_full = any(one.reason == POLICY_FULL for one in refused.values())
    lost = [id_ for id_, one in written.items() if seen.statements.get(id_) != one]
    if seen.is_read and lost and not is_full:
        raise Conflict(f"the policy of {step.function} was changed by somebody else at the same time")


def _inventory(step: ChangePolicy, snapshot: Snapshot, written: dict[str, str]) -> tuple[OwnedStatement, ...]:
    """The inventory after the change. Statements that were refused stay planned."""
    added = {one.id: one.fingerprint for one in step.added}
    after = []
    for entry in snapshot.inventory:
        id_ = entry.statement_id
        if entry.function != step.function or id_ not in (*step.removed, *added):
            after.append(entry)
        elif id_ in added:
            done = OwnedStatement(step.function, id_, added[id_])
            after.append(done if id_ in written else msgspec.structs.replace(done, state="Planned"))
    return tuple(after)
