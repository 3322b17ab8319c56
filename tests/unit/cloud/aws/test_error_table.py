"""Every error that AWS declares for what we use has a meaning, and the undeclared ones are never silent."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel

from edgekeeper.cloud.aws import error_table, operations
from edgekeeper.cloud.aws.error_table import Meaning, Noun, is_known, meaning_of
from edgekeeper.core.errors import Cause

BOTOCORE_NAMES = {"apigateway": "apigatewayv2"}

DASHBOARD_LABELS = {
    *("domain_conflict", "access_denied", "invalid_spec", "distribution_not_found", "unknown", "throttling"),
    *("connection_group_not_found", "retryable", "domain_validation_pending", "dns_zone_not_found"),
    *("dns_access_denied", "dns_invalid_input", "dns_error", "dns_throttling", "dns_retryable"),
    *("name_conflict", "quota"),
}
OWN_LABELS = {"conflict", "not_disabled", "in_use"}


@cache
def _model(service: str) -> ServiceModel:
    name = BOTOCORE_NAMES.get(service, service)
    return ServiceModel(Loader().load_service_model(name, "service-2"), name)


def _declared() -> Iterator[tuple[str, str, str]]:
    for operation in operations.ALL:
        model = _model(operation.service).operation_model(operation.name)
        for shape in model.error_shapes:
            error = shape.metadata.get("error", {})
            yield operation.service, operation.name, str(error.get("code", shape.name))


@pytest.mark.parametrize(("service", "operation", "code"), list(_declared()))
def test_every_declared_error_has_a_meaning(service: str, operation: str, code: str) -> None:
    assert is_known(service, operation, code)


def test_every_operation_exists_in_its_model() -> None:
    assert len(operations.ALL) > 35
    for operation in operations.ALL:
        assert operation.name in _model(operation.service).operation_names


def test_every_operation_that_writes_says_so() -> None:
    verbs = ("Create", "Update", "Delete", "Change", "Tag", "Untag", "Request", "Add", "Remove")
    for operation in operations.ALL:
        assert operation.mutating == operation.name.startswith(verbs), operation.name


@pytest.mark.parametrize("service", ["cloudfront", "route53", "acm", "apigateway", "lambda", "sts"])
@pytest.mark.parametrize(
    ("code", "noun"),
    [
        ("Throttling", Noun.WAIT),
        ("ThrottlingException", Noun.WAIT),
        ("TooManyRequestsException", Noun.WAIT),
        ("TooManyRequests", Noun.WAIT),
        ("RequestLimitExceeded", Noun.WAIT),
        ("AccessDenied", Noun.STALL),
        ("AccessDeniedException", Noun.STALL),
        ("InvalidClientTokenId", Noun.WAIT),
        ("SignatureDoesNotMatch", Noun.WAIT),
        ("ExpiredToken", Noun.WAIT),
        ("RequestTimeTooSkewed", Noun.WAIT),
        ("ServiceUnavailable", Noun.RETRY),
        ("InternalFailure", Noun.RETRY),
        ("ValidationException", Noun.STALL),
    ],
)
def test_codes_that_are_declared_nowhere_mean_the_same_everywhere(
    service: str, code: str, noun: Noun
) -> None:
    meaning = meaning_of(service, "Any", code)
    assert meaning.noun is noun
    assert (meaning.throttled or meaning.unavailable is Cause.CREDENTIALS) == (noun is Noun.WAIT)
    assert not (meaning.throttled and meaning.unavailable)
    assert meaning.error_type.startswith("dns_") == (service == "route53")


def _all_meanings() -> set[Meaning]:
    tables = [error_table.EVERYWHERE, *error_table.BY_SERVICE.values(), *error_table.BY_OPERATION.values()]
    return {meaning for table in tables for meaning in table.values()}


def test_labels_are_those_that_dashboards_know() -> None:
    assert {meaning.error_type for meaning in _all_meanings()} <= DASHBOARD_LABELS | OWN_LABELS


def test_waits_say_for_how_long_and_nothing_else_does() -> None:
    for meaning in _all_meanings():
        assert bool(meaning.after) == (meaning.noun is Noun.WAIT), meaning


@pytest.mark.parametrize(
    ("service", "operation", "code", "message", "expected"),
    [
        pytest.param("cloudfront", "CreateDistributionTenant", code, "", expected, id=f"{code} on create")
        for code, expected in [
            ("CNAMEAlreadyExists", (Noun.STALL, "DomainConflict", "domain_conflict")),
            ("EntityAlreadyExists", (Noun.STALL, "NameConflict", "name_conflict")),
            ("InvalidArgument", (Noun.STALL, "InvalidSpec", "invalid_spec")),
            ("InvalidAssociation", (Noun.STALL, "InvalidSpec", "invalid_spec")),
            ("InvalidTagging", (Noun.STALL, "InvalidSpec", "invalid_spec")),
            ("EntityLimitExceeded", (Noun.WAIT, "QuotaExceeded", "quota")),
            ("EntityNotFound", (Noun.RETRY, "NotFound", "retryable")),
            ("AccessDenied", (Noun.STALL, "AccessDenied", "access_denied")),
            ("Throttling", (Noun.WAIT, "Throttled", "throttling")),
        ]
    ]
    + [
        pytest.param(
            "cloudfront",
            "CreateDistributionTenant",
            "EntityNotFound",
            "The specified connection group does not exist.",
            (Noun.STALL, "InvalidSpec", "connection_group_not_found"),
            id="no such connection group",
        ),
        pytest.param(
            "cloudfront",
            "CreateDistributionTenant",
            "EntityNotFound",
            "The specified distribution does not exist.",
            (Noun.STALL, "InvalidSpec", "distribution_not_found"),
            id="no such distribution",
        ),
        pytest.param(
            "cloudfront",
            "UpdateDistributionTenant",
            "EntityNotFound",
            "The specified distribution tenant does not exist.",
            (Noun.CONFLICT, "Conflict", "conflict"),
            id="the tenant is gone",
        ),
        pytest.param(
            "cloudfront",
            "UpdateDistributionTenant",
            "InvalidArgument",
            "Could not verify Domain Name ownership. It may not be pointing to a valid CloudFront resource.",
            (Noun.WAIT, "DomainValidationPending", "domain_validation_pending"),
            id="DNS does not lead there yet",
        ),
        pytest.param(
            "cloudfront",
            "UpdateDistributionTenant",
            "InvalidIfMatchVersion",
            "",
            (Noun.CONFLICT, "Conflict", "conflict"),
            id="stale ETag",
        ),
        pytest.param(
            "cloudfront",
            "DeleteDistributionTenant",
            "ResourceNotDisabled",
            "",
            (Noun.WAIT, "NotDisabled", "not_disabled"),
            id="still enabled",
        ),
        pytest.param(
            "cloudfront",
            "GetDistribution",
            "NoSuchDistribution",
            "",
            (Noun.STALL, "InvalidSpec", "distribution_not_found"),
            id="no distribution",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "NoSuchHostedZone",
            "",
            (Noun.STALL, "DNSError", "dns_zone_not_found"),
            id="no zone",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "PriorRequestNotComplete",
            "",
            (Noun.WAIT, "Throttled", "dns_throttling"),
            id="zone busy",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "InvalidChangeBatch",
            "[Tried to create resource record set [name='a.example.com.', type='CNAME'] but it already exists]",
            (Noun.STALL, "DNSConflict", "dns_error"),
            id="record exists",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "InvalidChangeBatch",
            "[RRSet of type CNAME with DNS name a.example.com. is not permitted as it conflicts with other records "
            "with the same DNS name in zone example.com.]",
            (Noun.STALL, "DNSConflict", "dns_error"),
            id="record of another type exists",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "InvalidChangeBatch",
            "[Tried to delete resource record set [name='a.', type='CNAME'] but the values provided do not match the "
            "current values]",
            (Noun.CONFLICT, "Conflict", "conflict"),
            id="record is another by now",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "InvalidChangeBatch",
            "[RRSet of type CNAME with DNS name example.com. is not permitted at apex in zone example.com.]",
            (Noun.STALL, "DNSError", "dns_invalid_input"),
            id="CNAME at the apex",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "InvalidChangeBatch",
            "[Tried to create an alias that targets x., type A in zone Z1, but that target was not found]",
            (Noun.STALL, "DNSError", "dns_invalid_input"),
            id="alias to nowhere",
        ),
        pytest.param(
            "acm",
            "RequestCertificate",
            "LimitExceededException",
            "",
            (Noun.WAIT, "QuotaExceeded", "quota"),
            id="quota",
        ),
        pytest.param(
            "apigateway",
            "CreateDomainName",
            "ConflictException",
            "",
            (Noun.STALL, "NameConflict", "name_conflict"),
            id="domain name exists",
        ),
        pytest.param(
            "apigateway",
            "UpdateDomainName",
            "ConflictException",
            "",
            (Noun.CONFLICT, "Conflict", "conflict"),
            id="domain name is being changed",
        ),
        pytest.param(
            "lambda",
            "AddPermission",
            "PolicyLengthExceededException",
            "",
            (Noun.STALL, "PolicyLengthExceeded", "quota"),
            id="policy is full",
        ),
    ],
)
def test_code_means(
    service: str, operation: str, code: str, message: str, expected: tuple[Noun, str, str]
) -> None:
    meaning = meaning_of(service, operation, code, message)
    assert (meaning.noun, meaning.reason, meaning.error_type) == expected


@pytest.mark.parametrize(
    ("status", "noun", "error_type"),
    [
        (400, Noun.STALL, "unknown"),
        (409, Noun.STALL, "unknown"),
        (429, Noun.WAIT, "throttling"),
        (500, Noun.RETRY, "retryable"),
        (503, Noun.RETRY, "retryable"),
        (302, Noun.RETRY, "retryable"),
        (0, Noun.STALL, "unknown"),
    ],
)
def test_unknown_code_is_told_by_its_status(status: int, noun: Noun, error_type: str) -> None:
    meaning = meaning_of("cloudfront", "GetDistribution", "NeverHeardOf", "", status)
    assert (meaning.noun, meaning.error_type) == (noun, error_type)
