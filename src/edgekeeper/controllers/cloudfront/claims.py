"""The claims of DistributionTenants on tenant names and domains, in the register of all kinds (`lifecycle.claims`).

Tenant names are unique per account, and a domain belongs to one tenant. An object owns a name or a domain if it owns the
tenant that has it: by the tenant's ownership tags, or for an untagged tenant by its id in the status of the object.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from edgekeeper.api.shared import InventoryRecord
from edgekeeper.cloud.aws.dns.entries import Place, place_of
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.mirrors import Tenants
from edgekeeper.cloud.aws.tenants import DistributionTenant
from edgekeeper.controllers.cloudfront.guards import EVERYTHING, Guards
from edgekeeper.core.annotations import DeletionPolicy, Wishes
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.ownership import Owner, Ownership, is_mine, parse_tags
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
from edgekeeper.lifecycle.record_claims import RECORD, RecordSource, ZoneUse, inventory_places, status_zones
from edgekeeper.runtime.contract import Request

TENANT_NAME: Final = "tenant name"
CERTIFICATE: Final = "certificate"
"""An index of managed certificates, used to requeue objects. Certificates are not claimed."""


@dataclass(frozen=True, slots=True)
class TenantNames:
    """The names of tenants in AWS."""

    template: str
    """May contain `{name}`, `{namespace}` and `{cluster}`."""
    cluster: str

    def name_of(self, obj: JsonObject) -> str:
        """The name of an object's tenant."""
        metadata = obj["metadata"]
        return self.template.format(
            name=metadata["name"], namespace=metadata.get("namespace", ""), cluster=self.cluster
        )


@dataclass(frozen=True, slots=True)
class TenantProof:
    """Finds the tenant that has a name or serves a domain, and determines which object owns it."""

    tenants: Tenants
    names: TenantNames

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
            return is_mine(mark, Owner.of(obj, self.names.cluster)) is Ownership.MINE
        return dig(obj, "status", "id") == tenant.id and self.names.name_of(obj) == tenant.name


class TenantClaims:
    """The claims of DistributionTenants among those of all kinds."""

    def __init__(
        self,
        claims: Claims,
        kind: Kind,
        names: TenantNames,
        guards: Guards = EVERYTHING,
        proof: Callable[[Claim], Awaitable[Proof]] = nothing_proven,
    ) -> None:
        """Register the kind with `claims`, which belongs to the whole process."""
        self.tenant_name = names.name_of
        self._claims = claims
        self._kind = kind

        def may_claim(obj: JsonObject) -> bool:
            return guards.allow_hostnames(str(dig(obj, "metadata", "namespace") or ""), _domains(obj))

        values = {TENANT_NAME: lambda obj: [names.name_of(obj)], HOSTNAME: _domains}
        claims.register(ClaimSource(kind, values, may_claim, proof))
        claims.records.register(RecordSource(kind, zones=_zones))
        claims.objects.add(kind, CERTIFICATE, _certificates)

    async def rivals(self, request: Request) -> tuple[Rival, ...]:
        """Other objects that take precedence for the tenant name or a domain of this one."""
        return await self._claims.rivals(self._subject(request))

    def older_claimants(self, request: Request, domains: Iterable[str]) -> tuple[Rival, ...]:
        """Older objects that claim any of these domains."""
        claims = [Claim(HOSTNAME, domain) for domain in domains]
        return self._claims.older_claimants(self._subject(request), claims)

    def with_tenant_name(self, name: str) -> list[Key]:
        """The objects whose tenants have this name."""
        return [key for _, key in self._claims.objects.holders(TENANT_NAME, name)]

    def is_being_deleted(self, request: Request, tenant_name: str) -> bool:
        """Does the tenant belong to other objects of the cluster, all of which are being deleted together with it?"""
        others = list(self._claims.objects.find(TENANT_NAME, tenant_name, besides=self._subject(request)))
        return bool(others) and all(_takes_tenant(other.tree) for other in others)

    def unclaimed_records(self, request: Request, domains: Iterable[str]) -> dict[str, str]:
        """Domains for which other objects still have records although they do not claim them, with those objects' names.

        Objects that are paused, or whose annotations are invalid, are left out: nothing will be done for them.
        """
        subject, objects = self._subject(request), self._claims.objects
        return {
            domain: other.name_for(self._kind)
            for domain in domains
            for other in objects.find(RECORD, domain, besides=subject)
            if domain not in objects.values(other, HOSTNAME)
            and not _is_left_alone(other.tree)
            and any(
                place[1] == domain and state == "Written"
                for place, state in inventory_places(other.tree).items()
            )
        }

    def recorder(self, request: Request, entry: InventoryRecord) -> KindObject | None:
        """Another object that owns the record of an inventory entry, according to the inventories of the cluster."""
        return self._claims.records.recorder(self._subject(request), place_of(entry), entry.state)

    def recorded(self, request: Request, places: Iterable[Place]) -> dict[Place, str]:
        """Those of the places that are in the inventory of another object, with the name of that object."""
        return self._claims.records.recorded(self._subject(request), places)

    def _subject(self, request: Request) -> KindObject:
        return KindObject(self._kind, request.key, request.object)


def _is_left_alone(obj: JsonObject) -> bool:
    wishes = Wishes.of(obj)
    return wishes.paused or bool(wishes.problems)


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
