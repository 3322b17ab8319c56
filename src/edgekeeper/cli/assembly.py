"""Build an operator process from its options: clients, mirrors, controllers and the manager that runs them.

    transport ── client ── informers ─┐
                 elector (own client) ├─ controllers ── manager
    AWS clients ┬─ cloud transport ───┘
    Cloudflare ─┘

All calls to the cluster go through one client, and all calls to clouds through one transport. Both share the call counter,
the dry-run setting and leadership: a process that may not write to the cluster may not write to a cloud either.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from edgekeeper.cli.crds import INSTALL
from edgekeeper.cli.kinds import DEFINITIONS, MODULES, uses
from edgekeeper.cli.reaching import OLDEST_NAMESPACE
from edgekeeper.cli.recorders import recorders_of, replica_identity
from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.cloud.budget import Budget, LaneRate
from edgekeeper.cloud.cloudflare.accounts import Cloudflare, CloudflareOptions
from edgekeeper.cloud.cloudflare.client import BASE_URL
from edgekeeper.cloud.cloudflare.sender import HttpSender, Sender
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import MirrorOptions
from edgekeeper.cloud.rates import DEFAULT_RATES
from edgekeeper.cloud.transport import Transport as CloudTransport
from edgekeeper.controllers.zerotrust.modules import ZERO_TRUST_MODULES
from edgekeeper.controllers.zerotrust.operator_config import ProcessSettings
from edgekeeper.controllers.zerotrust.operator_settings import SettingsFollower
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.core.tracing import NO_TRACES, Tracer
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import NAMESPACE, Key
from edgekeeper.kube.lease import Elector
from edgekeeper.kube.transport import Transport
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.lifecycle.claims_elsewhere import ClaimsElsewhere
from edgekeeper.lifecycle.module import ClaimingModule, Cloud, CommonOptions, FlagValues, KindModule, Process
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.manager import Manager, ManagerOptions, Runnable
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.options import RuntimeOptions
from edgekeeper.runtime.server import Server
from edgekeeper.runtime.traces import open_tracer
from edgekeeper.runtime.watch_metrics import watch_families
from edgekeeper.runtime.webhook_certificate import WebhookCertificate, WebhookService
from edgekeeper.runtime.webhooks import Webhook, validating

if TYPE_CHECKING:
    from edgekeeper.cloud.aws.clients import AwsClients

LEASE_NAME = "edgekeeper"
GATEWAY_GROUP = "gateway.networking.k8s.io"
INSTALL_GATEWAY_API = "install the CustomResourceDefinitions of the Gateway API"
RARELY = timedelta(days=1)
"""How often Cloudflare is listed where nobody asks for drift. What is being changed is read in any case."""


@dataclass(frozen=True)
class OperatorOptions:
    """All options of an operator process."""

    runtime: RuntimeOptions = field(default_factory=RuntimeOptions)
    common: CommonOptions = field(default_factory=CommonOptions)
    rates: dict[str, LaneRate] = field(default_factory=dict)
    """Rate limits that differ from the defaults, by name."""
    values: FlagValues = field(default_factory=dict)
    """The values of the flags of single kinds, by key."""
    modules: tuple[KindModule, ...] = MODULES
    """The kinds that the process reconciles."""
    role: str = ""
    """The role that the process is limited to; empty for all."""
    local_webhooks: bool = False
    """Whether the API server is on this machine and calls webhooks by the address they listen on, without a Service."""
    signals: bool = True
    """Whether to stop on SIGINT and SIGTERM; if not, the caller stops the manager."""
    cloudflare_url: str = BASE_URL
    """The address of Cloudflare's API."""
    link_token: str = ""
    """Opens the status page of a process on this machine; empty where the API server authorizes callers."""
    cloudflare_sender: Sender | None = None
    """Sends requests to Cloudflare. It is made by `assembled` where a kind needs one, and there is none."""


class Operator:
    """An operator process: all its parts, connected and ready to run."""

    def __init__(
        self,
        options: OperatorOptions,
        transport: Transport,
        clients: AwsClients | None,
        clock: Clock,
        host: str,
        tracer: Tracer = NO_TRACES,
    ) -> None:
        runtime = options.runtime
        common = replace(options.common, max_concurrent=runtime.max_concurrent_reconciles, role=options.role)
        self.options = options = replace(options, common=common)
        self.metrics = Metrics()
        self.calls = Calls()
        self.calls.tracer = tracer
        self.client = KubeClient(transport, self.calls, clock, runtime.client_options())
        self.client.observe = self.metrics.requests(host)
        self._recorders = recorders_of(options.modules, self.client, clock)
        self.services = self._services(clock)
        self.cloud_metrics = CloudMetrics(self.metrics.registry)
        self.cloud = self._cloud_transport(clock)
        self.access = None if clients is None else AwsAccess(self.cloud, clients, clock)
        self.process = self._process()
        controllers = [self._controller(module) for module in options.modules]
        self.server = self._server(options, transport, clock, webhooks_of(controllers))
        self.manager = self._manager(controllers, self._elector(options, transport, clock))
        self.server.ready.add("manager", lambda: self.manager.is_ready)
        self._watch_claims_elsewhere()

    def _services(self, clock: Clock) -> Services:
        """What all controllers use of the cluster."""
        informers = Informers(self.client, clock)
        informers.remedies = {
            **{definition.group: INSTALL for definition in DEFINITIONS},
            GATEWAY_GROUP: INSTALL_GATEWAY_API,
        }
        self.metrics.add(partial(watch_families, informers))
        namespaces = self.options.runtime.namespaces
        return Services(
            self.client,
            informers,
            clock,
            self._recorders,
            self.metrics,
            namespaces=namespaces,
            tracer=self.calls.tracer,
        )

    def _cloud_transport(self, clock: Clock) -> CloudTransport:
        return CloudTransport(
            self.calls,
            clock,
            Budget({**DEFAULT_RATES, **self.options.rates}),
            self.cloud_metrics,
            dry_run=self.options.runtime.dry_run,
            leadership=self._confirm_leadership,
        )

    def _process(self) -> Process:
        """What all kinds share."""
        process = Process(
            self.services,
            self.metrics.registry,
            self.options.common,
            aws_account=self._aws_account(self.access, self.cloud_metrics),
            cloudflare_accounts=self._cloudflare(self.cloud, self.cloud_metrics),
        )
        if process.aws_account is not None:
            process.claims.records.connect(process.aws_account.dns)
        return process

    def _manager(self, controllers: Sequence[Controller], elector: Elector | None) -> Manager:
        options = self.options
        manager = Manager(
            self.services,
            controllers,
            elector=elector,
            server=self.server,
            options=ManagerOptions(signals=options.signals, freeze=options.signals),
        )
        manager.add_background(self._background(manager))
        if options.runtime.resync is not None:
            manager.set_resync(options.runtime.resync)
        return manager

    def _watch_claims_elsewhere(self) -> None:
        """Watch what objects claim that processes of other roles reconcile, where ours could claim the same."""
        options = self.options
        if not options.role or not any(isinstance(module, ClaimingModule) for module in options.modules):
            return
        names = {module.name for module in options.modules}
        elsewhere = ClaimsElsewhere(
            self.services,
            self.process.claims,
            [
                module.claims_elsewhere(self.process, options.values)
                for module in MODULES
                if isinstance(module, ClaimingModule) and module.name not in names
            ],
        )
        self.manager.on_namespaces(elsewhere.set_namespaces)
        elsewhere.start()

    def _controller(self, module: KindModule) -> Controller:
        """Build the controller of a kind. It reports events under its own name."""
        services = replace(self.services, recorder=self._recorders.of(module.name))
        return module.build(replace(self.process, services=services), self.options.values)

    def _aws_account(self, access: AwsAccess | None, metrics: CloudMetrics) -> AwsAccount | None:
        if access is None:
            return None
        pace = self.options.common.intervals.pace
        return AwsAccount(access, self.services.clock, metrics, options=pace)

    def _cloudflare(self, cloud: CloudTransport, metrics: CloudMetrics) -> Cloudflare | None:
        sender, common = self.options.cloudflare_sender, self.options.common
        if sender is None:
            return None
        pace = MirrorOptions(
            common.intervals.in_progress,
            common.drift_interval or RARELY,
            settling=common.intervals.settling,
        )
        options = CloudflareOptions(self.options.cloudflare_url, pace)
        return Cloudflare(cloud, sender, self.services.clock, metrics, options)

    def _background(self, manager: Manager) -> Iterator[Runnable]:
        """What runs beside the controllers, while this process leads."""
        if self.process.cloudflare_accounts is not None:
            yield self.process.cloudflare_accounts
        names = {module.name for module in ZERO_TRUST_MODULES}
        if any(module.name in names for module in self.options.modules):
            runtime, common = self.options.runtime, self.options.common
            level = runtime.log.level or os.environ.get("LOG_LEVEL") or "info"
            start = ProcessSettings(level, runtime.namespaces, runtime.resync)
            yield SettingsFollower(self.services.informers, common.namespace, manager, start)

    def preview_process(self) -> Process:
        """The services for previews. They have their own mirrors, since changes in those of controllers requeue objects.

        They have their own watches, which end with a preview. All clients refuse to change anything. Budgets are those of
        the process.
        """
        clock, metrics = self.services.clock, CloudMetrics(CollectorRegistry())
        client = self.client.guarded(_refuse_write)
        cloud = CloudTransport(self.calls, clock, self.cloud.budget, metrics, dry_run=True)
        access = None if self.access is None else AwsAccess(cloud, self.access.clients, clock)
        return replace(
            self.process,
            services=replace(self.services, client=client, informers=Informers(client, clock)),
            claims=Claims(),
            made={},
            registry=CollectorRegistry(),
            aws_account=self._aws_account(access, metrics),
            cloudflare_accounts=self._cloudflare(cloud, metrics),
        )

    def _server(
        self, options: OperatorOptions, transport: Transport, clock: Clock, webhooks: Sequence[Webhook]
    ) -> Server:
        runtime = options.runtime
        service, local = runtime.server.webhook_service, options.local_webhooks
        certificate = None
        if webhooks and (service or local):
            # Every replica serves webhooks, so this client may write without being the leader.
            client = KubeClient(transport, self.calls, clock, runtime.client_options())
            target = WebhookService(options.common.namespace, service or LEASE_NAME, local=local)
            certificate = WebhookCertificate(client, self.services.informers, clock, target, webhooks)
        return Server(runtime.server, self.metrics, self.client, clock, webhooks, certificate)

    def _elector(self, options: OperatorOptions, transport: Transport, clock: Clock) -> Elector | None:
        if not options.runtime.leader_elect:
            return None
        # The elector has its own client: the main one may write only while this process is the leader.
        candidate = KubeClient(transport, self.calls, clock, options.runtime.client_options())
        name = f"{LEASE_NAME}-{options.role}" if options.role else LEASE_NAME
        key = Key(options.common.namespace, name)
        on_change = self.metrics.leadership(name)
        return Elector(candidate, clock, key, replica_identity(), options.runtime.lease, on_change)

    def _confirm_leadership(self) -> None:
        if self.client.leadership is not None:
            self.client.leadership()


def _refuse_write() -> None:
    raise RuntimeError("a preview writes nothing")


def webhooks_of(controllers: Iterable[Controller]) -> list[Webhook]:
    """The validating webhooks of all controllers that have a validator."""
    settings = [controller.options for controller in controllers]
    return [validating(each.kind, each.validator) for each in settings if each.validator is not None]


@asynccontextmanager
async def assembled(
    options: OperatorOptions,
    transport: Transport,
    clients: AwsClients | None,
    *,
    clock: Clock | None = None,
    host: str,
    identify: Callable[[], Awaitable[str]] | None = None,
) -> AsyncIterator[Operator]:
    """Build an operator process, and close its connections at the end.

    `identify` returns the id of the cluster for the ownership tags. By default it is the one in the options, else the uid
    of the namespace kube-system.
    """
    clock = clock or SystemClock()
    needs_sender = options.cloudflare_sender is None and uses(Cloud.CLOUDFLARE, options.modules)
    sender = HttpSender() if needs_sender else None
    tracer = traces = open_tracer(options.runtime.otlp_endpoint)
    if options.runtime.server.web_address is not None:
        from edgekeeper.cli.status_page import journal_of  # noqa: PLC0415 - only processes that serve it load it

        tracer = journal_of(traces, clock)
    try:
        cluster = await (identify() if identify is not None else _cluster_id(options, transport, clock))
        chosen = replace(
            options,
            common=replace(options.common, cluster=cluster),
            cloudflare_sender=sender or options.cloudflare_sender,
        )
        operator = Operator(chosen, transport, clients, clock, host, tracer)
        if options.runtime.server.web_address is not None:
            from edgekeeper.cli.status_page import add_status_page  # noqa: PLC0415 - as above

            add_status_page(operator)
        yield operator
    finally:
        await traces.close()
        if sender is not None:
            await sender.close()
        if clients is not None:
            await clients.close()
        await transport.close()


async def _cluster_id(options: OperatorOptions, transport: Transport, clock: Clock) -> str:
    if options.common.cluster:
        return options.common.cluster
    namespace = await KubeClient(transport, Calls(), clock).get(NAMESPACE, OLDEST_NAMESPACE)
    return str(namespace["metadata"]["uid"])
