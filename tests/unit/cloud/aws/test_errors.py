"""Exceptions of botocore: understood, word for word, and told apart from our own bugs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ProfileNotFound,
    ReadTimeoutError,
    TokenRetrievalError,
)
from botocore.parsers import ResponseParserError

from edgekeeper.cloud.aws import operations as op
from edgekeeper.cloud.aws.answers import BrokenAnswerError, MalformedAnswerError
from edgekeeper.cloud.aws.error_table import UNVALIDATED
from edgekeeper.cloud.aws.errors import classify
from edgekeeper.cloud.operation import Failure, Operation, Verdict
from edgekeeper.core.errors import Cause, Conflict, PassError, Retry, Stall, Wait


def _refusal(code: str, message: str = "because", status: int = 400, **more: Any) -> ClientError:
    headers = more.pop("headers", {})
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers},
        **more,
    }
    return ClientError(response, "Any")


def _classified(operation: Operation, error: Exception) -> Failure:
    failure = classify(operation, error)
    assert failure is not None
    return failure


@pytest.mark.parametrize(
    ("operation", "error", "kind", "verdict"),
    [
        (op.CREATE_TENANT, _refusal("CNAMEAlreadyExists", status=409), Stall, Verdict.REFUSED),
        (op.UPDATE_TENANT, _refusal("PreconditionFailed", status=412), Conflict, Verdict.REFUSED),
        (op.GET_TENANT, _refusal("Throttling"), Wait, Verdict.THROTTLED),
        (op.LIST_RECORDS, _refusal("Throttling"), Wait, Verdict.THROTTLED),
        (op.GET_TENANT, _refusal("ServiceUnavailable", status=503), Retry, Verdict.UNANSWERED),
        (op.GET_TENANT, _refusal("502", status=502), Retry, Verdict.UNANSWERED),
        (op.GET_TENANT, _refusal("301", status=301), Retry, Verdict.UNANSWERED),
        (op.GET_TENANT, EndpointConnectionError(endpoint_url="https://x"), Retry, Verdict.UNANSWERED),
        (op.GET_TENANT, ConnectTimeoutError(endpoint_url="https://x"), Retry, Verdict.UNANSWERED),
        (op.GET_TENANT, ReadTimeoutError(endpoint_url="https://x"), Retry, Verdict.UNANSWERED),
        (op.GET_TENANT, ConnectionClosedError(endpoint_url="https://x"), Retry, Verdict.UNANSWERED),
        (op.GET_TENANT, ResponseParserError("mismatched tag"), Retry, Verdict.UNANSWERED),
        (op.GET_TENANT, BrokenAnswerError("html"), Retry, Verdict.UNANSWERED),
        (op.GET_TENANT, MalformedAnswerError("no id"), Retry, Verdict.REFUSED),
        (op.GET_TENANT, TimeoutError(), Retry, Verdict.UNANSWERED),
        (op.GET_TENANT, NoCredentialsError(), Wait, Verdict.REFUSED),
        (op.GET_TENANT, CredentialRetrievalError(provider="p", error_msg="m"), Wait, Verdict.REFUSED),
        (op.GET_TENANT, ParamValidationError(report="too short"), Stall, Verdict.REFUSED),
    ],
    ids=lambda value: getattr(value, "name", "") or type(value).__name__,
)
def test_error_becomes_one_of_four(
    operation: Operation, error: Exception, kind: type[PassError], verdict: Verdict
) -> None:
    failure = _classified(operation, error)
    assert type(failure.error) is kind
    assert failure.verdict is verdict
    assert failure.error_type
    assert failure.error.error_type == failure.error_type


@pytest.mark.parametrize("service", [op.GET_TENANT, op.LIST_RECORDS], ids=lambda one: one.service)
@pytest.mark.parametrize(
    "error",
    [
        NoCredentialsError(),
        PartialCredentialsError(provider="env", cred_var="secret_key"),
        CredentialRetrievalError(provider="container-role", error_msg="no answer"),
        ProfileNotFound(profile="prod"),
        TokenRetrievalError(provider="sso", error_msg="no"),
        *(
            ClientError({"Error": {"Code": code, "Message": "no"}}, "Any")
            for code in (
                *("ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "SignatureDoesNotMatch"),
                *("UnrecognizedClientException", "MissingAuthenticationToken", "RequestTimeTooSkewed"),
            )
        ),
        ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "AssumeRoleWithWebIdentity"),
        ClientError({"Error": {"Code": "InternalError", "Message": "no"}}, "GetRoleCredentials"),
    ],
    ids=lambda error: getattr(error, "response", {}).get("Error", {}).get("Code") or type(error).__name__,
)
def test_failure_of_our_identity_is_nobodys_fault(service: Operation, error: Exception) -> None:
    """Whatever was asked, and whoever should have given us credentials: it is not AccessDenied of an object."""
    failure = _classified(service, error)
    assert failure.error.unavailable is Cause.CREDENTIALS
    assert (type(failure.error), failure.error.reason) == (Wait, "CredentialsRefused")
    assert failure.error_type.removeprefix("dns_") == "retryable"


def test_role_that_we_may_not_assume_is_no_failure_of_our_identity() -> None:
    denied = ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "AssumeRole")
    failure = _classified(op.ASSUME_ROLE, denied)
    assert (type(failure.error), failure.error.unavailable) == (Stall, None)


def test_request_that_aws_repeats_with_its_token_is_not_told() -> None:
    said = "The request signature we calculated does not match.\n\nThe Canonical String was 'x-amz-security-token:t0k'"
    message = _classified(op.GET_TENANT, _refusal("SignatureDoesNotMatch", said)).error.message
    assert message.endswith("SignatureDoesNotMatch: The request signature we calculated does not match.")


def test_message_of_aws_is_kept_word_for_word() -> None:
    said = (
        "One or more of the CNAMEs you provided are already associated with a different resource: 100 % sure."
    )
    error = _classified(op.CREATE_TENANT, _refusal("CNAMEAlreadyExists", said)).error
    assert error.message == f"AWS CreateDistributionTenant failed: CNAMEAlreadyExists: {said}"


def test_dns_is_named_in_its_messages() -> None:
    error = _classified(op.CHANGE_RECORDS, _refusal("NoSuchHostedZone", "No hosted zone")).error
    assert error.message == "DNS ChangeResourceRecordSets failed: NoSuchHostedZone: No hosted zone"


def test_message_that_comes_as_a_list_is_read() -> None:
    refusal = _refusal("InvalidChangeBatch", "", messages=["one is bad", "so is another"])
    assert _classified(op.CHANGE_RECORDS, refusal).error.message.endswith("one is bad; so is another")


def test_special_meaning_goes_before_the_tables() -> None:
    failure = classify(op.CREATE_TENANT, _refusal("InvalidArgument"), {"InvalidArgument": UNVALIDATED})
    assert failure is not None
    assert isinstance(failure.error, Wait)
    assert failure.error.after == timedelta(minutes=5)
    assert failure.error.reason == "DomainValidationPending"


@pytest.mark.parametrize(
    ("text", "pause"),
    [("7", timedelta(seconds=7)), ("", None), ("soon", None), ("99999999999", None), ("-1", None)],
)
def test_retry_after_is_believed_where_it_is_a_number(text: str, pause: timedelta | None) -> None:
    assert (
        _classified(op.GET_TENANT, _refusal("Throttling", headers={"retry-after": text})).retry_after == pause
    )


@pytest.mark.parametrize(
    "bug", [KeyError("x"), RuntimeError("y"), AssertionError()], ids=lambda bug: type(bug).__name__
)
def test_bug_is_not_taken_for_an_error_of_aws(bug: Exception) -> None:
    assert classify(op.GET_TENANT, bug) is None
