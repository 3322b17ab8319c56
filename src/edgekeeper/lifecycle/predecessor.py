"""The operator that kept these objects before us: while it is running, we write nothing.

Both know the same objects, finalizer and status, so that a fleet is taken over without an edit. For the same reason both
must never work at once: each would undo the other's writes. Two things show that it is running, in the namespace where it
was installed:

    its Lease        has a holder and is renewed        by replicas that elect a leader
    its Deployment   has available replicas             by one that runs without election

Expected flow
    Both are watched, so that a predecessor that was never installed costs no request. Workers start after the first look
    that finds neither, and later passes wait as soon as one of them is found again. The log says when that begins and
    when it ends. Nothing else does: conditions are the predecessor's business for that time.

Guarantees
    - A Lease that seems to have expired is read once more before we rely on that: a watch can end without notice.
    - While a watch is interrupted, the last result stays valid.

Caveats
    - Whether a Lease is being renewed is known only after watching it for a while. One that was renewed lately, by the
      wall clock, makes us wait for its duration; one of long ago does not.
    - What may not be read counts as absent, and the log says that it could not be read.
    - A predecessor that is started while our watch is broken is seen when that is noticed, within 75 seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

import msgspec

from edgekeeper.core.clock import parse_timestamp
from edgekeeper.core.errors import PassError, Wait
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.log import get_logger
from edgekeeper.core.outcome import Outcome
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.informers import Informer
from edgekeeper.kube.kinds import DEPLOYMENT, LEASE
from edgekeeper.kube.lease_record import LeaseRecord
from edgekeeper.kube.raw import peek
from edgekeeper.runtime.contract import Explaining, Finalizing, Pausing, Reconciler, Request, Services

log = get_logger(__name__)

CANNOT_CHECK: Final = "Previous operator cannot be looked for"
CHECK_INTERVAL: Final = timedelta(seconds=10)
"""Also without a change, since a Lease expires by itself. It is our own stores that are looked at."""
_FIRST_CHECK_INTERVAL: Final = timedelta(seconds=0.1)
LEASE_MAX_AGE: Final = timedelta(hours=1)
"""No two clocks differ by so much: a Lease that was renewed before that has no holder any more."""


@dataclass(frozen=True, slots=True)
class PreviousOperator:
    """How another operator is recognised."""

    name: str
    """What log lines call it."""
    lease_name: str = ""
    """The Lease of its leader election; empty where it has none."""
    deployment_labels: str = ""
    """A label selector for its Deployment; empty where only the image tells."""
    is_its_image: Callable[[str], bool] | None = None
    """Whether an image is the operator's; None where the labels are enough."""

    def __post_init__(self) -> None:
        if not self.deployment_labels and self.is_its_image is None:
            raise ValueError(
                "without labels and images, any Deployment would be taken for the previous operator"
            )


class Predecessor:
    """Watches one namespace for signs that a previous operator is running there."""

    def __init__(self, services: Services, operator: PreviousOperator, namespace: str) -> None:
        """An empty namespace says that there was no previous operator."""
        self.sign: str | None = None if namespace else ""
        """What shows that it is running, in words; empty where nothing does, None before the first look."""
        self._services = services
        self._operator = operator
        self._namespace = namespace
        self._lease_fields = f"metadata.name={operator.lease_name}"
        self._renewed: tuple[str, float] = ("", 0.0)
        """The version of the Lease, and since when we have seen it."""
        self._expired = ""
        """The version of the Lease that was not renewed in time, confirmed by the server."""
        self._unreadable: set[str] = set()
        self._changed = asyncio.Event()
        self._gone = asyncio.Event()
        if not namespace:
            self._gone.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        if not self._namespace:
            return
        informers = self._services.informers
        leases = self._acquire_leases()
        deployments = informers.acquire(
            DEPLOYMENT, namespace=self._namespace, labels=self._operator.deployment_labels
        )
        watched = [informer for informer in (leases, deployments) if informer is not None]
        stops = [informer.subscribe(lambda _: self._changed.set()) for informer in watched]
        try:
            while True:
                self._changed.clear()
                await self._look(leases, deployments)
                await self._pause()
        finally:
            for stop in stops:
                stop()
            for informer in watched:
                informers.release(informer)

    async def wait_gone(self) -> None:
        """Return once nothing shows that it is running, or after `stop_waiting`."""
        await self._gone.wait()

    def stop_waiting(self) -> None:
        """Release those who wait: this process is ending."""
        self._gone.set()

    def confirm_gone(self) -> None:
        """Raise Wait while it is running."""
        if self.sign != "":
            sign = self.sign or "it was not looked for yet"
            raise Wait(CHECK_INTERVAL, "PredecessorActive", f"the previous operator may be running: {sign}")

    def _acquire_leases(self) -> Informer | None:
        if not self._operator.lease_name:
            return None
        return self._services.informers.acquire(LEASE, namespace=self._namespace, fields=self._lease_fields)

    def _set_sign(self, sign: str) -> None:
        name = self._operator.name
        if sign and not self.sign:
            log.warning("Holding back: the previous operator is still running", operator=name, sign=sign)
        elif self.sign and not sign:
            log.info("The previous operator is gone: going on in its place", operator=name)
        self.sign = sign
        if sign:
            self._gone.clear()
        else:
            self._gone.set()

    async def _pause(self) -> None:
        """Until something changes, but no longer than until the next look is due."""
        pause = _FIRST_CHECK_INTERVAL if self.sign is None else CHECK_INTERVAL
        with suppress(TimeoutError):
            async with asyncio.timeout(pause.total_seconds()):
                await self._changed.wait()

    async def _look(self, leases: Informer | None, deployments: Informer) -> None:
        try:
            signs = (await self._lease_sign(leases), self._deployment_sign(deployments))
        except ApiError as error:
            # The last result stays valid: a server that does not answer says nothing about other operators.
            log.debug(CANNOT_CHECK, operator=self._operator.name, error=str(error))
            return
        sign = next(filter(None, signs), "")
        if sign or None not in signs:
            self._set_sign(sign)

    async def _lease_sign(self, informer: Informer | None) -> str | None:
        """What the Lease shows: empty for nothing, None where that is not known."""
        leases = [] if informer is None else self._objects(informer)
        if leases is None:
            self._renewed = (
                "",
                0.0,
            )  # for how long it was not renewed is unknown while the watch is interrupted
            return None
        for lease in leases:
            record = LeaseRecord.of(lease)
            if record.holder and not self._is_old(lease) and not await self._is_expired(lease, record):
                return f"its Lease {self._operator.lease_name} is held by {record.holder}"
        return ""

    async def _is_expired(self, lease: JsonObject, record: LeaseRecord) -> bool:
        version = str(dig(lease, "metadata", "resourceVersion"))
        if version == self._expired:
            return True
        is_overdue = self._unchanged_for(version) >= record.duration.total_seconds()
        if not is_overdue or not await self._is_latest(version):
            return False
        self._expired = version
        return True

    def _unchanged_for(self, version: str) -> float:
        """For how many seconds the Lease has had this version, as far as we have seen."""
        now = self._services.clock.monotonic()
        if self._renewed[0] != version:
            self._renewed = (version, now)
        return now - self._renewed[1]

    async def _is_latest(self, version: str) -> bool:
        """Does the server itself have no newer version of the Lease?"""
        pages = self._services.client.pages(LEASE, namespace=self._namespace, fields=self._lease_fields)
        async for page in pages:
            if any(peek(item).resource_version != version for item in page.items):
                self._renewed = ("", 0.0)
                return False
        return True

    def _is_old(self, lease: JsonObject) -> bool:
        renewed = dig(lease, "spec", "renewTime")
        now = self._services.clock.now()
        try:
            return isinstance(renewed, str) and now - parse_timestamp(renewed) > LEASE_MAX_AGE
        except ValueError:
            return False

    def _deployment_sign(self, informer: Informer) -> str | None:
        """What Deployments show: empty for nothing, None where that is not known."""
        deployments = self._objects(informer)
        if deployments is None:
            return None
        for deployment in deployments:
            if dig(deployment, "status", "availableReplicas") and self._has_its_image(deployment):
                return f"its Deployment {dig(deployment, 'metadata', 'name')} is available"
        return ""

    def _has_its_image(self, deployment: JsonObject) -> bool:
        is_its_image = self._operator.is_its_image
        containers = dig_list(deployment, "spec", "template", "spec", "containers")
        return is_its_image is None or any(
            is_its_image(str(dig(container, "image"))) for container in containers
        )

    def _objects(self, informer: Informer) -> list[JsonObject] | None:
        """The objects of an informer: none where we may not read them, None where they are not known."""
        if informer.is_denied:
            self._log_unreadable(informer)
            return []
        if not informer.store.synced or informer.stale_since is not None:
            return None
        return [msgspec.json.decode(raw) for _, raw in informer.store.snapshot()]

    def _log_unreadable(self, informer: Informer) -> None:
        kind = informer.kind.kind
        if kind not in self._unreadable:
            self._unreadable.add(kind)
            log.warning(CANNOT_CHECK, operator=self._operator.name, kind=kind, error=informer.trouble)


class CompleteReconciler(Reconciler, Finalizing, Explaining, Pausing, Protocol):
    """A reconciler with all four methods of `runtime.contract`."""


@dataclass(frozen=True)
class Successor:
    """A reconciler that does nothing while its predecessor is running."""

    reconciler: CompleteReconciler
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
