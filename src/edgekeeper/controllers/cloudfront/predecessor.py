"""The operator that kept these objects before us: while it is alive, we hold back.

Both know the same objects, finalizer and status, so that a fleet changes hands without an edit. For that very reason
both must never work at once: each would undo the other's writes. Two things tell that it is alive, where it was
installed:

    its Lease        changes hands or is renewed                by replicas that elect a leader
    its Deployment   has available replicas                     by one that does without

Expected flow
    Both are watched, so that somebody who never comes costs no request. Workers start after the first look that finds
    neither, and later passes wait as soon as one is found again. That is told in the log when it begins and when it
    ends, and nowhere else: conditions are its business for that time.

Guarantees
    - A Lease that seems to have expired is read once more before we believe it: a watch can die without a sound.
    - While a watch is interrupted, what was known stays true.

Caveats
    - A Lease says whether somebody renews it only to one who watches it for a while. One that was renewed lately, by
      the wall clock, keeps us waiting for its duration; one of long ago does not.
    - What may not be read counts as not there, and the log says that it could not be looked at.
    - One who comes back while our watch is dead is seen when that is noticed, within 75 seconds.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from edgekeeper.controllers.cloudfront.reconciler import TenantReconciler
from edgekeeper.core.clock import parse_timestamp
from edgekeeper.core.errors import PassError, Wait
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.log import get_logger
from edgekeeper.core.outcome import Outcome
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.informers import Informer
from edgekeeper.kube.kinds import DEPLOYMENT, LEASE
from edgekeeper.kube.lease_record import LeaseRecord
from edgekeeper.kube.raw import peek
from edgekeeper.runtime.contract import Request, Services

log = get_logger(__name__)

LEASE_NAME: Final = "dd008127.cloudfront-tenant-operator.io"
LABELS: Final = "app.kubernetes.io/name=cloudfront-tenant-operator"
LEASE_FIELDS: Final = f"metadata.name={LEASE_NAME}"
LOOK_EVERY: Final = timedelta(seconds=10)
"""Also without news: a Lease expires by itself. It is our own memory that is looked at."""
_FIRST_LOOKS: Final = timedelta(seconds=0.1)
LONG_AGO: Final = timedelta(hours=1)
"""No two clocks differ by so much: a Lease that was renewed before that has no holder any more."""


class Predecessor:
    """Looks for signs of life in one namespace."""

    def __init__(self, services: Services, namespace: str) -> None:
        """An empty namespace is for one that never was."""
        self.sign: str | None = None if namespace else ""
        """What shows that it is alive, in words; empty where nothing does, None before the first look."""
        self._services = services
        self._namespace = namespace
        self._renewed: tuple[str, float] = ("", 0.0)
        """How the Lease was renewed last, and when we saw that first."""
        self._expired = ""
        """The version of the Lease that nobody has renewed in time, by the server's own word."""
        self._unseen: set[str] = set()
        self._news = asyncio.Event()
        self._gone = asyncio.Event()
        if not namespace:
            self._gone.set()

    async def run(self) -> None:
        """Watch for it until cancelled."""
        if not self._namespace:
            return
        informers = self._services.informers
        leases = informers.acquire(LEASE, namespace=self._namespace, fields=LEASE_FIELDS)
        deployments = informers.acquire(DEPLOYMENT, namespace=self._namespace, labels=LABELS)
        stops = [one.subscribe(lambda _: self._news.set()) for one in (leases, deployments)]
        try:
            while True:
                self._news.clear()
                await self._look(leases, deployments)
                await self._pause()
        finally:
            for stop in stops:
                stop()
            informers.release(leases)
            informers.release(deployments)

    async def wait_gone(self) -> None:
        """Return once nothing shows that it is alive, or nobody waits any more."""
        await self._gone.wait()

    def stop_waiting(self) -> None:
        """We are ending ourselves."""
        self._gone.set()

    def confirm_gone(self) -> None:
        """Raise Wait while it is alive."""
        if self.sign != "":
            told = self.sign or "it was not looked for yet"
            raise Wait(LOOK_EVERY, "PredecessorActive", f"the previous operator may be running: {told}")

    def _note(self, sign: str) -> None:
        if sign and not self.sign:
            log.warning("Holding back: the previous operator is still running", sign=sign)
        elif self.sign and not sign:
            log.info("The previous operator is gone: going on in its place")
        self.sign = sign
        if sign:
            self._gone.clear()
        else:
            self._gone.set()

    async def _pause(self) -> None:
        """Until there is news, but no longer than until the next look is due."""
        pause = _FIRST_LOOKS if self.sign is None else LOOK_EVERY
        with suppress(TimeoutError):
            async with asyncio.timeout(pause.total_seconds()):
                await self._news.wait()

    async def _look(self, leases: Informer, deployments: Informer) -> None:
        try:
            signs = (await self._lease_sign(leases), self._deployment_sign(deployments))
        except ApiError as error:
            # What was known stays true: a server that is away tells nothing about anybody.
            log.debug("Previous operator cannot be looked for", error=str(error))
            return
        alive = next(filter(None, signs), "")
        if alive or None not in signs:
            self._note(alive)

    async def _lease_sign(self, informer: Informer) -> str | None:
        """What the Lease shows: empty for nothing, None where that is not known."""
        leases = self._seen(informer)
        if leases is None:
            self._renewed = ("", 0.0)  # how long it is silent cannot be told while we hear nothing
            return None
        for lease in leases:
            record = LeaseRecord.of(lease)
            if record.holder and not self._is_old(lease) and not await self._is_expired(lease, record):
                return f"its Lease {LEASE_NAME} is held by {record.holder}"
        return ""

    async def _is_expired(self, lease: JsonObject, record: LeaseRecord) -> bool:
        version = str(dig(lease, "metadata", "resourceVersion"))
        if version == self._expired:
            return True
        if self._silence(version) < record.duration.total_seconds() or not await self._is_latest(version):
            return False
        self._expired = version
        return True

    def _silence(self, version: str) -> float:
        """For how many seconds the Lease has been as it is, as far as we have seen."""
        now = self._services.clock.monotonic()
        if self._renewed[0] != version:
            self._renewed = (version, now)
        return now - self._renewed[1]

    async def _is_latest(self, version: str) -> bool:
        """Does the server itself have no newer version of the Lease?"""
        pages = self._services.client.pages(LEASE, namespace=self._namespace, fields=LEASE_FIELDS)
        async for page in pages:
            if any(peek(item).resource_version != version for item in page.items):
                self._renewed = ("", 0.0)
                return False
        return True

    def _is_old(self, lease: JsonObject) -> bool:
        renewed = dig(lease, "spec", "renewTime")
        now = self._services.clock.now()
        try:
            return isinstance(renewed, str) and now - parse_timestamp(renewed) > LONG_AGO
        except ValueError:
            return False

    def _deployment_sign(self, informer: Informer) -> str | None:
        """What Deployments show: empty for nothing, None where that is not known."""
        deployments = self._seen(informer)
        if deployments is None:
            return None
        for deployment in deployments:
            if dig(deployment, "status", "availableReplicas"):
                return f"its Deployment {dig(deployment, 'metadata', 'name')} is available"
        return ""

    def _seen(self, informer: Informer) -> list[JsonObject] | None:
        """What is there: nothing where we may not look, None where we do not know."""
        if informer.is_denied:
            self._tell_blind(informer)
            return []
        if not informer.store.synced or informer.stale_since is not None:
            return None
        return [msgspec.json.decode(raw) for _, raw in informer.store.snapshot()]

    def _tell_blind(self, informer: Informer) -> None:
        what = informer.kind.kind
        if what not in self._unseen:
            self._unseen.add(what)
            log.warning("Previous operator cannot be looked for", kind=what, error=informer.trouble)


@dataclass(frozen=True)
class Successor:
    """A reconciler that does nothing while its predecessor is alive."""

    reconciler: TenantReconciler
    predecessor: Predecessor

    async def reconcile(self, request: Request) -> Outcome:
        self.predecessor.confirm_gone()
        return await self.reconciler.reconcile(request)

    async def finalize(self, request: Request) -> Outcome:
        self.predecessor.confirm_gone()
        return await self.reconciler.finalize(request)

    def explain(self, request: Request, error: PassError) -> Outcome:
        return self.reconciler.explain(request, error)

    def pause(self, request: Request) -> Outcome:
        self.predecessor.confirm_gone()
        return self.reconciler.pause(request)
