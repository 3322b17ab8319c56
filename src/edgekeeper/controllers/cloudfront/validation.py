"""Validate a spec before AWS is called. All problems are reported together, each with its field and a remedy.

The CRD schema has checked types and lengths. These functions check what it cannot: combinations of fields, and the
requirements of the distribution.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from edgekeeper.api.cloudfront import DistributionTenantSpec
from edgekeeper.cloud.aws.distributions import TENANT_ONLY, Distribution
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.dns.validation import role_problems, zone_problems
from edgekeeper.cloud.aws.tags import tag_problems
from edgekeeper.core.aws_identifiers import (
    CERTIFICATE_ARN,
    CONNECTION_GROUP_ID,
    DISTRIBUTION_ID,
    WEB_ACL_ARN,
    account_of,
    is_form,
)
from edgekeeper.core.countries import COUNTRIES
from edgekeeper.core.domain_names import is_domain, problem_of
from edgekeeper.core.problems import repeated

_NAME = re.compile(r"[a-z0-9][a-z0-9.\-]{1,126}[a-z0-9]")


def spec_problems(tenant_name: str, spec: DistributionTenantSpec) -> list[str]:
    """All problems of the spec alone, without AWS."""
    return [
        *_name_problems(tenant_name),
        *_domain_problems(spec),
        *_certificate_problems(spec),
        *_web_acl_problems(spec),
        *_location_problems(spec),
        *repeated("spec.parameters", (item.name for item in spec.parameters)),
        *tag_problems(spec.tags),
        *_id_problems(spec),
        *_dns_problems(spec),
    ]


def distribution_problems(spec: DistributionTenantSpec, distribution: Distribution) -> list[str]:
    """All problems of the spec with its distribution."""
    own = spec.own_certificate
    problems = list(_account_problems(own, distribution)) if own else []
    if not distribution.covers_tenants and not own and spec.managed_certificate_request is None:
        problems.append(
            f"distribution {distribution.id} has no certificate for tenants: set "
            "spec.customizations.certificate.arn or spec.managedCertificateRequest"
        )
    if distribution.connection_mode not in ("", TENANT_ONLY):
        problems.append(
            f"spec.distributionId: distribution {distribution.id} cannot have tenants, because its connection mode is "
            f"{distribution.connection_mode}: use a multi-tenant distribution"
        )
    return [*problems, *_parameter_problems(spec, distribution)]


def _name_problems(name: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield (
            f"the resource name {name!r} cannot be the name of a tenant: use 3 to 128 lower-case letters, "
            "digits, dots and dashes, with a letter or digit at both ends"
        )


def _domain_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    for item in spec.domains:
        if not is_domain(item.domain):
            yield f"spec.domains: {problem_of(item.domain)}"
    yield from repeated("spec.domains", (normalise_name(item.domain) for item in spec.domains))


def _parameter_problems(spec: DistributionTenantSpec, distribution: Distribution) -> Iterator[str]:
    given = {item.name for item in spec.parameters}
    missing = [item.name for item in distribution.parameters if item.must_be_given and item.name not in given]
    if missing:
        yield f"spec.parameters lacks parameters that the distribution requires: {', '.join(missing)}"
    defined = [item.name for item in distribution.parameters]
    if unknown := sorted(given.difference(defined)):
        yield (
            f"spec.parameters has parameters that distribution {distribution.id} does not define: {', '.join(unknown)}; "
            f"it defines {', '.join(defined) or 'none'}"
        )


def _account_problems(certificate: str, distribution: Distribution) -> Iterator[str]:
    """CloudFront accepts only certificates of the distribution's account."""
    account = account_of(distribution.arn)
    if account and account != account_of(certificate):
        yield (
            f"spec.customizations.certificate.arn {certificate} belongs to another account "
            f"than distribution {distribution.id}, which belongs to {account}"
        )


def _certificate_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    if (own := spec.own_certificate) and not is_form(CERTIFICATE_ARN, own):
        yield (
            f"spec.customizations.certificate.arn {own!r} is not the ARN of a certificate, such as "
            "arn:aws:acm:us-east-1:111122223333:certificate/12345678-1234-1234-1234-123456789012"
        )
    wish = spec.managed_certificate_request
    if wish is None:
        return
    domains = {normalise_name(item.domain) for item in spec.domains}
    if normalise_name(wish.primary_domain_name) not in domains:
        yield (
            f"spec.managedCertificateRequest.primaryDomainName {wish.primary_domain_name!r} "
            "is not one of spec.domains"
        )


def _web_acl_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    acl = spec.customizations.web_acl if spec.customizations else None
    if acl is None:
        return
    path = "spec.customizations.webAcl.arn"
    form = "arn:aws:wafv2:us-east-1:111122223333:global/webacl/NAME/ID"
    if acl.action == "override" and not acl.arn:
        yield f"{path} is required when action is override: its form is {form}"
    elif acl.arn and not is_form(WEB_ACL_ARN, acl.arn):
        yield f"{path} {acl.arn!r} is not the ARN of a web ACL with global scope: its form is {form}"


def _location_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    geo = spec.customizations.geo_restrictions if spec.customizations else None
    if geo is None:
        return
    path = "spec.customizations.geoRestrictions.locations"
    for code in geo.locations:
        if code not in COUNTRIES:
            yield f"{path}: {code!r} is not an ISO 3166-1 alpha-2 country code"
    if geo.restriction_type != "none" and not geo.locations:
        yield f"{path} is empty: a {geo.restriction_type} needs at least one country"
    yield from repeated(path, geo.locations)


def _id_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    """Check the ids of the spec: they become part of request paths, so nothing else may get there."""
    distribution, group = spec.distribution_id, spec.connection_group_id
    if not is_form(DISTRIBUTION_ID, distribution):
        yield f"spec.distributionId {distribution!r} is not the id of a distribution: ids have capital letters and digits"
    if group and not is_form(CONNECTION_GROUP_ID, group):
        yield f"spec.connectionGroupId {group!r} is not the id of a connection group: ids begin with cg_"


def _dns_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    if spec.dns is not None:
        yield from zone_problems("spec.dns.hostedZoneId", spec.dns.hosted_zone_id)
        yield from role_problems("spec.dns.assumeRoleArn", spec.dns.assume_role_arn)
