"""The claims of HTTPRoutes on hostnames, in the register of all kinds (`lifecycle.claims`).

A hostname belongs to one route or to one object of another kind. A route provably has it if its state lists it: the state is
in the operator's namespace, where users do not write. A wildcard is a value of its own: `*.example.com` and
`shop.example.com` do not contest each other, since the tunnel prefers the exact one.

What a route leaves is still there for a while: a hostname that the state or the task of another route lists, which no longer
asks for it, is refused until it is withdrawn. Otherwise the one would remove what the other has just made. A route that is
refused releases what others wait for, so that routes which exchange their hostnames do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.controllers.zerotrust.desired import hostnames_of
from edgekeeper.controllers.zerotrust.route_cluster import Cluster
from edgekeeper.controllers.zerotrust.route_index import BY_HOSTNAME, BY_ROUTE, key_of, task_route_key
from edgekeeper.controllers.zerotrust.route_objects import identity
from edgekeeper.controllers.zerotrust.state import ROUTE_UID, RouteState, hostnames_in, route_of
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import HTTP_ROUTE, Key
from edgekeeper.lifecycle.claims import HOSTNAME, Claim, Claims, ClaimSource, KindObject, Proof
from edgekeeper.lifecycle.guards import HostnamePolicy

DOMAIN_CONFLICT: Final = "DomainConflict"
HOSTNAME_NOT_ALLOWED: Final = "HostnameNotAllowed"


class HostnameHeld(Stall):
    """A route may not have a hostname as long as another object has it, or has the better right to it."""


@dataclass(frozen=True)
class HostnameRecords:
    """Which routes have something at Cloudflare under a hostname, according to their states and tasks."""

    cluster: Cluster

    def shared(self, key: Key, state: RouteState | None) -> frozenset[tuple[str, ...]]:
        """What the state of a route lists that belongs to another one, which is published under the same hostname.

        The described operators let several routes have one hostname. Whoever goes leaves it to the other.
        """
        if state is None:
            return frozenset()
        others = {
            other
            for hostname in state.hostnames
            for other in self.holders(hostname)
            if other != key and self._asks(other, hostname)
        }
        states = (self.cluster.state(other) for other in others)
        return frozenset(
            identity(item) for other in states if other is not None for item in other.state.inventory
        )

    def leaving(self, key: Key, hostname: str) -> Iterator[Key]:
        """Other routes for which there is still something under a hostname that they no longer ask for."""
        return (
            other
            for other in sorted(self.holders(hostname))
            if other != key and not self._asks(other, hostname)
        )

    def awaited(self, key: Key, inventory: tuple[InventoryItem, ...]) -> frozenset[str]:
        """Hostnames that a route has and does not ask for any more, but other routes do."""
        left = (hostname for hostname in hostnames_in(inventory) if not self._asks(key, hostname))
        return frozenset(
            hostname for hostname in left if any(other != key for other in self.cluster.claimants(hostname))
        )

    def holders(self, hostname: str) -> set[Key]:
        """The routes whose states or tasks list a hostname."""
        unseen = self.cluster.unseen_tasks.routes(hostname)
        return {*self._state_routes(hostname), *self._task_routes(hostname), *unseen}

    def _state_routes(self, hostname: str) -> Iterator[Key]:
        for key in self.cluster.states.listed_by_index(BY_HOSTNAME, hostname):
            config_map = self.cluster.states.get(key)
            found = route_of(config_map) if config_map is not None else None
            if found is not None:
                yield Key(*found)

    def _task_routes(self, hostname: str) -> Iterator[Key]:
        for key in self.cluster.tasks.listed_by_index(BY_HOSTNAME, hostname):
            task = self.cluster.tasks.get(key)
            route = task_route_key(task) if task is not None else None
            if route is not None:
                yield route

    def _asks(self, key: Key, hostname: str) -> bool:
        route = self.cluster.routes.get(key)
        if route is None or dig(route, "metadata", "deletionTimestamp") is not None:
            return False
        return hostname in hostnames_of(route)


class RouteClaims:
    """The claims of HTTPRoutes among those of all kinds."""

    def __init__(self, claims: Claims, cluster: Cluster, policy: HostnamePolicy) -> None:
        """Register the kind with `claims`, which belongs to the whole process."""
        self.claims = claims
        self._cluster = cluster
        self._policy = policy
        self.records = HostnameRecords(cluster)

        def may_claim(route: JsonObject) -> bool:
            return policy.allows(key_of(route).namespace, hostnames_of(route))

        claims.register(ClaimSource(HTTP_ROUTE, {HOSTNAME: hostnames_of}, may_claim, self._proof))

    async def confirm(self, route: JsonObject, hostnames: Iterable[str]) -> None:
        """Raise Stall where a route may not have its hostnames, or another object has the better right to one."""
        wanted, key = list(hostnames), key_of(route)
        refusals = list(self._policy.refusals("hostname", key.namespace, wanted))
        if refusals:
            raise Stall(HOSTNAME_NOT_ALLOWED, "; ".join(refusals))
        for rival in await self.claims.rivals(KindObject(HTTP_ROUTE, key, route)):
            how = "served" if rival.holds else "claimed"
            older = "" if rival.holds else ", which is older"
            raise HostnameHeld(DOMAIN_CONFLICT, f"the domain {rival.value} is {how} by {rival.holder}{older}")
        for hostname in wanted:
            for holder in self.records.leaving(key, hostname):
                raise HostnameHeld(DOMAIN_CONFLICT, f"waits until route {holder} has released {hostname}")

    async def _proof(self, claim: Claim) -> Proof:
        holders = self.records.holders(claim.value)

        def has(route: JsonObject) -> bool:
            return key_of(route) in holders and self._is_recorded(route)

        return has

    def _is_recorded(self, route: JsonObject) -> bool:
        """Whether state or task are of this route, and not of an earlier one of the same name."""
        key, tasks = str(key_of(route)), self._cluster.tasks
        states = [
            self._cluster.states.get(found) for found in self._cluster.states.listed_by_index(BY_ROUTE, key)
        ]
        uids = {str(dig(state, "metadata", "annotations", ROUTE_UID) or "") for state in states}
        found = [tasks.get(found) for found in tasks.listed_by_index(BY_ROUTE, key)]
        uids |= {str(dig(task, "spec", "httprouteRef", "uid") or "") for task in found}
        return not uids.isdisjoint({"", dig(route, "metadata", "uid")})
