"""Detects the operator that managed these objects before: while it is running, edgekeeper writes nothing.

Both operators use the same objects, finalizer and status, so that objects are taken over unchanged. They must not run at
the same time, because each would revert the other's writes. The predecessor counts as running if one of these is found in
the namespace where it was installed:

    its Lease        has a holder and is renewed        it runs with leader election
    its Deployment   has available replicas             it runs without leader election

Expected flow
    Both are watched, so a predecessor that was never installed costs no further requests. Workers start once neither is
    found. If one is found later, passes wait. The beginning and the end are logged. Conditions are not changed, because
    the predecessor writes them during that time.

Guarantees
    - A Lease that seems expired is read from the server before it counts as expired, because a watch can break unnoticed.
    - While a watch is interrupted, the last result stays valid.

Caveats
    - Whether a Lease is renewed is known only after watching it for its duration, unless its last renewal was more than
      `LEASE_MAX_AGE` ago by the wall clock: then it counts as expired at once.
    - A kind that may not be read counts as absent, and that is logged.
    - A predecessor that starts while the watch is broken is detected within 75 seconds, when the watch is restarted.
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
from edgekeeper.runtime.contract import (
    Explaining,
    Finalizing,
    LogFields,
    LogLevels,
    Pausing,
    Reconciler,
    Request,
    Selective,
    Services,
)

log = get_logger(__name__)

CANNOT_CHECK: Final = "Cannot check for the previous operator"
CHECK_INTERVAL: Final = timedelta(seconds=10)
"""How often to check without a change, since a Lease expires without one. A check reads the local stores only."""
_FIRST_CHECK_INTERVAL: Final = timedelta(seconds=0.1)
ANY_NAMESPACE: Final = "*"
"""The namespace of a previous operator that may have been installed anywhere."""
LEASE_MAX_AGE: Final = timedelta(hours=1)
"""A Lease that was renewed longer ago counts as expired: clocks do not differ by as much."""


@dataclass(frozen=True, slots=True)
class PreviousOperator:
    """How to recognise another operator."""

    name: str
    """Its name in log messages."""
    lease_name: str = ""
    """The name of its Lease; empty if it does not elect a leader."""
    deployment_labels: str = ""
    """A label selector for its Deployment; empty if it is recognised by its image only."""
    is_its_image: Callable[[str], bool] | None = None
    """Whether an image is that of the operator; None if the labels are sufficient."""

    def __post_init__(self) -> None:
        if not self.deployment_labels and self.is_its_image is None:
            raise ValueError(
                "without labels and an image, every Deployment would match the previous operator"
            )


class Predecessor:
    """Watches a namespace for a previous operator that is running there."""

    def __init__(self, services: Services, operator: PreviousOperator, namespace: str) -> None:
        """An empty namespace means that there was no previous operator; `ANY_NAMESPACE`, that it may be in any."""
        self.sign: str | None = None if namespace else ""
        """Why it counts as running; empty if it does not, None before the first check."""
        self._services = services
        self._operator = operator
        self._has_place = bool(namespace)
        self._namespace = "" if namespace == ANY_NAMESPACE else namespace
        """Empty for all."""
        self._lease_fields = f"metadata.name={operator.lease_name}"
        self._renewed: dict[str, tuple[str, float]] = {}
        """By namespace, the resourceVersion of the Lease, and when it was first seen (monotonic clock)."""
        self._expired: set[str] = set()
        """The resourceVersions of Leases that expired, as the server has confirmed."""
        self._unreadable: set[str] = set()
        self._changed = asyncio.Event()
        self._gone = asyncio.Event()
        self._back = asyncio.Event()
        if not namespace:
            self._gone.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        if not self._has_place:
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
        """Return once it is not running, or after `stop_waiting`."""
        await self._gone.wait()

    async def wait_back(self) -> None:
        """Return once it is running."""
        await self._back.wait()

    def stop_waiting(self) -> None:
        """End `wait_gone`, because the process stops."""
        self._gone.set()

    def confirm_gone(self) -> None:
        """Raise Wait while it is running."""
        if self.sign != "":
            sign = self.sign or "the first check is not complete"
            raise Wait(CHECK_INTERVAL, "PredecessorActive", f"the previous operator may be running: {sign}")

    def _acquire_leases(self) -> Informer | None:
        if not self._operator.lease_name:
            return None
        return self._services.informers.acquire(LEASE, namespace=self._namespace, fields=self._lease_fields)

    def _set_sign(self, sign: str) -> None:
        name = self._operator.name
        if sign and not self.sign:
            log.warning("Waiting: the previous operator is running", operator=name, sign=sign)
        elif self.sign and not sign:
            log.info("The previous operator has stopped: starting to reconcile", operator=name)
        self.sign = sign
        if sign:
            self._gone.clear()
            self._back.set()
        else:
            self._back.clear()
            self._gone.set()

    async def _pause(self) -> None:
        """Wait for a change, or until the next check is due."""
        pause = _FIRST_CHECK_INTERVAL if self.sign is None else CHECK_INTERVAL
        with suppress(TimeoutError):
            async with asyncio.timeout(pause.total_seconds()):
                await self._changed.wait()

    async def _look(self, leases: Informer | None, deployments: Informer) -> None:
        try:
            signs = (await self._lease_sign(leases), self._deployment_sign(deployments))
        except ApiError as error:
            # The last result stays valid while the API server cannot be reached.
            log.debug(CANNOT_CHECK, operator=self._operator.name, error=str(error))
            return
        sign = next(filter(None, signs), "")
        if sign or None not in signs:
            self._set_sign(sign)

    async def _lease_sign(self, informer: Informer | None) -> str | None:
        """Why the Lease counts as held; empty if it does not, None if that is unknown."""
        leases = [] if informer is None else self._objects(informer)
        if leases is None:
            self._renewed.clear()  # while the watch is interrupted, renewals are not seen
            return None
        for lease in leases:
            record = LeaseRecord.of(lease)
            if record.holder and not self._is_old(lease) and not await self._is_expired(lease, record):
                return f"its Lease {self._operator.lease_name} is held by {record.holder}"
        return ""

    async def _is_expired(self, lease: JsonObject, record: LeaseRecord) -> bool:
        version, namespace = str(dig(lease, "metadata", "resourceVersion")), _namespace_of(lease)
        if version in self._expired:
            return True
        is_overdue = self._unchanged_for(namespace, version) >= record.duration.total_seconds()
        if not is_overdue or not await self._is_latest(namespace, version):
            return False
        self._expired.add(version)
        return True

    def _unchanged_for(self, namespace: str, version: str) -> float:
        """Seconds since this version of the Lease was first seen."""
        now = self._services.clock.monotonic()
        if self._renewed.get(namespace, ("", now))[0] != version:
            self._renewed[namespace] = (version, now)
        return now - self._renewed[namespace][1]

    async def _is_latest(self, namespace: str, version: str) -> bool:
        """Whether the server has no newer version of the Lease."""
        pages = self._services.client.pages(LEASE, namespace=namespace, fields=self._lease_fields)
        async for page in pages:
            if any(peek(item).resource_version != version for item in page.items):
                self._renewed.pop(namespace, None)
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
        """Why a Deployment counts as running; empty if none does, None if that is unknown."""
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
        """The objects of an informer: an empty list if it may not be read, None if it is not synced."""
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


def _namespace_of(lease: JsonObject) -> str:
    return str(dig(lease, "metadata", "namespace") or "")


class CompleteReconciler(Reconciler, Finalizing, Explaining, Pausing, Protocol):
    """A reconciler with all four methods of `runtime.contract`."""


@dataclass(frozen=True)
class Successor:
    """Wraps a reconciler: passes wait while its predecessor is running."""

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

    def manages(self, request: Request) -> bool:
        self.predecessor.confirm_gone()
        return not isinstance(self.reconciler, Selective) or self.reconciler.manages(request)

    def log_fields(self, request: Request) -> JsonObject:
        return self.reconciler.log_fields(request) if isinstance(self.reconciler, LogFields) else {}

    def log_level(self, request: Request) -> str | None:
        return self.reconciler.log_level(request) if isinstance(self.reconciler, LogLevels) else None
