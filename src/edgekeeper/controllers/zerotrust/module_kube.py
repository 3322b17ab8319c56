"""Register the controllers of the role kube-worker with the process: routes, their states and tasks, templates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from edgekeeper.api.definition import CustomKind
from edgekeeper.api.zerotrust import ZERO_TRUST_TEMPLATE
from edgekeeper.api.zerotrust_task import CLOUDFLARE_TASK
from edgekeeper.controllers.zerotrust import rbac
from edgekeeper.controllers.zerotrust.desired import DEFAULT_ORIGIN
from edgekeeper.controllers.zerotrust.kube_worker import (
    ROUTE_CONTROLLER,
    KubeWorkerOptions,
    route_controller,
    routes_elsewhere,
    state_controller,
    task_collector,
    template_controller,
)
from edgekeeper.controllers.zerotrust.predecessor import CLOUDFLARE_ZERO_TRUST_OPERATOR
from edgekeeper.controllers.zerotrust.relations import route_details, route_relations
from edgekeeper.controllers.zerotrust.remedies import REMEDIES
from edgekeeper.controllers.zerotrust.route_index import is_annotated
from edgekeeper.controllers.zerotrust.route_report import MESSAGE, READY, REASON
from edgekeeper.controllers.zerotrust.state_controller import STATE_CONTROLLER, TASK_COLLECTOR
from edgekeeper.controllers.zerotrust.template_controller import TEMPLATE_CONTROLLER
from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.core.readiness import PENDING, Readiness
from edgekeeper.kube.kinds import CONFIG_MAP, HTTP_ROUTE, Key, Kind
from edgekeeper.lifecycle.claims_elsewhere import KindElsewhere
from edgekeeper.lifecycle.module import (
    ClaimingModule,
    Cloud,
    CommonOptions,
    Flag,
    FlagValues,
    KindModule,
    PlannableModule,
    Process,
    Role,
    kind_of,
)
from edgekeeper.lifecycle.preview import Preview
from edgekeeper.lifecycle.relations import Details, Reader, Relation
from edgekeeper.runtime.controller import Controller


class KubeWorkerModule(KindModule):
    """A controller of the role kube-worker. None of them calls a cloud."""

    role: ClassVar = Role.KUBE_WORKER
    remedies: ClassVar = REMEDIES
    predecessor: ClassVar = CLOUDFLARE_ZERO_TRUST_OPERATOR
    clouds: ClassVar = frozenset[Cloud]()


class RouteModule(KubeWorkerModule, PlannableModule, ClaimingModule):
    """HTTPRoutes that are published through Cloudflare."""

    name: ClassVar = ROUTE_CONTROLLER
    foreign_kind: ClassVar[Kind | None] = HTTP_ROUTE
    aliases: ClassVar = ("route", "routes")
    examples: ClassVar = ("zero-trust/30-routes.yaml",)
    rules: ClassVar = rbac.ROUTES
    rules_elsewhere: ClassVar = rbac.ROUTES_ELSEWHERE
    flags: ClassVar = (
        Flag(
            "--default-origin",
            "Where requests go to if neither route, template nor tenant says it; `backend` for the route's backendRefs.",
            metavar="URL",
            default=DEFAULT_ORIGIN,
        ),
        Flag(
            "--dns-only-public",
            "Whether records without a tunnel may have public addresses.",
            metavar="[BOOL]",
            default="false",
            switch=True,
        ),
    )

    def build(self, process: Process, values: FlagValues) -> Controller:
        return route_controller(process.services, process.claims, kube_options(process.options, values))

    def claims_elsewhere(self, process: Process, values: FlagValues) -> KindElsewhere:
        return routes_elsewhere(process.claims, kube_options(process.options, values))

    def concerns(self, obj: JsonObject) -> bool:
        return is_annotated(obj)

    def details(self, obj: JsonObject) -> Details:
        return route_details(obj)

    async def relations(self, obj: JsonObject, reader: Reader) -> Sequence[Relation]:
        return await route_relations(obj, reader)

    async def preview(
        self, process: Process, values: FlagValues, objects: Iterable[JsonObject], keys: Sequence[Key]
    ) -> list[Preview]:
        from edgekeeper.controllers.zerotrust.route_preview import preview_routes  # noqa: PLC0415 # loads the cloudflare-worker

        return await preview_routes(process, kube_options(process.options, values), objects, keys)

    def readiness(self, obj: JsonObject) -> Readiness:
        """By the annotations of the operator; a route that is not published is ready when it exists."""
        if not is_annotated(obj):
            return Readiness(True, "Created")
        annotations = dig_object(obj, "metadata", "annotations")
        if READY not in annotations:
            return PENDING
        reason, message = str(annotations.get(REASON, "")), str(annotations.get(MESSAGE, ""))
        return Readiness(annotations[READY] == "True", reason, message)


class StateModule(KubeWorkerModule):
    """States of routes that are gone."""

    name: ClassVar = STATE_CONTROLLER
    foreign_kind: ClassVar[Kind | None] = CONFIG_MAP
    rules: ClassVar = rbac.COLLECTORS

    def build(self, process: Process, values: FlagValues) -> Controller:
        return state_controller(process.services, kube_options(process.options, values))


class TaskCollectorModule(KubeWorkerModule):
    """Tasks of routes that are gone and never had a state."""

    name: ClassVar = TASK_COLLECTOR
    foreign_kind: ClassVar[Kind | None] = kind_of(CLOUDFLARE_TASK)
    rules: ClassVar = rbac.COLLECTORS

    def build(self, process: Process, values: FlagValues) -> Controller:
        return task_collector(process.services, kube_options(process.options, values))


class TemplateModule(KubeWorkerModule):
    """CloudflareZeroTrustTemplate: which routes use it."""

    name: ClassVar = TEMPLATE_CONTROLLER
    definition: ClassVar[CustomKind | None] = ZERO_TRUST_TEMPLATE
    examples: ClassVar = ("zero-trust/20-templates.yaml",)
    rules: ClassVar = rbac.TEMPLATES

    def build(self, process: Process, values: FlagValues) -> Controller:
        return template_controller(process.services, kube_options(process.options, values))


def kube_options(common: CommonOptions, values: FlagValues) -> KubeWorkerOptions:
    """The options of the controllers, from the common options and the flags of routes."""
    return KubeWorkerOptions(
        operator_namespace=common.namespace,
        default_origin=values.get("default_origin") or DEFAULT_ORIGIN,
        dns_only_public=bool(values.get("dns_only_public")),
        drift_policy=common.drift_policy,
        cleanup_timeout=common.cleanup_timeout,
        max_concurrent=common.max_concurrent,
        intervals=common.intervals,
        hostnames=common.hostnames,
        predecessor_namespace=common.namespace,
        role=Role.KUBE_WORKER,
    )
