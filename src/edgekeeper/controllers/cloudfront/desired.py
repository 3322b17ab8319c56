"""What a spec asks of AWS: settings and tags; and where what AWS has differs from it.

Pure. Names are compared as DNS compares them, lists without order, and what CloudFront manages itself is no difference:
a managed certificate that it has attached, a connection group that the spec leaves to it.
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
    """The tenant that the spec describes."""
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
    """What an update sends: all that the spec says, and the live value of what it leaves to CloudFront."""
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
    """Tells two certificate requests apart: CloudFront does not say which one it was sent."""
    wish = certificate_request_of(spec)
    if wish is None:
        return ""
    return fingerprint(wish.validation_token_host, wish.primary_domain_name, wish.transparency_logging)


def sent_fingerprint(spec: DistributionTenantSpec) -> str:
    """Tells two certificate requests apart by the domains that they are sent with as well; empty where there is none."""
    request = request_fingerprint(spec)
    return f"{request}-{fingerprint(*sorted(domains_of(spec)))}" if request else ""


def sent_request(sent: str) -> str:
    """The fingerprint of the request alone, of one that was sent."""
    return sent.partition("-")[0]


def domains_of(spec: DistributionTenantSpec) -> frozenset[str]:
    """The spec's domains as DNS compares them."""
    return frozenset(normalise_name(item.domain) for item in spec.domains)


def tags_fingerprint(spec: DistributionTenantSpec, owner: Owner) -> str:
    """Tells whether the tags that a tenant should have are those that it was given last."""
    return fingerprint(*(part for pair in sorted(tags_of(spec, owner).items()) for part in pair))


def tags_of(spec: DistributionTenantSpec, owner: Owner) -> dict[str, str]:
    """The spec's tags, and whose the tenant is."""
    return {**{tag.key: tag.value for tag in spec.tags}, **owner.tags()}


# Differences


def differences(spec: DistributionTenantSpec, tenant: TenantSummary) -> tuple[Difference, ...]:
    """Where a tenant is not what the spec says. Parameters are compared where they were read."""
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
    """Settings as people would write them, so that differences read well."""
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
