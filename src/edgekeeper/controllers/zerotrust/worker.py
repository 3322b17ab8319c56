"""The controllers of the cloudflare-worker: the only part of Zero Trust that calls Cloudflare, reads API tokens and writes
the Secrets of service tokens.

    worker = CloudflareWorker(services, cloudflare, registry, options)        one per process
    manager = Manager(services, [worker.tasks(), worker.drift(), worker.tenants()])

They share the mirrors of accounts (`cloudflare`), which run while the controller of tasks does, and the API tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from prometheus_client import CollectorRegistry

from edgekeeper.api.zerotrust import ZERO_TRUST_TENANT
from edgekeeper.api.zerotrust_task import CLOUDFLARE_TASK
from edgekeeper.cloud.cloudflare.accounts import Cloudflare
from edgekeeper.controllers.zerotrust.credentials import ApiTokens
from edgekeeper.controllers.zerotrust.doubts import Doubts
from edgekeeper.controllers.zerotrust.drift import DriftController, DriftReconciler
from edgekeeper.controllers.zerotrust.metrics import WorkerMetrics
from edgekeeper.controllers.zerotrust.observe import Observer
from edgekeeper.controllers.zerotrust.owner import LostCluster
from edgekeeper.controllers.zerotrust.perform import Performer, Submitted
from edgekeeper.controllers.zerotrust.task_kind import TaskKind
from edgekeeper.controllers.zerotrust.task_preview import TaskPreviews
from edgekeeper.controllers.zerotrust.tenant_kind import TenantController, TenantReconciler
from edgekeeper.controllers.zerotrust.token_secrets import TokenSecrets
from edgekeeper.kube.kinds import CONFIG_MAP, Kind
from edgekeeper.lifecycle.controller import ExternalController, Upkeep
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.runtime.contract import ControllerOptions, Services
from edgekeeper.runtime.sources import Mapped, Scope

TASK: Final = Kind(
    CLOUDFLARE_TASK.group, CLOUDFLARE_TASK.version, CLOUDFLARE_TASK.kind, CLOUDFLARE_TASK.plural
)
TENANT: Final = Kind(
    ZERO_TRUST_TENANT.group, ZERO_TRUST_TENANT.version, ZERO_TRUST_TENANT.kind, ZERO_TRUST_TENANT.plural
)
STATE_LABELS: Final = "cfzt.cloudflare.com/httproute-name"
"""The selector of state ConfigMaps: all generations have this label."""
ROLE: Final = "cloudflare-worker"


@dataclass(frozen=True)
class WorkerOptions:
    """The options of the controllers."""

    cluster: str = ""
    """The id of the cluster in our marks. There must be one before anything is created."""
    namespace: str = "default"
    """The operator's own, where tasks and states are."""
    worker: str = "cloudflare-worker"
    """The name of this worker in the status of tasks: that of its pod."""
    drift_interval: timedelta = timedelta(minutes=5)
    """How often what was applied is compared with what is there; zero for never."""
    poll_interval: timedelta = timedelta(minutes=5)
    """How often the token and the tunnel of a tenant are looked at."""
    max_concurrent: int = 16
    intervals: Intervals = field(default_factory=Intervals)
    lost_clusters: frozenset[str] = frozenset()
    """The clusters whose routes are replaced by ours of the same namespace and name."""


class CloudflareWorker:
    """Makes the controllers, each once. Each may have services of its own, with its own recorder of events."""

    def __init__(
        self, services: Services, cloudflare: Cloudflare, registry: CollectorRegistry, options: WorkerOptions
    ) -> None:
        self._services = services
        self._cloudflare = cloudflare
        self._options = options
        self._metrics = WorkerMetrics(registry)
        self._tokens = ApiTokens()
        self._doubts = Doubts()
        secrets = TokenSecrets(services.client)
        lost = tuple(LostCluster(id_) for id_ in sorted(options.lost_clusters))
        self._observer = Observer(
            options.cluster, options.worker, services.clock, secrets, self._doubts, lost
        )
        self._secrets = secrets
        self._scope = Scope(namespaces=(options.namespace,))
        cloudflare.add_user(self._tokens.is_used)

    def tasks(self, services: Services | None = None) -> ExternalController:
        """The controller that carries out tasks."""
        services, options = services or self._services, self._options
        memory = Memory(services.clock)
        outbox: Submitted = Submitted(services.clock)
        users = self._tokens.users(services.informers)
        performer = Performer(self._secrets, outbox, self._doubts)
        controller = ExternalController(
            ControllerOptions(
                "cloudflaretask",
                TASK,
                scope=self._scope,
                role=ROLE,
                log_level=("spec", "logLevel"),
                log_fields={"tenant": ("spec", "tenantRef", "name")},
                max_concurrent=options.max_concurrent,
            ),
            TaskKind(self._cloudflare, users, self._observer, performer, memory),
            services,
            self._metrics,
            memory=memory,
            upkeep=Upkeep([self._cloudflare], intervals=options.intervals),
        )
        controller.use(users.secrets)
        return controller

    def drift(self, services: Services | None = None) -> DriftController:
        """The controller that compares what was applied with what is there."""
        services, options = services or self._services, self._options
        users = self._tokens.users(services.informers)
        reconciler = DriftReconciler(
            self._cloudflare, users, self._observer, self._metrics, options.drift_interval
        )
        controller = DriftController(
            ControllerOptions(
                "cloudflaredrift",
                CONFIG_MAP,
                STATE_LABELS,
                self._scope,
                role=ROLE,
                log_fields={"tenant": ("data", "tenant_name")},
                max_concurrent=options.max_concurrent,
            ),
            reconciler,
            services,
            [Mapped(TASK, reconciler.states_of_task, scope=self._scope)],
        )
        controller.use(users.secrets)
        return controller

    def tenants(self, services: Services | None = None) -> TenantController:
        """The controller that reports the state of tenants."""
        services, options = services or self._services, self._options
        users = self._tokens.users(services.informers)
        reconciler = TenantReconciler(
            self._cloudflare, users, services.clock, options.namespace, options.poll_interval
        )
        controller = TenantController(
            ControllerOptions(
                "cloudflarezerotrusttenant",
                TENANT,
                scope=Scope(also=(options.namespace,)),
                role=ROLE,
                log_level=("spec", "logLevel"),
                log_fields={"tenant": ("metadata", "name")},
            ),
            reconciler,
            services,
            [Mapped(CONFIG_MAP, lambda _: (), STATE_LABELS, self._scope)],
        )
        controller.use(users.secrets)
        return controller

    def previews(self) -> TaskPreviews:
        """What carrying out tasks would take."""
        users = self._tokens.users(self._services.informers)
        return TaskPreviews(self._cloudflare, users, self._observer)

    def tenant_reports(self) -> TenantReconciler:
        """What would be reported about tenants."""
        services, options = self._services, self._options
        users = self._tokens.users(services.informers)
        return TenantReconciler(
            self._cloudflare, users, services.clock, options.namespace, options.poll_interval
        )
