"""Reads tenants and what they depend on, for `edgekeeper import tenants`. Nothing is written."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.cloud.aws.acm import Acm
from edgekeeper.cloud.aws.cloudfront import CloudFront
from edgekeeper.cloud.aws.distributions import ConnectionGroup
from edgekeeper.cloud.aws.dns.survey import Survey, ZoneContent
from edgekeeper.cloud.aws.managed_certificates import MANAGED, REGION
from edgekeeper.cloud.aws.mirrors import Distributions
from edgekeeper.cloud.aws.tenants import DistributionTenant, ManagedCertificate, TenantSummary
from edgekeeper.controllers.cloudfront.importing import KIND, FoundTenant, Place, import_tenant
from edgekeeper.controllers.cloudfront.wiring import TenantOptions
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.lifecycle.importing import ImportRequest, ImportResult, for_each, key_of, listed, patiently
from edgekeeper.lifecycle.module import Process
from edgekeeper.lifecycle.naming import NameTemplate

T = TypeVar("T")


async def import_tenants(
    process: Process, options: TenantOptions, distributions: Sequence[str], request: ImportRequest
) -> list[ImportResult]:
    """The manifests of all tenants that are asked for. Raise PassError if they cannot be listed."""
    names = NameTemplate(options.tenant_name_template, options.cluster)
    declared = {
        names.name_of(obj): f"declared by {KIND.kind} {key_of(obj)}"
        for obj in await listed(process.services.client, KIND)
    }
    place = Place(request.home, options.cluster, options.tenant_name_template, options.guards, declared)
    return await TenantReader(process.aws).import_all(distributions, request, place)


@dataclass
class TenantReader:
    """Reads the tenants of an account."""

    account: AwsAccount
    cloudfront: CloudFront = field(init=False)
    groups: Mapping[str, ConnectionGroup] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        access, clock = self.account.access, self.account.clock
        self.cloudfront = CloudFront(access.caller())
        self._acm = Acm(access.caller(region=REGION))
        self._distributions = Distributions(self.cloudfront, clock)
        self._survey = Survey(access, clock)
        self._managed: frozenset[str] | None = None

    async def import_all(
        self, distributions: Sequence[str], request: ImportRequest, place: Place
    ) -> list[ImportResult]:
        """The manifests of all tenants that are asked for, by name. Raise PassError if they cannot be listed."""
        self.groups = await patiently(self._groups)
        self._managed, _ = await _if_allowed(patiently(self._managed_names))
        listings = [await patiently(partial(self._listed, id_)) for id_ in distributions or ("",)]
        found = [one for listing in listings for one in listing]
        chosen = [one for one in found if request.selects([one.name, *one.served])]

        async def imported(summary: TenantSummary) -> ImportResult:
            resource = f"tenant {summary.name} ({summary.id})"
            try:
                complete = await patiently(partial(self._complete, summary))
            except PassError as error:
                return ImportResult.unreadable(resource, error)
            if complete is None:
                return ImportResult(resource, owner="it was deleted meanwhile")
            return import_tenant(complete, place)

        return await for_each(sorted(chosen, key=lambda one: one.name), imported, request.progress)

    async def _groups(self) -> dict[str, ConnectionGroup]:
        pages = self.cloudfront.connection_groups()
        return {id_: group async for page in pages for id_, group in page.items()}

    async def _listed(self, distribution: str) -> list[TenantSummary]:
        return [one async for page in self.cloudfront.tenants(distribution) for one in page.values()]

    async def _complete(self, summary: TenantSummary) -> FoundTenant | None:
        tenant = await self.cloudfront.find_tenant(summary.id)
        if tenant is None:
            return None
        distribution, _ = await _if_allowed(self._distributions.get(tenant.distribution_id))
        managed, unread_certificate = await self._managed_certificate(tenant)
        described = None
        if managed is not None and managed.arn:
            described, _ = await _if_allowed(self._acm.find(managed.arn))
        zones, unread = await _if_allowed(self._zones(tenant))
        return FoundTenant(
            tenant,
            distribution,
            self.groups.get(tenant.connection_group_id),
            managed,
            described,
            zones or {},
            unread,
            unread_certificate,
        )

    async def _managed_names(self) -> frozenset[str] | None:
        """The names of all certificates that CloudFront manages; None if a listing does not show all of them."""
        pages = self._acm.certificates(managed_by=MANAGED)
        found = [one async for page in pages for one in page.values()]
        if any(one.has_more_names for one in found):
            return None
        return frozenset(name for one in found for name in one.names)

    async def _managed_certificate(self, tenant: DistributionTenant) -> tuple[ManagedCertificate | None, str]:
        """The certificate that CloudFront manages for a tenant. It is asked only if there is one with its domains."""
        if self._managed is not None and self._managed.isdisjoint(tenant.served):
            return None, ""
        return await _if_allowed(self.cloudfront.find_managed_certificate(tenant.id))

    async def _zones(self, tenant: DistributionTenant) -> dict[str, ZoneContent]:
        found = {name: await self._survey.zone_of(name) for name in sorted(tenant.served)}
        return {name: zone for name, zone in found.items() if zone is not None}


async def _if_allowed(read: Awaitable[T]) -> tuple[T | None, str]:
    """What was read, or why IAM denies it. Without these rights the operator works as well."""
    try:
        return await read, ""
    except Stall as refusal:
        return None, refusal.message
