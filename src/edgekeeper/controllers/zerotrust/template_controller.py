"""The controller of CloudflareZeroTrustTemplates: shows in their status which routes use them.

A list grows with every route. It is written at most every few seconds, so that many new routes cost few writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import msgspec

from edgekeeper.api.zerotrust import ZeroTrustTemplate
from edgekeeper.controllers.zerotrust.annotations import is_enabled
from edgekeeper.controllers.zerotrust.route_cluster import TEMPLATE_INVALID, Cluster, base_key
from edgekeeper.controllers.zerotrust.route_facts import annotations_of
from edgekeeper.controllers.zerotrust.route_index import (
    BASE,
    DEFAULT_TEMPLATE,
    annotation,
    is_annotated,
    key_of,
)
from edgekeeper.core.clock import Clock
from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.core.outcome import Outcome, StatusWrite, done, requeue
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.controller import Upkeep, UpkeptController
from edgekeeper.runtime.contract import ControllerOptions, Request, Services
from edgekeeper.runtime.sources import Source

TEMPLATE_CONTROLLER: Final = "cloudflarezerotrusttemplate"
ACCEPTED: Final = "Accepted"
DECLARATION: Final = Declaration(
    required=(ACCEPTED,),
    unpublished=(ACCEPTED,),
    ready_reason=ACCEPTED,
    ready_message="the template is valid",
)
WRITE_EVERY: Final = timedelta(seconds=5)


@dataclass(frozen=True)
class TemplateReconciler:
    """Shows which routes use a template."""

    cluster: Cluster
    clock: Clock
    written: dict[Key, float] = field(default_factory=dict)
    """When the status of a template was last written."""

    async def reconcile(self, request: Request) -> Outcome:
        conditions = Conditions.of(DECLARATION, request.object, self.clock.now())
        try:
            request.decode(ZeroTrustTemplate)
            conditions.mark(ACCEPTED, True, ACCEPTED)
        except msgspec.ValidationError as error:
            conditions.mark(ACCEPTED, False, TEMPLATE_INVALID, f"the template does not fit its kind: {error}")
        status = {
            "observedGeneration": request.generation,
            "usedByHTTPRoutes": sorted(str(route) for route in self._users(request.key)),
            "conditions": conditions.to_list(),
        }
        present = dig_object(request.object, "status")
        if present == status:
            return done()
        left = self._pause(request.key)
        if left > timedelta(0) and _without_users(present) == _without_users(status):
            return requeue(left)
        self.written[request.key] = self.clock.monotonic()
        return done().writing(StatusWrite(status))

    async def finalize(self, request: Request) -> Outcome:
        """Templates have no finalizer."""
        return done()

    def explain(self, request: Request, error: PassError) -> Outcome:
        return done()

    def pause(self, request: Request) -> Outcome:
        return done()

    def _pause(self, key: Key) -> timedelta:
        since = self.written.get(key)
        if since is None:
            return timedelta(0)
        return WRITE_EVERY - timedelta(seconds=self.clock.monotonic() - since)

    def _users(self, template: Key) -> Iterator[Key]:
        metadata = {"metadata": {"namespace": template.namespace, "name": template.name}}
        for key in dict.fromkeys(self.cluster.routes_of_template(metadata)):
            route = self.cluster.routes.get(key)
            if route is not None and template in templates_of(self.cluster, route):
                yield key


def templates_of(cluster: Cluster, route: JsonObject) -> list[Key]:
    """The templates that a route uses, as far as they exist."""
    tenant = cluster.tenant_if_known(route) if _is_enabled(route) else None
    if tenant is None:
        return []
    named = cluster.template_key(key_of(route), tenant.key, annotation(route, "template"))
    base = base_key(tenant.key)
    return [key for key in (named, base) if key is not None and cluster.templates.get(key) is not None]


def possible_templates(cluster: Cluster, route: JsonObject) -> Iterator[Key]:
    """The templates whose lists a change of a route may change."""
    if not is_annotated(route):
        return
    name = annotation(route, "template") or DEFAULT_TEMPLATE
    tenant = cluster.tenant_if_known(route)
    places = [key_of(route).namespace, *([tenant.key.namespace] if tenant is not None else [])]
    yield from (Key(namespace, name) for namespace in dict.fromkeys(places))
    if tenant is not None:
        yield base_key(tenant.key)


def templates_in(cluster: Cluster, tenant: JsonObject) -> Iterable[Key]:
    """The templates whose lists a change of a tenant may change: its base template, and those beside it."""
    key = key_of(tenant)
    store = cluster.templates.store(key.namespace)
    if store is None or not store.synced:
        return ()
    beside = [found for found in store.keys() if found.namespace == key.namespace]  # noqa: SIM118 - a store is no dict
    return [found for found in beside if not found.name.startswith(BASE) or found == base_key(key)]


def _is_enabled(route: JsonObject) -> bool:
    try:
        return is_enabled(annotations_of(route))
    except Stall:
        return is_annotated(route)


def _without_users(status: JsonObject) -> JsonObject:
    return {name: value for name, value in status.items() if name != "usedByHTTPRoutes"}


class TemplateController(UpkeptController):
    """The controller of templates."""

    def __init__(
        self,
        options: ControllerOptions,
        reconciler: TemplateReconciler,
        services: Services,
        sources: Iterable[Source],
        upkeep: Upkeep,
    ) -> None:
        self._cluster = reconciler.cluster
        super().__init__(options, reconciler, services, tuple(sources), upkeep)

    def informers_changed(self) -> None:
        self._cluster.follow(self.informers)
