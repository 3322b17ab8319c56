"""Reconciles GraphRevisions: each says in its status whether what it holds makes a graph, and which.

A revision never changes, so one that was verified is not compiled again. Revisions that we issue have no finalizer; those
of kro do, and it is removed when they are deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from edgekeeper.controllers.composition.definition_decide import described
from edgekeeper.controllers.composition.definition_report import structure_of
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.rejection import quoted
from edgekeeper.controllers.composition.revision_objects import Revision
from edgekeeper.controllers.composition.served_schemas import ServedCompiler
from edgekeeper.core.clock import Clock
from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.errors import PassError
from edgekeeper.core.outcome import Outcome, StatusWrite, done, requeue
from edgekeeper.runtime.contract import Request

VERIFIED: Final = "GraphVerified"
DECLARATION: Final = Declaration(
    required=(VERIFIED,), ready_reason="Verified", ready_message="graph revision compiled and verified"
)
RECHECK: Final = timedelta(minutes=5)


@dataclass(frozen=True)
class RevisionReconciler:
    """See the module."""

    compiler: ServedCompiler
    clock: Clock

    async def reconcile(self, request: Request) -> Outcome:
        conditions = Conditions.of(DECLARATION, request.object, self.clock.now())
        if conditions.holds(VERIFIED):
            return done()
        graph, error = await self._compile(Revision.of(request.object))
        if graph is None:
            message = f"failed to compile graph revision {quoted(request.key.name)}: {error}"
            conditions.mark(VERIFIED, False, "InvalidGraph", message)
            return requeue(RECHECK).writing(StatusWrite({"conditions": conditions.to_list()}))
        conditions.mark(VERIFIED, True, "Verified", DECLARATION.ready_message)
        return done().writing(StatusWrite({"conditions": conditions.to_list(), **structure_of(graph)}))

    async def _compile(self, revision: Revision) -> tuple[Graph | None, str]:
        if revision.spec is None:
            return None, "its snapshot cannot be read"
        compilation = await self.compiler.compile(revision.spec)
        return compilation.graph, described(tuple(compilation.problems))

    def manages(self, request: Request) -> bool:
        """Revisions get no finalizer: nothing has to be done when they are deleted."""
        return False

    async def finalize(self, request: Request) -> Outcome:
        return done()

    def explain(self, request: Request, error: PassError) -> Outcome:
        return done()

    def pause(self, request: Request) -> Outcome:
        return done()
