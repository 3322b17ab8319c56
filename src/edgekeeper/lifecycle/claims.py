"""Claims of objects to hostnames and external names, across all kinds of a process, and their precedence.

A hostname may be claimed by a DistributionTenant, an HTTPRoute and an APIGatewayDomain; a name in a cloud account by two
objects of one kind. Two objects with the same claim would overwrite each other without end, so one of them waits.

    claims = Claims()                                             one per process
    claims.register(ClaimSource(KIND, {HOSTNAME: hostnames_of}))  once for each kind
    claims.objects.attach(KIND, informers, controller.wake)       while its controller is attached
    for rival in await claims.rivals(KindObject(KIND, key, tree)): ...

Precedence
    1. the object that provably holds it in the cloud, as its kind determines (`ClaimSource.proof`)
    2. if there is none, or several: the oldest object

    An object whose claim administrators do not allow is ignored, so that it cannot block others.

Guarantees
    - The result is the same for all kinds, since they use the same objects, order and proofs.
    - Without complete information there is no result: NotSyncedError, or the error of the proof, ends the pass.

See `lifecycle.objects` for waking, unsynced stores, and kinds that are added and removed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Kind
from edgekeeper.kube.store import IndexValues
from edgekeeper.lifecycle.objects import HOSTNAME, KindObject, ObjectIndex
from edgekeeper.lifecycle.record_claims import RecordClaims

__all__ = [
    "HOSTNAME",
    "Claim",
    "ClaimSource",
    "Claims",
    "Contest",
    "KindObject",
    "Proof",
    "Rival",
    "nothing_proven",
]


class Claim(NamedTuple):
    """Something that only one object can hold."""

    scope: str
    """`hostname`, which all kinds share, or a scope of one kind, such as `tenant name`."""
    value: str


Proof: TypeAlias = Callable[[JsonObject], bool]
"""Whether an object holds in the cloud what is claimed."""


def _may_always(_: JsonObject) -> bool:
    return True


async def nothing_proven(_: Claim) -> Proof:
    """The proof of a kind without one: the oldest object takes precedence."""
    return lambda _: False


@dataclass(frozen=True, slots=True)
class ClaimSource:
    """A kind whose objects have claims. Its functions must accept any content, since objects are not validated here."""

    kind: Kind
    values: Mapping[str, IndexValues]
    """The claims of an object by scope. Contests are reported in this order."""
    may_claim: Callable[[JsonObject], bool] = _may_always
    """False for an object whose claims administrators do not allow."""
    proof: Callable[[Claim], Awaitable[Proof]] = nothing_proven
    """Look up the holder in the cloud, and return a function that recognises it. Called for other kinds, too."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Several objects with the same claim."""

    claim: Claim
    claimants: tuple[KindObject, ...]
    """All objects with the claim, the oldest first."""


@dataclass(frozen=True, slots=True)
class Rival:
    """Another object with the same claim, which takes precedence."""

    scope: str
    value: str
    holder: str
    """`namespace/name`, prefixed with the kind if that is another one: `httproute default/shop`."""
    holds: bool = False
    """Whether it provably holds it in the cloud; otherwise it is older."""
    is_same_kind: bool = True


class Claims:
    """The claims of all objects of all kinds of a process."""

    def __init__(self) -> None:
        self.objects = ObjectIndex()
        self.records = RecordClaims(self.objects)
        """The DNS records in the inventories of objects."""
        self._sources: dict[Kind, ClaimSource] = {}

    def register(self, source: ClaimSource) -> None:
        """Include the claims of a kind."""
        for scope, values in source.values.items():
            self.objects.add(source.kind, scope, values, wakes=True)
        self._sources[source.kind] = source

    def contests(self, subject: KindObject) -> list[Contest]:
        """The claims that this object shares with others. Raise NotSyncedError unless all objects are known."""
        return [
            Contest(claim, tuple(sorted((subject, *others), key=lambda claimant: claimant.seniority)))
            for claim in self._claims_of(subject)
            if (others := self._others(subject, claim))
        ]

    async def holder(self, contest: Contest) -> KindObject | None:
        """The claimant that provably holds it in the cloud, the oldest of several; None if there is none."""
        proofs: dict[Kind, Proof] = {}
        for claimant in contest.claimants:
            if claimant.kind not in proofs:
                proofs[claimant.kind] = await self._sources[claimant.kind].proof(contest.claim)
            if proofs[claimant.kind](claimant.tree):
                return claimant
        return None

    async def rivals(self, subject: KindObject) -> tuple[Rival, ...]:
        """The other objects that take precedence in a claim of this one."""
        rivals = []
        for contest in self.contests(subject):
            holder = await self.holder(contest)
            entitled = holder or contest.claimants[0]
            if not entitled.is_same(subject):
                rivals.append(_rival(contest.claim, entitled, subject, holds=holder is not None))
        return tuple(rivals)

    def older_claimants(self, subject: KindObject, claims: Iterable[Claim]) -> tuple[Rival, ...]:
        """The older objects with any of these claims. Raise NotSyncedError unless all objects are known."""
        return tuple(
            _rival(claim, other, subject, holds=False)
            for claim in claims
            for other in self._others(subject, claim)
            if other.seniority < subject.seniority
        )

    def _claims_of(self, subject: KindObject) -> list[Claim]:
        scopes = self._sources[subject.kind].values
        return [Claim(scope, value) for scope in scopes for value in self.objects.values(subject, scope)]

    def _others(self, subject: KindObject, claim: Claim) -> list[KindObject]:
        others = self.objects.find(claim.scope, claim.value, besides=subject)
        return [other for other in others if self._sources[other.kind].may_claim(other.tree)]


def _rival(claim: Claim, other: KindObject, subject: KindObject, *, holds: bool) -> Rival:
    name, is_same_kind = other.name_for(subject.kind), other.kind == subject.kind
    return Rival(claim.scope, claim.value, name, holds, is_same_kind)
