"""CloudFront, as far as tenants need it.

A tenant's name is unique in the account, and creating it is not idempotent: if it is unknown whether a create took effect,
the name is looked up first (`find_tenant` takes an id, an ARN or a name). Updates replace everything, so they start from `DistributionTenant.settings`, and they and deletions
carry the ETag of what was read: a stale one is a `Conflict`.

A missing tenant, group or certificate is returned as None, except if a write depends on it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Final

from edgekeeper.cloud.aws import operations as op
from edgekeeper.cloud.aws.access import AwsCall, AwsCaller
from edgekeeper.cloud.aws.distributions import (
    ConnectionGroup,
    Distribution,
    parse_connection_group,
    parse_distribution,
)
from edgekeeper.cloud.aws.error_table import UNVALIDATED
from edgekeeper.cloud.aws.tenants import (
    VALIDATED_BY_CLOUDFRONT,
    DistributionTenant,
    ManagedCertificate,
    ManagedCertificateRequest,
    TenantSettings,
    TenantSummary,
    build_certificate_request,
    build_settings,
    build_tags,
    parse_managed_certificate,
    parse_summary,
    parse_tags,
    parse_tenant,
)
from edgekeeper.cloud.error_table import ErrorRow
from edgekeeper.core.json import JsonObject

PAGE_SIZE: Final = 100
_MARKERS: Final = {"NextMarker": "Marker"}
_ABSENT: Final = "EntityNotFound"


class CloudFront:
    """The tenants of one account and what belongs to them."""

    def __init__(self, caller: AwsCaller) -> None:
        self._aws = caller

    # Tenants

    async def create_tenant(
        self,
        name: str,
        settings: TenantSettings,
        *,
        tags: Mapping[str, str],
        certificate: ManagedCertificateRequest | None = None,
    ) -> DistributionTenant:
        """Create a tenant. Not idempotent: after an error that leaves it open, look for the name first."""
        request = {"Name": name, **build_settings(settings), "Tags": build_tags(tags)}
        if certificate is not None:
            request["ManagedCertificateRequest"] = build_certificate_request(certificate)
        special = _while_unvalidated(certificate)
        return await self._aws.call(AwsCall(op.CREATE_TENANT, name, request, parse_tenant, special))

    async def find_tenant(self, identifier: str) -> DistributionTenant | None:
        """A tenant by id, ARN or name."""
        ask = AwsCall(op.GET_TENANT, identifier, {"Identifier": identifier}, parse_tenant)
        return await self._aws.find(ask, _ABSENT)

    async def find_tenant_by_domain(self, domain: str) -> DistributionTenant | None:
        """The tenant of this account that has a domain."""
        ask = AwsCall(op.GET_TENANT_BY_DOMAIN, domain, {"Domain": domain}, parse_tenant)
        return await self._aws.find(ask, _ABSENT)

    async def update_tenant(
        self,
        tenant_id: str,
        etag: str,
        settings: TenantSettings,
        *,
        certificate: ManagedCertificateRequest | None = None,
    ) -> DistributionTenant:
        """Replace a tenant's settings, all of them. Raise Conflict where the ETag is not the present one."""
        request = {"Id": tenant_id, "IfMatch": etag, **build_settings(settings)}
        if certificate is not None:
            request["ManagedCertificateRequest"] = build_certificate_request(certificate)
        special = _while_unvalidated(certificate)
        return await self._aws.call(AwsCall(op.UPDATE_TENANT, tenant_id, request, parse_tenant, special))

    async def delete_tenant(self, tenant_id: str, etag: str) -> bool:
        """Delete a tenant, which must be disabled and deployed. False says that it was gone already."""
        request = {"Id": tenant_id, "IfMatch": etag}
        ask = AwsCall(op.DELETE_TENANT, tenant_id, request, lambda _: True)
        return await self._aws.find(ask, _ABSENT) is not None

    async def tenants(self, distribution_id: str = "") -> AsyncIterator[dict[str, TenantSummary]]:
        """All tenants of the account, or of one distribution, by id, page by page."""
        request: JsonObject = {"MaxItems": PAGE_SIZE}
        if distribution_id:
            request["AssociationFilter"] = {"DistributionId": distribution_id}
        async for page in self._aws.pages(
            AwsCall(op.LIST_TENANTS, distribution_id, request, _parse_tenants), _MARKERS
        ):
            yield page

    async def find_managed_certificate(self, identifier: str) -> ManagedCertificate | None:
        """The certificate that CloudFront manages for a tenant, if it does."""
        ask = AwsCall(op.GET_MANAGED_CERTIFICATE, identifier, {"Identifier": identifier}, _parse_certificate)
        return await self._aws.find(ask, _ABSENT)

    # Tags, which an update does not touch

    async def tags(self, arn: str) -> dict[str, str]:
        return await self._aws.read(
            AwsCall(op.LIST_TAGS, arn, {"Resource": arn}, lambda answer: parse_tags(answer["Tags"]))
        )

    async def tag(self, arn: str, tags: Mapping[str, str]) -> None:
        """Add tags, and replace those that have another value."""
        request = {"Resource": arn, "Tags": build_tags(tags)}
        await self._aws.call(AwsCall(op.TAG_RESOURCE, arn, request, _nothing))

    async def untag(self, arn: str, keys: Iterable[str]) -> None:
        request = {"Resource": arn, "TagKeys": {"Items": sorted(keys)}}
        await self._aws.call(AwsCall(op.UNTAG_RESOURCE, arn, request, _nothing))

    # Connection groups and distributions

    async def connection_groups(self) -> AsyncIterator[dict[str, ConnectionGroup]]:
        """All connection groups by id, page by page. An account without tenants has none."""
        ask = AwsCall(op.LIST_CONNECTION_GROUPS, "", {"MaxItems": PAGE_SIZE}, _parse_groups)
        async for page in self._aws.pages(ask, _MARKERS):
            yield page

    async def find_connection_group(self, identifier: str) -> ConnectionGroup | None:
        """A connection group by id, ARN or name."""
        ask = AwsCall(op.GET_CONNECTION_GROUP, identifier, {"Identifier": identifier}, _parse_group)
        return await self._aws.find(ask, _ABSENT)

    async def find_distribution(self, distribution_id: str) -> Distribution | None:
        ask = AwsCall(op.GET_DISTRIBUTION, distribution_id, {"Id": distribution_id}, parse_distribution)
        return await self._aws.find(ask, "NoSuchDistribution")


def _while_unvalidated(certificate: ManagedCertificateRequest | None) -> dict[str, ErrorRow]:
    """CloudFront refuses a tenant while the domain does not lead to it yet, by a code that usually blames the spec."""
    if certificate is None or certificate.validation_token_host != VALIDATED_BY_CLOUDFRONT:
        return {}
    return {"InvalidArgument": UNVALIDATED}


def _parse_tenants(answer: JsonObject) -> dict[str, TenantSummary]:
    return {shape["Id"]: parse_summary(shape) for shape in answer.get("DistributionTenantList") or ()}


def _parse_certificate(answer: JsonObject) -> ManagedCertificate:
    return parse_managed_certificate(answer["ManagedCertificateDetails"])


def _parse_groups(answer: JsonObject) -> dict[str, ConnectionGroup]:
    return {shape["Id"]: parse_connection_group(shape) for shape in answer.get("ConnectionGroups") or ()}


def _parse_group(answer: JsonObject) -> ConnectionGroup:
    return parse_connection_group(answer["ConnectionGroup"], answer["ETag"])


def _nothing(_: JsonObject) -> None:
    """The answer has no content."""
