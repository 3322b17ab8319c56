"""The limits that administrators set, applied to the fields of a DistributionTenant (`lifecycle.guards`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from edgekeeper.api.cloudfront import DistributionTenantSpec
from edgekeeper.lifecycle.guards import AllowList, Limits


@dataclass(frozen=True, slots=True)
class Guards(Limits):
    """The limits of administrators. A field that is None means no limit."""

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
            yield from self.role_refusals("spec.dns.assumeRoleArn", spec.dns.assume_role_arn)
            yield from self.zone_refusals("spec.dns.hostedZoneId", spec.dns.hosted_zone_id)
        domains = (item.domain for item in spec.domains)
        yield from self.hostname_policy.refusals("spec.domains", namespace, domains)


EVERYTHING: Final = Guards()
"""No limits."""
