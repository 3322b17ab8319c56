"""Reads the domain names of API Gateway and what belongs to them, for `edgekeeper import domains`. Nothing is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.cloud.aws.apigateway import ApiGateway, GatewayDomain
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.dns.survey import Survey, ZoneContent
from edgekeeper.controllers.bridge.domains.importing import KIND, FoundDomain, Place, import_domain
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import dig
from edgekeeper.lifecycle.guards import Limits
from edgekeeper.lifecycle.importing import (
    ImportRequest,
    ImportResult,
    derived_names,
    for_each,
    key_of,
    listed,
    patiently,
)
from edgekeeper.lifecycle.module import Process


async def import_domains(process: Process, limits: Limits, request: ImportRequest) -> list[ImportResult]:
    """The manifests of all domain names that are asked for. Raise PassError if they cannot be listed."""
    objects = await listed(process.services.client, KIND)
    declared = {
        normalise_name(str(dig(obj, "spec", "domain"))): f"declared by {KIND.kind} {key_of(obj)}"
        for obj in objects
    }
    reader = DomainReader(process.aws)
    domains = {normalise_name(one.name): one for one in await patiently(reader.all)}
    taken = {key_of(obj).name for obj in objects if key_of(obj).namespace == request.home}
    names = derived_names(sorted(domains), taken)
    place = Place(request.home, process.options.cluster, names, declared, limits)
    chosen = [name for name in sorted(domains) if request.selects([name, names[name]])]

    async def imported(name: str) -> ImportResult:
        try:
            return import_domain(await patiently(partial(reader.complete, domains[name])), place)
        except PassError as error:
            return ImportResult.unreadable(f"domain name {name}", error)

    return await for_each(chosen, imported, request.progress)


@dataclass
class DomainReader:
    """Reads the domain names of the operator's region."""

    account: AwsAccount
    region: str = field(init=False)

    def __post_init__(self) -> None:
        access = self.account.access
        self.region = access.clients.region
        self._gateway = ApiGateway(access.caller(region=self.region))
        self._survey = Survey(access, self.account.clock)

    async def all(self) -> list[GatewayDomain]:
        return [one async for page in self._gateway.domains() for one in page.values()]

    async def complete(self, domain: GatewayDomain) -> FoundDomain:
        """A domain name with everything that belongs to it."""
        certificates, arn = self.account.certificates, domain.settings.certificate_arn
        certificate = await certificates.find(self.region, arn) if self._is_here(arn) else None
        zone, unread = await self._zone(domain.name)
        return FoundDomain(
            domain,
            await self._gateway.mappings(domain.name),
            certificate,
            certificate is not None and certificates.is_valid(certificate),
            zone,
            unread,
        )

    def _is_here(self, arn: str) -> bool:
        """Is a certificate in the region of the domain names? API Gateway takes no other."""
        return arn.split(":")[3:4] == [self.region]

    async def _zone(self, name: str) -> tuple[ZoneContent | None, str]:
        """The zone of a domain name, and why it could not be read."""
        try:
            return await self._survey.zone_of(name), ""
        except Stall as refusal:
            return None, refusal.message
