"""The limits that administrators set, applied to the fields of a DistributionTenant (`lifecycle.guards`).

They also apply to the inventory in the status, since others may write it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from edgekeeper.api.cloudfront import DistributionTenantSpec, InventoryRecord
from edgekeeper.lifecycle.guards import AllowList, HostnamePolicy


@dataclass(frozen=True, slots=True)
class Guards:
    """The limits of administrators. A field that is None means no limit."""

    role_arns: frozenset[str] | None = None
    hosted_zones: frozenset[str] | None = None
    hostnames: Mapping[str, tuple[str, ...]] | None = None
    """By namespace, the domains below which its objects may have hostnames; `*` applies to all other namespaces."""
    distributions: frozenset[str] | None = None
    connection_groups: frozenset[str] | None = None

    def refusals(self, namespace: str, spec: DistributionTenantSpec) -> Iterator[str]:
        """A message for each field of the spec that is not allowed."""
        distributions = AllowList("--allowed-distributions", self.distributions)
        yield from distributions.refusals("spec.distributionId", spec.distribution_id)
        if spec.connection_group_id:
            groups = AllowList("--allowed-connection-groups", self.connection_groups)
            yield from groups.refusals("spec.connectionGroupId", spec.connection_group_id)
        if spec.dns is not None:
            yield from self._role_refusals("spec.dns.assumeRoleArn", spec.dns.assume_role_arn)
            yield from self._zone_refusals("spec.dns.hostedZoneId", spec.dns.hosted_zone_id)
        yield from self._policy.refusals("spec.domains", namespace, (item.domain for item in spec.domains))

    def inventory_refusals(self, inventory: Iterable[InventoryRecord]) -> Iterator[str]:
        """A message for each zone or role in the inventory that is not allowed."""
        for entry in inventory:
            path = f"status.inventory[{entry.type} {entry.name}]"
            yield from self._role_refusals(f"{path}.role", entry.role)
            yield from self._zone_refusals(f"{path}.zone", entry.zone)

    def allow_zone(self, zone: str, role: str) -> bool:
        """May this zone be accessed with this role?"""
        return not [*self._role_refusals("", role), *self._zone_refusals("", zone)]

    def allow_hostnames(self, namespace: str, domains: Iterable[str]) -> bool:
        """May the objects of a namespace have all of these domains?"""
        return self._policy.allows(namespace, domains)

    def foreign(self, namespace: str, domains: Iterable[str]) -> Iterator[str]:
        """Those of the domains that the objects of a namespace may not have."""
        return self._policy.foreign(namespace, domains)

    @property
    def _policy(self) -> HostnamePolicy:
        return HostnamePolicy(self.hostnames)

    def _role_refusals(self, path: str, role: str) -> Iterator[str]:
        if role:
            yield from AllowList("--allowed-role-arns", self.role_arns).refusals(path, role)

    def _zone_refusals(self, path: str, zone: str) -> Iterator[str]:
        bare = zone.removeprefix("/hostedzone/")
        yield from AllowList("--allowed-hosted-zones", self.hosted_zones).refusals(path, bare)


EVERYTHING: Final = Guards()
"""No limits."""
