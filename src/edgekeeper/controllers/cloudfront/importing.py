"""The manifest of a tenant that exists in CloudFront: the inverse of `desired`. Pure.

The proposed spec is checked by what decides about it later: `differences` must be empty, and nothing may be refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from edgekeeper.api.cloudfront import (
    DEFAULT_TTL,
    DISTRIBUTION_TENANT,
    Certificate,
    Customizations,
    DistributionTenantSpec,
    Dns,
    Domain,
    GeoRestrictions,
    ManagedCertificateRequest,
    Parameter,
    Tag,
    WebAcl,
)
from edgekeeper.cloud.aws import tenants as live
from edgekeeper.cloud.aws.acm import Certificate as AcmCertificate
from edgekeeper.cloud.aws.distributions import ConnectionGroup, Distribution
from edgekeeper.cloud.aws.dns.records import is_within, normalise_name, records_for
from edgekeeper.cloud.aws.dns.survey import ZoneContent, destination
from edgekeeper.cloud.aws.tags import tag_count_problems
from edgekeeper.controllers.cloudfront.certificates import ISSUED, PENDING
from edgekeeper.controllers.cloudfront.desired import differences
from edgekeeper.controllers.cloudfront.guards import EVERYTHING, Guards
from edgekeeper.controllers.cloudfront.records import ENDPOINTS
from edgekeeper.controllers.cloudfront.validation import distribution_problems, spec_problems
from edgekeeper.core.delta import describe
from edgekeeper.core.ownership import TAG_PREFIX, Owner
from edgekeeper.lifecycle.importing import Findings, ImportResult, manifest, tag_owner
from edgekeeper.lifecycle.module import kind_of

KIND: Final = kind_of(DISTRIBUTION_TENANT)
_CLOUDFORMATION: Final = "aws:cloudformation:stack-name"
_LONGEST_NAME: Final = 253
_OBJECT_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_SHORTEST_TTL, _LONGEST_TTL = 60, 172_800


@dataclass(frozen=True)
class FoundTenant:
    """A tenant, and what it depends on."""

    tenant: live.DistributionTenant
    distribution: Distribution | None = None
    """None if it could not be read."""
    group: ConnectionGroup | None = None
    managed: live.ManagedCertificate | None = None
    """The certificate that CloudFront manages for it."""
    described: AcmCertificate | None = None
    """That certificate in ACM."""
    zones: Mapping[str, ZoneContent] = field(default_factory=dict)
    """The hosted zones of its domains, as far as they are in the account."""
    unread: str = ""
    """Why DNS records could not be read; empty if they were."""
    unread_certificate: str = ""
    """Why it is not known whether CloudFront manages the certificate; empty if it is."""

    @property
    def resource(self) -> str:
        return f"tenant {self.tenant.name} ({self.tenant.id})"


@dataclass(frozen=True)
class Place:
    """Where the object of a tenant shall be."""

    namespace: str
    cluster: str
    template: str = "{name}"
    """How tenants are named: `--tenant-name-template`."""
    guards: Guards = EVERYTHING
    declared: Mapping[str, str] = field(default_factory=dict)
    """Who declares a tenant already, in words, by the tenant's name."""

    def object_name(self, tenant: str) -> str:
        """The name of the object whose tenant has this name; empty if no object can have such a tenant."""
        parts = [
            re.escape(part.format(namespace=self.namespace, cluster=self.cluster))
            for part in self.template.split("{name}")
        ]
        again = r"\1".join(parts[1:])
        match = re.fullmatch(f"{parts[0]}(.+){again}", tenant)
        name = match[1] if match else ""
        return name if len(name) <= _LONGEST_NAME and _OBJECT_NAME.fullmatch(name) else ""


def import_tenant(found: FoundTenant, place: Place) -> ImportResult:
    """The manifest of a tenant, or why there is none."""
    tenant = found.tenant
    if owner := tag_owner(KIND.kind, tenant.tags) or place.declared.get(tenant.name, ""):
        return ImportResult(found.resource, owner=owner)
    findings = Findings()
    name = place.object_name(tenant.name)
    if not name:
        wanted = f"that --tenant-name-template {place.template} makes of the name of an object"
        findings.refuse("Name", f"{tenant.name} is not a name {wanted}")
        return findings.result(found.resource)
    try:
        # Decoded as the operator decodes it, so that limits of lengths and values are checked, too.
        spec = msgspec.convert(msgspec.to_builtins(_spec(found, findings)), DistributionTenantSpec)
    except msgspec.ValidationError as error:
        findings.refuse("spec", f"a value is not valid: {error}")
        return findings.result(found.resource)
    _check(found, spec, Owner(place.cluster, place.namespace, name, "imported"), findings)
    for problem in place.guards.refusals(place.namespace, spec):
        findings.refuse("spec", problem)
    return findings.result(found.resource, manifest(KIND, place.namespace, name, msgspec.to_builtins(spec)))


def _spec(found: FoundTenant, findings: Findings) -> DistributionTenantSpec:
    tenant = found.tenant
    is_default = found.group is not None and found.group.is_default
    request = _certificate_request(found, findings)
    return DistributionTenantSpec(
        distribution_id=tenant.distribution_id,
        domains=[Domain(normalise_name(item.domain)) for item in tenant.domains],
        enabled=tenant.enabled,
        connection_group_id="" if is_default else tenant.connection_group_id,
        parameters=[Parameter(name, value) for name, value in sorted(tenant.parameters.items())],
        customizations=_customizations(tenant.customizations),
        managed_certificate_request=request,
        tags=[Tag(key, value) for key, value in sorted(tenant.tags.items()) if not _is_reserved(key)],
        dns=_dns(found, findings),
    )


def _customizations(present: live.Customizations) -> Customizations | None:
    if not present:
        return None
    acl, geo, arn = present.web_acl, present.geo_restrictions, present.certificate_arn
    return Customizations(
        web_acl=msgspec.convert({"action": acl.action, "arn": acl.arn}, WebAcl) if acl else None,
        certificate=Certificate(arn) if arn else None,
        geo_restrictions=msgspec.convert(
            {"restrictionType": geo.restriction_type, "locations": list(geo.locations)}, GeoRestrictions
        )
        if geo
        else None,
    )


def _certificate_request(found: FoundTenant, findings: Findings) -> ManagedCertificateRequest | None:
    """The request of a certificate that CloudFront manages, so that it goes on to be renewed for new domains."""
    managed, described = found.managed, found.described
    if found.unread_certificate:
        findings.notes.append(
            f"whether CloudFront manages its certificate could not be read: {found.unread_certificate}"
        )
    if managed is None or not managed.arn:
        return None
    if managed.status not in (ISSUED, PENDING):
        findings.notes.append(
            f"the certificate that CloudFront manages is {managed.status}: managedCertificateRequest is left out"
        )
        return None
    primary = normalise_name(described.domain) if described is not None else ""
    if (
        managed.validation_token_host not in ("cloudfront", "self-hosted")
        or primary not in found.tenant.served
    ):
        findings.notes.append(
            "CloudFront manages the certificate, but what it was requested with is not known: "
            "managedCertificateRequest is left out, and the certificate is named by its ARN"
        )
        return None
    fields = {"validationTokenHost": managed.validation_token_host, "primaryDomainName": primary}
    if described is not None and not described.is_logged:
        fields["certificateTransparencyLoggingPreference"] = "disabled"
    return msgspec.convert(fields, ManagedCertificateRequest)


def _dns(found: FoundTenant, findings: Findings) -> Dns | None:
    """The section for records that equal what would be written; None if there are none such."""
    domains = sorted(found.tenant.served)
    if found.unread:
        findings.notes.append(f"spec.dns is left out, because records could not be read: {found.unread}")
        return None
    leading = [name for name in domains if _leads_here(found, name)]
    if not leading:
        return None
    zones = {zone.id: zone for zone in (found.zones.get(name) for name in domains) if zone is not None}
    why = ""
    if len(zones) != 1 or any(name not in found.zones for name in domains):
        why = "the domains are not in one hosted zone of the account"
    else:
        (zone,) = zones.values()
        ttls = {record.ttl for name in domains for record in zone.leading(name) if record.type == "CNAME"}
        ttl = next(iter(ttls), None) or DEFAULT_TTL
        if len(ttls) > 1 or not _SHORTEST_TTL <= ttl <= _LONGEST_TTL:
            why = "the records have different TTLs, or one that is not allowed"
        elif different := [name for name in domains if not _is_as_written(found, zone, name, ttl)]:
            why = f"these differ from what would be written: {', '.join(different)}"
        else:
            return Dns("route53", zone.id, ttl)
    findings.notes.append(f"spec.dns is left out, and the records stay unmanaged: {why}")
    return None


def _leads_here(found: FoundTenant, domain: str) -> bool:
    zone = found.zones.get(domain)
    return zone is not None and any(
        is_within(destination(record), ENDPOINTS) for record in zone.leading(domain)
    )


def _is_as_written(found: FoundTenant, zone: ZoneContent, domain: str, ttl: int) -> bool:
    if found.group is None:
        return False
    return zone.has(records_for(domain, zone=zone.apex, target=found.group.routing_endpoint, ttl=ttl))


def _check(found: FoundTenant, spec: DistributionTenantSpec, owner: Owner, findings: Findings) -> None:
    """Refuse what the operator would refuse, or change."""
    tenant = found.tenant
    for problem in spec_problems(tenant.name, spec):
        findings.refuse("spec", problem)
    for problem in tag_count_problems(spec.tags, owner, tenant.tags):
        findings.refuse("spec.tags", problem)
    if found.distribution is not None:
        for problem in distribution_problems(spec, found.distribution):
            findings.refuse("spec", problem)
    if changed := differences(spec, tenant):
        findings.refuse("spec", f"applying it would change the tenant: {describe(changed)}")
    if stack := tenant.tags.get(_CLOUDFORMATION):
        findings.notes.append(f"it belongs to the CloudFormation stack {stack}, which goes on to manage it")


def _is_reserved(key: str) -> bool:
    return key.lower().startswith(("aws:", TAG_PREFIX))
