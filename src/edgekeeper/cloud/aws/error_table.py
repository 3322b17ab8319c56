"""What every error code of AWS means, as tables: see `cloud.error_table` for how they are looked up.

Labels are those that existing dashboards use. DNS has labels of its own, because a person who may not write a zone is
seldom the one who may not write CloudFront.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from edgekeeper.cloud.error_table import ErrorRow, ErrorTable
from edgekeeper.core.errors import Cause, Conflict, Retry, Stall, Wait

THROTTLE_PAUSE: Final = timedelta(seconds=60)
QUOTA_PAUSE: Final = timedelta(minutes=30)
DEPLOYING_PAUSE: Final = timedelta(seconds=30)
VALIDATION_PAUSE: Final = timedelta(minutes=5)
IDENTITY_PAUSE: Final = timedelta(seconds=60)

# Reasons, as conditions show them
ACCESS_DENIED: Final = "AccessDenied"
AWS_ERROR: Final = "AWSError"
CREDENTIALS_REFUSED: Final = "CredentialsRefused"
DNS_CONFLICT: Final = "DNSConflict"
DNS_ERROR: Final = "DNSError"
DOMAIN_CONFLICT: Final = "DomainConflict"
DOMAIN_VALIDATION_PENDING: Final = "DomainValidationPending"
INVALID_SPEC: Final = "InvalidSpec"
NAME_CONFLICT: Final = "NameConflict"
NOT_DISABLED: Final = "NotDisabled"
NOT_FOUND: Final = "NotFound"
QUOTA_EXCEEDED: Final = "QuotaExceeded"
THROTTLED: Final = "Throttled"


def _stall(reason: str, error_type: str) -> ErrorRow:
    return ErrorRow(Stall, reason, error_type)


STALE: Final = ErrorRow(Conflict, "Conflict", "conflict")
THROTTLING: Final = ErrorRow(Wait, THROTTLED, "throttling", THROTTLE_PAUSE, throttled=True)
BUSY: Final = ErrorRow(Retry, AWS_ERROR, "retryable")
NO_IDENTITY: Final = ErrorRow(
    Wait, CREDENTIALS_REFUSED, "retryable", IDENTITY_PAUSE, unavailable=Cause.CREDENTIALS
)
DENIED: Final = _stall(ACCESS_DENIED, "access_denied")
INVALID: Final = _stall(INVALID_SPEC, "invalid_spec")
QUOTA: Final = ErrorRow(Wait, QUOTA_EXCEEDED, "quota", QUOTA_PAUSE)
TAKEN_NAME: Final = _stall(NAME_CONFLICT, "name_conflict")
MISSING: Final = ErrorRow(Retry, NOT_FOUND, "retryable")
UNKNOWN: Final = _stall(AWS_ERROR, "unknown")
UNVALIDATED: Final = ErrorRow(Wait, DOMAIN_VALIDATION_PENDING, "domain_validation_pending", VALIDATION_PAUSE)
NO_DISTRIBUTION: Final = _stall(INVALID_SPEC, "distribution_not_found")
NO_CONNECTION_GROUP: Final = _stall(INVALID_SPEC, "connection_group_not_found")

DNS_THROTTLING: Final = ErrorRow(Wait, THROTTLED, "dns_throttling", THROTTLE_PAUSE, throttled=True)
DNS_BUSY: Final = ErrorRow(Retry, DNS_ERROR, "dns_retryable")
DNS_NO_IDENTITY: Final = ErrorRow(
    Wait, CREDENTIALS_REFUSED, "dns_retryable", IDENTITY_PAUSE, unavailable=Cause.CREDENTIALS
)
DNS_DENIED: Final = _stall(DNS_ERROR, "dns_access_denied")
DNS_INVALID: Final = _stall(DNS_ERROR, "dns_invalid_input")
DNS_NO_ZONE: Final = _stall(DNS_ERROR, "dns_zone_not_found")
DNS_UNKNOWN: Final = _stall(DNS_ERROR, "dns_error")
DNS_TAKEN: Final = _stall(DNS_CONFLICT, "dns_error")
DNS_QUOTA: Final = ErrorRow(Wait, QUOTA_EXCEEDED, "quota", QUOTA_PAUSE)


@dataclass(frozen=True, slots=True)
class General:
    """What a service's failures mean where no code says more."""

    busy: ErrorRow
    throttling: ErrorRow
    no_identity: ErrorRow
    denied: ErrorRow
    invalid: ErrorRow
    unknown: ErrorRow


_GENERAL: Final = General(BUSY, THROTTLING, NO_IDENTITY, DENIED, INVALID, UNKNOWN)
_DNS_GENERAL: Final = General(DNS_BUSY, DNS_THROTTLING, DNS_NO_IDENTITY, DNS_DENIED, DNS_INVALID, DNS_UNKNOWN)


def general(service: str) -> General:
    return _DNS_GENERAL if service == "route53" else _GENERAL


_THROTTLING_CODES: Final = (
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottled",
    "RequestThrottledException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "SlowDown",
    "TooManyRequests",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "TransactionInProgressException",
    "EC2ThrottledException",
)
_FAILURE_CODES: Final = (
    "InternalError",
    "InternalFailure",
    "InternalServerError",
    "InternalServiceError",
    "ServiceException",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "RequestTimeout",
    "RequestTimeoutException",
)
_IDENTITY_CODES: Final = (
    # It does not matter what was asked: new credentials, or a clock that is set, and it works again.
    "ExpiredToken",
    "ExpiredTokenException",
    "RequestExpired",
    "RequestTimeTooSkewed",
    "AuthFailure",
    "InvalidClientTokenId",
    "UnrecognizedClientException",
    "InvalidAccessKeyId",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "IncompleteSignature",
    "IncompleteSignatureException",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "IDPCommunicationError",
    "IDPRejectedClaim",
    "InvalidIdentityToken",
)
_DENIAL_CODES: Final = (
    "AccessDenied",
    "AccessDeniedException",
    "UnauthorizedOperation",
    "NotAuthorized",
    "OptInRequired",
    "RegionDisabledException",
    "InvalidAuthorizationMessageException",
)
_INVALID_CODES: Final = (
    "ValidationError",
    "ValidationException",
    "InvalidParameterValue",
    "InvalidParameterCombination",
    "InvalidQueryParameter",
    "MalformedQueryString",
    "MissingParameter",
    "MalformedInput",
    "MalformedXML",
)


def _same(row: ErrorRow, *codes: str) -> dict[str, ErrorRow]:
    return dict.fromkeys(codes, row)


EVERYWHERE: Final[Mapping[str, ErrorRow]] = {
    **_same(THROTTLING, *_THROTTLING_CODES),
    **_same(BUSY, *_FAILURE_CODES),
    **_same(NO_IDENTITY, *_IDENTITY_CODES),
    **_same(DENIED, *_DENIAL_CODES),
    **_same(INVALID, *_INVALID_CODES),
}
"""Codes that any service may send, most of them declared nowhere."""

BY_SERVICE: Final[Mapping[str, Mapping[str, ErrorRow]]] = {
    "cloudfront": {
        **_same(STALE, "PreconditionFailed", "InvalidIfMatchVersion"),
        **_same(INVALID, "InvalidArgument", "InvalidAssociation", "InvalidTagging", "IllegalUpdate"),
        **_same(NO_DISTRIBUTION, "NoSuchDistribution"),
        **_same(MISSING, "EntityNotFound", "NoSuchDistributionTenant", "NoSuchResource"),
        "CNAMEAlreadyExists": _stall(DOMAIN_CONFLICT, "domain_conflict"),
        "EntityAlreadyExists": TAKEN_NAME,
        "EntityLimitExceeded": QUOTA,
        "ResourceNotDisabled": ErrorRow(Wait, NOT_DISABLED, "not_disabled", DEPLOYING_PAUSE),
    },
    "route53": {
        **_same(DNS_THROTTLING, *_THROTTLING_CODES, "PriorRequestNotComplete"),
        **_same(DNS_BUSY, *_FAILURE_CODES),
        **_same(DNS_NO_IDENTITY, *_IDENTITY_CODES),
        **_same(DNS_DENIED, *_DENIAL_CODES),
        **_same(DNS_INVALID, *_INVALID_CODES, "InvalidInput", "InvalidChangeBatch", "InvalidDomainName"),
        **_same(DNS_NO_ZONE, "NoSuchHostedZone", "HostedZoneNotFound"),
        **_same(DNS_UNKNOWN, "NoSuchHealthCheck", "NoSuchDelegationSet", "DelegationSetNotReusable"),
        # Route 53 no longer has the change: the zone is read instead.
        "NoSuchChange": STALE,
    },
    "acm": {
        **_same(INVALID, "InvalidArnException", "InvalidArgsException", "InvalidParameterException"),
        **_same(INVALID, "InvalidDomainValidationOptionsException", "InvalidStateException"),
        **_same(INVALID, "InvalidTagException", "TagPolicyException", "TooManyTagsException"),
        **_same(INVALID, "ResourceNotFoundException"),
        **_same(QUOTA, "LimitExceededException"),
        **_same(STALE, "ConflictException"),
        "ResourceInUseException": ErrorRow(Wait, "InUse", "in_use", VALIDATION_PAUSE),
    },
    "apigateway": {
        **_same(INVALID, "BadRequestException"),
        **_same(STALE, "ConflictException"),
        **_same(MISSING, "NotFoundException"),
        **_same(QUOTA, "LimitExceededException"),
    },
    "lambda": {
        **_same(INVALID, "InvalidParameterValueException"),
        **_same(DENIED, "PublicPolicyException"),
        **_same(STALE, "PreconditionFailedException", "ResourceConflictException"),
        **_same(MISSING, "ResourceNotFoundException"),
        "PolicyLengthExceededException": _stall("PolicyLengthExceeded", "quota"),
    },
    "sts": {**_same(INVALID, "MalformedPolicyDocument", "PackedPolicyTooLarge")},
}

BY_OPERATION: Final[Mapping[tuple[str, str], Mapping[str, ErrorRow]]] = {
    ("apigateway", "CreateDomainName"): {"ConflictException": TAKEN_NAME, "NotFoundException": INVALID},
    ("apigateway", "CreateApiMapping"): {"ConflictException": TAKEN_NAME},
    # What was read a moment ago is gone: read again.
    ("apigateway", "UpdateDomainName"): {"NotFoundException": STALE},
    ("apigateway", "UpdateApiMapping"): {"NotFoundException": STALE},
    ("cloudfront", "TagResource"): {"NoSuchResource": STALE},
    ("cloudfront", "UntagResource"): {"NoSuchResource": STALE},
}


def table_of(service: str, operation: str) -> ErrorTable[str]:
    """How errors of an operation are looked up."""
    tables = (BY_OPERATION.get((service, operation), {}), BY_SERVICE.get(service, {}), EVERYWHERE)
    return ErrorTable(tables, partial(_by_message, service, operation), partial(_by_status, service))


def _by_status(service: str, status: int) -> ErrorRow:
    if status == 429:
        return general(service).throttling
    # A redirect is none of AWS's answers: something stands in between.
    is_failure = status >= 500 or 300 <= status < 400
    return general(service).busy if is_failure else general(service).unknown


def _by_message(service: str, operation: str, code: str, message: str) -> ErrorRow | None:
    """The few codes that only their message explains."""
    text = message.lower()
    if service == "cloudfront" and code == "EntityNotFound" and operation != "DeleteDistributionTenant":
        return _missing_entity(operation, text)
    if service == "cloudfront" and code == "InvalidArgument" and "domain name ownership" in text:
        return UNVALIDATED
    if service == "route53" and code == "InvalidChangeBatch":
        return _refused_batch(text)
    return None


def _missing_entity(operation: str, text: str) -> ErrorRow | None:
    """A tenant is written with ids of other things. Which of them is missing only the message tells."""
    if "connection group" in text or "connectiongroup" in text:
        return NO_CONNECTION_GROUP
    if "tenant" in text and operation == "UpdateDistributionTenant":
        return STALE
    if "distribution" in text and "tenant" not in text:
        return NO_DISTRIBUTION
    return None


def _refused_batch(text: str) -> ErrorRow | None:
    if "already exists" in text or "conflicts with other records" in text:
        return DNS_TAKEN
    if "tried to delete" in text:  # something that is gone, or is another by now
        return STALE
    if "limit" in text and "exceed" in text:
        return DNS_QUOTA
    return None
