"""API Gateway: custom domain names and what they are mapped to.

AWS takes one call per half minute that creates, changes or deletes a domain name, for the whole account. Those calls
have a lane of their own, and `expected_wait` says how long a new one would wait. Reading is cheap. There are no
ETags: the last writer wins, so a domain is read before it is changed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws import operations as op
from edgekeeper.cloud.aws.access import AwsCall, AwsCaller
from edgekeeper.core.json import JsonObject

AVAILABLE: Final = "AVAILABLE"
REGIONAL: Final = "REGIONAL"
TLS_1_2: Final = "TLS_1_2"
PAGE_SIZE: Final = "100"
_TOKENS: Final = {"NextToken": "NextToken"}
_ABSENT: Final = "NotFoundException"
_USUAL: Final = {
    "IpAddressType": "ipv4",
    "RoutingMode": "API_MAPPING_ONLY",
    "OwnershipVerificationCertificateArn": "",
    "EndpointAccessMode": "BASIC",
}
"""The usual values of settings that we do not manage."""


@dataclass(frozen=True, slots=True)
class DomainSettings:
    """What can be written of a domain name."""

    certificate_arn: str
    endpoint_type: str = REGIONAL
    security_policy: str = TLS_1_2


@dataclass(frozen=True, slots=True)
class GatewayDomain:
    """A custom domain name, and where its DNS must point to."""

    name: str
    arn: str
    settings: DomainSettings
    status: str
    status_message: str
    endpoint: str
    """The target of a CNAME or an alias."""
    hosted_zone_id: str
    """The zone of an alias."""
    tags: Mapping[str, str]
    foreign_settings: tuple[str, ...] = ()
    """Settings that are not the usual ones, and that are neither written nor compared here, by name."""

    @property
    def available(self) -> bool:
        return self.status == AVAILABLE


@dataclass(frozen=True, slots=True)
class ApiMapping:
    """Which API and stage answer below a path of a domain name."""

    id: str
    api_id: str
    stage: str
    key: str = ""
    """The path; empty for everything."""


class ApiGateway:
    """The domain names of one region."""

    def __init__(self, caller: AwsCaller) -> None:
        self._aws = caller

    def expected_wait(self) -> timedelta:
        """How long a call that changes a domain name would wait for its turn."""
        return self._aws.expected_wait(op.CREATE_DOMAIN)

    # Domain names

    async def create_domain(
        self, name: str, settings: DomainSettings, *, tags: Mapping[str, str]
    ) -> GatewayDomain:
        """Create a domain name. Not idempotent: after an error that leaves it open, look for it first."""
        request: JsonObject = {"DomainName": name, "DomainNameConfigurations": [_build_settings(settings)]}
        if tags:
            request["Tags"] = dict(tags)
        return await self._aws.call(AwsCall(op.CREATE_DOMAIN, name, request, _parse_domain))

    async def find_domain(self, name: str) -> GatewayDomain | None:
        return await self._aws.find(
            AwsCall(op.GET_DOMAIN, name, {"DomainName": name}, _parse_domain), _ABSENT
        )

    async def update_domain(self, name: str, settings: DomainSettings) -> GatewayDomain:
        request = {"DomainName": name, "DomainNameConfigurations": [_build_settings(settings)]}
        return await self._aws.call(AwsCall(op.UPDATE_DOMAIN, name, request, _parse_domain))

    async def delete_domain(self, name: str) -> bool:
        """Delete a domain name with its mappings. False says that it was gone already."""
        ask = AwsCall(op.DELETE_DOMAIN, name, {"DomainName": name}, lambda _: True)
        return await self._aws.find(ask, _ABSENT) is not None

    async def domains(self) -> AsyncIterator[dict[str, GatewayDomain]]:
        """All domain names, page by page. One with several endpoints is shown with the first, as a foreign setting."""
        ask = AwsCall(op.LIST_DOMAINS, "", {"MaxResults": PAGE_SIZE}, _parse_domains)
        async for page in self._aws.pages(ask, _TOKENS):
            yield page

    async def tag(self, arn: str, tags: Mapping[str, str]) -> None:
        """Add tags to a domain name."""
        await self._aws.call(
            AwsCall(op.TAG_DOMAIN, arn, {"ResourceArn": arn, "Tags": dict(tags)}, lambda _: None)
        )

    async def untag(self, arn: str, keys: Iterable[str]) -> None:
        """Remove tags from a domain name."""
        request = {"ResourceArn": arn, "TagKeys": sorted(keys)}
        await self._aws.call(AwsCall(op.UNTAG_DOMAIN, arn, request, lambda _: None))

    # Mappings

    async def mappings(self, domain: str) -> tuple[ApiMapping, ...]:
        """All mappings of a domain name. botocore knows no paginator for them, though they come in pages."""
        ask = AwsCall(
            op.LIST_MAPPINGS, domain, {"DomainName": domain, "MaxResults": PAGE_SIZE}, _parse_mappings
        )
        return tuple([mapping async for page in self._aws.pages(ask, _TOKENS) for mapping in page])

    async def create_mapping(self, domain: str, api_id: str, stage: str, key: str = "") -> ApiMapping:
        request = {"DomainName": domain, "ApiId": api_id, "Stage": stage, "ApiMappingKey": key}
        return await self._aws.call(AwsCall(op.CREATE_MAPPING, domain, request, _parse_mapping))

    async def update_mapping(self, domain: str, mapping: ApiMapping) -> ApiMapping:
        """Change what a mapping leads to, or its key."""
        request = {
            "DomainName": domain,
            "ApiMappingId": mapping.id,
            "ApiId": mapping.api_id,
            "Stage": mapping.stage,
            "ApiMappingKey": mapping.key,
        }
        return await self._aws.call(AwsCall(op.UPDATE_MAPPING, domain, request, _parse_mapping))

    async def delete_mapping(self, domain: str, mapping_id: str) -> bool:
        """Delete a mapping. False says that it was gone already."""
        request = {"DomainName": domain, "ApiMappingId": mapping_id}
        return (
            await self._aws.find(AwsCall(op.DELETE_MAPPING, domain, request, lambda _: True), _ABSENT)
            is not None
        )


def _build_settings(settings: DomainSettings) -> JsonObject:
    return {
        "CertificateArn": settings.certificate_arn,
        "EndpointType": settings.endpoint_type,
        "SecurityPolicy": settings.security_policy,
    }


def _parse_domains(answer: JsonObject) -> dict[str, GatewayDomain]:
    return {shape["DomainName"]: _parse_listed(shape) for shape in answer["Items"]}


def _parse_listed(shape: JsonObject) -> GatewayDomain:
    return _parsed(shape, (shape.get("DomainNameConfigurations") or [{}])[0])


def _parse_domain(shape: JsonObject) -> GatewayDomain:
    (configuration,) = shape["DomainNameConfigurations"]
    return _parsed(shape, configuration)


def _parsed(shape: JsonObject, configuration: JsonObject) -> GatewayDomain:
    return GatewayDomain(
        name=shape["DomainName"],
        arn=shape.get("DomainNameArn") or "",
        settings=DomainSettings(
            configuration.get("CertificateArn") or "",
            configuration.get("EndpointType") or REGIONAL,
            configuration.get("SecurityPolicy") or "",
        ),
        status=configuration.get("DomainNameStatus") or "",
        status_message=configuration.get("DomainNameStatusMessage") or "",
        endpoint=configuration.get("ApiGatewayDomainName") or "",
        hosted_zone_id=configuration.get("HostedZoneId") or "",
        tags=dict(shape.get("Tags") or {}),
        foreign_settings=tuple(_foreign_settings(shape, configuration)),
    )


def _foreign_settings(shape: JsonObject, configuration: JsonObject) -> Iterator[str]:
    if len(shape.get("DomainNameConfigurations") or ()) != 1:
        yield "DomainNameConfigurations"
    if shape.get("MutualTlsAuthentication"):
        yield "MutualTlsAuthentication"
    for name, usual in _USUAL.items():
        value = configuration.get(name, shape.get(name))
        if value and value != usual:
            yield name


def _parse_mappings(answer: JsonObject) -> list[ApiMapping]:
    return [_parse_mapping(shape) for shape in answer["Items"]]


def _parse_mapping(shape: JsonObject) -> ApiMapping:
    return ApiMapping(shape["ApiMappingId"], shape["ApiId"], shape["Stage"], shape.get("ApiMappingKey") or "")
