"""What administrators allow beyond what AWS allows: which roles, which zones, and whose hostnames.

Everything is allowed unless something is listed. A guard that is set is complete: what it does not list is refused, with
the flag that would allow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from edgekeeper.api.cloudfront import DistributionTenantSpec
from edgekeeper.cloud.aws.records import is_within, normalise_name


@dataclass(frozen=True, slots=True)
class Guards:
    """The limits of what objects may ask for."""

    role_arns: frozenset[str] | None = None
    hosted_zones: frozenset[str] | None = None
    hostnames: Mapping[str, tuple[str, ...]] | None = None
    """By namespace, the domains below which its objects may have theirs; `*` is for namespaces that are not named."""

    def refusals(self, namespace: str, spec: DistributionTenantSpec) -> Iterator[str]:
        """What of a spec is not allowed."""
        dns = spec.dns
        if (
            dns
            and dns.assume_role_arn
            and self.role_arns is not None
            and dns.assume_role_arn not in self.role_arns
        ):
            yield f"spec.dns.assumeRoleArn {dns.assume_role_arn} is not among --allowed-role-arns"
        if dns and self.hosted_zones is not None and dns.hosted_zone_id not in self.hosted_zones:
            yield f"spec.dns.hostedZoneId {dns.hosted_zone_id} is not among --allowed-hosted-zones"
        if self.hostnames is None:
            return
        suffixes = self.hostnames.get(namespace, self.hostnames.get("*", ()))
        for item in spec.domains:
            if not any(_is_below(item.domain, suffix) for suffix in suffixes):
                allowed = ", ".join(suffixes) or "none at all"
                yield (
                    f"spec.domains: {item.domain!r} is not below the hostnames of namespace {namespace} "
                    f"in --hostname-policy: {allowed}"
                )


def _is_below(domain: str, suffix: str) -> bool:
    """Is a domain the suffix or below it? So is everything that a wildcard there stands for."""
    return is_within(normalise_name(domain), suffix)
