"""The claims of kinds that another process reconciles, because the operator is split into roles.

    kind = KindElsewhere(KIND, (Mapped(KIND, …),), follow)      what a module says of its kind (`ClaimingModule`)
    watch = ClaimsElsewhere(services, process.claims, [kind])
    watch.start()

Their objects are watched for their claims only: nothing is queued for them here. A change of one wakes the objects of our own
kinds that share a value with it. Who holds what is proven by what the cluster shows, since each process calls only its own
clouds.

Guarantees
    - No pass compares claims before these objects are listed (NotSyncedError), as with our own.
    - A kind that is not served, or may not be listed, is left out, and nothing waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from edgekeeper.kube.informers import Informer
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import Change
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.sources import Source
from edgekeeper.runtime.watches import Watches


def _reads_nothing_else(_: Iterable[Informer]) -> None:
    return


@dataclass(frozen=True)
class KindElsewhere:
    """A kind whose claims are registered, and whose objects another process reconciles."""

    kind: Kind
    sources: tuple[Source, ...]
    """The kind itself, and what its proof reads."""
    follow: Callable[[Iterable[Informer]], None] = _reads_nothing_else
    """Gives the proof its stores."""


class ClaimsElsewhere:
    """Watches kinds that other processes reconcile."""

    def __init__(self, services: Services, claims: Claims, kinds: Iterable[KindElsewhere]) -> None:
        self._claims = claims
        self._kinds = tuple(kinds)
        self._watches = Watches(services.informers, services.namespaces, self)
        for kind in self._kinds:
            for source in kind.sources:
                self._watches.add(source)

    def start(self) -> None:
        """Watch from now on, or as soon as the informers are started."""
        self._watches.start()

    def set_namespaces(self, namespaces: tuple[str, ...]) -> None:
        """Watch these namespaces from now on; empty for all."""
        self._watches.set_namespaces(namespaces)

    # As a watcher

    def changed(self, source: Source, change: Change) -> None:
        """Whoever shares a value is woken by the index of claims."""

    def watches_changed(self) -> None:
        informers = list(self._watches)
        for kind in self._kinds:
            own = [informer for informer in informers if informer.kind == kind.kind]
            self._claims.objects.attach(kind.kind, own, _leave_alone)
            kind.follow(informers)

    def state_changed(self) -> None:
        """Stores say themselves whether they are synced."""


def _leave_alone(_: Key) -> None:
    """The other process reconciles it."""
