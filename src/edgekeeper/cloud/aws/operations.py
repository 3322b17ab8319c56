"""Every operation of AWS that edgekeeper uses, once: what it does, and whose budget it takes from.

*Idempotent* is said of a call that may be repeated when nobody knows whether it was done. Reads are. Of the writes,
those that replace a whole under a precondition or by a token are: the second attempt either does nothing or is
refused as stale, and then the live state is read again. Those that create something are not.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.cloud import lanes
from edgekeeper.cloud.operation import Operation

_READ = timedelta(seconds=45)
_WRITE = timedelta(seconds=45)
_LISTING = timedelta(seconds=120)
"""For one page of a sweep: it can wait behind user changes for longer."""
_BATCH = timedelta(minutes=3)
"""A large batch waits for the account's throughput. No worker waits with it."""
_DOMAIN_LANE = timedelta(seconds=90)
"""API Gateway takes one domain call per half minute. Whoever would wait for longer is told so at once."""


def _read(service: str, name: str, lane: str, deadline: timedelta = _READ) -> Operation:
    return Operation("aws", service, name, mutating=False, idempotent=True, lane=lane, deadline=deadline)


def _write(
    service: str, name: str, lane: str, *, idempotent: bool = False, deadline: timedelta = _WRITE
) -> Operation:
    return Operation("aws", service, name, mutating=True, idempotent=idempotent, lane=lane, deadline=deadline)


CREATE_TENANT: Final = _write("cloudfront", "CreateDistributionTenant", lanes.CLOUDFRONT_WRITE)
UPDATE_TENANT: Final = _write(
    "cloudfront", "UpdateDistributionTenant", lanes.CLOUDFRONT_WRITE, idempotent=True
)
DELETE_TENANT: Final = _write(
    "cloudfront", "DeleteDistributionTenant", lanes.CLOUDFRONT_WRITE, idempotent=True
)
TAG_RESOURCE: Final = _write("cloudfront", "TagResource", lanes.CLOUDFRONT_WRITE, idempotent=True)
UNTAG_RESOURCE: Final = _write("cloudfront", "UntagResource", lanes.CLOUDFRONT_WRITE, idempotent=True)
GET_TENANT: Final = _read("cloudfront", "GetDistributionTenant", lanes.CLOUDFRONT_READ)
GET_TENANT_BY_DOMAIN: Final = _read("cloudfront", "GetDistributionTenantByDomain", lanes.CLOUDFRONT_READ)
GET_MANAGED_CERTIFICATE: Final = _read("cloudfront", "GetManagedCertificateDetails", lanes.CLOUDFRONT_READ)
GET_CONNECTION_GROUP: Final = _read("cloudfront", "GetConnectionGroup", lanes.CLOUDFRONT_READ)
GET_DISTRIBUTION: Final = _read("cloudfront", "GetDistribution", lanes.CLOUDFRONT_READ)
LIST_TAGS: Final = _read("cloudfront", "ListTagsForResource", lanes.CLOUDFRONT_READ)
LIST_DOMAIN_CONFLICTS: Final = _read("cloudfront", "ListDomainConflicts", lanes.CLOUDFRONT_READ)
LIST_TENANTS: Final = _read("cloudfront", "ListDistributionTenants", lanes.CLOUDFRONT_READ, _LISTING)
LIST_CONNECTION_GROUPS: Final = _read("cloudfront", "ListConnectionGroups", lanes.CLOUDFRONT_READ, _LISTING)

CHANGE_RECORDS: Final = _write("route53", "ChangeResourceRecordSets", lanes.ROUTE53_CHANGE, deadline=_BATCH)
GET_CHANGE: Final = _read("route53", "GetChange", lanes.ROUTE53)
GET_ZONE: Final = _read("route53", "GetHostedZone", lanes.ROUTE53)
LIST_RECORDS: Final = _read("route53", "ListResourceRecordSets", lanes.ROUTE53, _LISTING)
LIST_ZONES: Final = _read("route53", "ListHostedZones", lanes.ROUTE53, _LISTING)

DESCRIBE_CERTIFICATE: Final = _read("acm", "DescribeCertificate", lanes.ACM)
LIST_CERTIFICATES: Final = _read("acm", "ListCertificates", lanes.ACM_LIST, _LISTING)
REQUEST_CERTIFICATE: Final = _write("acm", "RequestCertificate", lanes.ACM_REQUEST, idempotent=True)
"""The idempotency token makes the second request the same as the first."""
DELETE_CERTIFICATE: Final = _write("acm", "DeleteCertificate", lanes.ACM, idempotent=True)

CREATE_DOMAIN: Final = _write(
    "apigateway", "CreateDomainName", lanes.API_GATEWAY_DOMAIN, deadline=_DOMAIN_LANE
)
UPDATE_DOMAIN: Final = _write(
    "apigateway", "UpdateDomainName", lanes.API_GATEWAY_DOMAIN, deadline=_DOMAIN_LANE
)
DELETE_DOMAIN: Final = _write(
    "apigateway", "DeleteDomainName", lanes.API_GATEWAY_DOMAIN, idempotent=True, deadline=_DOMAIN_LANE
)
GET_DOMAIN: Final = _read("apigateway", "GetDomainName", lanes.API_GATEWAY)
LIST_DOMAINS: Final = _read("apigateway", "GetDomainNames", lanes.API_GATEWAY, _LISTING)
CREATE_MAPPING: Final = _write("apigateway", "CreateApiMapping", lanes.API_GATEWAY)
UPDATE_MAPPING: Final = _write("apigateway", "UpdateApiMapping", lanes.API_GATEWAY, idempotent=True)
DELETE_MAPPING: Final = _write("apigateway", "DeleteApiMapping", lanes.API_GATEWAY, idempotent=True)
LIST_MAPPINGS: Final = _read("apigateway", "GetApiMappings", lanes.API_GATEWAY)

GET_POLICY: Final = _read("lambda", "GetPolicy", lanes.LAMBDA)
ADD_PERMISSION: Final = _write("lambda", "AddPermission", lanes.LAMBDA)
REMOVE_PERMISSION: Final = _write("lambda", "RemovePermission", lanes.LAMBDA, idempotent=True)

ASSUME_ROLE: Final = _read("sts", "AssumeRole", lanes.STS)
"""Gives a key away and changes nothing."""
GET_CALLER_IDENTITY: Final = _read("sts", "GetCallerIdentity", lanes.STS)

ALL: Final[tuple[Operation, ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, Operation)
)
