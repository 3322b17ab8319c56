"""Build the controllers of the role kube-worker. None of them calls Cloudflare.

route_controller      HTTPRoutes            tasks, states, annotations
state_controller      state ConfigMaps      garbage collection of routes that are gone
task_collector        CloudflareTasks       the same, for routes that never had a state
template_controller   templates             which routes use them

A route is requeued by its own watch, by objects of any kind that claim its hostname, and by changes of what it depends on:
its tenant, its templates, ReferenceGrants, the LoadBalancer Service that it names, its state and its task, and those of
other routes that have its hostname.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Final

from edgekeeper.api.zerotrust import FINALIZER
from edgekeeper.controllers.zerotrust.collector import Collector
from edgekeeper.controllers.zerotrust.desired import DEFAULT_ORIGIN, RouteOptions
from edgekeeper.controllers.zerotrust.predecessor import CLOUDFLARE_ZERO_TRUST_OPERATOR
from edgekeeper.controllers.zerotrust.route_claims import RouteClaims
from edgekeeper.controllers.zerotrust.route_cluster import Cluster
from edgekeeper.controllers.zerotrust.route_effects import Effects
from edgekeeper.controllers.zerotrust.route_facts import Observer
from edgekeeper.controllers.zerotrust.route_index import BY_ROUTE, TASK, TEMPLATE, TENANT
from edgekeeper.controllers.zerotrust.route_reconciler import RouteReconciler
from edgekeeper.controllers.zerotrust.state import STATE_LABELS
from edgekeeper.controllers.zerotrust.state_controller import (
    STATE_CONTROLLER,
    TASK_COLLECTOR,
    CollectingController,
    RouteDeletions,
    StateReconciler,
    TaskReconciler,
    states_of_task,
    tasks_of_state,
)
from edgekeeper.controllers.zerotrust.template_controller import (
    TEMPLATE_CONTROLLER,
    TemplateController,
    TemplateReconciler,
    possible_templates,
    templates_in,
)
from edgekeeper.core.drift import Policy
from edgekeeper.kube.kinds import CONFIG_MAP, HTTP_ROUTE, SERVICE, Key
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.lifecycle.claims_elsewhere import KindElsewhere
from edgekeeper.lifecycle.controller import CLEANUP_TIMEOUT, Upkeep, UpkeptController
from edgekeeper.lifecycle.guards import HostnamePolicy
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.predecessor import Predecessor
from edgekeeper.runtime.contract import ControllerOptions, Services
from edgekeeper.runtime.named_objects import NamedObjects
from edgekeeper.runtime.references import grants_to
from edgekeeper.runtime.sources import Mapped, Scope, Source

ROUTE_CONTROLLER: Final = "httproute"


@dataclass(frozen=True)
class KubeWorkerOptions:
    """The options of the controllers of the role kube-worker."""

    operator_namespace: str = "default"
    """Where tasks and states are, and tenants for everybody."""
    default_origin: str = DEFAULT_ORIGIN
    dns_only_public: bool = False
    drift_policy: Policy = Policy.ENFORCE
    cleanup_timeout: timedelta = CLEANUP_TIMEOUT
    """How long a deletion may fail before the route is released without clean-up; zero for no limit."""
    max_concurrent: int = 16
    intervals: Intervals = field(default_factory=Intervals)
    hostnames: Mapping[str, tuple[str, ...]] | None = None
    """By namespace, the domains below which its routes may have hostnames; None for all."""
    predecessor_namespace: str = ""
    """Where an earlier operator was installed: as long as it runs there, nothing is written."""
    role: str = ""

    @property
    def own(self) -> Scope:
        """The operator's namespace."""
        return Scope(namespaces=(self.operator_namespace,))

    @property
    def shared(self) -> Scope:
        """The watched namespaces, and the operator's."""
        return Scope(also=(self.operator_namespace,))


class RouteController(UpkeptController):
    """The controller of HTTPRoutes."""

    def __init__(
        self,
        services: Services,
        cluster: Cluster,
        claims: Claims,
        observer: Observer,
        options: KubeWorkerOptions,
    ) -> None:
        self.cluster = cluster
        reconciler = RouteReconciler(
            cluster,
            observer,
            Effects(services.client, options.operator_namespace, cluster.unseen_tasks),
            Memory(services.clock),
            services.clock,
            options.drift_policy,
            options.intervals,
            options.cleanup_timeout,
        )
        super().__init__(
            ControllerOptions(
                ROUTE_CONTROLLER,
                HTTP_ROUTE,
                finalizer=FINALIZER,
                max_concurrent=options.max_concurrent,
                role=options.role,
            ),
            reconciler,
            services,
            _route_sources(cluster, options),
            replace(_upkeep(services, options), claims=claims),
        )
        self.use(observer.services)

    def informers_changed(self) -> None:
        self.cluster.follow(self.informers)
        super().informers_changed()


def route_controller(services: Services, claims: Claims, options: KubeWorkerOptions) -> RouteController:
    """Build the controller of HTTPRoutes. `claims` is shared by all kinds of the process."""
    observer = route_observer(services, claims, options)
    return RouteController(services, observer.cluster, claims, observer, options)


def route_observer(services: Services, claims: Claims, options: KubeWorkerOptions) -> Observer:
    """Reads what the cluster says about routes, and registers their claims with those of all kinds."""
    cluster = Cluster(options.operator_namespace)
    return Observer(
        cluster,
        RouteClaims(claims, cluster, HostnamePolicy(options.hostnames)),
        NamedObjects(services.informers, SERVICE),
        services.clock,
        RouteOptions(options.default_origin, options.dns_only_public),
    )


def routes_elsewhere(claims: Claims, options: KubeWorkerOptions) -> KindElsewhere:
    """Register the claims of HTTPRoutes with a process that does not reconcile them. Their states and tasks are the proof."""
    cluster = Cluster(options.operator_namespace)
    RouteClaims(claims, cluster, HostnamePolicy(options.hostnames))
    sources: tuple[Source, ...] = (
        Mapped(HTTP_ROUTE, lambda _: ()),
        Mapped(CONFIG_MAP, lambda _: (), labels=STATE_LABELS, scope=options.own),
        Mapped(TASK, lambda _: (), scope=options.own),
    )
    return KindElsewhere(HTTP_ROUTE, sources, cluster.follow)


def state_controller(services: Services, options: KubeWorkerOptions) -> CollectingController:
    """Build the garbage collector of states."""
    collector = _collector(services, options)
    cluster = collector.cluster

    def of_route(route: Key) -> list[Key]:
        return cluster.states.known_by_index(BY_ROUTE, str(route))

    sources: list[Source] = [
        RouteDeletions(of_route),
        Mapped(TASK, partial(states_of_task, cluster), scope=options.own),
        Mapped(TENANT, cluster.states_of_tenant, scope=options.shared, generation_predicate=True),
    ]
    controller = ControllerOptions(
        STATE_CONTROLLER,
        CONFIG_MAP,
        labels=STATE_LABELS,
        scope=options.own,
        role=options.role,
        log_fields={"tenant": ("data", "tenant_name")},
    )
    return CollectingController(
        controller, StateReconciler(collector), services, sources, _upkeep(services, options)
    )


def task_collector(services: Services, options: KubeWorkerOptions) -> CollectingController:
    """Build the garbage collector of tasks whose routes are gone and never had a state."""
    collector = _collector(services, options)
    cluster = collector.cluster

    def of_route(route: Key) -> list[Key]:
        return cluster.tasks.known_by_index(BY_ROUTE, str(route))

    sources: list[Source] = [
        RouteDeletions(of_route),
        Mapped(CONFIG_MAP, partial(tasks_of_state, cluster), labels=STATE_LABELS, scope=options.own),
        Mapped(TENANT, cluster.tasks_of_tenant, scope=options.shared, generation_predicate=True),
    ]
    controller = ControllerOptions(
        TASK_COLLECTOR,
        TASK,
        scope=options.own,
        role=options.role,
        generation_predicate=False,
        log_fields={"tenant": ("spec", "tenantRef", "name")},
    )
    return CollectingController(
        controller, TaskReconciler(collector), services, sources, _upkeep(services, options)
    )


def template_controller(services: Services, options: KubeWorkerOptions) -> TemplateController:
    """Build the controller of templates."""
    cluster = Cluster(options.operator_namespace)
    sources: list[Source] = [
        Mapped(HTTP_ROUTE, partial(_existing, cluster), generation_predicate=True),
        Mapped(TENANT, partial(templates_in, cluster), scope=options.shared, generation_predicate=True),
    ]
    controller = ControllerOptions(TEMPLATE_CONTROLLER, TEMPLATE, scope=options.shared, role=options.role)
    reconciler = TemplateReconciler(cluster, services.clock)
    return TemplateController(controller, reconciler, services, sources, _upkeep(services, options))


def kube_worker(services: Services, claims: Claims, options: KubeWorkerOptions) -> list[UpkeptController]:
    """All controllers of the role."""
    return [
        route_controller(services, claims, options),
        state_controller(services, options),
        task_collector(services, options),
        template_controller(services, options),
    ]


def _existing(cluster: Cluster, route: dict[str, object]) -> list[Key]:
    return list(possible_templates(cluster, route))


def _route_sources(cluster: Cluster, options: KubeWorkerOptions) -> list[Source]:
    return [
        Mapped(TENANT, cluster.routes_of_tenant, scope=options.shared, generation_predicate=True),
        Mapped(TEMPLATE, cluster.routes_of_template, scope=options.shared, generation_predicate=True),
        grants_to(HTTP_ROUTE, cluster.routes_in),
        Mapped(CONFIG_MAP, cluster.routes_of_state, labels=STATE_LABELS, scope=options.own),
        Mapped(TASK, cluster.routes_of_task, scope=options.own),
    ]


def _collector(services: Services, options: KubeWorkerOptions) -> Collector:
    cluster = Cluster(options.operator_namespace)
    effects = Effects(services.client, options.operator_namespace)
    return Collector(cluster, services.client, effects, services.clock, options.intervals)


def _upkeep(services: Services, options: KubeWorkerOptions) -> Upkeep:
    predecessor = Predecessor(services, CLOUDFLARE_ZERO_TRUST_OPERATOR, options.predecessor_namespace)
    return Upkeep(
        predecessor=predecessor, intervals=options.intervals, cleanup_timeout=options.cleanup_timeout
    )
