"""The manifest of a domain name that API Gateway has: the inverse of what is made of an APIGatewayDomain. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from edgekeeper.api.bridge import API_GATEWAY_DOMAIN, DEFAULT_TTL, APIGatewayDomainSpec, ApiRef, DnsConfig
from edgekeeper.cloud.aws.acm import Certificate
from edgekeeper.cloud.aws.apigateway import REGIONAL, ApiMapping, GatewayDomain
from edgekeeper.cloud.aws.dns.records import normalise_name, records_for
from edgekeeper.cloud.aws.dns.survey import ZoneContent
from edgekeeper.cloud.aws.tags import tag_count_problems
from edgekeeper.core.ownership import Owner
from edgekeeper.lifecycle.guards import Limits
from edgekeeper.lifecycle.importing import Findings, ImportResult, manifest, tag_owner
from edgekeeper.lifecycle.module import kind_of

KIND: Final = kind_of(API_GATEWAY_DOMAIN)
_POLICIES: Final = ("TLS_1_0", "TLS_1_2")
NO_LIMITS: Final = Limits()
_SHORTEST_TTL, _LONGEST_TTL = 60, 172_800


@dataclass(frozen=True)
class FoundDomain:
    """A domain name, and what belongs to it."""

    domain: GatewayDomain
    mappings: tuple[ApiMapping, ...] = ()
    certificate: Certificate | None = None
    is_valid: bool = False
    """Is the certificate issued, and has it not expired?"""
    zone: ZoneContent | None = None
    """The hosted zone of the domain; None if it is not in the account."""
    unread: str = ""
    """Why DNS records could not be read; empty if they were."""

    @property
    def name(self) -> str:
        return normalise_name(self.domain.name)

    @property
    def resource(self) -> str:
        return f"domain name {self.name}"


@dataclass(frozen=True)
class Place:
    """Where the objects of domain names shall be."""

    namespace: str
    cluster: str
    names: Mapping[str, str]
    """The name of the object, by domain name."""
    declared: Mapping[str, str]
    """Who declares a domain name already, in words, by domain name."""
    limits: Limits = NO_LIMITS


def import_domain(found: FoundDomain, place: Place) -> ImportResult:
    """The manifest of a domain name, or why there is none."""
    if owner := tag_owner(KIND.kind, found.domain.tags) or place.declared.get(found.name, ""):
        return ImportResult(found.resource, owner=owner)
    findings = Findings()
    _check(found, findings)
    mapping = _only_mapping(found, findings)
    if mapping is None:
        return findings.result(found.resource)
    name = place.names[found.name]
    owner_to_be = Owner(place.cluster, place.namespace, name, "imported")
    for problem in tag_count_problems((), owner_to_be, found.domain.tags, "tags"):
        findings.refuse("tags", problem)
    spec = APIGatewayDomainSpec(
        domain=found.name,
        api_ref=ApiRef(api_id=mapping.api_id),
        certificate_strategy="use-arn",
        certificate_arn=found.domain.settings.certificate_arn,
        stage=mapping.stage,
        api_mapping_key=mapping.key,
        security_policy=_security_policy(found),
        dns_config=_dns(found, findings),
    )
    _check_limits(spec, place, findings)
    body = manifest(KIND, place.namespace, name, msgspec.to_builtins(spec))
    return findings.result(found.resource, body)


def _check_limits(spec: APIGatewayDomainSpec, place: Place, findings: Findings) -> None:
    """Refuse what administrators do not allow."""
    limits, zone = place.limits, spec.dns_config.hosted_zone_id
    for problem in limits.hostname_policy.refusals("spec.domain", place.namespace, [spec.domain]):
        findings.refuse("spec.domain", problem)
    for problem in limits.zone_refusals("spec.dnsConfig.hostedZoneId", zone) if zone else ():
        findings.refuse("spec.dnsConfig", problem)


def _security_policy(found: FoundDomain) -> Any:
    policy = found.domain.settings.security_policy
    return policy if policy in _POLICIES else "TLS_1_2"


def _only_mapping(found: FoundDomain, findings: Findings) -> ApiMapping | None:
    """The mapping, which must be the only one: an object has one."""
    if len(found.mappings) > 1:
        keys = ", ".join(mapping.key or "(all paths)" for mapping in found.mappings)
        findings.refuse(
            "ApiMappings", f"an APIGatewayDomain has one mapping, and the domain name has several: {keys}"
        )
    elif not found.mappings:
        findings.refuse(
            "ApiMappings", "an APIGatewayDomain leads to an API, and nothing is mapped to the domain name"
        )
    return found.mappings[0] if found.mappings else None


def _check(found: FoundDomain, findings: Findings) -> None:
    """Refuse what no APIGatewayDomain can express, or its controller would refuse."""
    settings, certificate = found.domain.settings, found.certificate
    if settings.endpoint_type != REGIONAL:
        findings.refuse("EndpointType", f"{settings.endpoint_type} is not supported: only {REGIONAL} is")
    if settings.security_policy not in _POLICIES:
        findings.refuse("SecurityPolicy", f"{settings.security_policy} is not one of {', '.join(_POLICIES)}")
    for name in found.domain.foreign_settings:
        findings.refuse(name, "an APIGatewayDomain has no such setting")
    if certificate is None:
        findings.refuse(
            "CertificateArn", f"there is no certificate {settings.certificate_arn} in ACM of the region"
        )
    elif not found.is_valid:
        findings.refuse("CertificateArn", f"the certificate is {certificate.status}, or has expired")
    elif not certificate.covers([found.name]):
        findings.refuse("CertificateArn", f"the certificate covers {', '.join(certificate.names)} only")


def _dns(found: FoundDomain, findings: Findings) -> DnsConfig:
    """The records, if they equal what would be written; else none are managed."""
    none = DnsConfig(enabled=False)
    if found.unread:
        findings.notes.append(f"dnsConfig is disabled, because records could not be read: {found.unread}")
        return none
    zone, domain = found.zone, found.domain
    present = zone.leading(found.name) if zone is not None else ()
    if zone is None or not present:
        return none
    is_alias = any(record.alias is not None for record in present)
    ttl = next((record.ttl for record in present if record.ttl is not None), None) or DEFAULT_TTL
    wanted = records_for(
        found.name,
        zone=found.name if is_alias else "",
        target=domain.endpoint,
        ttl=ttl,
        alias_zone=domain.hosted_zone_id,
    )
    if not zone.has(wanted) or not _SHORTEST_TTL <= ttl <= _LONGEST_TTL:
        findings.notes.append(
            "dnsConfig is disabled, and the records stay unmanaged: they differ from what would be written"
        )
        return none
    is_apex = found.name == zone.apex
    return DnsConfig(
        hosted_zone_id=zone.id,
        ttl=ttl,
        record_type="ALIAS" if is_alias and not is_apex else None,
    )
