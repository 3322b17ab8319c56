"""Why an object is not ready: its own problems, and those of what it depends on, down to the root cause.

    explanation = await Explainer(client, catalog, clock).explain(known, key)
    explanation.is_ready
    explanation.root            the last one in the chain of causes

Relations are followed from objects that are not ready to objects that are missing or not ready themselves. An object
that was shown before is not followed again. Where the operator says nothing about an object, or not about its present
generation, the cause may be the operator: whether one runs, and whether an operator that it replaces still does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from edgekeeper.controllers.composition.definition_options import qualified
from edgekeeper.controllers.composition.live_states import UnknownInstanceError, read_instance
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.diagnosis.catalog import Catalog, KnownKind
from edgekeeper.diagnosis.operators import our_leases, running_predecessors
from edgekeeper.diagnosis.problems import Problem, problems_of
from edgekeeper.diagnosis.reading import ClusterReader
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import ForbiddenError
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.relations import Details, Relation
from edgekeeper.lifecycle.remedies import Remedy

MOST_DEEP: Final = 6
"""How many relations are followed one after the other."""
CONFLICTS: Final = frozenset({"DomainConflict", "NameConflict", "HostnameConflict", "OwnedByOther"})
_RIVAL: Final = re.compile(
    r"(?:by|to|of) (?:the tenant of )?(?:(?P<kind>[A-Za-z]+) )?(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9.-]+)"
)
_DONE_NODES: Final = frozenset({"Ready", "Excluded", "Waiting", "Reading"})
_PENDING: Final = "Pending"


@dataclass(frozen=True)
class Explanation:
    """What is known about one object, and what causes its state."""

    kind: Kind
    key: Key
    role: str = ""
    """What it is for the object that depends on it."""
    exists: bool = True
    problems: tuple[Problem, ...] = ()
    causes: tuple[Explanation, ...] = ()
    details: Details = field(default_factory=Details)
    notes: tuple[str, ...] = ()
    is_ready: bool = False
    is_readable: bool = True
    """Whether it may be read; if not, nothing else is known about it."""

    @property
    def title(self) -> str:
        return f"{self.kind.kind} {self.key}"

    @property
    def root(self) -> Explanation:
        """The deepest cause: of several, the first that is not ready."""
        troubled = next((cause for cause in self.causes if cause.is_trouble), None)
        return self if troubled is None else troubled.root

    @property
    def is_trouble(self) -> bool:
        """Whether it may keep what depends on it from being ready."""
        return self.is_readable and (not self.exists or (bool(self.problems) and not self.is_ready))

    @property
    def remedy(self) -> str:
        """What to do about the first problem; empty if there is nothing to do."""
        remedies = (problem.remedy for problem in self.problems)
        return next((remedy.action for remedy in remedies if remedy is not None), "")


class Explainer:
    """Explains objects of one cluster. Reads each object once."""

    def __init__(self, client: KubeClient, catalog: Catalog, clock: Clock) -> None:
        self.reader = ClusterReader(client)
        self._catalog = catalog
        self._clock = clock
        self._seen: set[tuple[Kind, Key]] = set()

    async def explain(self, known: KnownKind, key: Key) -> Explanation | None:
        """Explain an object; None if it does not exist."""
        obj = await self.reader.get(known.kind, key)
        if obj is None:
            return None
        explanation = await self._explain(Relation(known.kind, key, ""), obj, 0)
        return await self._with_operator(explanation, known, obj)

    async def _explain(self, relation: Relation, obj: JsonObject, depth: int) -> Explanation:
        self._seen.add((relation.kind, relation.key))
        known = self._catalog.of(relation.kind)
        problems = problems_of(obj, known)
        is_ready = known.readiness(obj).ready if known is not None else not problems
        details = known.details(obj) if known is not None else Details()
        explanation = Explanation(
            relation.kind,
            relation.key,
            relation.role,
            problems=tuple(problems),
            details=details,
            notes=tuple(_notes(obj)),
            is_ready=is_ready,
        )
        if is_ready or depth >= MOST_DEEP:
            return explanation
        causes = await self._causes(known, obj, problems, depth)
        return replace(explanation, causes=tuple(causes))

    async def _causes(
        self, known: KnownKind | None, obj: JsonObject, problems: Sequence[Problem], depth: int
    ) -> list[Explanation]:
        """What an object depends on that is missing or not ready, and objects that have what it wants."""
        relations = list(await self._relations(known, obj))
        causes = [await self._follow(relation, depth + 1) for relation in relations]
        rivals = [await self._follow(rival, depth + 1) for rival in self._rivals(known, problems)]
        return [one for one in causes if one is not None and (one.is_trouble or not one.is_readable)] + [
            rival for rival in rivals if rival is not None
        ]

    async def _relations(self, known: KnownKind | None, obj: JsonObject) -> Sequence[Relation]:
        if known is None:
            return ()
        if known.module is not None:
            return await known.module.relations(obj, self.reader)
        return await self._resources(known, obj)

    async def _resources(self, known: KnownKind, obj: JsonObject) -> list[Relation]:
        """The definition of an instance, and those of its resources that are not ready."""
        definition = Relation(DEFINITION_KIND, Key("", known.definition), "the definition of its kind")
        key = _key(obj)
        try:
            kind = qualified(known.kind.group, known.kind.kind)
            live = await read_instance(self.reader.client, self._clock, kind, key.name, key.namespace)
        except (UnknownInstanceError, ForbiddenError):
            return [definition]  # the message of the instance names the resource that blocks it
        found = [
            Relation(address.kind, address.key, f"resource {node}")
            for node, state in live.states.items()
            if state not in _DONE_NODES
            for address in live.objects.get(node, ())
        ]
        return [*found, definition]

    def _rivals(self, known: KnownKind | None, problems: Iterable[Problem]) -> list[Relation]:
        """Objects that messages name as the owner of what an object wants."""
        found: dict[tuple[Kind, Key], Relation] = {}
        for problem in problems:
            match = _RIVAL.search(problem.message) if problem.reason in CONFLICTS else None
            if match is None or known is None:
                continue
            kinds = [one.kind for one in self._catalog.kinds if (match["kind"] or "").lower() in one.names]
            kind = kinds[0] if kinds else known.kind
            key = Key(match["namespace"], match["name"])
            found[kind, key] = Relation(kind, key, "has what this one wants", is_required=False)
        return list(found.values())

    async def _follow(self, relation: Relation, depth: int) -> Explanation | None:
        """Explain a related object; None if it was shown before, or need not be there."""
        if (relation.kind, relation.key) in self._seen:
            return None
        obj = await self.reader.get(relation.kind, relation.key)
        if obj is None:
            return self._missing(relation)
        absent = [part for part in relation.parts if part not in dig_object(obj, "data")]
        if absent:
            message = f"{relation.kind.kind} {relation.key} has no key {absent[0]!r}"
            return self._at_fault(relation, "KeyMissing", message, exists=True)
        return await self._explain(relation, obj, depth)

    def _missing(self, relation: Relation) -> Explanation | None:
        namespace = relation.key.namespace
        if self.reader.denial(relation.kind, namespace) is not None:
            note = f"you may not read {relation.kind.plural} in {namespace}: whether it exists is not known"
            return Explanation(relation.kind, relation.key, relation.role, notes=(note,), is_readable=False)
        if not relation.is_required:
            return None
        message = f"{relation.kind.kind} {relation.key} does not exist"
        return self._at_fault(relation, "Missing", message, exists=False)

    def _at_fault(self, relation: Relation, reason: str, message: str, *, exists: bool) -> Explanation:
        action = relation.remedy or f"create it: {relation.role} must exist"
        problem = Problem(reason, message, remedy=Remedy(reason, message, action))
        return Explanation(relation.kind, relation.key, relation.role, exists, (problem,))

    # The operator

    async def _with_operator(
        self, explanation: Explanation, known: KnownKind, obj: JsonObject
    ) -> Explanation:
        """Add why nothing happens to an object that no operator looks after."""
        if explanation.is_ready or not _is_unattended(obj, explanation):
            return explanation
        problems = await self._operator_problems(known)
        return replace(explanation, problems=(*problems, *explanation.problems)) if problems else explanation

    async def _operator_problems(self, known: KnownKind) -> list[Problem]:
        now, module = self._clock.now(), known.module
        predecessor = module.predecessor if module is not None else None
        running = await running_predecessors(self.reader, now, [predecessor] if predecessor else [])
        for name, sign in running.items():
            message = f"{name} is still running: {sign}; nothing is written until it stops"
            return [Problem("PredecessorActive", message, remedy=known.remedies.find("PredecessorActive"))]
        leases = await our_leases(self.reader, now)
        if leases and not any(lease.is_live for lease in leases):
            action = "start the operator: look at the pods of its Deployment, and run `edgekeeper doctor`"
            message = f"no operator is running: Lease {leases[0].key} is not renewed"
            return [
                Problem("OperatorNotRunning", message, remedy=Remedy("OperatorNotRunning", message, action))
            ]
        return []


def _is_unattended(obj: JsonObject, explanation: Explanation) -> bool:
    """Whether the operator has said nothing about the present generation of an object."""
    generation = dig(obj, "metadata", "generation")
    observed = [dig(one, "observedGeneration") for one in dig_list(obj, "status", "conditions")]
    is_outdated = bool(observed) and generation not in observed
    return is_outdated or any(problem.reason == _PENDING for problem in explanation.problems)


def _notes(obj: JsonObject) -> Iterable[str]:
    deleted = dig(obj, "metadata", "deletionTimestamp")
    if deleted:
        finalizers = ", ".join(str(one) for one in dig_list(obj, "metadata", "finalizers"))
        yield f"it has been marked for deletion since {deleted}, and waits for {finalizers or 'nothing'}"
    if dig(obj, "metadata", "annotations", "edgekeeper.io/paused") == "true":
        yield "reconciliation is paused by the annotation edgekeeper.io/paused"


def _key(obj: JsonObject) -> Key:
    return Key(str(dig(obj, "metadata", "namespace") or ""), str(dig(obj, "metadata", "name") or ""))
