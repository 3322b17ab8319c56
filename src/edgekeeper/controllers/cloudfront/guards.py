"""What administrators allow beyond what AWS allows: which roles, zones, distributions and groups, and whose hostnames.

Everything is allowed unless something is listed. A guard that is set is complete: what it does not list is refused, with
the flag that would allow it. It holds for what a status says was written as well: a status is not proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from edgekeeper.api.cloudfront import DistributionTenantSpec, InventoryRecord
from edgekeeper.cloud.aws.records import is_within, normalise_name


@dataclass(frozen=True, slots=True)
class Guards:
    """The limits of what objects may ask for."""

    role_arns: frozenset[str] | None = None
    hosted_zones: frozenset[str] | None = None
    hostnames: Mapping[str, tuple[str, ...]] | None = None
    """By namespace, the domains below which its objects may have theirs; `*` is for namespaces that are not named."""
    distributions: frozenset[str] | None = None
    connection_groups: frozenset[str] | None = None

    def refusals(self, namespace: str, spec: DistributionTenantSpec) -> Iterator[str]:
        """What of a spec is not allowed."""
        yield from _unlisted(
            "spec.distributionId", spec.distribution_id, self.distributions, "--allowed-distributions"
        )
        if group := spec.connection_group_id:
            yield from _unlisted(
                "spec.connectionGroupId", group, self.connection_groups, "--allowed-connection-groups"
            )
        if spec.dns is not None:
            yield from self._role_refusals("spec.dns.assumeRoleArn", spec.dns.assume_role_arn)
            yield from self._zone_refusals("spec.dns.hostedZoneId", spec.dns.hosted_zone_id)
        yield from self._hostname_refusals(namespace, spec)

    def inventory_refusals(self, inventory: Iterable[InventoryRecord]) -> Iterator[str]:
        """What of an inventory would have to be reached in a way that is not allowed."""
        for entry in inventory:
            path = f"status.inventory[{entry.type} {entry.name}]"
            yield from self._role_refusals(f"{path}.role", entry.role)
            yield from self._zone_refusals(f"{path}.zone", entry.zone)

    def allow_zone(self, zone: str, role: str) -> bool:
        """May a zone be reached in this way?"""
        return not [*self._role_refusals("", role), *self._zone_refusals("", zone)]

    def allow_hostnames(self, namespace: str, domains: Iterable[str]) -> bool:
        """May the objects of a namespace have all of these?"""
        return not any(self.foreign(namespace, domains))

    def foreign(self, namespace: str, domains: Iterable[str]) -> Iterator[str]:
        """Which of these the objects of a namespace may not have."""
        if self.hostnames is None:
            return
        suffixes = self._suffixes(namespace)
        yield from (domain for domain in domains if not any(_is_below(domain, one) for one in suffixes))

    def _suffixes(self, namespace: str) -> tuple[str, ...]:
        listed = self.hostnames or {}
        return listed.get(namespace, listed.get("*", ()))

    def _role_refusals(self, path: str, role: str) -> Iterator[str]:
        if role:
            yield from _unlisted(path, role, self.role_arns, "--allowed-role-arns")

    def _zone_refusals(self, path: str, zone: str) -> Iterator[str]:
        bare = zone.removeprefix("/hostedzone/")
        yield from _unlisted(path, bare, self.hosted_zones, "--allowed-hosted-zones")

    def _hostname_refusals(self, namespace: str, spec: DistributionTenantSpec) -> Iterator[str]:
        for domain in self.foreign(namespace, (item.domain for item in spec.domains)):
            allowed = ", ".join(self._suffixes(namespace)) or "none at all"
            yield (
                f"spec.domains: {domain!r} is not below the hostnames of namespace {namespace} "
                f"in --hostname-policy: {allowed}"
            )


EVERYTHING: Final = Guards()
"""No limits."""


def _unlisted(path: str, value: str, listed: frozenset[str] | None, flag: str) -> Iterator[str]:
    if listed is not None and value not in listed:
        yield f"{path} {value!r} is not among {flag}: name one that is, or have it added there"


def _is_below(domain: str, suffix: str) -> bool:
    """Is a domain the suffix or below it? So is everything that a wildcard there stands for."""
    return is_within(normalise_name(domain), suffix)
