"""Which objects of a process want the same, over all its kinds, and which of them has the better right.

A hostname may be wanted by a DistributionTenant, an HTTPRoute and an APIGatewayDomain; a name in a cloud account by two
objects of one kind. Two objects that want the same would take it from each other again and again, so one of them waits.

    claims = Claims()                                             one per process
    claims.register(ClaimSource(KIND, {HOSTNAME: hostnames_of}))  once for each kind
    claims.objects.attach(KIND, informers, controller.wake)       while its controller is attached
    for rival in await claims.rivals(KindObject(KIND, key, tree)): ...

Who has the better right
    1. the object that provably has it in the cloud: its kind proves that (`ClaimSource.proof`), whoever asks
    2. where nobody does, or of several who do, the oldest

    An object that may not have what it wants claims nothing, so that nobody keeps others' names by asking early.

Guarantees
    - All kinds come to the same conclusion, since they see the same objects in the same order and ask the same proofs.
    - While it is not known which objects there are, or whether one of them has it in the cloud, there is no conclusion:
      NotSyncedError, or the error of the proof, ends the pass, and the next one asks again.

Waking, unsynced stores, and kinds that come and go: see `lifecycle.objects`.
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
    """Something that only one object can have."""

    scope: str
    """What it is: `hostname`, which all kinds share, or a scope of one kind, such as `tenant name`."""
    value: str


Proof: TypeAlias = Callable[[JsonObject], bool]
"""Whether an object has in the cloud what is claimed."""


def _may_always(_: JsonObject) -> bool:
    return True


async def nothing_proven(_: Claim) -> Proof:
    """The proof of a kind that has none: the oldest object has the right."""
    return lambda _: False


@dataclass(frozen=True, slots=True)
class ClaimSource:
    """A kind whose objects claim something. What it computes from objects must expect anything in them."""

    kind: Kind
    values: Mapping[str, IndexValues]
    """By scope, what an object claims. Contests are reported in this order."""
    may_claim: Callable[[JsonObject], bool] = _may_always
    """False for an object that will never get what it wants, because administrators do not allow it."""
    proof: Callable[[Claim], Awaitable[Proof]] = nothing_proven
    """Look up who has it in the cloud; what is returned says whether it is a given object. Asked by other kinds, too."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Several objects claim the same."""

    claim: Claim
    claimants: tuple[KindObject, ...]
    """All of them, the oldest first."""


@dataclass(frozen=True, slots=True)
class Rival:
    """Another object that claims the same, with the better right."""

    scope: str
    value: str
    holder: str
    """As `namespace/name`; with its kind in front where that is another one: `httproute default/shop`."""
    holds: bool = False
    """Whether it provably has it in the cloud; otherwise it is older."""
    is_same_kind: bool = True


class Claims:
    """The claims of all objects of all kinds of a process."""

    def __init__(self) -> None:
        self.objects = ObjectIndex()
        self.records = RecordClaims(self.objects)
        """In whose inventories DNS records are."""
        self._sources: dict[Kind, ClaimSource] = {}

    def register(self, source: ClaimSource) -> None:
        """Count the claims of a kind from now on."""
        for scope, values in source.values.items():
            self.objects.add(source.kind, scope, values, wakes=True)
        self._sources[source.kind] = source

    def contests(self, subject: KindObject) -> list[Contest]:
        """What other objects claim as well as this one. Raise NotSyncedError where they are not all known."""
        return [
            Contest(claim, tuple(sorted((subject, *others), key=lambda claimant: claimant.seniority)))
            for claim in self._claims_of(subject)
            if (others := self._others(subject, claim))
        ]

    async def holder(self, contest: Contest) -> KindObject | None:
        """The claimant that provably has it in the cloud, the oldest of several; None where there is none."""
        proofs: dict[Kind, Proof] = {}
        for claimant in contest.claimants:
            if claimant.kind not in proofs:
                proofs[claimant.kind] = await self._sources[claimant.kind].proof(contest.claim)
            if proofs[claimant.kind](claimant.tree):
                return claimant
        return None

    async def rivals(self, subject: KindObject) -> tuple[Rival, ...]:
        """The other objects that have the better right to something that this one claims."""
        rivals = []
        for contest in self.contests(subject):
            holder = await self.holder(contest)
            entitled = holder or contest.claimants[0]
            if not entitled.is_same(subject):
                rivals.append(_rival(contest.claim, entitled, subject, holds=holder is not None))
        return tuple(rivals)

    def older_claimants(self, subject: KindObject, claims: Iterable[Claim]) -> tuple[Rival, ...]:
        """The older objects that claim any of this. Raise NotSyncedError where they are not all known."""
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
