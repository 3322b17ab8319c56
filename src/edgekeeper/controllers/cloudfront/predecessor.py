"""The operator that kept these objects before us: while it is alive, we hold back.

Both know the same objects, finalizer and status, so that a fleet changes hands without an edit. For that very reason
both must never work at once: each would undo the other's writes. Two things tell that it is alive, where it was
installed:

    its Lease        changes hands or is renewed                by replicas that elect a leader
    its Deployment   has available replicas                     by one that does without

Expected flow
    Workers start after the first look that finds neither, and later passes wait while a look finds one again. That is
    told in the log when it begins and when it ends, and nowhere else: conditions are its business for that time.

Caveats
    - A Lease says whether somebody renews it only to one who watches it for a while. One that was renewed lately, by
      the wall clock, keeps us waiting for its duration; one of long ago does not.
    - What may not be read counts as not there, and the log says that it could not be looked at.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from edgekeeper.controllers.cloudfront.reconciler import TenantReconciler
from edgekeeper.core.clock import Clock, parse_timestamp
from edgekeeper.core.errors import PassError, Wait
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.log import get_logger
from edgekeeper.core.outcome import Outcome
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import ApiError, ForbiddenError, NotFoundError
from edgekeeper.kube.kinds import DEPLOYMENT, LEASE, Key
from edgekeeper.kube.lease_record import LeaseRecord
from edgekeeper.runtime.contract import Request

log = get_logger(__name__)

LEASE_NAME: Final = "dd008127.cloudfront-tenant-operator.io"
LABELS: Final = "app.kubernetes.io/name=cloudfront-tenant-operator"
LOOK_EVERY: Final = timedelta(seconds=10)
LONG_AGO: Final = timedelta(hours=1)
"""No two clocks differ by so much: a Lease that was renewed before that has no holder any more."""


class Predecessor:
    """Looks for signs of life in one namespace."""

    def __init__(self, client: KubeClient, clock: Clock, namespace: str) -> None:
        """An empty namespace is for one that never was."""
        self.sign: str | None = None if namespace else ""
        """What shows that it is alive, in words; empty where nothing does, None before the first look."""
        self._client = client
        self._clock = clock
        self._namespace = namespace
        self._renewed: tuple[str, float] = ("", 0.0)
        """How the Lease was renewed last, and when we saw that first."""
        self._unseen: set[str] = set()
        self._gone = asyncio.Event()
        if not namespace:
            self._gone.set()

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while self._namespace:
            try:
                self._note(await self._lease_sign() or await self._deployment_sign())
            except ApiError as error:
                # What was known stays true: a server that is away tells nothing about anybody.
                log.debug("Previous operator cannot be looked for", error=str(error))
            await asyncio.sleep(LOOK_EVERY.total_seconds())

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

    async def _lease_sign(self) -> str:
        try:
            lease = await self._client.get(LEASE, Key(self._namespace, LEASE_NAME))
        except NotFoundError:
            return ""
        except ForbiddenError as error:
            return self._blind("Lease", error)
        record = LeaseRecord.of(lease)
        if not record.holder or self._is_old(lease):
            return ""
        if self._silence(lease) >= record.duration.total_seconds():
            return ""
        return f"its Lease {LEASE_NAME} is held by {record.holder}"

    def _is_old(self, lease: JsonObject) -> bool:
        renewed = dig(lease, "spec", "renewTime")
        try:
            return isinstance(renewed, str) and self._clock.now() - parse_timestamp(renewed) > LONG_AGO
        except ValueError:
            return False

    def _silence(self, lease: JsonObject) -> float:
        """For how many seconds the Lease has been as it is, as far as we have seen."""
        version, now = str(dig(lease, "metadata", "resourceVersion")), self._clock.monotonic()
        if self._renewed[0] != version:
            self._renewed = (version, now)
        return now - self._renewed[1]

    async def _deployment_sign(self) -> str:
        try:
            async for page in self._client.pages(DEPLOYMENT, namespace=self._namespace, labels=LABELS):
                for deployment in map(msgspec.json.decode, page.items):
                    if dig(deployment, "status", "availableReplicas"):
                        return f"its Deployment {dig(deployment, 'metadata', 'name')} is available"
        except ForbiddenError as error:
            return self._blind("Deployment", error)
        return ""

    def _blind(self, what: str, error: ForbiddenError) -> str:
        if what not in self._unseen:
            self._unseen.add(what)
            log.warning("Previous operator cannot be looked for", kind=what, error=str(error))
        return ""


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
