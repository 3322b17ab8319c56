"""Restrictions by administrators: allow lists of values, and hostnames by namespace.

    roles = AllowList("--allowed-role-arns", frozenset({"arn:…"}))
    refusals = [*roles.refusals("spec.dns.assumeRoleArn", arn)]

Everything is allowed unless a limit is set. A limit that is set is complete: what it does not list is refused, and the
refusal names the field, the value and the flag that would allow it. Each kind says which of its fields is compared with
which limit: it extends `Limits` by those of its own. Limits also apply to inventories, since others may write a status.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from edgekeeper.api.shared import InventoryRecord
from edgekeeper.cloud.aws.dns.entries import bare_zone
from edgekeeper.cloud.aws.dns.records import is_within, normalise_name

HOSTNAME_POLICY: Final = "--hostname-policy"
OTHER_NAMESPACES: Final = "*"
"""The key for namespaces that a policy does not name."""


@dataclass(frozen=True, slots=True)
class AllowList:
    """The allowed values of a field."""

    flag: str
    """The flag that sets it, for messages."""
    values: frozenset[str] | None = None
    """None allows every value."""

    def allows(self, value: str) -> bool:
        return self.values is None or value in self.values

    def refusals(self, path: str, value: str) -> Iterator[str]:
        """The message if the field at `path` may not have the value."""
        if not self.allows(value):
            yield f"{path} {value!r} is not allowed by {self.flag}: use an allowed value, or have an administrator add this one"


@dataclass(frozen=True, slots=True)
class HostnamePolicy:
    """The domains below which objects of a namespace may have hostnames."""

    domains: Mapping[str, tuple[str, ...]] | None = None
    """By namespace, or `*` for all others; None allows every hostname in every namespace."""
    flag: str = HOSTNAME_POLICY

    def allows(self, namespace: str, hostnames: Iterable[str]) -> bool:
        """Whether objects of a namespace may have all of these hostnames."""
        return not any(self.foreign(namespace, hostnames))

    def foreign(self, namespace: str, hostnames: Iterable[str]) -> Iterator[str]:
        """The hostnames among these that objects of a namespace may not have."""
        if self.domains is None:
            return
        allowed = self._allowed(namespace)
        for hostname in hostnames:
            if not any(is_within(normalise_name(hostname), domain) for domain in allowed):
                yield hostname

    def refusals(self, path: str, namespace: str, hostnames: Iterable[str]) -> Iterator[str]:
        """The messages for hostnames that the field at `path` may not have."""
        for hostname in self.foreign(namespace, hostnames):
            allowed = ", ".join(self._allowed(namespace)) or "none at all"
            yield (
                f"{path}: {hostname!r} is not below the hostnames of namespace {namespace} "
                f"in {self.flag}: {allowed}"
            )

    def _allowed(self, namespace: str) -> tuple[str, ...]:
        domains = self.domains or {}
        return domains.get(namespace, domains.get(OTHER_NAMESPACES, ()))


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that concern the objects of all kinds. A field that is None means no limit."""

    role_arns: frozenset[str] | None = None
    hosted_zones: frozenset[str] | None = None
    hostnames: Mapping[str, tuple[str, ...]] | None = None
    """By namespace, the domains below which its objects may have hostnames; `*` applies to all other namespaces."""

    @property
    def hostname_policy(self) -> HostnamePolicy:
        return HostnamePolicy(self.hostnames)

    def role_refusals(self, path: str, role: str) -> Iterator[str]:
        """Why the field at `path` may not name the role; an empty one is our own identity."""
        if role:
            yield from AllowList("--allowed-role-arns", self.role_arns).refusals(path, role)

    def zone_refusals(self, path: str, zone: str) -> Iterator[str]:
        """Why the field at `path` may not name the hosted zone."""
        yield from AllowList("--allowed-hosted-zones", self.hosted_zones).refusals(path, bare_zone(zone))

    def inventory_refusals(self, inventory: Iterable[InventoryRecord]) -> Iterator[str]:
        """A message for each zone or role in the inventory that is not allowed."""
        for entry in inventory:
            path = f"status.inventory[{entry.type} {entry.name}]"
            yield from self.role_refusals(f"{path}.role", entry.role)
            yield from self.zone_refusals(f"{path}.zone", entry.zone)

    def allow_zone(self, zone: str, role: str) -> bool:
        """May this zone be accessed with this role?"""
        return not [*self.role_refusals("", role), *self.zone_refusals("", zone)]
