"""A process of the operator, put together from its options: clients, mirrors, controllers, and the manager over them.

    transport ── client ── informers ─┐
                 elector (own client) ├─ controllers ── manager
    AWS clients ── cloud transport ───┘

Both choke points share one numbering of calls, one dry run and one leadership: what may not write to the cluster may not
write to a cloud either.
"""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import uuid4

from edgekeeper.cli.reaching import OLDEST_NAMESPACE
from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.clients import AwsClients
from edgekeeper.cloud.budget import Budget, LaneRate
from edgekeeper.cloud.lanes import DEFAULT_RATES
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.transport import Transport as CloudTransport
from edgekeeper.controllers.cloudfront.wiring import TenantController, TenantOptions, tenant_controller
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.event_facts import Reporter
from edgekeeper.kube.events import Recorder
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import NAMESPACE, Key
from edgekeeper.kube.lease import Elector
from edgekeeper.kube.transport import Transport
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.manager import Manager, ManagerOptions
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.options import RuntimeOptions
from edgekeeper.runtime.server import Server
from edgekeeper.runtime.watch_metrics import watch_families
from edgekeeper.runtime.webhook_certificate import WebhookCertificate, WebhookService
from edgekeeper.runtime.webhooks import Webhook, validating

LEASE_NAME = "edgekeeper"
EVENT_REPORTER = "distributiontenant-controller"


@dataclass(frozen=True)
class OperatorOptions:
    """Everything that a process of the operator can be told."""

    runtime: RuntimeOptions = field(default_factory=RuntimeOptions)
    tenants: TenantOptions = field(default_factory=TenantOptions)
    rates: dict[str, LaneRate] = field(default_factory=dict)
    """Budgets that differ from the defaults, by lane."""
    namespace: str = "default"
    """Where the lease is."""
    local_webhooks: bool = False
    """The API server is on this machine: let it call our webhooks where they listen."""
    signals: bool = True
    """Stop when the process is asked to; otherwise somebody else tells us."""


class Operator:
    """One process."""

    def __init__(
        self, options: OperatorOptions, transport: Transport, clients: AwsClients, clock: Clock, host: str
    ) -> None:
        runtime = options.runtime
        self.options = options
        self.metrics = Metrics()
        self.calls = Calls()
        self.client = KubeClient(transport, self.calls, clock, runtime.client_options())
        self.client.observe = self.metrics.requests(host)
        self.services = Services(
            self.client,
            Informers(self.client, clock),
            clock,
            Recorder(self.client, clock, Reporter(EVENT_REPORTER, _identity())),
            self.metrics,
            namespaces=runtime.namespaces,
        )
        self.metrics.add(partial(watch_families, self.services.informers))
        cloud_metrics = CloudMetrics(self.metrics.registry)
        self.cloud = CloudTransport(
            self.calls,
            clock,
            Budget({**DEFAULT_RATES, **options.rates}),
            cloud_metrics,
            dry_run=runtime.dry_run,
            leadership=self._confirm_leadership,
        )
        self.access = access = AwsAccess(self.cloud, clients, clock)
        tenants = replace(
            options.tenants,
            max_concurrent=runtime.max_concurrent_reconciles,
            predecessor_namespace=options.tenants.predecessor_namespace or options.namespace,
        )
        self.tenants: TenantController = tenant_controller(
            self.services, access, cloud_metrics, self.metrics.registry, tenants
        )
        controllers = [self.tenants]
        self.server = self._server(options, transport, clock, webhooks_of(controllers))
        self.manager = Manager(
            self.services,
            controllers,
            elector=self._elector(options, transport, clock),
            server=self.server,
            options=ManagerOptions(signals=options.signals, freeze=options.signals),
        )
        self.server.ready.add("manager", lambda: self.manager.is_ready)

    def _server(
        self, options: OperatorOptions, transport: Transport, clock: Clock, webhooks: Sequence[Webhook]
    ) -> Server:
        runtime = options.runtime
        service, local = runtime.server.webhook_service, options.local_webhooks
        certificate = None
        if webhooks and (service or local):
            # Its client writes without leading: every replica serves webhooks.
            client = KubeClient(transport, self.calls, clock, runtime.client_options())
            known = WebhookService(options.namespace, service or LEASE_NAME, local=local)
            certificate = WebhookCertificate(client, self.services.informers, clock, known, webhooks)
        return Server(runtime.server, self.metrics, self.client, clock, webhooks, certificate)

    def _elector(self, options: OperatorOptions, transport: Transport, clock: Clock) -> Elector | None:
        if not options.runtime.leader_elect:
            return None
        # Of its own, since whoever must lead in order to write could never begin to lead.
        candidate = KubeClient(transport, self.calls, clock, options.runtime.client_options())
        key = Key(options.namespace, LEASE_NAME)
        on_change = self.metrics.leadership(LEASE_NAME)
        return Elector(candidate, clock, key, _identity(), options.runtime.lease, on_change)

    def _confirm_leadership(self) -> None:
        if self.client.leadership is not None:
            self.client.leadership()


def webhooks_of(controllers: Iterable[Controller]) -> list[Webhook]:
    """The admission webhooks of those controllers that have rules for their kinds."""
    settings = [controller.options for controller in controllers]
    return [validating(each.kind, each.validator) for each in settings if each.validator is not None]


@asynccontextmanager
async def assembled(
    options: OperatorOptions,
    transport: Transport,
    clients: AwsClients,
    *,
    clock: Clock | None = None,
    host: str,
    identify: Callable[[], Awaitable[str]] | None = None,
) -> AsyncIterator[Operator]:
    """A process of the operator, ready to run. Both ways out are closed in the end.

    `identify` finds out the id of the cluster, which marks what we create. By default it is the one that the options
    give, else the uid of the oldest namespace.
    """
    clock = clock or SystemClock()
    try:
        cluster = await (identify() if identify is not None else _cluster_id(options, transport, clock))
        chosen = replace(options, tenants=replace(options.tenants, cluster=cluster))
        yield Operator(chosen, transport, clients, clock, host)
    finally:
        await clients.close()
        await transport.close()


async def _cluster_id(options: OperatorOptions, transport: Transport, clock: Clock) -> str:
    if options.tenants.cluster:
        return options.tenants.cluster
    namespace = await KubeClient(transport, Calls(), clock).get(NAMESPACE, OLDEST_NAMESPACE)
    return str(namespace["metadata"]["uid"])


def _identity() -> str:
    """Who we are among the replicas: the pod, and this process of it."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{uuid4()}"
