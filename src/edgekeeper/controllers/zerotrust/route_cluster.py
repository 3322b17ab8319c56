"""What the cluster says about routes: tenants, templates, grants, states and tasks, and which routes a change concerns.

Who may use what
    tenant      of the route's namespace or the operator's, or of any namespace that the annotation names, unless the
                tenant's `allowedNamespaces` excludes the route's
    template    of the tenant's namespace; only where that has none of the name, of the route's: a user cannot put a
                template of their own in place of the tenant's
    base        `base-<tenant>` of the tenant's namespace, and of no other
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from edgekeeper.api.zerotrust import TemplateSpec, ZeroTrustTemplate, ZeroTrustTenant
from edgekeeper.controllers.zerotrust.route_index import (
    BASE,
    BY_HOSTNAME,
    BY_NAME,
    BY_NAMESPACE,
    BY_ROUTE,
    BY_TEMPLATE,
    BY_TENANT,
    DEFAULT_TEMPLATE,
    ROUTE_INDEXES,
    STATE_INDEXES,
    TASK,
    TASK_INDEXES,
    TEMPLATE,
    TENANT,
    TENANT_INDEXES,
    annotation,
    key_of,
    task_hostnames,
    task_route_key,
)
from edgekeeper.controllers.zerotrust.route_objects import StateObject, TaskObject
from edgekeeper.controllers.zerotrust.state import route_of
from edgekeeper.controllers.zerotrust.unseen_tasks import UnseenTasks
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.informers import Informer
from edgekeeper.kube.kinds import CONFIG_MAP, HTTP_ROUTE, REFERENCE_GRANT, Key, Kind
from edgekeeper.kube.store import NotSyncedError
from edgekeeper.lifecycle.objects import HOSTNAME
from edgekeeper.runtime.references import NOT_GRANTED, Reference, References
from edgekeeper.runtime.views import KindView

TENANT_NOT_FOUND = "TenantNotFound"
TENANT_AMBIGUOUS = "TenantAmbiguous"
TENANT_INVALID = "TenantInvalid"
NAMESPACE_NOT_ALLOWED = "NamespaceNotAllowed"
TEMPLATE_NOT_FOUND = "TemplateNotFound"
TEMPLATE_INVALID = "TemplateInvalid"


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant, decoded."""

    key: Key
    object: ZeroTrustTenant


class Cluster:
    """The objects that routes depend on."""

    def __init__(self, operator_namespace: str) -> None:
        self.operator_namespace = operator_namespace
        self.routes = KindView(HTTP_ROUTE, ROUTE_INDEXES)
        self.tenants = KindView(TENANT, TENANT_INDEXES)
        self.templates = KindView(TEMPLATE)
        self.grants = KindView(REFERENCE_GRANT)
        self.states = KindView(CONFIG_MAP, STATE_INDEXES)
        self.tasks = KindView(TASK, TASK_INDEXES)
        self.unseen_tasks = UnseenTasks()

    def follow(self, informers: Iterable[Informer]) -> None:
        """Read the stores of a controller's informers."""
        watched = list(informers)
        for view in (self.routes, self.tenants, self.templates, self.grants, self.states, self.tasks):
            view.follow(watched)

    # States and tasks

    def state(self, route: Key) -> StateObject | None:
        """The state of a route. Of several, which only people can make, that with the name that comes first."""
        keys = sorted(self.states.by_index(BY_ROUTE, str(route)))
        found = (self.states.get(key) for key in keys)
        return next((StateObject.of(config_map) for config_map in found if config_map is not None), None)

    def task(self, route: Key) -> TaskObject | None:
        """The task of a route."""
        keys = sorted(self.tasks.by_index(BY_ROUTE, str(route)))
        found = (self.tasks.get(key) for key in keys)
        return next((TaskObject.of(task) for task in found if task is not None), None)

    # Tenants

    def tenant(self, route: Key, annotated: str) -> Tenant:
        """The tenant of a route. Raise Stall where there is none that it may use."""
        tenant = self._named(route, annotated) if annotated else self._only(route.namespace)
        allowed = tenant.object.spec.allowed_namespaces
        if allowed is not None and route.namespace not in allowed:
            raise Stall(
                NAMESPACE_NOT_ALLOWED,
                f"tenant {tenant.key} does not allow routes of namespace {route.namespace}: "
                "have it added to spec.allowedNamespaces, or use another tenant",
            )
        return tenant

    def tenant_named(self, key: Key) -> Tenant | None:
        """A tenant by namespace and name, or None. Raise Stall where it makes no sense."""
        try:
            found = self.tenants.decode(key, ZeroTrustTenant)
        except msgspec.ValidationError as error:
            raise Stall(TENANT_INVALID, f"tenant {key} does not fit its kind: {error}") from error
        return None if found is None else Tenant(key, found)

    def recorded_tenant_keys(self, route: Key, name: str) -> list[Key]:
        """Where a tenant may be of which an earlier operator recorded the name only: those looked in all namespaces."""
        everywhere = sorted(self.tenants.by_index(BY_NAME, name))
        near = self.tenant_keys(route, name)
        return list(dict.fromkeys([*near, *everywhere])) if len(everywhere) == 1 else near

    def tenant_keys(self, route: Key, annotated: str) -> list[Key]:
        """Where the annotated tenant may be."""
        namespace, slash, name = annotated.partition("/")
        if slash:
            return [Key(namespace, name)]
        return list(dict.fromkeys([Key(route.namespace, annotated), Key(self.operator_namespace, annotated)]))

    def _named(self, route: Key, annotated: str) -> Tenant:
        for key in self.tenant_keys(route, annotated):
            if (tenant := self.tenant_named(key)) is not None:
                return tenant
        looked = " nor ".join(str(key) for key in self.tenant_keys(route, annotated))
        raise Stall(TENANT_NOT_FOUND, f"there is no CloudflareZeroTrustTenant {looked}")

    def _only(self, namespace: str) -> Tenant:
        keys = sorted(self.tenants.by_index(BY_NAMESPACE, namespace))
        if len(keys) > 1:
            names = ", ".join(key.name for key in keys)
            raise Stall(
                TENANT_AMBIGUOUS,
                f"namespace {namespace} has several tenants ({names}): "
                "name one in the annotation cfzt.cloudflare.com/tenant",
            )
        tenant = self.tenant_named(keys[0]) if keys else None
        if tenant is None:
            raise Stall(
                TENANT_NOT_FOUND,
                f"namespace {namespace} has no CloudflareZeroTrustTenant: "
                "name one in the annotation cfzt.cloudflare.com/tenant",
            )
        return tenant

    # Templates

    def template(self, route: Key, tenant: Key, annotated: str) -> TemplateSpec | None:
        """The route's template. Raise Stall where it names one that does not exist."""
        key = self.template_key(route, tenant, annotated)
        if key is not None:
            return self._template(key)
        if not annotated:
            return None
        places = " nor in ".join(dict.fromkeys((tenant.namespace, route.namespace)))
        raise Stall(
            TEMPLATE_NOT_FOUND, f"there is no CloudflareZeroTrustTemplate {annotated} in namespace {places}"
        )

    def template_key(self, route: Key, tenant: Key, annotated: str) -> Key | None:
        """Where the route's template is, or None where there is none."""
        name = annotated or DEFAULT_TEMPLATE
        places = (tenant.namespace, route.namespace) if annotated else (tenant.namespace,)
        keys = [Key(namespace, name) for namespace in dict.fromkeys(places)]
        return next((key for key in keys if self.templates.get(key) is not None), None)

    def base_template(self, tenant: Key) -> TemplateSpec | None:
        """The tenant's base template."""
        return self._template(base_key(tenant))

    def _template(self, key: Key) -> TemplateSpec | None:
        try:
            found = self.templates.decode(key, ZeroTrustTemplate)
        except msgspec.ValidationError as error:
            raise Stall(TEMPLATE_INVALID, f"template {key} does not fit its kind: {error}") from error
        return None if found is None else found.spec

    # References

    def resolve(self, route: Key, target: Kind, namespace: str, name: str) -> Key:
        """The key of an object that a route refers to. Raise Stall where that is not granted."""
        reference = Reference(HTTP_ROUTE, route.namespace, target, name, namespace)
        store = self.grants.store(namespace or route.namespace)
        if store is not None:
            return References(store).resolve(reference)
        if namespace in ("", route.namespace):
            return Key(route.namespace, name)
        raise Stall(
            NOT_GRANTED,
            f"namespace {namespace} is not watched, so whether it grants references is unknown: "
            "add it to the watched namespaces",
        )

    # Which routes a change concerns: only those that are known, since others have their first pass coming

    def routes_of_tenant(self, tenant: JsonObject) -> Iterator[Key]:
        """The routes that name a tenant, and those that something was published for with it."""
        yield from self._users_of(key_of(tenant))
        states = (self.states.get(key) for key in self.states_of_tenant(tenant))
        yield from (Key(*route) for state in states if state is not None and (route := route_of(state)))
        tasks = (self.tasks.get(key) for key in self.tasks_of_tenant(tenant))
        yield from (route for task in tasks if task is not None and (route := task_route_key(task)))

    def states_of_tenant(self, tenant: JsonObject) -> list[Key]:
        return self.states.known_by_index(BY_TENANT, key_of(tenant).name)

    def tasks_of_tenant(self, tenant: JsonObject) -> list[Key]:
        return self.tasks.known_by_index(BY_TENANT, key_of(tenant).name)

    def routes_of_template(self, template: JsonObject) -> Iterator[Key]:
        key = key_of(template)
        yield from self._visible(self.routes.known_by_index(BY_TEMPLATE, key.name), key.namespace)
        yield from self.routes.known_by_index(BY_TEMPLATE, str(key))
        if key.name.startswith(BASE):
            yield from self._users_of(Key(key.namespace, key.name.removeprefix(BASE)))

    def routes_in(self, namespace: str) -> Iterable[Key]:
        return self.routes.known_by_index(BY_NAMESPACE, namespace)

    def routes_of_state(self, config_map: JsonObject) -> Iterator[Key]:
        """The route of a state, and those that wait for one of its hostnames."""
        found = route_of(config_map)
        if found is not None:
            yield Key(*found)
            for hostname in STATE_INDEXES[BY_HOSTNAME](config_map):
                yield from self.claimants(hostname)

    def routes_of_task(self, task: JsonObject) -> Iterator[Key]:
        """The route of a task, and those that wait for one of its hostnames."""
        self.unseen_tasks.show(task)
        key = task_route_key(task)
        if key is not None:
            yield key
            for hostname in task_hostnames(task):
                yield from self.claimants(hostname)

    def claimants(self, hostname: str) -> list[Key]:
        """The routes that ask for a hostname."""
        try:
            return self.routes.known_by_index(HOSTNAME, hostname)
        except KeyError:
            return []  # claims are not followed

    def _users_of(self, tenant: Key) -> Iterator[Key]:
        yield from self._visible(self.routes.known_by_index(BY_TENANT, tenant.name), tenant.namespace)
        yield from self.routes.known_by_index(BY_TENANT, str(tenant))
        yield from self.routes.known_by_index(BY_TENANT, f"@{tenant.namespace}")

    def _visible(self, routes: Iterable[Key], namespace: str) -> Iterator[Key]:
        """Those of the routes for which a name without a namespace may mean an object of this namespace."""
        everywhere = namespace == self.operator_namespace
        return (route for route in routes if everywhere or route.namespace == namespace)

    def tenant_if_known(self, route: JsonObject) -> Tenant | None:
        """The tenant of a route, or None where that is not known. For display."""
        try:
            return self.tenant(key_of(route), annotation(route, "tenant"))
        except (Stall, NotSyncedError):
            return None


def base_key(tenant: Key) -> Key:
    """Where the base template of a tenant is."""
    return Key(tenant.namespace, f"{BASE}{tenant.name}")
