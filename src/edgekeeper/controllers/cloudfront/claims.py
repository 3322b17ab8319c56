"""The claims of DistributionTenants on tenant names and domains, in the register of all kinds (`lifecycle.claims`).

Tenant names are unique per account, and a domain belongs to one tenant. An object owns a name or a domain if it owns the
tenant that has it: by the tenant's ownership tags, or for an untagged tenant by its id in the status of the object.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.mirrors import Tenants
from edgekeeper.cloud.aws.tenants import DistributionTenant
from edgekeeper.controllers.cloudfront.guards import EVERYTHING, Guards
from edgekeeper.core.annotations import DeletionPolicy, Wishes
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.ownership import Owner, is_owned, parse_tags
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.claims import (
    HOSTNAME,
    Claim,
    Claims,
    ClaimSource,
    KindObject,
    Proof,
    Rival,
    nothing_proven,
)
from edgekeeper.lifecycle.naming import NameTemplate
from edgekeeper.lifecycle.record_claims import RecordSource, ZoneUse, status_zones
from edgekeeper.runtime.contract import Request

TENANT_NAME: Final = "tenant name"
CERTIFICATE: Final = "certificate"
"""An index of managed certificates, used to requeue objects. Certificates are not claimed."""


@dataclass(frozen=True, slots=True)
class TenantProof:
    """Finds the tenant that has a name or serves a domain, and determines which object owns it."""

    tenants: Tenants
    names: NameTemplate
    lost_clusters: frozenset[str] = frozenset()

    async def __call__(self, claim: Claim) -> Proof:
        if claim.scope == TENANT_NAME:
            summary = await self.tenants.find_by_name(claim.value)
        else:
            summary = self.tenants.holder_of(claim.value)
        tenant = await self.tenants.details(summary.id) if summary is not None else None
        return lambda obj: tenant is not None and self._is_tenant_of(obj, tenant)

    def _is_tenant_of(self, obj: JsonObject, tenant: DistributionTenant) -> bool:
        """Does the object own the tenant: by its tags, or if it has none, by the id in the status of the object?

        Others may write a status. If several objects have the id of an untagged tenant, the oldest one counts.
        """
        mark = parse_tags(tenant.tags)
        if mark is not None:
            return is_owned(mark, Owner.of(obj, self.names.cluster, self.lost_clusters))
        return dig(obj, "status", "id") == tenant.id and self.names.name_of(obj) == tenant.name


class TenantClaims:
    """The claims of DistributionTenants among those of all kinds."""

    def __init__(
        self,
        claims: Claims,
        kind: Kind,
        names: NameTemplate,
        guards: Guards = EVERYTHING,
        proof: Callable[[Claim], Awaitable[Proof]] = nothing_proven,
    ) -> None:
        """Register the kind with `claims`, which belongs to the whole process."""
        self.all_kinds = claims
        self.tenant_name = names.name_of
        self._kind = kind
        values = {TENANT_NAME: lambda obj: [names.name_of(obj)], HOSTNAME: _domains}
        claims.register(ClaimSource(kind, values, partial(_may_claim, guards), proof))
        claims.records.register(RecordSource(kind, zones=_zones))
        claims.objects.add(kind, CERTIFICATE, _certificates)

    def subject(self, request: Request) -> KindObject:
        """An object as all kinds know it."""
        return KindObject(self._kind, request.key, request.object)

    def older_claimants(self, subject: KindObject, domains: Iterable[str]) -> tuple[Rival, ...]:
        """Older objects that claim any of these domains."""
        return self.all_kinds.older_claimants(subject, [Claim(HOSTNAME, domain) for domain in domains])

    def with_tenant_name(self, name: str) -> list[Key]:
        """The objects whose tenants have this name."""
        return [key for _, key in self.all_kinds.objects.holders(TENANT_NAME, name)]

    def is_being_deleted(self, subject: KindObject, tenant_name: str) -> bool:
        """Does the tenant belong to other objects of the cluster, all of which are being deleted together with it?"""
        others = self.all_kinds.objects.find(TENANT_NAME, tenant_name, besides=subject)
        return bool(others) and all(_takes_tenant(other.tree) for other in others)


def register_elsewhere(claims: Claims, kind: Kind, guards: Guards) -> None:
    """Register the kind with a process that neither reconciles it nor calls AWS: the status says what is served."""
    claims.register(ClaimSource(kind, {HOSTNAME: _domains}, partial(_may_claim, guards), _reported))


async def _reported(claim: Claim) -> Proof:
    def serves(obj: JsonObject) -> bool:
        results = (dig(result, "domain") for result in dig_list(obj, "status", "domainResults"))
        names = {normalise_name(name) for name in results if isinstance(name, str)}
        return bool(dig(obj, "status", "id")) and claim.value in names

    return serves


def _may_claim(guards: Guards, obj: JsonObject) -> bool:
    namespace = str(dig(obj, "metadata", "namespace") or "")
    return guards.hostname_policy.allows(namespace, _domains(obj))


def _takes_tenant(obj: JsonObject) -> bool:
    """Is the object being deleted, with a deletion policy that deletes the tenant too?"""
    is_deleted = dig(obj, "metadata", "deletionTimestamp") is not None
    return is_deleted and Wishes.of(obj).deletion_policy is DeletionPolicy.DELETE


def _domains(obj: JsonObject) -> list[str]:
    named = (item.get("domain") for item in dig_list(obj, "spec", "domains") if isinstance(item, dict))
    return sorted({normalise_name(name) for name in named if isinstance(name, str)})


def _certificates(obj: JsonObject) -> list[str]:
    arn = dig(obj, "status", "certificateArn")
    return [arn] if isinstance(arn, str) and arn else []


def _zones(obj: JsonObject) -> Iterator[ZoneUse]:
    """The zones in which an object has records, waits for changes, or wants records."""
    yield from status_zones(obj)
    if isinstance(dns := dig(obj, "spec", "dns"), dict):
        yield ZoneUse(str(dns.get("hostedZoneId")), str(dns.get("assumeRoleArn") or ""))
