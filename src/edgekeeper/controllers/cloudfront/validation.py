"""Validate a spec before AWS is called. All problems are reported together, each with its field and a remedy.

The CRD schema has checked types and lengths. These functions check what it cannot: combinations of fields, the requirements
of the distribution, and the tag limit of AWS.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from unicodedata import category

from edgekeeper.api.cloudfront import DistributionTenantSpec, DnsChange, InventoryRecord
from edgekeeper.api.cloudfront_rules import MOST_TAGS
from edgekeeper.cloud.aws.distributions import TENANT_ONLY, Distribution
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.roles import is_role_arn
from edgekeeper.controllers.cloudfront.domain_names import is_domain, problem_of
from edgekeeper.core.aws_identifiers import (
    CERTIFICATE_ARN,
    CONNECTION_GROUP_ID,
    DISTRIBUTION_ID,
    HOSTED_ZONE_ID,
    WEB_ACL_ARN,
    is_form,
)
from edgekeeper.core.countries import COUNTRIES
from edgekeeper.core.ownership import TAG_PREFIX, Owner

_NAME = re.compile(r"[a-z0-9][a-z0-9.\-]{1,126}[a-z0-9]")
_CHANGE = re.compile(r"[A-Z0-9]{1,32}")
_TAG_PUNCTUATION: Final = frozenset("_.:/=+-@")
_TAG_CATEGORIES: Final = frozenset("LNZ")
"""Unicode categories of letters, numbers and separators."""


def spec_problems(tenant_name: str, spec: DistributionTenantSpec) -> list[str]:
    """All problems of the spec alone, without AWS."""
    return [
        *_name_problems(tenant_name),
        *_domain_problems(spec),
        *_certificate_problems(spec),
        *_web_acl_problems(spec),
        *_location_problems(spec),
        *_repeated("spec.parameters", (item.name for item in spec.parameters)),
        *_tag_problems(spec),
        *_id_problems(spec),
        *_dns_problems(spec),
    ]


def inventory_problems(inventory: Iterable[InventoryRecord]) -> list[str]:
    """Invalid zones and roles in an inventory: the operator never writes such entries, so somebody else did."""
    problems: list[str] = []
    for entry in inventory:
        path = f"status.inventory[{entry.type} {entry.name}]"
        problems += [*_zone_problems(f"{path}.zone", entry.zone), *_role_problems(f"{path}.role", entry.role)]
    return problems


def is_credible_change(change: DnsChange) -> bool:
    """Does a change in a status have valid ids? They become part of request paths, and others may write the status."""
    is_named = not change.id or bool(_CHANGE.fullmatch(change.id))
    return is_named and not [*_zone_problems("", change.zone), *_role_problems("", change.role)]


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


def tag_count_problems(
    spec: DistributionTenantSpec, owner: Owner, present: Mapping[str, str]
) -> Iterator[str]:
    """Check the tag limit of AWS: tags of the spec, ownership tags, and tags that others have set on the tenant."""
    mark = owner.tags()
    others = present.keys() - mark.keys() - {tag.key for tag in spec.tags}
    total = len({tag.key for tag in spec.tags}) + len(mark) + len(others)
    if total > MOST_TAGS:
        extra = f" plus {len(others)} set by others" if others else ""
        yield (
            f"spec.tags: {len(spec.tags)} tags plus {len(mark)} ownership tags{extra} are {total}, "
            f"and AWS allows {MOST_TAGS}: remove {total - MOST_TAGS}"
        )


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
    yield from _repeated("spec.domains", (normalise_name(item.domain) for item in spec.domains))


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
    account = _account_of(distribution.arn)
    if account and account != _account_of(certificate):
        yield (
            f"spec.customizations.certificate.arn {certificate} belongs to another account "
            f"than distribution {distribution.id}, which belongs to {account}"
        )


def _account_of(arn: str) -> str:
    return arn.split(":")[4] if arn.count(":") >= 5 else ""


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
    yield from _repeated(path, geo.locations)


def _tag_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    yield from _repeated("spec.tags", (tag.key for tag in spec.tags))
    for tag in spec.tags:
        if tag.key.lower().startswith(("aws:", TAG_PREFIX)):
            yield f"spec.tags: the key {tag.key!r} is reserved"
        for text in (tag.key, tag.value):
            if not all(map(_is_for_tags, text)):
                yield f"spec.tags: {text!r} has characters other than letters, digits, spaces and _ . : / = + - @"


def _is_for_tags(character: str) -> bool:
    return character in _TAG_PUNCTUATION or category(character)[0] in _TAG_CATEGORIES


def _id_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    """Check the ids of the spec: they become part of request paths, so nothing else may get there."""
    distribution, group = spec.distribution_id, spec.connection_group_id
    if not is_form(DISTRIBUTION_ID, distribution):
        yield f"spec.distributionId {distribution!r} is not the id of a distribution: ids have capital letters and digits"
    if group and not is_form(CONNECTION_GROUP_ID, group):
        yield f"spec.connectionGroupId {group!r} is not the id of a connection group: ids begin with cg_"


def _dns_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    if spec.dns is not None:
        yield from _zone_problems("spec.dns.hostedZoneId", spec.dns.hosted_zone_id)
        yield from _role_problems("spec.dns.assumeRoleArn", spec.dns.assume_role_arn)


def _zone_problems(path: str, zone: str) -> Iterator[str]:
    if not is_form(HOSTED_ZONE_ID, zone):
        yield f"{path} {zone!r} is not the id of a hosted zone: ids have capital letters and digits"


def _role_problems(path: str, role: str) -> Iterator[str]:
    if role and not is_role_arn(role):
        yield f"{path} {role!r} is not the ARN of a role: its form is arn:aws:iam::ACCOUNT:role/NAME"


def _repeated(path: str, names: Iterable[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{path}: {name!r} is listed {count} times"
