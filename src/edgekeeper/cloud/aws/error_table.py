"""What every error code of AWS means for a pass, as tables to be read.

    code and operation ─► Meaning: one of the four errors, its reason, its `error_type` in metrics

Codes are looked up from the most exact to the most general: for one operation, for its service, for any service. What
is in no table is told by its HTTP status: a server's failure is tried again, anything else waits for a person, and
neither is ever silent. A few codes mean different things by their message; they come last.

The labels are those that dashboards know already. DNS has its own, because a person who may not write a zone is seldom
the one who may not write CloudFront.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from typing import Final

from edgekeeper.core.errors import Cause

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


class Noun(Enum):
    """Which of the four errors."""

    RETRY = auto()
    WAIT = auto()
    STALL = auto()
    CONFLICT = auto()


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an error code means for a pass."""

    noun: Noun
    reason: str
    error_type: str
    """The label in metrics."""
    after: timedelta = timedelta(0)
    """For WAIT: when to look again."""
    throttled: bool = False
    """The whole lane has to slow down, and the call had no effect."""
    unavailable: Cause | None = None
    """Set where it is about us and AWS, and not about what was asked."""


def _stall(reason: str, error_type: str) -> Meaning:
    return Meaning(Noun.STALL, reason, error_type)


STALE: Final = Meaning(Noun.CONFLICT, "Conflict", "conflict")
THROTTLING: Final = Meaning(Noun.WAIT, THROTTLED, "throttling", THROTTLE_PAUSE, throttled=True)
BUSY: Final = Meaning(Noun.RETRY, AWS_ERROR, "retryable")
NO_IDENTITY: Final = Meaning(
    Noun.WAIT, CREDENTIALS_REFUSED, "retryable", IDENTITY_PAUSE, unavailable=Cause.CREDENTIALS
)
DENIED: Final = _stall(ACCESS_DENIED, "access_denied")
INVALID: Final = _stall(INVALID_SPEC, "invalid_spec")
QUOTA: Final = Meaning(Noun.WAIT, QUOTA_EXCEEDED, "quota", QUOTA_PAUSE)
TAKEN_NAME: Final = _stall(NAME_CONFLICT, "name_conflict")
MISSING: Final = Meaning(Noun.RETRY, NOT_FOUND, "retryable")
UNKNOWN: Final = _stall(AWS_ERROR, "unknown")
UNVALIDATED: Final = Meaning(
    Noun.WAIT, DOMAIN_VALIDATION_PENDING, "domain_validation_pending", VALIDATION_PAUSE
)
NO_DISTRIBUTION: Final = _stall(INVALID_SPEC, "distribution_not_found")
NO_CONNECTION_GROUP: Final = _stall(INVALID_SPEC, "connection_group_not_found")

DNS_THROTTLING: Final = Meaning(Noun.WAIT, THROTTLED, "dns_throttling", THROTTLE_PAUSE, throttled=True)
DNS_BUSY: Final = Meaning(Noun.RETRY, DNS_ERROR, "dns_retryable")
DNS_NO_IDENTITY: Final = Meaning(
    Noun.WAIT, CREDENTIALS_REFUSED, "dns_retryable", IDENTITY_PAUSE, unavailable=Cause.CREDENTIALS
)
DNS_DENIED: Final = _stall(DNS_ERROR, "dns_access_denied")
DNS_INVALID: Final = _stall(DNS_ERROR, "dns_invalid_input")
DNS_NO_ZONE: Final = _stall(DNS_ERROR, "dns_zone_not_found")
DNS_UNKNOWN: Final = _stall(DNS_ERROR, "dns_error")
DNS_TAKEN: Final = _stall(DNS_CONFLICT, "dns_error")
DNS_QUOTA: Final = Meaning(Noun.WAIT, QUOTA_EXCEEDED, "quota", QUOTA_PAUSE)


@dataclass(frozen=True, slots=True)
class General:
    """What a service's failures mean where no code says more."""

    busy: Meaning
    throttling: Meaning
    no_identity: Meaning
    denied: Meaning
    invalid: Meaning
    unknown: Meaning


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


def _same(meaning: Meaning, *codes: str) -> dict[str, Meaning]:
    return dict.fromkeys(codes, meaning)


EVERYWHERE: Final[Mapping[str, Meaning]] = {
    **_same(THROTTLING, *_THROTTLING_CODES),
    **_same(BUSY, *_FAILURE_CODES),
    **_same(NO_IDENTITY, *_IDENTITY_CODES),
    **_same(DENIED, *_DENIAL_CODES),
    **_same(INVALID, *_INVALID_CODES),
}
"""Codes that any service may send, most of them declared nowhere."""

BY_SERVICE: Final[Mapping[str, Mapping[str, Meaning]]] = {
    "cloudfront": {
        **_same(STALE, "PreconditionFailed", "InvalidIfMatchVersion"),
        **_same(INVALID, "InvalidArgument", "InvalidAssociation", "InvalidTagging", "IllegalUpdate"),
        **_same(NO_DISTRIBUTION, "NoSuchDistribution"),
        **_same(MISSING, "EntityNotFound", "NoSuchDistributionTenant", "NoSuchResource"),
        "CNAMEAlreadyExists": _stall(DOMAIN_CONFLICT, "domain_conflict"),
        "EntityAlreadyExists": TAKEN_NAME,
        "EntityLimitExceeded": QUOTA,
        "ResourceNotDisabled": Meaning(Noun.WAIT, NOT_DISABLED, "not_disabled", DEPLOYING_PAUSE),
    },
    "route53": {
        **_same(DNS_THROTTLING, *_THROTTLING_CODES, "PriorRequestNotComplete"),
        **_same(DNS_BUSY, *_FAILURE_CODES),
        **_same(DNS_NO_IDENTITY, *_IDENTITY_CODES),
        **_same(DNS_DENIED, *_DENIAL_CODES),
        **_same(DNS_INVALID, *_INVALID_CODES, "InvalidInput", "InvalidChangeBatch", "InvalidDomainName"),
        **_same(DNS_NO_ZONE, "NoSuchHostedZone", "HostedZoneNotFound"),
        **_same(DNS_UNKNOWN, "NoSuchHealthCheck", "NoSuchDelegationSet", "DelegationSetNotReusable"),
        # The change is older than Route 53's memory: whoever waits for it looks at the zone again.
        "NoSuchChange": STALE,
    },
    "acm": {
        **_same(INVALID, "InvalidArnException", "InvalidArgsException", "InvalidParameterException"),
        **_same(INVALID, "InvalidDomainValidationOptionsException", "InvalidStateException"),
        **_same(INVALID, "InvalidTagException", "TagPolicyException", "TooManyTagsException"),
        **_same(INVALID, "ResourceNotFoundException"),
        **_same(QUOTA, "LimitExceededException"),
        **_same(STALE, "ConflictException"),
        "ResourceInUseException": Meaning(Noun.WAIT, "InUse", "in_use", VALIDATION_PAUSE),
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

BY_OPERATION: Final[Mapping[tuple[str, str], Mapping[str, Meaning]]] = {
    ("apigateway", "CreateDomainName"): {"ConflictException": TAKEN_NAME, "NotFoundException": INVALID},
    ("apigateway", "CreateApiMapping"): {"ConflictException": TAKEN_NAME},
    # What was read a moment ago is gone: read again.
    ("apigateway", "UpdateDomainName"): {"NotFoundException": STALE},
    ("apigateway", "UpdateApiMapping"): {"NotFoundException": STALE},
    ("cloudfront", "TagResource"): {"NoSuchResource": STALE},
    ("cloudfront", "UntagResource"): {"NoSuchResource": STALE},
}


def meaning_of(service: str, operation: str, code: str, message: str = "", status: int = 0) -> Meaning:
    """What an error means, whatever its code."""
    known = _known(service, operation, code)
    if known is not None:
        return _by_message(service, operation, code, message) or known
    if status == 429:
        return general(service).throttling
    if (
        status >= 500 or 300 <= status < 400
    ):  # a redirect is none of AWS's answers: something stands in between
        return general(service).busy
    return general(service).unknown


def is_known(service: str, operation: str, code: str) -> bool:
    """Is the code in a table?"""
    return _known(service, operation, code) is not None


def _known(service: str, operation: str, code: str) -> Meaning | None:
    for table in (BY_OPERATION.get((service, operation), {}), BY_SERVICE.get(service, {}), EVERYWHERE):
        if code in table:
            return table[code]
    return None


def _by_message(service: str, operation: str, code: str, message: str) -> Meaning | None:
    """The few codes that only their message explains."""
    text = message.lower()
    if service == "cloudfront" and code == "EntityNotFound" and operation != "DeleteDistributionTenant":
        return _missing_entity(operation, text)
    if code == "InvalidArgument" and "domain name ownership" in text:
        return UNVALIDATED
    if code == "InvalidChangeBatch":
        return _refused_batch(text)
    return None


def _missing_entity(operation: str, text: str) -> Meaning | None:
    """A tenant is written with ids of other things. Which of them is missing only the message tells."""
    if "connection group" in text or "connectiongroup" in text:
        return NO_CONNECTION_GROUP
    if "tenant" in text and operation == "UpdateDistributionTenant":
        return STALE
    if "distribution" in text and "tenant" not in text:
        return NO_DISTRIBUTION
    return None


def _refused_batch(text: str) -> Meaning | None:
    if "already exists" in text or "conflicts with other records" in text:
        return DNS_TAKEN
    if "tried to delete" in text:  # something that is gone, or is another by now
        return STALE
    if "limit" in text and "exceed" in text:
        return DNS_QUOTA
    return None
