"""Every operation of AWS that edgekeeper uses, with its lane and whether it is idempotent.

A call is *idempotent* if it may be repeated when it is not known whether it took effect. Reads are. Of the writes,
those that replace a whole under a precondition or by a token are: the second attempt either does nothing or is
refused as stale, and then the live state is read again. Those that create something are not.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.cloud import rates
from edgekeeper.cloud.operation import Operation

_READ = timedelta(seconds=45)
_WRITE = timedelta(seconds=45)
_LISTING = timedelta(seconds=120)
"""For one page of a sweep: it can wait behind user changes for longer."""
_BATCH = timedelta(minutes=3)
"""A large batch waits for the account's throughput. No worker waits with it."""
_DOMAIN_LANE = timedelta(seconds=90)
"""API Gateway takes one domain call per half minute. A call that would wait longer is refused at once."""


def _read(service: str, name: str, lane: str, deadline: timedelta = _READ) -> Operation:
    return Operation("aws", service, name, mutating=False, idempotent=True, lane=lane, deadline=deadline)


def _write(
    service: str, name: str, lane: str, *, idempotent: bool = False, deadline: timedelta = _WRITE
) -> Operation:
    return Operation("aws", service, name, mutating=True, idempotent=idempotent, lane=lane, deadline=deadline)


CREATE_TENANT: Final = _write("cloudfront", "CreateDistributionTenant", rates.CLOUDFRONT_WRITE)
UPDATE_TENANT: Final = _write(
    "cloudfront", "UpdateDistributionTenant", rates.CLOUDFRONT_WRITE, idempotent=True
)
DELETE_TENANT: Final = _write(
    "cloudfront", "DeleteDistributionTenant", rates.CLOUDFRONT_WRITE, idempotent=True
)
TAG_RESOURCE: Final = _write("cloudfront", "TagResource", rates.CLOUDFRONT_WRITE, idempotent=True)
UNTAG_RESOURCE: Final = _write("cloudfront", "UntagResource", rates.CLOUDFRONT_WRITE, idempotent=True)
GET_TENANT: Final = _read("cloudfront", "GetDistributionTenant", rates.CLOUDFRONT_READ)
GET_TENANT_BY_DOMAIN: Final = _read("cloudfront", "GetDistributionTenantByDomain", rates.CLOUDFRONT_READ)
GET_MANAGED_CERTIFICATE: Final = _read("cloudfront", "GetManagedCertificateDetails", rates.CLOUDFRONT_READ)
GET_CONNECTION_GROUP: Final = _read("cloudfront", "GetConnectionGroup", rates.CLOUDFRONT_READ)
GET_DISTRIBUTION: Final = _read("cloudfront", "GetDistribution", rates.CLOUDFRONT_READ)
LIST_TAGS: Final = _read("cloudfront", "ListTagsForResource", rates.CLOUDFRONT_READ)
LIST_TENANTS: Final = _read("cloudfront", "ListDistributionTenants", rates.CLOUDFRONT_READ, _LISTING)
LIST_CONNECTION_GROUPS: Final = _read("cloudfront", "ListConnectionGroups", rates.CLOUDFRONT_READ, _LISTING)

CHANGE_RECORDS: Final = _write("route53", "ChangeResourceRecordSets", rates.ROUTE53_CHANGE, deadline=_BATCH)
GET_CHANGE: Final = _read("route53", "GetChange", rates.ROUTE53)
GET_ZONE: Final = _read("route53", "GetHostedZone", rates.ROUTE53)
LIST_RECORDS: Final = _read("route53", "ListResourceRecordSets", rates.ROUTE53, _LISTING)
LIST_ZONES: Final = _read("route53", "ListHostedZones", rates.ROUTE53, _LISTING)

DESCRIBE_CERTIFICATE: Final = _read("acm", "DescribeCertificate", rates.ACM)
LIST_CERTIFICATES: Final = _read("acm", "ListCertificates", rates.ACM_LIST, _LISTING)
LIST_CERTIFICATE_TAGS: Final = _read("acm", "ListTagsForCertificate", rates.ACM)
REQUEST_CERTIFICATE: Final = _write("acm", "RequestCertificate", rates.ACM_REQUEST, idempotent=True)
"""The idempotency token makes the second request the same as the first."""
TAG_CERTIFICATE: Final = _write("acm", "AddTagsToCertificate", rates.ACM, idempotent=True)
DELETE_CERTIFICATE: Final = _write("acm", "DeleteCertificate", rates.ACM, idempotent=True)

CREATE_DOMAIN: Final = _write(
    "apigateway", "CreateDomainName", rates.API_GATEWAY_DOMAIN, deadline=_DOMAIN_LANE
)
UPDATE_DOMAIN: Final = _write(
    "apigateway", "UpdateDomainName", rates.API_GATEWAY_DOMAIN, deadline=_DOMAIN_LANE
)
DELETE_DOMAIN: Final = _write(
    "apigateway", "DeleteDomainName", rates.API_GATEWAY_DOMAIN, idempotent=True, deadline=_DOMAIN_LANE
)
GET_DOMAIN: Final = _read("apigateway", "GetDomainName", rates.API_GATEWAY)
LIST_DOMAINS: Final = _read("apigateway", "GetDomainNames", rates.API_GATEWAY, _LISTING)
TAG_DOMAIN: Final = _write("apigateway", "TagResource", rates.API_GATEWAY, idempotent=True)
UNTAG_DOMAIN: Final = _write("apigateway", "UntagResource", rates.API_GATEWAY, idempotent=True)
CREATE_MAPPING: Final = _write("apigateway", "CreateApiMapping", rates.API_GATEWAY)
UPDATE_MAPPING: Final = _write("apigateway", "UpdateApiMapping", rates.API_GATEWAY, idempotent=True)
DELETE_MAPPING: Final = _write("apigateway", "DeleteApiMapping", rates.API_GATEWAY, idempotent=True)
LIST_MAPPINGS: Final = _read("apigateway", "GetApiMappings", rates.API_GATEWAY)

GET_FUNCTION: Final = _read("lambda", "GetFunction", rates.LAMBDA)
GET_POLICY: Final = _read("lambda", "GetPolicy", rates.LAMBDA)
ADD_PERMISSION: Final = _write("lambda", "AddPermission", rates.LAMBDA)
REMOVE_PERMISSION: Final = _write("lambda", "RemovePermission", rates.LAMBDA, idempotent=True)

ASSUME_ROLE: Final = _read("sts", "AssumeRole", rates.STS)
"""Returns credentials and changes nothing."""
GET_CALLER_IDENTITY: Final = _read("sts", "GetCallerIdentity", rates.STS)

ALL: Final[tuple[Operation, ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, Operation)
)
