"""The controller of DistributionTenants, and who wakes it.

the object itself                    its spec, annotations and deletion
another that claims the same         when the elder lets go
the mirror of tenants                what changed in CloudFront, by tenant name
the mirror of certificates           when one is issued or fails, by its ARN
the mirror and writer of a zone      when a record changes, or a batch is through
the mirror of connection groups      when an endpoint appears
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from prometheus_client import CollectorRegistry

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT, FINALIZER
from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.distributions import ConnectionGroup
from edgekeeper.cloud.aws.records import Record, RecordKey, normalise_name
from edgekeeper.cloud.aws.tenants import TenantSummary
from edgekeeper.cloud.aws.zone import Zone
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import MirrorOptions
from edgekeeper.controllers.cloudfront.account import Account
from edgekeeper.controllers.cloudfront.claims import BY_CERTIFICATE, BY_DOMAIN, BY_NAME, Claims
from edgekeeper.controllers.cloudfront.explain import Explainer
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.intervals import Intervals
from edgekeeper.controllers.cloudfront.metrics import TenantMetrics
from edgekeeper.controllers.cloudfront.observe import Observer
from edgekeeper.controllers.cloudfront.perform import Performer
from edgekeeper.controllers.cloudfront.predecessor import Predecessor, Successor
from edgekeeper.controllers.cloudfront.reconciler import TenantReconciler
from edgekeeper.core.drift import Policy
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import Change, Store
from edgekeeper.runtime.contract import ControllerOptions, Services
from edgekeeper.runtime.controller import Controller

KIND: Final = Kind(
    DISTRIBUTION_TENANT.group,
    DISTRIBUTION_TENANT.version,
    DISTRIBUTION_TENANT.kind,
    DISTRIBUTION_TENANT.plural,
)
NAME: Final = "distributiontenant"
WARM_UP: Final = timedelta(seconds=30)
"""How long passes wait for the first listings. Later they say themselves what they wait for."""
CLEANUP_TIMEOUT: Final = timedelta(hours=1)


@dataclass(frozen=True)
class TenantOptions:
    """What operators choose for all tenants."""

    cluster: str = ""
    """The id that marks what we create as this cluster's. There must be one before the first tenant is created."""
    drift_policy: Policy = Policy.ENFORCE
    tenant_name_template: str = "{name}"
    guards: Guards = field(default_factory=Guards)
    cleanup_timeout: timedelta = CLEANUP_TIMEOUT
    """After which a deletion that cannot be finished is given up; zero for never."""
    max_concurrent: int = 16
    intervals: Intervals = field(default_factory=Intervals)
    predecessor_namespace: str = ""
    """Where the operator that we replace was installed: while it is alive there, nothing is written."""


@dataclass(frozen=True, slots=True)
class _Rivals:
    """Objects that claim what another one claims or has just given up."""

    claims: Claims
    kind: Kind = KIND
    labels: str = ""

    def concerned(self, change: Change) -> Iterable[Key]:
        if change.initial:
            return ()  # everybody has a pass of their own coming
        sides = [raw for raw in (change.old, change.new) if raw is not None]
        return {key for raw in sides for key in self.claims.sharing(raw)} - {change.key}


class TenantController(Controller):
    """A controller whose account is kept fresh while it works."""

    def __init__(
        self,
        services: Services,
        account: Account,
        claims: Claims,
        metrics: TenantMetrics,
        options: TenantOptions,
    ) -> None:
        reconciler = TenantReconciler(
            Observer(account, claims, options.guards, options.cluster, options.drift_policy),
            Performer(account),
            Explainer(services.clock, metrics, options.intervals, account.desk, account.outages),
            metrics,
            services.clock,
            self.wake,
            options.intervals,
            options.cleanup_timeout,
        )
        self.predecessor = Predecessor(services, options.predecessor_namespace)
        settings = ControllerOptions(NAME, KIND, finalizer=FINALIZER, max_concurrent=options.max_concurrent)
        super().__init__(settings, Successor(reconciler, self.predecessor), services, [_Rivals(claims)])
        self.account = account
        self._claims = claims
        self._tenant_metrics = metrics

    def attach(self) -> None:
        super().attach()
        self._follow([informer.store for informer in self.informers if informer.kind == KIND])

    def detach(self) -> None:
        super().detach()
        self._follow(())

    def _follow(self, stores: Iterable[Store]) -> None:
        """Let claims and metrics know the objects of these stores, each of which may come from several sources."""
        known = list(dict.fromkeys(stores))
        self._claims.follow(known)
        self._tenant_metrics.count(known)

    async def run(self) -> None:
        tasks = [asyncio.create_task(self._keep(), name="AWS account")]
        try:
            await self.account.warm_up(WARM_UP)
            await self.predecessor.wait_gone()
            tasks.append(asyncio.create_task(super().run(), name=NAME))
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def shut_down(self) -> None:
        super().shut_down()
        self.predecessor.stop_waiting()

    async def _keep(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.account.run())
            group.create_task(self.predecessor.run())


def tenant_controller(
    services: Services,
    access: AwsAccess,
    cloud_metrics: CloudMetrics,
    registry: CollectorRegistry,
    options: TenantOptions,
) -> TenantController:
    """Everything that it takes to keep DistributionTenants."""
    intervals = options.intervals
    pace = MirrorOptions(intervals.in_progress, intervals.steady, settling=intervals.settling)
    account = Account(access, services.clock, cloud_metrics, options=pace)
    claims = Claims((), options.tenant_name_template, options.cluster, options.guards)
    controller = TenantController(services, account, claims, TenantMetrics(registry), options)
    _listen(controller, account, claims)
    return controller


def _domains(tenant: TenantSummary | None) -> set[str]:
    return {normalise_name(one.domain) for one in tenant.domains} if tenant else set()


def _endpoint(group: ConnectionGroup | None) -> tuple[str, bool] | None:
    """All that tenants care for in a connection group."""
    return None if group is None else (group.routing_endpoint, group.is_default)


def _listen(controller: TenantController, account: Account, claims: Claims) -> None:
    def wake(index: str, value: str) -> None:
        for key in claims.holders(index, value):
            controller.wake(key)

    def on_tenant(_: str, old: TenantSummary | None, new: TenantSummary | None) -> None:
        for name in {tenant.name for tenant in (old, new) if tenant is not None}:
            wake(BY_NAME, name)
        for domain in _domains(old) ^ _domains(new):
            wake(BY_DOMAIN, domain)  # whoever claims it too may have waited for this

    def on_certificate(arn: str, _: Any, __: Any) -> None:
        wake(BY_CERTIFICATE, arn)

    def on_group(_: str, old: ConnectionGroup | None, new: ConnectionGroup | None) -> None:
        if _endpoint(old) != _endpoint(new):
            for key in claims.all_keys():
                controller.wake(key)

    def on_zone(zone: Zone) -> None:
        def on_record(key: RecordKey, _: Record | None, __: Record | None) -> None:
            account.desk.reconsider(key)
            wake(BY_DOMAIN, key.name)

        zone.mirror.subscribe(on_record)

    account.tenants.subscribe(on_tenant)
    account.certificates.subscribe(on_certificate)
    account.groups.subscribe(on_group)
    account.zones.on_new(on_zone)
    account.zones.add_user(claims.uses_zone)
