"""Every error that AWS declares for what we use has a row, and the undeclared ones are never silent."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel

from edgekeeper.cloud.aws import error_table, operations
from edgekeeper.cloud.aws.error_table import table_of
from edgekeeper.cloud.error_table import ErrorRow
from edgekeeper.core.errors import Cause, Conflict, PassError, Retry, Stall, Wait

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
    assert code in table_of(service, operation)


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
    ("code", "kind"),
    [
        ("Throttling", Wait),
        ("ThrottlingException", Wait),
        ("TooManyRequestsException", Wait),
        ("TooManyRequests", Wait),
        ("RequestLimitExceeded", Wait),
        ("AccessDenied", Stall),
        ("AccessDeniedException", Stall),
        ("InvalidClientTokenId", Wait),
        ("SignatureDoesNotMatch", Wait),
        ("ExpiredToken", Wait),
        ("RequestTimeTooSkewed", Wait),
        ("ServiceUnavailable", Retry),
        ("InternalFailure", Retry),
        ("ValidationException", Stall),
    ],
)
def test_codes_that_are_declared_nowhere_mean_the_same_everywhere(
    service: str, code: str, kind: type[PassError]
) -> None:
    row = table_of(service, "Any").find(code)
    assert row.kind is kind
    assert (row.throttled or row.unavailable is Cause.CREDENTIALS) == (kind is Wait)
    assert not (row.throttled and row.unavailable)
    assert row.error_type.startswith("dns_") == (service == "route53")


def _all_rows() -> set[ErrorRow]:
    tables = [error_table.EVERYWHERE, *error_table.BY_SERVICE.values(), *error_table.BY_OPERATION.values()]
    return {row for table in tables for row in table.values()}


def test_labels_are_those_that_dashboards_know() -> None:
    assert {row.error_type for row in _all_rows()} <= DASHBOARD_LABELS | OWN_LABELS


def test_waits_say_for_how_long_and_nothing_else_does() -> None:
    for row in _all_rows():
        assert bool(row.after) == (row.kind is Wait), row


@pytest.mark.parametrize(
    ("service", "operation", "code", "message", "expected"),
    [
        pytest.param("cloudfront", "CreateDistributionTenant", code, "", expected, id=f"{code} on create")
        for code, expected in [
            ("CNAMEAlreadyExists", (Stall, "DomainConflict", "domain_conflict")),
            ("EntityAlreadyExists", (Stall, "NameConflict", "name_conflict")),
            ("InvalidArgument", (Stall, "InvalidSpec", "invalid_spec")),
            ("InvalidAssociation", (Stall, "InvalidSpec", "invalid_spec")),
            ("InvalidTagging", (Stall, "InvalidSpec", "invalid_spec")),
            ("EntityLimitExceeded", (Wait, "QuotaExceeded", "quota")),
            ("EntityNotFound", (Retry, "NotFound", "retryable")),
            ("AccessDenied", (Stall, "AccessDenied", "access_denied")),
            ("Throttling", (Wait, "Throttled", "throttling")),
        ]
    ]
    + [
        pytest.param(
            "cloudfront",
            "CreateDistributionTenant",
            "EntityNotFound",
            "The specified connection group does not exist.",
            (Stall, "InvalidSpec", "connection_group_not_found"),
            id="no such connection group",
        ),
        pytest.param(
            "cloudfront",
            "CreateDistributionTenant",
            "EntityNotFound",
            "The specified distribution does not exist.",
            (Stall, "InvalidSpec", "distribution_not_found"),
            id="no such distribution",
        ),
        pytest.param(
            "cloudfront",
            "UpdateDistributionTenant",
            "EntityNotFound",
            "The specified distribution tenant does not exist.",
            (Conflict, "Conflict", "conflict"),
            id="the tenant is gone",
        ),
        pytest.param(
            "cloudfront",
            "UpdateDistributionTenant",
            "InvalidArgument",
            "Could not verify Domain Name ownership. It may not be pointing to a valid CloudFront resource.",
            (Wait, "DomainValidationPending", "domain_validation_pending"),
            id="DNS does not lead there yet",
        ),
        pytest.param(
            "cloudfront",
            "UpdateDistributionTenant",
            "InvalidIfMatchVersion",
            "",
            (Conflict, "Conflict", "conflict"),
            id="stale ETag",
        ),
        pytest.param(
            "cloudfront",
            "DeleteDistributionTenant",
            "ResourceNotDisabled",
            "",
            (Wait, "NotDisabled", "not_disabled"),
            id="still enabled",
        ),
        pytest.param(
            "cloudfront",
            "GetDistribution",
            "NoSuchDistribution",
            "",
            (Stall, "InvalidSpec", "distribution_not_found"),
            id="no distribution",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "NoSuchHostedZone",
            "",
            (Stall, "DNSError", "dns_zone_not_found"),
            id="no zone",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "PriorRequestNotComplete",
            "",
            (Wait, "Throttled", "dns_throttling"),
            id="zone busy",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "InvalidChangeBatch",
            "[Tried to create resource record set [name='a.example.com.', type='CNAME'] but it already exists]",
            (Stall, "DNSConflict", "dns_error"),
            id="record exists",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "InvalidChangeBatch",
            "[RRSet of type CNAME with DNS name a.example.com. is not permitted as it conflicts with other records "
            "with the same DNS name in zone example.com.]",
            (Stall, "DNSConflict", "dns_error"),
            id="record of another type exists",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "InvalidChangeBatch",
            "[Tried to delete resource record set [name='a.', type='CNAME'] but the values provided do not match the "
            "current values]",
            (Conflict, "Conflict", "conflict"),
            id="record is another by now",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "InvalidChangeBatch",
            "[RRSet of type CNAME with DNS name example.com. is not permitted at apex in zone example.com.]",
            (Stall, "DNSError", "dns_invalid_input"),
            id="CNAME at the apex",
        ),
        pytest.param(
            "route53",
            "ChangeResourceRecordSets",
            "InvalidChangeBatch",
            "[Tried to create an alias that targets x., type A in zone Z1, but that target was not found]",
            (Stall, "DNSError", "dns_invalid_input"),
            id="alias to nowhere",
        ),
        pytest.param(
            "acm",
            "RequestCertificate",
            "LimitExceededException",
            "",
            (Wait, "QuotaExceeded", "quota"),
            id="quota",
        ),
        pytest.param(
            "apigateway",
            "CreateDomainName",
            "ConflictException",
            "",
            (Stall, "NameConflict", "name_conflict"),
            id="domain name exists",
        ),
        pytest.param(
            "apigateway",
            "UpdateDomainName",
            "ConflictException",
            "",
            (Conflict, "Conflict", "conflict"),
            id="domain name is being changed",
        ),
        pytest.param(
            "lambda",
            "AddPermission",
            "PolicyLengthExceededException",
            "",
            (Stall, "PolicyLengthExceeded", "quota"),
            id="policy is full",
        ),
    ],
)
def test_code_means(
    service: str, operation: str, code: str, message: str, expected: tuple[type[PassError], str, str]
) -> None:
    row = table_of(service, operation).find(code, message)
    assert (row.kind, row.reason, row.error_type) == expected


@pytest.mark.parametrize(
    ("status", "kind", "error_type"),
    [
        (400, Stall, "unknown"),
        (409, Stall, "unknown"),
        (429, Wait, "throttling"),
        (500, Retry, "retryable"),
        (503, Retry, "retryable"),
        (302, Retry, "retryable"),
        (0, Stall, "unknown"),
    ],
)
def test_unknown_code_is_told_by_its_status(status: int, kind: type[PassError], error_type: str) -> None:
    row = table_of("cloudfront", "GetDistribution").find("NeverHeardOf", "", status)
    assert (row.kind, row.error_type) == (kind, error_type)
