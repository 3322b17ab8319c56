"""Keeps the Deployments of workers: there are some exactly where the process is limited to the role of the manager.

The object that is reconciled is the manager's own Deployment; it is never written here. A worker's Deployment that belongs
to somebody else is left alone, with an event. Where the operator runs as one process, workers of an earlier split are
deleted, because they would do the same work at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from edgekeeper.controllers.zerotrust.operator_config import KIND as OPERATOR_CONFIG
from edgekeeper.controllers.zerotrust.operator_config import config_in_use, operator_container, read_config
from edgekeeper.controllers.zerotrust.operator_deployment import (
    DeploymentFinder,
    OwnDeployment,
    deployment_finder,
)
from edgekeeper.controllers.zerotrust.operator_workers import (
    FIELD_MANAGER,
    is_worker_of,
    worker_deployment,
    worker_keys,
)
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.log import get_logger
from edgekeeper.core.outcome import Event, Outcome, done
from edgekeeper.kube.kinds import DEPLOYMENT, Key
from edgekeeper.kube.store import Store
from edgekeeper.lifecycle.module import CommonOptions, Role
from edgekeeper.runtime.contract import ControllerOptions, Request, Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.sources import Mapped, Scope

log = get_logger(__name__)

NAME: Final = "operatorworkers"
CONFLICT: Final = "DeploymentConflict"


class WorkersReconciler:
    """See the module."""

    def __init__(self, services: Services, finder: DeploymentFinder, *, has_workers: bool) -> None:
        self._client = services.client
        self._finder = finder
        self._has_workers = has_workers
        self._applied: dict[Key, tuple[bytes, int]] = {}
        """What was applied last, and the generation that resulted: equal ones need no write."""
        self._conflicts: set[Key] = set()
        self._is_warned = False
        self.own: Key | None = None
        """Our own Deployment, once it is known."""
        self.configs: Store | None = None
        self.deployments: Store | None = None

    async def reconcile(self, request: Request) -> Outcome:
        own = await self._find()
        if own is None or own.key != request.key or request.deleting:
            return done()
        events: list[Event] = []
        for role, key in worker_keys(own.key).items():
            live = self.deployments.get(key) if self.deployments is not None else None
            if live is not None and not is_worker_of(live, request.object):
                events += self._conflict(key, own.key)
            elif self._has_workers:
                events += await self._apply(request.object, own, role, live)
            elif live is not None:
                events += await self._delete(key, live)
        return done().with_events(*events)

    async def _find(self) -> OwnDeployment | None:
        """Our own Deployment. Where it is unknown, that is logged once: no object is to blame."""
        try:
            own = await self._finder.find()
        except Stall as stall:
            if self._has_workers and not self._is_warned:
                log.warning("Deployments of workers are not managed", why=stall.message)
                self._is_warned = True
            return None
        self.own = own.key
        return own

    def _conflict(self, key: Key, own: Key) -> list[Event]:
        """The event about a Deployment of others, once. Without workers it is nobody's business."""
        if not self._has_workers or key in self._conflicts:
            return []
        self._conflicts.add(key)
        message = (
            f"Deployment {key.name} exists and does not belong to {own.name}: delete it, so that a worker of that name"
            " can be created"
        )
        return [Event("Warning", CONFLICT, message)]

    async def _apply(
        self, manager: JsonObject, own: OwnDeployment, role: Role, live: JsonObject | None
    ) -> list[Event]:
        key = worker_keys(own.key)[role]
        self._conflicts.discard(key)
        digest = own.images.get(operator_container(manager), "")
        wanted = worker_deployment(manager, role, live=live, image_digest=digest, replicas=self._replicas())
        content = msgspec.json.encode(wanted, order="deterministic")
        generation = dig(live, "metadata", "generation")
        if live is not None and self._applied.get(key) == (content, generation):
            return []
        applied = await self._client.apply(DEPLOYMENT, key, wanted, manager=FIELD_MANAGER, force=True)
        self._applied[key] = (content, dig(applied, "metadata", "generation"))
        return (
            [] if live is not None else [Event("Normal", "WorkerCreated", f"Created Deployment {key.name}")]
        )

    async def _delete(self, key: Key, live: JsonObject) -> list[Event]:
        metadata = live["metadata"]
        await self._client.delete(
            DEPLOYMENT, key, uid=metadata["uid"], resource_version=metadata["resourceVersion"]
        )
        return [Event("Normal", "WorkerDeleted", f"Deleted Deployment {key.name}: one process does its work")]

    def _replicas(self) -> int | None:
        """The number that the OperatorConfig sets, if any."""
        if self.configs is None or not self.configs.synced:
            return None
        found = (self.configs.get(key) for key in self.configs.keys())  # noqa: SIM118 - a store is no dict
        config = config_in_use(obj for obj in found if obj is not None)
        return read_config(config).spec.replicas if config is not None else None


class WorkersController(Controller):
    """Reconciles the operator's own Deployment."""

    def __init__(self, services: Services, common: CommonOptions) -> None:
        finder = deployment_finder(services.client, common)
        self._workers = WorkersReconciler(services, finder, has_workers=common.role == Role.MANAGER)
        scope = Scope(namespaces=(common.namespace,))
        super().__init__(
            ControllerOptions(NAME, DEPLOYMENT, scope=scope, max_concurrent=1, role=Role.MANAGER),
            self._workers,
            services,
            [Mapped(kind, self._own, scope=scope) for kind in (OPERATOR_CONFIG, DEPLOYMENT)],
        )

    def informers_changed(self) -> None:
        for informer in self.informers:
            if informer.kind == OPERATOR_CONFIG:
                self._workers.configs = informer.store
            elif informer.kind == DEPLOYMENT:
                self._workers.deployments = informer.store

    def _own(self, _: JsonObject) -> Iterable[Key]:
        return () if self._workers.own is None else (self._workers.own,)
