"""What is wrong with a spec, found before AWS is asked, all at once, and each with its field and its remedy.

The schema has checked types and lengths. Here is what it cannot know: what fields mean together, what the distribution
asks of its tenants, and what administrators allow.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from edgekeeper.api.cloudfront import DistributionTenantSpec, InventoryRecord
from edgekeeper.cloud.aws.distributions import Distribution
from edgekeeper.cloud.aws.records import normalise_name
from edgekeeper.cloud.aws.roles import PARTITION, is_role_arn
from edgekeeper.core.countries import COUNTRIES
from edgekeeper.core.ownership import TAG_PREFIX

_NAME = re.compile(r"[a-z0-9][a-z0-9.\-]{1,126}[a-z0-9]")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_DISTRIBUTION = re.compile(r"[A-Z0-9]{1,32}")
_ZONE = re.compile(r"(?:/hostedzone/)?[A-Z0-9]{1,32}")
_GROUP = re.compile(r"[\w.-]{1,128}", re.ASCII)
_CERTIFICATE = re.compile(rf"arn:{PARTITION}:acm:[a-z0-9-]+:\d{{12}}:certificate/[\w-]+", re.ASCII)
_LONGEST_DOMAIN = 253


def spec_problems(tenant_name: str, spec: DistributionTenantSpec) -> list[str]:
    """Everything that is wrong with the spec by itself."""
    return [
        *_name_problems(tenant_name),
        *_domain_problems(spec),
        *_certificate_problems(spec),
        *_location_problems(spec),
        *_repeated("spec.parameters", (item.name for item in spec.parameters)),
        *_tag_problems(spec),
        *_id_problems(spec),
        *_dns_problems(spec),
    ]


def inventory_problems(inventory: Iterable[InventoryRecord]) -> list[str]:
    """What cannot be in an inventory, unless somebody else has written it."""
    problems: list[str] = []
    for entry in inventory:
        path = f"status.inventory[{entry.type} {entry.name}]"
        problems += [*_zone_problems(f"{path}.zone", entry.zone), *_role_problems(f"{path}.role", entry.role)]
    return problems


def distribution_problems(spec: DistributionTenantSpec, distribution: Distribution) -> list[str]:
    """Everything that the distribution asks for and the spec lacks."""
    own = spec.own_certificate
    problems = list(_account_problems(own, distribution)) if own else []
    if not distribution.covers_tenants and not own and spec.managed_certificate_request is None:
        problems.append(
            f"distribution {distribution.id} has no certificate for tenants: set "
            "spec.customizations.certificate.arn or spec.managedCertificateRequest"
        )
    given = {item.name for item in spec.parameters}
    missing = [item.name for item in distribution.parameters if item.must_be_given and item.name not in given]
    if missing:
        problems.append(f"spec.parameters lacks what the distribution requires: {', '.join(missing)}")
    return problems


def _name_problems(name: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield (
            f"the resource name {name!r} cannot be the name of a tenant: it takes 3 to 128 lower-case letters, "
            "digits, dots and dashes, with a letter or digit at both ends"
        )


def _domain_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    for item in spec.domains:
        if not is_domain(item.domain):
            yield f"spec.domains: {item.domain!r} is not a domain name"
    yield from _repeated("spec.domains", (normalise_name(item.domain) for item in spec.domains))


def is_domain(name: str) -> bool:
    """Is this a name that DNS and CloudFront take? A wildcard may stand for the first label.

    In ASCII only, before anything else: there are letters beyond it whose lower case is within, such as the Kelvin sign.
    """
    labels = name.lower().removesuffix(".").split(".")
    if labels[0] == "*":
        labels = labels[1:]
    is_short = len(name) <= _LONGEST_DOMAIN
    return name.isascii() and is_short and len(labels) >= 2 and all(map(_LABEL.fullmatch, labels))


def _account_problems(certificate: str, distribution: Distribution) -> Iterator[str]:
    """CloudFront takes certificates of the account in which the distribution is."""
    account = _account_of(distribution.arn)
    if account and account != _account_of(certificate):
        yield (
            f"spec.customizations.certificate.arn {certificate} is of another account "
            f"than distribution {distribution.id}, which is of {account}"
        )


def _account_of(arn: str) -> str:
    return arn.split(":")[4] if arn.count(":") >= 5 else ""


def _certificate_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    if (own := spec.own_certificate) and not _CERTIFICATE.fullmatch(own):
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
            "is none of spec.domains"
        )


def _location_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    geo = spec.customizations.geo_restrictions if spec.customizations else None
    if geo is None:
        return
    path = "spec.customizations.geoRestrictions.locations"
    for code in geo.locations:
        if code not in COUNTRIES:
            yield f"{path}: {code!r} is no country of ISO 3166-1 alpha-2"
    if geo.restriction_type != "none" and not geo.locations:
        yield f"{path} is empty: a {geo.restriction_type} needs at least one country"
    yield from _repeated(path, geo.locations)


def _tag_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    yield from _repeated("spec.tags", (tag.key for tag in spec.tags))
    for tag in spec.tags:
        if tag.key.lower().startswith(("aws:", TAG_PREFIX)):
            yield f"spec.tags: the key {tag.key!r} is reserved"


def _id_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    """Ids travel in the paths of requests: what is none must not."""
    distribution, group = spec.distribution_id, spec.connection_group_id
    if not _DISTRIBUTION.fullmatch(distribution):
        yield f"spec.distributionId {distribution!r} is not the id of a distribution: it takes capitals and digits"
    if group and not _GROUP.fullmatch(group):
        yield f"spec.connectionGroupId {group!r} is not the id of a connection group: it begins with cg_"


def _dns_problems(spec: DistributionTenantSpec) -> Iterator[str]:
    if spec.dns is not None:
        yield from _zone_problems("spec.dns.hostedZoneId", spec.dns.hosted_zone_id)
        yield from _role_problems("spec.dns.assumeRoleArn", spec.dns.assume_role_arn)


def _zone_problems(path: str, zone: str) -> Iterator[str]:
    if not _ZONE.fullmatch(zone):
        yield f"{path} {zone!r} is not the id of a hosted zone: it takes capitals and digits"


def _role_problems(path: str, role: str) -> Iterator[str]:
    if role and not is_role_arn(role):
        yield f"{path} {role!r} is not the ARN of a role: it reads arn:aws:iam::ACCOUNT:role/NAME"


def _repeated(path: str, names: Iterable[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{path}: {name!r} is listed {count} times"
