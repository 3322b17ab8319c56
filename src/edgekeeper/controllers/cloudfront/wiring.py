"""Build the controller of DistributionTenants. An object is requeued by

its own watch                        spec, annotations, deletion
objects with the same claim          of any kind, when they change (`lifecycle.objects`)
the mirror of tenants                a change in CloudFront, by tenant name
the mirror of certificates           a certificate is issued or fails, by its ARN
the writer of a zone                 a batch is done
the mirror of connection groups      an endpoint appears or changes

Changes of records wake the objects of all kinds (`RecordClaims.connect`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final

from prometheus_client import CollectorRegistry

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT, FINALIZER
from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.cloud.aws.distributions import ConnectionGroup
from edgekeeper.cloud.aws.tenants import TenantSummary
from edgekeeper.controllers.cloudfront.account import CloudFrontAccount
from edgekeeper.controllers.cloudfront.claims import (
    CERTIFICATE,
    TENANT_NAME,
    TenantClaims,
    TenantProof,
)
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.kind import TenantKind
from edgekeeper.controllers.cloudfront.metrics import TenantMetrics
from edgekeeper.controllers.cloudfront.observe import Observer
from edgekeeper.controllers.cloudfront.perform import Performer
from edgekeeper.controllers.cloudfront.predecessor import CLOUDFRONT_TENANT_OPERATOR
from edgekeeper.lifecycle.claims import HOSTNAME, Claims
from edgekeeper.lifecycle.controller import ExternalController, Upkeep
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.module import KindOptions, kind_of
from edgekeeper.lifecycle.naming import NameTemplate
from edgekeeper.lifecycle.predecessor import Predecessor
from edgekeeper.runtime.contract import ControllerOptions, Services

KIND: Final = kind_of(DISTRIBUTION_TENANT)
NAME: Final = "distributiontenant"
WARM_UP: Final = timedelta(seconds=30)
"""How long the first passes wait for the first listings. After that, passes start and report what is not listed yet."""


@dataclass(frozen=True)
class TenantOptions(KindOptions):
    """The options of the controller."""

    tenant_name_template: str = "{name}"
    guards: Guards = field(default_factory=Guards)


class TenantController(ExternalController):
    """The controller of DistributionTenants."""

    def __init__(
        self,
        services: Services,
        account: CloudFrontAccount,
        claims: Claims,
        metrics: TenantMetrics,
        options: TenantOptions,
    ) -> None:
        memory = Memory(services.clock)
        predecessor = Predecessor(services, CLOUDFRONT_TENANT_OPERATOR, options.predecessor_namespace)
        super().__init__(
            ControllerOptions(NAME, KIND, finalizer=FINALIZER, max_concurrent=options.max_concurrent),
            tenant_kind(account, memory, claims, options),
            services,
            metrics,
            memory=memory,
            upkeep=Upkeep(
                [account],
                partial(account.warm_up, WARM_UP),
                predecessor,
                options.intervals,
                claims,
                options.cleanup_timeout,
            ),
        )
        self.account = account


def tenant_controller(
    services: Services,
    aws: AwsAccount,
    registry: CollectorRegistry,
    options: TenantOptions,
    claims: Claims,
) -> TenantController:
    """Build the controller with its mirrors and subscriptions. `aws` and `claims` are shared by all kinds of the process."""
    account = CloudFrontAccount(aws)
    controller = TenantController(services, account, claims, TenantMetrics(registry), options)
    _listen(account, claims)
    return controller


def tenant_kind(
    account: CloudFrontAccount, memory: Memory, claims: Claims, options: TenantOptions
) -> TenantKind:
    """Build the kind, and register its claims with those of all kinds."""
    tenants = tenant_claims(claims, account, options)
    observer = Observer(
        account,
        memory,
        tenants,
        options.guards,
        options.cluster,
        options.lost_clusters,
        options.drift_policy,
    )
    return TenantKind(observer, Performer(account))


def tenant_claims(claims: Claims, account: CloudFrontAccount, options: TenantOptions) -> TenantClaims:
    """Register the claims of DistributionTenants with those of all kinds."""
    names = NameTemplate(options.tenant_name_template, options.cluster)
    proof = TenantProof(account.tenants, names, options.lost_clusters)
    return TenantClaims(claims, KIND, names, options.guards, proof)


def _served(tenant: TenantSummary | None) -> frozenset[str]:
    return tenant.served if tenant else frozenset()


def _endpoint(group: ConnectionGroup | None) -> tuple[str, bool] | None:
    """The fields of a connection group that tenants depend on."""
    return None if group is None else (group.routing_endpoint, group.is_default)


def _listen(account: CloudFrontAccount, claims: Claims) -> None:
    objects = claims.objects

    def on_tenant(_: str, old: TenantSummary | None, new: TenantSummary | None) -> None:
        for name in {tenant.name for tenant in (old, new) if tenant is not None}:
            objects.wake(TENANT_NAME, name)
        for domain in _served(old) ^ _served(new):
            objects.wake(HOSTNAME, domain)  # another object that claims it may be waiting for this

    def on_certificate(arn: str, _: Any, __: Any) -> None:
        objects.wake(CERTIFICATE, arn)

    def on_group(_: str, old: ConnectionGroup | None, new: ConnectionGroup | None) -> None:
        if _endpoint(old) != _endpoint(new):
            objects.wake_kind(KIND)

    account.tenants.subscribe(on_tenant)
    account.certificates.mirror.subscribe(on_certificate)
    account.groups.subscribe(on_group)
