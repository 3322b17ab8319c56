"""ClusterRoles that gather the rules of others: kept up to date as roles come, change and go."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig_list
from kubesim.plane.auth.rbac import aggregate
from kubesim.plane.call import Cluster
from kubesim.plane.client import InProcessClient
from kubesim.plane.errors import StatusError
from kubesim.plane.reactor import Reactor
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event, Store

CLUSTER_ROLES = GroupResource("rbac.authorization.k8s.io", "clusterroles")
_PATH = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
_ALL = "all"


class RoleAggregator(Reactor):
    """One key stands for all roles: aggregation looks at them together."""

    def __init__(self, cluster: Cluster, client: InProcessClient) -> None:
        super().__init__("cluster role aggregation", self._sync)
        self._cluster = cluster
        self._client = client

    def observe(self, resource: GroupResource, _event: Event) -> None:
        if resource == CLUSTER_ROLES:
            self.enqueue(_ALL)

    def restore(self, _store: Store) -> None:
        self.enqueue(_ALL)

    async def _sync(self, _key: str) -> None:
        roles = [item.decode() for item in self._cluster.store.collection(CLUSTER_ROLES).ordered()]
        present = {role["metadata"]["name"]: dig_list(role, "rules") for role in roles}
        for name, rules in aggregate(roles).items():
            if rules != present[name]:
                await self._write(name, rules)

    async def _write(self, name: str, rules: list[JsonObject]) -> None:
        try:
            await self._client.merge(f"{_PATH}/{name}", {"rules": rules})
        except StatusError as error:
            # Deleted meanwhile: that commit has enqueued another round.
            if error.code != 404:
                raise
