"""The settings and tags that a spec asks for, and how a tenant in AWS differs from them. Pure.

Domain names are compared without regard to case, lists without regard to order. What the spec leaves to CloudFront is not
compared: a managed certificate that it has attached, and the connection group if the spec names none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from edgekeeper.api.cloudfront import Customizations as CustomizationsSpec
from edgekeeper.api.cloudfront import DistributionTenantSpec
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.tenants import (
    Customizations,
    DistributionTenant,
    GeoRestrictions,
    ManagedCertificateRequest,
    TenantSettings,
    TenantSummary,
    WebAcl,
)
from edgekeeper.core.delta import Difference, Rule, Rules, compare
from edgekeeper.core.json import JsonObject
from edgekeeper.core.names import fingerprint
from edgekeeper.core.ownership import Owner

_RULES: Final = Rules({"domains": Rule(unordered=True), "geoRestrictions.locations": Rule(unordered=True)})


def settings_of(spec: DistributionTenantSpec) -> TenantSettings:
    """The settings that the spec describes."""
    return TenantSettings(
        distribution_id=spec.distribution_id,
        domains=tuple(normalise_name(item.domain) for item in spec.domains),
        enabled=spec.enabled,
        connection_group_id=spec.connection_group_id,
        parameters={item.name: item.value for item in spec.parameters},
        customizations=_customizations(spec.customizations),
    )


def _customizations(spec: CustomizationsSpec | None) -> Customizations:
    if spec is None:
        return Customizations()
    acl, geo = spec.web_acl, spec.geo_restrictions
    return Customizations(
        web_acl=WebAcl(acl.action, acl.arn) if acl else None,
        certificate_arn=spec.certificate.arn if spec.certificate else "",
        geo_restrictions=GeoRestrictions(geo.restriction_type, tuple(sorted(geo.locations))) if geo else None,
    )


def merged_settings(spec: DistributionTenantSpec, live: TenantSummary) -> TenantSettings:
    """The settings of an update: those of the spec, and the tenant's current values for what the spec leaves open."""
    wanted = settings_of(spec)
    if not wanted.connection_group_id:
        wanted = replace(wanted, connection_group_id=live.connection_group_id)
    if is_managed(spec) and not wanted.customizations.certificate_arn:
        certificate = live.customizations.certificate_arn
        wanted = replace(wanted, customizations=replace(wanted.customizations, certificate_arn=certificate))
    return wanted


def is_managed(spec: DistributionTenantSpec) -> bool:
    """Does CloudFront manage the certificate?"""
    return spec.managed_certificate_request is not None


def certificate_request_of(spec: DistributionTenantSpec) -> ManagedCertificateRequest | None:
    wish = spec.managed_certificate_request
    if wish is None:
        return None
    return ManagedCertificateRequest(
        wish.validation_token_host,
        normalise_name(wish.primary_domain_name),
        wish.certificate_transparency_logging_preference or "",
    )


def request_fingerprint(spec: DistributionTenantSpec) -> str:
    """A fingerprint of the certificate request, since CloudFront does not return the request. Empty if there is none."""
    wish = certificate_request_of(spec)
    if wish is None:
        return ""
    return fingerprint(wish.validation_token_host, wish.primary_domain_name, wish.transparency_logging)


def sent_fingerprint(spec: DistributionTenantSpec) -> str:
    """A fingerprint of the certificate request and the domains that it is sent with; empty if there is none."""
    request = request_fingerprint(spec)
    return f"{request}-{fingerprint(*sorted(domains_of(spec)))}" if request else ""


def sent_request(sent: str) -> str:
    """The part of a `sent_fingerprint` that is the `request_fingerprint`."""
    return sent.partition("-")[0]


def domains_of(spec: DistributionTenantSpec) -> frozenset[str]:
    """The normalised domains of the spec."""
    return frozenset(normalise_name(item.domain) for item in spec.domains)


def tags_fingerprint(spec: DistributionTenantSpec, owner: Owner) -> str:
    """A fingerprint of all tags that the tenant should have."""
    return fingerprint(*(part for pair in sorted(tags_of(spec, owner).items()) for part in pair))


def tags_of(spec: DistributionTenantSpec, owner: Owner) -> dict[str, str]:
    """The tags of the spec, and the ownership tags."""
    return {**{tag.key: tag.value for tag in spec.tags}, **owner.tags()}


# Differences


def differences(spec: DistributionTenantSpec, tenant: TenantSummary) -> tuple[Difference, ...]:
    """Where a tenant differs from the spec. Parameters are compared only if the tenant was read with them."""
    desired, observed = settings_tree(merged_settings(spec, tenant)), settings_tree(_observed(tenant))
    if not isinstance(tenant, DistributionTenant):
        desired["parameters"] = observed["parameters"]
    return tuple(compare(desired, observed, _RULES))


def _observed(tenant: TenantSummary) -> TenantSettings:
    if isinstance(tenant, DistributionTenant):
        return tenant.settings
    return TenantSettings(
        tenant.distribution_id,
        tuple(domain.domain for domain in tenant.domains),
        tenant.enabled,
        tenant.connection_group_id,
        {},
        tenant.customizations,
    )


def settings_tree(settings: TenantSettings) -> JsonObject:
    """Settings as a tree of fields, for comparing them and for printing differences."""
    custom = settings.customizations
    tree: JsonObject = {
        "distributionId": settings.distribution_id,
        "enabled": settings.enabled,
        "domains": [normalise_name(domain) for domain in settings.domains],
        "connectionGroupId": settings.connection_group_id or None,
        "parameters": dict(settings.parameters) or None,
        "certificate": custom.certificate_arn or None,
    }
    if custom.web_acl is not None:
        tree["webAcl"] = {"action": custom.web_acl.action, "arn": custom.web_acl.arn or None}
    if custom.geo_restrictions is not None and custom.geo_restrictions.restriction_type != "none":
        restrictions = custom.geo_restrictions
        tree["geoRestrictions"] = {
            "restrictionType": restrictions.restriction_type,
            "locations": list(restrictions.locations),
        }
    return tree
