"""What is to be done next for a ResourceGraphDefinition, and what its conditions say. Pure.

The next step is the first of these that is not done:

    adopt      revisions that an earlier definition of the same name left belong to this one
    issue      what the definition says now has a revision, if it is valid
    install    the generated CustomResourceDefinition of the newest revision is in the cluster
    discard    no more revisions are kept than the installation wants, once the newest is in force

Instances are served with the newest revision. A definition that becomes invalid gets no revision, so the last valid one
stays in force, with its CustomResourceDefinition. While the newest revision cannot be put in force, an older one serves the
instances, after a restart too: so none is discarded then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from edgekeeper.controllers.composition.definition_crd import (
    CrdPlan,
    Owner,
    crd_state,
    is_generated_for,
    owned_definition,
    plan_crd,
)
from edgekeeper.controllers.composition.graph import Graph, Problem
from edgekeeper.controllers.composition.revision_objects import Revision, newest
from edgekeeper.controllers.composition.rights import Need, missing_message
from edgekeeper.core.conditions import Status
from edgekeeper.core.json import JsonObject

REVISIONS_RESOLVED: Final = "GraphRevisionsResolved"
GRAPH_ACCEPTED: Final = "GraphAccepted"
KIND_READY: Final = "KindReady"
CONTROLLER_READY: Final = "ControllerReady"

AWAITING: Final = "AwaitingReconciliation"
FAILED: Final = "Failed"
INVALID: Final = "InvalidResourceGraph"
NOT_ALLOWED: Final = "KindNotAllowed"
NOT_PERMITTED: Final = "KindNotPermitted"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a condition says."""

    status: Status
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Adopt:
    """Make the definition the owner of a revision."""

    revision: Revision


@dataclass(frozen=True, slots=True)
class Issue:
    """Create the revision with this number."""

    number: int


@dataclass(frozen=True, slots=True)
class Install:
    """Create the generated CustomResourceDefinition, or change the one that is there."""

    plan: CrdPlan
    wanted: JsonObject
    """The whole definition as it is to be."""


@dataclass(frozen=True, slots=True)
class Discard:
    """Delete a revision that is older than those to keep."""

    revision: Revision


Step: TypeAlias = Adopt | Issue | Install | Discard


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that a decision depends on."""

    owner: Owner
    spec_hash: str
    problems: tuple[Problem, ...] = ()
    """What is wrong with the definition as it is now."""
    refusals: tuple[Problem, ...] = ()
    """Kinds in it that the installation does not allow."""
    last_issued: int = 0
    """The highest number of a revision that was ever issued, as the status says."""
    revisions: tuple[Revision, ...] = ()
    graph: Graph | None = None
    """What the newest revision makes; None if there is none, or it cannot be compiled."""
    error: str = ""
    """Why the newest revision cannot be compiled."""
    crd: JsonObject | None = None
    """The CustomResourceDefinition of that name in the cluster."""
    crd_is_applied: bool = False
    """Whether its spec is known to be what the server made of what the newest revision generates."""
    missing: tuple[Need, ...] = ()
    """Rights that instances of the newest revision need, and that we do not have."""

    @property
    def newest(self) -> Revision | None:
        return newest(self.revisions)

    @property
    def is_settling(self) -> bool:
        """Whether the highest revision is being deleted, so that it is not clear which one will be the newest."""
        present = self.newest.number if self.newest is not None else 0
        return any(one.deleting and one.number > present for one in self.revisions)

    @property
    def highest(self) -> int:
        """The highest number that is taken."""
        return max([self.last_issued, *(one.number for one in self.revisions)])


@dataclass(frozen=True, slots=True)
class Decision:
    """The next step, if there is one, and what the conditions say before it."""

    step: Step | None
    verdicts: Mapping[str, Verdict]
    in_force: bool = False
    """Whether instances are to be served with the newest revision."""
    last_issued: int = 0

    @property
    def obstacle(self) -> str:
        """Why the newest revision cannot be put in force; empty if nothing is known to prevent it."""
        about_it = (self.verdicts[type_] for type_ in (KIND_READY, CONTROLLER_READY))
        return next((one.message for one in about_it if one.status == "False"), "")

    def issued(self, number: int) -> Decision:
        """The same after the revision with this number was created."""
        message = f"graph revision {number} is issued"
        verdict = Verdict("Unknown", "WaitingForGraphRevisionCompilation", message)
        return replace(self.with_verdict(REVISIONS_RESOLVED, verdict), last_issued=number)

    def with_verdict(self, type_: str, verdict: Verdict) -> Decision:
        return replace(self, verdicts={**self.verdicts, type_: verdict})


def decide(observed: Observed, max_revisions: int) -> Decision:
    """The next step, the conditions, and whether the newest revision is in force."""
    wanted = None
    if observed.graph is not None:
        wanted = owned_definition(observed.graph.definition, observed.owner)
    plan = _plan(observed, wanted)
    kind = _kind_verdict(observed, plan)
    in_force = kind.status == "True" and not observed.missing and observed.newest is not None
    return Decision(
        step=_next_step(observed, _installation(plan, wanted), max_revisions if in_force else 0),
        verdicts={
            REVISIONS_RESOLVED: _revisions_verdict(observed),
            GRAPH_ACCEPTED: _graph_verdict(observed),
            KIND_READY: kind,
            CONTROLLER_READY: _controller_verdict(observed, in_force=in_force),
        },
        in_force=in_force,
        last_issued=observed.highest,
    )


def _plan(observed: Observed, wanted: JsonObject | None) -> CrdPlan:
    if wanted is None:
        return CrdPlan()
    return plan_crd(observed.crd, wanted, observed.owner, is_applied=observed.crd_is_applied)


def _installation(plan: CrdPlan, wanted: JsonObject | None) -> Install | None:
    if wanted is None or (plan.create is None and plan.patch is None):
        return None
    return Install(plan, wanted)


def _next_step(observed: Observed, install: Install | None, max_revisions: int) -> Step | None:
    """The first step that is not done. No revision is discarded if `max_revisions` is 0."""
    live = sorted((one for one in observed.revisions if not one.deleting), key=lambda one: one.number)
    for revision in live:
        if revision.owner != observed.owner.uid:
            return Adopt(revision)
    if _is_unissued(observed) and _is_acceptable(observed) and not observed.is_settling:
        return Issue(observed.highest + 1)
    if install is not None:
        return install
    if max_revisions and len(live) > max_revisions:
        return Discard(live[0])
    return None


def _is_unissued(observed: Observed) -> bool:
    return observed.newest is None or observed.newest.hash != observed.spec_hash


def _is_acceptable(observed: Observed) -> bool:
    return not observed.problems and not observed.refusals


def _revisions_verdict(observed: Observed) -> Verdict:
    present = observed.newest
    if observed.is_settling:
        message = "waiting until revisions that are being deleted are gone"
        return Verdict("Unknown", "WaitingForGraphRevisionSettlement", message)
    if _is_unissued(observed) and _is_acceptable(observed):
        message = f"graph revision {observed.highest + 1} is being issued"
        return Verdict("Unknown", "WaitingForGraphRevisionCompilation", message)
    if present is None:
        return Verdict(
            "Unknown", AWAITING, "no graph revision is issued while the definition is not accepted"
        )
    if observed.graph is None:
        message = f"latest graph revision {present.number} failed compilation: {observed.error}"
        return Verdict("False", FAILED, message)
    return Verdict("True", "Resolved", f"graph revision {present.number} is resolved")


def _graph_verdict(observed: Observed) -> Verdict:
    if observed.problems:
        return Verdict("False", INVALID, described(observed.problems))
    if observed.refusals:
        return Verdict("False", NOT_ALLOWED, described(observed.refusals))
    return Verdict("True", "Valid", "resource graph and schema are valid")


def _kind_verdict(observed: Observed, plan: CrdPlan) -> Verdict:
    if plan.refusal:
        return Verdict("False", FAILED, plan.refusal)
    if observed.crd is None or not is_generated_for(observed.crd, observed.owner.name):
        return Verdict("Unknown", AWAITING, "the CRD is not installed yet")
    if plan.patch is not None:
        return Verdict("Unknown", AWAITING, "the CRD is being updated")
    state = crd_state(observed.crd)
    if state.problem:
        return Verdict("False", FAILED, state.problem)
    if not state.established:
        return Verdict("Unknown", AWAITING, "the CRD is not established yet")
    return Verdict("True", "Ready", f"kind {state.kind} has been accepted and ready")


def _controller_verdict(observed: Observed, *, in_force: bool) -> Verdict:
    if observed.missing:
        return Verdict("False", NOT_PERMITTED, missing_message(observed.owner.name, observed.missing))
    if observed.error:
        return Verdict("False", "FailedToStart", observed.error)
    if in_force:
        return Verdict("True", "Running", "controller is running")
    return Verdict("Unknown", AWAITING, "the controller starts when the kind is ready")


def described(problems: tuple[Problem, ...]) -> str:
    """Problems as one message, in the words of `edgekeeper validate`."""
    return "; ".join(f"{one.path}: {one.message}" if one.path else one.message for one in problems)
