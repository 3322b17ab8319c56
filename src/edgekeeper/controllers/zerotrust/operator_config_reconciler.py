"""Reconciles OperatorConfigs: applies them to the operator's own Deployment, and reports whether it is ready.

    another one is older     it says so, and is ignored
    a new generation         server-side apply of what is set; Applied, observedGeneration, lastAppliedTime
    otherwise                the Deployment is left alone; Ready and deploymentReady follow its status

The Deployments of workers are copies of the operator's own (`operator_workers`), so what is applied here reaches them too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from edgekeeper.controllers.zerotrust.operator_config import (
    APPLIED,
    APPLIED_MESSAGE,
    CONDITIONS,
    CONFIGURATION_APPLIED,
    FIELD_MANAGER,
    IGNORED,
    KIND,
    NAME,
    NO_CHANGES_MESSAGE,
    NO_CHANGES_NEEDED,
    NOT_READY,
    ROLLED_OUT,
    config_in_use,
    deployment_fields,
    key_of,
    operator_container,
    read_config,
    rollout_problem,
)
from edgekeeper.controllers.zerotrust.operator_deployment import (
    NOT_FOUND,
    DeploymentFinder,
    deployment_finder,
)
from edgekeeper.controllers.zerotrust.operator_workers import worker_keys
from edgekeeper.core.clock import timestamp
from edgekeeper.core.conditions import Conditions
from edgekeeper.core.errors import PassError, Retry, Stall
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.core.outcome import Event, Outcome, StatusWrite, done
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import DEPLOYMENT, Key
from edgekeeper.kube.store import Store, SyncState
from edgekeeper.lifecycle.module import CommonOptions, Role
from edgekeeper.runtime.contract import ControllerOptions, Request, Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.sources import Mapped, Scope

_NO_STORE: Final = Store(KIND)


class OperatorConfigReconciler:
    """See the module."""

    def __init__(self, services: Services, finder: DeploymentFinder, *, has_workers: bool) -> None:
        self._client = services.client
        self._clock = services.clock
        self._finder = finder
        self._has_workers = has_workers
        self.configs: Store = _NO_STORE
        self.deployments: Store = _NO_STORE

    async def reconcile(self, request: Request) -> Outcome:
        in_use = config_in_use(_objects(self.configs))
        if in_use is not None and key_of(in_use) != request.key:
            return self._ignored(request, key_of(in_use))
        own = await self._finder.find()
        conditions = self._conditions(request)
        status = dict(dig_object(request.object, "status"))
        events: list[Event] = []
        if status.get("observedGeneration") != request.generation:
            events += await self._apply(request, own.key, conditions, status)
        else:
            self._confirm_applied(request, conditions)
        problem = self._rollout_problem(own.key)
        conditions.mark(ROLLED_OUT, not problem, NOT_READY, f"Operator deployment is not ready: {problem}")
        status["deploymentReady"] = not problem
        return self._written(conditions, status).with_events(*events)

    def explain(self, request: Request, error: PassError) -> Outcome:
        """Say in Applied why the configuration is not applied."""
        if not isinstance(error, Stall | Retry):
            return done()
        conditions = self._conditions(request)
        conditions.mark(APPLIED, False, error.reason, error.message)
        event = Event("Warning", error.reason, error.message)
        return self._written(conditions, dig_object(request.object, "status")).with_events(event)

    async def _apply(
        self, request: Request, own: Key, conditions: Conditions, status: JsonObject
    ) -> list[Event]:
        """Apply the configuration to the Deployment. Nothing is written where it has everything already."""
        deployment = await self._deployment(own)
        fields = deployment_fields(read_config(request.object).spec, operator_container(deployment))
        identity = {"metadata": {"uid": dig(deployment, "metadata", "uid")}}
        applied = await self._client.apply(
            DEPLOYMENT, own, {**fields, **identity}, manager=FIELD_MANAGER, force=True
        )
        status["observedGeneration"] = request.generation
        is_changed = dig(applied, "metadata", "generation") != dig(deployment, "metadata", "generation")
        if is_changed or "lastAppliedTime" not in status:
            status["lastAppliedTime"] = timestamp(self._clock.now())
        if not is_changed:
            conditions.mark(APPLIED, True, NO_CHANGES_NEEDED, NO_CHANGES_MESSAGE)
            return []
        conditions.mark(APPLIED, True, CONFIGURATION_APPLIED, APPLIED_MESSAGE)
        return [Event("Normal", CONFIGURATION_APPLIED, f"Applied to Deployment {own.name}")]

    async def _deployment(self, own: Key) -> JsonObject:
        try:
            return await self._client.get(DEPLOYMENT, own)
        except NotFoundError as error:
            raise Stall(
                NOT_FOUND, f"Deployment {own} does not exist: create it, or correct --operator-deployment"
            ) from error

    def _confirm_applied(self, request: Request, conditions: Conditions) -> None:
        """Keep Applied as it is. Where an earlier pass failed after the generation was observed, it holds again."""
        before = conditions.before(APPLIED)
        if before is None or before.status != "True" or before.observed_generation != request.generation:
            conditions.mark(APPLIED, True, NO_CHANGES_NEEDED, NO_CHANGES_MESSAGE)

    def _rollout_problem(self, own: Key) -> str:
        """The first Deployment of the operator that is not ready; empty where all are."""
        keys = [own, *(worker_keys(own).values() if self._has_workers else ())]
        problems = (rollout_problem(self._known(key), key.name) for key in keys)
        return next(filter(None, problems), "")

    def _known(self, key: Key) -> JsonObject | None:
        if self.deployments.state is SyncState.FORBIDDEN:
            raise Stall("DeploymentsForbidden", f"allow list and watch of deployments in {key.namespace}")
        return self.deployments.get(key)

    def _ignored(self, request: Request, other: Key) -> Outcome:
        conditions = self._conditions(request)
        message = (
            f"only one OperatorConfig of a namespace counts, and {other.name} is older: delete one of them"
        )
        is_new = getattr(conditions.before(APPLIED), "reason", "") != IGNORED
        conditions.mark(APPLIED, False, IGNORED, message)
        outcome = self._written(conditions, {})
        return outcome.with_events(Event("Warning", IGNORED, message)) if is_new else outcome

    def _conditions(self, request: Request) -> Conditions:
        return Conditions.of(CONDITIONS, request.object, self._clock.now())

    def _written(self, conditions: Conditions, status: JsonObject) -> Outcome:
        return done().writing(StatusWrite({**status, "conditions": conditions.to_list()}))


class OperatorConfigController(Controller):
    """The controller of OperatorConfigs in the operator's namespace."""

    def __init__(self, services: Services, common: CommonOptions) -> None:
        self._config_reconciler = OperatorConfigReconciler(
            services,
            deployment_finder(services.client, common),
            has_workers=common.role == Role.MANAGER,
        )
        scope = Scope(namespaces=(common.namespace,))
        super().__init__(
            ControllerOptions(NAME, KIND, scope=scope, max_concurrent=1, role=Role.MANAGER),
            self._config_reconciler,
            services,
            # An older configuration may come or go, so each change concerns all of them.
            [Mapped(kind, self._all_configs, scope=scope) for kind in (KIND, DEPLOYMENT)],
        )

    def informers_changed(self) -> None:
        for informer in self.informers:
            if informer.kind == KIND:
                self._config_reconciler.configs = informer.store
            elif informer.kind == DEPLOYMENT:
                self._config_reconciler.deployments = informer.store

    def _all_configs(self, _: JsonObject) -> Iterable[Key]:
        store = self._config_reconciler.configs
        return [key for key, _ in store.snapshot()]


def _objects(store: Store) -> Iterable[JsonObject]:
    for key in store.keys():  # noqa: SIM118 - a store is no dict
        obj = store.get(key)
        if obj is not None and dig(obj, "metadata", "deletionTimestamp") is None:
            yield obj
