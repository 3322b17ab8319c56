"""Errors as each protocol words them, and the HTTP status that goes with a code."""

from __future__ import annotations

import msgspec

from kubesim.aws.errors import AwsError
from kubesim.aws.request import Answer
from kubesim.aws.wire.encode import CONTENT_TYPES, DECLARATION
from kubesim.aws.wire.models import NAMESPACES, OperationShape
from kubesim.aws.wire.xml import escape

UNDECLARED = {
    "AccessDenied": 403,
    "AccessDeniedException": 403,
    "ExpiredToken": 403,
    "ExpiredTokenException": 403,
    "InvalidClientTokenId": 403,
    "UnrecognizedClientException": 403,
    "SignatureDoesNotMatch": 403,
    "MissingAuthenticationToken": 403,
    "TooManyRequestsException": 429,
    "InternalFailure": 500,
    "ServiceUnavailable": 503,
}
"""Codes that any operation may answer, though no model declares them. Every other code is a 400."""


def answer(
    service: str, protocol: str, operation: OperationShape | None, error: AwsError, request_id: str
) -> Answer:
    """An error on its way out."""
    status = error.status
    if status is None and operation is not None:
        status = operation.statuses.get(error.code)
    if status is None:
        # The json protocol answers 400 to whatever the client did wrong, even where others say 403.
        status = 400 if protocol == "json" else UNDECLARED.get(error.code, 400)
    headers = {"x-amzn-requestid": request_id, "content-type": CONTENT_TYPES[protocol]}
    if protocol in ("rest-xml", "query"):
        return Answer(status, headers, _xml_body(service, error, status, request_id))
    if protocol == "rest-json":
        headers["x-amzn-errortype"] = error.code
        return Answer(status, headers, msgspec.json.encode({"message": error.message}))
    return Answer(status, headers, msgspec.json.encode({"__type": error.code, "message": error.message}))


def _xml_body(service: str, error: AwsError, status: int, request_id: str) -> bytes:
    whose = "Receiver" if status >= 500 else "Sender"
    return (
        f'{DECLARATION}<ErrorResponse xmlns="{NAMESPACES[service]}"><Error><Type>{whose}</Type>'
        f"<Code>{escape(error.code)}</Code><Message>{escape(error.message)}</Message></Error>"
        f"<RequestId>{request_id}</RequestId></ErrorResponse>"
    ).encode()
