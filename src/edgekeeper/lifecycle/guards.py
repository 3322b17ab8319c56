"""Restrictions by administrators: allow lists of values, and hostnames by namespace.

    roles = AllowList("--allowed-role-arns", frozenset({"arn:…"}))
    refusals = [*roles.refusals("spec.dns.assumeRoleArn", arn)]

Without a restriction everything is allowed. A restriction that is set refuses every value that it does not list; the
message names the field, the value and the flag. Each kind declares which of its fields are checked against which list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

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
