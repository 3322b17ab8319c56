"""CloudFront's distribution tenants as typed values: what can be written, what is read, and their wire forms.

    TenantSettings           the settings, which an update replaces as a whole
    TenantSummary            a tenant as it is listed: with its ETag, without parameters and tags
    DistributionTenant       a tenant as it is read by itself

CloudFront returns lists in any order, and nothing depends on their order, so they are sorted here: two values are
equal when they mean the same. It leaves out what is empty, and an empty customisation is the same as none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.core.json import JsonObject

IN_PROGRESS: Final = "InProgress"
DEPLOYED: Final = "Deployed"
ACTIVE: Final = "active"
VALIDATED_BY_CLOUDFRONT: Final = "cloudfront"
"""The token host of a managed certificate whose domains CloudFront checks itself, by their DNS."""


@dataclass(frozen=True, slots=True)
class TenantDomain:
    """A domain of a tenant, and whether CloudFront serves it."""

    domain: str
    status: str = ""

    @property
    def is_active(self) -> bool:
        return self.status == ACTIVE


@dataclass(frozen=True, slots=True)
class WebAcl:
    """Which firewall guards a tenant: its own (`override`) or none (`disable`)."""

    action: str
    arn: str = ""


@dataclass(frozen=True, slots=True)
class GeoRestrictions:
    """Where a tenant may be seen."""

    restriction_type: str
    locations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Customizations:
    """What a tenant does differently from its distribution."""

    web_acl: WebAcl | None = None
    certificate_arn: str = ""
    geo_restrictions: GeoRestrictions | None = None

    def __bool__(self) -> bool:
        return bool(self.web_acl or self.certificate_arn or self.geo_restrictions)


@dataclass(frozen=True, slots=True)
class ManagedCertificateRequest:
    """Asks CloudFront for a certificate. CloudFront does not return it, so it cannot be compared."""

    validation_token_host: str
    primary_domain_name: str = ""
    transparency_logging: str = ""


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """Everything about a tenant that an update replaces."""

    distribution_id: str
    domains: tuple[str, ...]
    enabled: bool = True
    connection_group_id: str = ""
    """Empty: the account's default group."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    customizations: Customizations = field(default_factory=Customizations)


@dataclass(frozen=True, slots=True)
class TenantSummary:
    """A tenant as it is listed."""

    id: str
    arn: str
    name: str
    distribution_id: str
    domains: tuple[TenantDomain, ...]
    etag: str
    enabled: bool
    status: str
    connection_group_id: str
    customizations: Customizations
    created: datetime | None
    modified: datetime | None

    @property
    def in_progress(self) -> bool:
        return self.status == IN_PROGRESS

    @property
    def served(self) -> frozenset[str]:
        """Its domains in their one spelling."""
        return frozenset(normalise_name(item.domain) for item in self.domains)

    @property
    def is_active(self) -> bool:
        """Does CloudFront serve all of them?"""
        return all(item.is_active for item in self.domains)


@dataclass(frozen=True, slots=True)
class DistributionTenant(TenantSummary):
    """A tenant as it is read by itself."""

    parameters: Mapping[str, str]
    tags: Mapping[str, str]

    @property
    def settings(self) -> TenantSettings:
        """What an update would have to repeat to change nothing."""
        return TenantSettings(
            self.distribution_id,
            tuple(domain.domain for domain in self.domains),
            self.enabled,
            self.connection_group_id,
            self.parameters,
            self.customizations,
        )

    @property
    def summary(self) -> TenantSummary:
        """The same tenant as a listing would show it."""
        return TenantSummary(**{name: getattr(self, name) for name in TenantSummary.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class ValidationToken:
    """How a domain proves its owner: a request to `redirect_from` must be sent on to `redirect_to`."""

    domain: str
    redirect_from: str = ""
    redirect_to: str = ""


@dataclass(frozen=True, slots=True)
class ManagedCertificate:
    """The certificate that CloudFront requested for a tenant."""

    arn: str
    status: str
    """pending-validation, issued, inactive, expired, validation-timed-out, revoked or failed."""
    validation_token_host: str
    tokens: tuple[ValidationToken, ...] = ()


# What was read


def parse_summary(shape: Mapping[str, Any], etag: str = "") -> TenantSummary:
    """A `DistributionTenantSummary`, or the same fields of a `DistributionTenant`, whose ETag comes separately."""
    return TenantSummary(**_shared_fields(shape, etag))


def parse_tenant(answer: Mapping[str, Any]) -> DistributionTenant:
    """The answer to Get, Create and Update."""
    shape = answer["DistributionTenant"]
    parameters = {item["Name"]: item["Value"] for item in shape.get("Parameters") or ()}
    return DistributionTenant(
        **_shared_fields(shape, answer["ETag"]), parameters=parameters, tags=parse_tags(shape.get("Tags"))
    )


def _shared_fields(shape: Mapping[str, Any], etag: str) -> dict[str, Any]:
    return {
        "id": shape["Id"],
        "arn": shape["Arn"],
        "name": shape["Name"],
        "distribution_id": shape["DistributionId"],
        "domains": _parse_domains(shape.get("Domains") or ()),
        "etag": etag or shape["ETag"],
        "enabled": shape.get("Enabled", True),
        "status": shape.get("Status") or "",
        "connection_group_id": shape.get("ConnectionGroupId") or "",
        "customizations": parse_customizations(shape.get("Customizations") or {}),
        "created": _utc(shape.get("CreatedTime")),
        "modified": _utc(shape.get("LastModifiedTime")),
    }


def _utc(moment: datetime | None) -> datetime | None:
    """botocore returns times in the machine's time zone."""
    return None if moment is None else moment.astimezone(UTC)


def _parse_domains(shapes: Iterable[Mapping[str, Any]]) -> tuple[TenantDomain, ...]:
    domains = (TenantDomain(shape["Domain"], shape.get("Status") or "") for shape in shapes)
    return tuple(sorted(domains, key=lambda domain: domain.domain))


def parse_customizations(shape: Mapping[str, Any]) -> Customizations:
    acl, geo = shape.get("WebAcl"), shape.get("GeoRestrictions")
    return Customizations(
        web_acl=WebAcl(acl["Action"], acl.get("Arn") or "") if acl else None,
        certificate_arn=(shape.get("Certificate") or {}).get("Arn") or "",
        geo_restrictions=GeoRestrictions(geo["RestrictionType"], tuple(sorted(geo.get("Locations") or ())))
        if geo
        else None,
    )


def parse_tags(shape: Mapping[str, Any] | None) -> dict[str, str]:
    return {tag["Key"]: tag.get("Value") or "" for tag in (shape or {}).get("Items") or ()}


def parse_managed_certificate(shape: Mapping[str, Any]) -> ManagedCertificate:
    tokens = (
        ValidationToken(token["Domain"], token.get("RedirectFrom") or "", token.get("RedirectTo") or "")
        for token in shape.get("ValidationTokenDetails") or ()
    )
    return ManagedCertificate(
        arn=shape.get("CertificateArn") or "",
        status=shape.get("CertificateStatus") or "",
        validation_token_host=shape.get("ValidationTokenHost") or "",
        tokens=tuple(sorted(tokens, key=lambda token: token.domain)),
    )


# What is written


def build_settings(settings: TenantSettings) -> JsonObject:
    """The fields that Create and Update share."""
    shape: JsonObject = {
        "DistributionId": settings.distribution_id,
        "Domains": [{"Domain": domain} for domain in settings.domains],
        "Enabled": settings.enabled,
    }
    if settings.parameters:
        shape["Parameters"] = [{"Name": name, "Value": value} for name, value in settings.parameters.items()]
    if settings.customizations:
        shape["Customizations"] = build_customizations(settings.customizations)
    if settings.connection_group_id:
        shape["ConnectionGroupId"] = settings.connection_group_id
    return shape


def build_customizations(customizations: Customizations) -> JsonObject:
    shape: JsonObject = {}
    if acl := customizations.web_acl:
        shape["WebAcl"] = {"Action": acl.action} | ({"Arn": acl.arn} if acl.arn else {})
    if customizations.certificate_arn:
        shape["Certificate"] = {"Arn": customizations.certificate_arn}
    if geo := customizations.geo_restrictions:
        locations = {"Locations": list(geo.locations)} if geo.locations else {}
        shape["GeoRestrictions"] = {"RestrictionType": geo.restriction_type} | locations
    return shape


def build_certificate_request(request: ManagedCertificateRequest) -> JsonObject:
    shape: JsonObject = {"ValidationTokenHost": request.validation_token_host}
    if request.primary_domain_name:
        shape["PrimaryDomainName"] = request.primary_domain_name
    if request.transparency_logging:
        shape["CertificateTransparencyLoggingPreference"] = request.transparency_logging
    return shape


def build_tags(tags: Mapping[str, str]) -> JsonObject:
    return {"Items": [{"Key": key, "Value": value} for key, value in sorted(tags.items())]}
