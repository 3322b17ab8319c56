"""Collects everything that a decision about a route depends on, from the stores of the controller. No call is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from msgspec import structs

from edgekeeper.api.zerotrust_task import InventoryItem, RouteRef
from edgekeeper.controllers.zerotrust.annotations import RouteAnnotations, is_enabled, parse_annotations
from edgekeeper.controllers.zerotrust.desired import (
    RouteContext,
    RouteNames,
    RouteOptions,
    build_task,
    fingerprint,
    hostnames_of,
    referenced_services,
)
from edgekeeper.controllers.zerotrust.dns_only import load_balancer_of
from edgekeeper.controllers.zerotrust.legacy_state import Left, annotated_ids, written_ids
from edgekeeper.controllers.zerotrust.names import token_name
from edgekeeper.controllers.zerotrust.origin import BACKEND
from edgekeeper.controllers.zerotrust.route_claims import RouteClaims
from edgekeeper.controllers.zerotrust.route_cluster import Cluster, Tenant
from edgekeeper.controllers.zerotrust.route_index import BY_NAME, BY_TOKEN, key_of, token_value
from edgekeeper.controllers.zerotrust.route_objects import StateObject, TaskObject
from edgekeeper.controllers.zerotrust.route_situation import Facts, Wanted
from edgekeeper.controllers.zerotrust.settings import Settings, merge
from edgekeeper.controllers.zerotrust.state import Origin, RouteState
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Wait
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.kinds import SERVICE, Key
from edgekeeper.runtime.named_objects import NamedObjects

SERVICE_NOT_FOUND = "ServiceNotFound"
KOPF_FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
_SERVICE_RETRY = timedelta(seconds=30)
_TOKEN_ID = "service_token_id"  # noqa: S105 - a key


@dataclass(frozen=True)
class Observer:
    """Reads what the cluster says about a route."""

    cluster: Cluster
    claims: RouteClaims
    services: NamedObjects
    """LoadBalancer Services that DNS-only routes refer to."""
    clock: Clock
    options: RouteOptions

    def known(self, route: JsonObject) -> Facts:
        """What exists because of a route, whatever is wanted of it."""
        key = key_of(route)
        reference = RouteRef(key.name, key.namespace, str(dig(route, "metadata", "uid") or ""))
        state, task = self.cluster.state(key), self.cluster.task(key)
        facts = Facts(reference, self.clock.now(), state, task)
        left = left_behind(route, reference, state.state if state is not None else None)
        return replace(facts, left=tuple(left))

    def is_enabled(self, route: JsonObject) -> bool:
        """Whether a route is to be published. Raise Stall where its annotations do not say that clearly."""
        return is_enabled(annotations_of(route))

    # What is wanted

    async def wanted(self, route: JsonObject, facts: Facts) -> Wanted:
        """What a route is to have. Raise Stall or Wait where somebody must act first."""
        key, annotations = key_of(route), annotations_of(route)
        parsed = parse_annotations(annotations)
        tenant = self.cluster.tenant(key, parsed.tenant)
        settings = self._settings(key, parsed, tenant)
        await self.claims.confirm(route, hostnames_of(route))
        spec = build_task(self._context(route, facts, tenant, settings))
        hash_ = fingerprint(annotations, structs.replace(spec, adopt=False))
        return Wanted(structs.replace(spec, log_level=tenant.object.spec.log_level), hash_)

    def _settings(self, key: Key, parsed: RouteAnnotations, tenant: Tenant) -> Settings:
        base_name = f"base-{tenant.key.name}"
        return merge(
            parsed,
            self.cluster.template(key, tenant.key, parsed.template),
            self.cluster.base_template(tenant.key),
            tenant.object.spec.defaults,
            base_name=base_name,
        )

    def _context(self, route: JsonObject, facts: Facts, tenant: Tenant, settings: Settings) -> RouteContext:
        key, options = key_of(route), self._options(facts)
        services = referenced_services(route, settings, options)
        granted = frozenset(
            self.cluster.resolve(key, SERVICE, service.namespace, service.name) for service in services
        )
        hostname = next(iter(hostnames_of(route)), "")
        return RouteContext(
            route,
            tenant.object,
            tenant.key,
            settings,
            granted,
            self._load_balancer(key, load_balancer_of(settings, key.namespace)),
            options,
            protected=_is_protected(facts),
            names=self._names(facts, tenant.object.spec.account_id, hostname),
        )

    def _options(self, facts: Facts) -> RouteOptions:
        """The operator's options. Routes of v0.2, which had no default origin, keep theirs: that of their backends."""
        is_of_v0_2 = facts.state is not None and facts.state.state.is_of_v0_2
        return replace(self.options, default_origin=BACKEND) if is_of_v0_2 else self.options

    def _load_balancer(self, user: Key, service: Key | None) -> tuple[str, ...]:
        """The addresses of the Service that a route in DNS-only mode refers to."""
        self.services.use(user, [service] if service is not None else [])
        if service is None:
            return ()
        found = self.services.get(service)
        if found is None:
            raise Wait(_SERVICE_RETRY, SERVICE_NOT_FOUND, f"Service {service} does not exist")
        ingress = dig_list(found, "status", "loadBalancer", "ingress")
        texts = [dig(entry, "ip") or dig(entry, "hostname") for entry in ingress]
        return tuple(text for text in texts if isinstance(text, str) and text)

    # Names

    def _names(self, facts: Facts, account: str, hostname: str) -> RouteNames:
        """The names that the route has, or is to get."""
        names = RouteNames.of(facts.route.name)
        kept = self._kept_names(facts, names, hostname)
        if kept is not None:
            return kept
        is_taken = self._is_token_taken(facts, token_value(account, names.service_token))
        if not is_taken:
            return names
        return replace(
            names, service_token=token_name(facts.route.namespace, facts.route.name, is_taken=True)
        )

    def _kept_names(self, facts: Facts, names: RouteNames, hostname: str) -> RouteNames | None:
        applied = facts.state.state.applied if facts.state is not None else None
        queued = facts.task.spec if facts.task is not None else None
        for spec in (queued, applied):
            if spec is not None and spec.operations.service_token.enabled:
                token = spec.operations.service_token
                return replace(
                    names,
                    service_token=token.name,
                    secret=token.secret_name,
                    client_id_key=token.client_id_key,
                    client_secret_key=token.client_secret_key,
                )
        return _left_names(facts, names, hostname)

    def _is_token_taken(self, facts: Facts, value: str) -> bool:
        """Whether another route has a token of the name, or will have, since it is older and has the same name."""
        key = Key(facts.route.namespace, facts.route.name)
        tasks = [self.cluster.tasks.get(found) for found in self.cluster.tasks.by_index(BY_TOKEN, value)]
        states = [self.cluster.states.get(found) for found in self.cluster.states.by_index(BY_TOKEN, value)]
        users = [TaskObject.of(task).spec for task in tasks if task is not None]
        users += [StateObject.of(state).state.applied for state in states if state is not None]
        if any(
            (user.httproute_ref.namespace, user.httproute_ref.name) != key
            for user in users
            if user is not None
        ):
            return True
        own = self._seniority(key)
        namesakes = [found for found in self.cluster.routes.by_index(BY_NAME, key.name) if found != key]
        return any(self._seniority(found) < own and self.cluster.state(found) is None for found in namesakes)

    def _seniority(self, key: Key) -> tuple[str, str]:
        route = self.cluster.routes.get(key)
        return str(dig(route, "metadata", "creationTimestamp") or ""), str(
            dig(route, "metadata", "uid") or ""
        )


def _is_protected(facts: Facts) -> bool:
    """Whether there is an Access application, or would be if the route had a hostname at present."""
    applied = facts.state.state.applied if facts.state is not None else None
    was_wanted = applied is not None and bool(applied.operations.access_app.enabled)
    return was_wanted or any(item.kind == "AccessApplication" for item in facts.inventory)


def annotations_of(route: JsonObject) -> dict[str, str]:
    annotations = dig_object(route, "metadata", "annotations")
    return {key: value for key, value in annotations.items() if isinstance(value, str)}


def left_behind(route: JsonObject, reference: RouteRef, state: RouteState | None) -> list[InventoryItem]:
    """What another operator has left behind for a route, according to its state and its annotations.

    Annotations are evidence only until there is a state of ours, and only for the hostname that the route asks for. They are
    no evidence of a service token: whoever may annotate a route could name the token of somebody else, and get its
    credentials.
    """
    if state is not None and state.written_by is Origin.OURS:
        return []
    hostname = next(iter(hostnames_of(route)), "")
    annotated = dict(annotated_ids(annotations_of(route))) if hostname else {}
    annotated.pop(_TOKEN_ID, None)
    recorded = {} if state is None else _recorded_ids(state)
    if not annotated and not recorded:
        return []
    is_v0_2 = state.is_of_v0_2 if state is not None else _is_of_v0_2(route, annotated)
    return list(Left(reference, {"hostname": hostname, **annotated, **recorded}, is_v0_2).inventory())


def _recorded_ids(state: RouteState) -> Mapping[str, str]:
    return written_ids(state.ids, state.hostname, state.tunnel_id, state.zone_id)


def _is_of_v0_2(route: JsonObject, annotated: Mapping[str, str]) -> bool:
    is_its_secret = annotated.get("service_token_secret_name", "").startswith("cfzt-svctoken-")
    return is_its_secret or KOPF_FINALIZER in dig_list(route, "metadata", "finalizers")


def _left_names(facts: Facts, names: RouteNames, hostname: str) -> RouteNames | None:
    """The names of what v0.2 has left behind; None where it has left no token."""
    state = facts.state.state if facts.state is not None else None
    token = next((item for item in facts.inventory if item.kind == "ServiceToken"), None)
    secret = next((item for item in facts.inventory if item.kind == "Secret"), None)
    if token is None or secret is None or not token.unconfirmed:
        return None
    is_v0_2 = (state is not None and state.is_of_v0_2) or secret.name.partition("/")[2].startswith(
        "cfzt-svctoken-"
    )
    if not is_v0_2:
        return None
    return replace(
        names,
        service_token=token.name if token.name != "cfzt-" else f"cfzt-{hostname}",
        secret=secret.name.partition("/")[2],
        client_id_key="CF_ACCESS_CLIENT_ID",
        client_secret_key="CF_ACCESS_CLIENT_SECRET",  # noqa: S106 - the name of a key
    )
