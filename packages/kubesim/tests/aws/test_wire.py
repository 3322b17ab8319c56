"""What botocore writes we read, and what we write botocore reads, for every operation and whatever the values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore import parsers, serialize
from botocore.awsrequest import HeadersDict, prepare_request_dict
from botocore.model import ListShape, MapShape, Shape, StructureShape

from kubesim.aws.errors import AwsError
from kubesim.aws.operations import OPERATIONS
from kubesim.aws.request import Request
from kubesim.aws.wire import decode, encode, failures, xml
from kubesim.aws.wire.constraints import check
from kubesim.aws.wire.models import OperationShape, service

ALL = [
    pytest.param(service(name).operations[operation], id=f"{name}-{operation}")
    for name, operations in OPERATIONS.items()
    for operation in operations
]
LETTERS = "abcXYZ 019-_.<>&\"'ü語/"
PLAIN = "abcXYZ019-_"
"""What headers and paths carry without a second thought."""
SEEDS = range(4)


def sample(shape: Shape, random: Random, depth: int = 0, *, whole: bool = False) -> Any:
    """A value of a shape: about half of what is optional (or the `whole` of it), down to a depth that recursion ends at."""
    if isinstance(shape, StructureShape):
        kept = {
            name: member
            for name, member in shape.members.items()
            if depth < 8 and (whole or random.random() < 0.5)
        }
        return {name: sample(member, random, depth + 1, whole=whole) for name, member in kept.items()}
    if isinstance(shape, ListShape):
        return [sample(shape.member, random, depth + 1, whole=whole) for _ in range(random.randint(1, 2))]
    if isinstance(shape, MapShape):
        return {text(PLAIN, random): sample(shape.value, random, depth + 1, whole=whole) for _ in range(2)}
    return scalar(shape, random)


def scalar(shape: Shape, random: Random) -> Any:
    match shape.type_name:
        case "integer" | "long":
            return random.randint(0, 1000)
        case "double":
            return 0.5
        case "boolean":
            return random.random() < 0.5
        case "timestamp":
            return datetime.fromtimestamp(random.randint(0, 2**31), UTC)
        case _:
            return text(PLAIN if "location" in shape.serialization else LETTERS, random)


def text(alphabet: str, random: Random) -> str:
    return "".join(random.choices(alphabet, k=random.randint(1, 9))).strip() or "x"


def sent(operation: OperationShape, params: Mapping[str, Any]) -> Request:
    """A request as botocore writes it."""
    serializer = serialize.create_serializer(operation.protocol, include_validation=False)
    written: Any = serializer.serialize_to_request(dict(params), operation.model)
    prepare_request_dict(written, endpoint_url="https://example.com")
    headers = {name: str(value) for name, value in written["headers"].items()}
    body = written["body"]
    if isinstance(body, dict):
        body = urlencode(body)
    return Request.of(
        written["method"], written["url"], headers, body.encode() if isinstance(body, str) else body
    )


def labels_of(shape: StructureShape) -> list[str]:
    return [name for name, member in shape.members.items() if member.serialization.get("location") == "uri"]


@pytest.mark.parametrize("operation", ALL)
def test_requests_are_read_as_botocore_writes_them(operation: OperationShape) -> None:
    shape = operation.input
    if shape is None:
        return
    for seed in SEEDS:
        # A structure without members says nothing in the query protocol, so there everything is said every time.
        params = sample(shape, Random(seed), whole=seed == 0 or operation.protocol == "query")
        params |= dict.fromkeys(labels_of(shape), "label")
        request = sent(operation, params)
        assert decode.parameters(operation, request, routed(operation, request)) == params


def routed(operation: OperationShape, request: Request) -> dict[str, str]:
    """The labels of a request's path, which must lead to its operation."""
    known = service(operation.service)
    if not known.protocol.startswith("rest"):
        return {}
    located = known.by_path(request.method, request.path, request.query)
    assert located is not None
    assert located[0].name == operation.name
    return located[1]


@pytest.mark.parametrize("operation", ALL)
def test_answers_are_written_as_botocore_reads_them(operation: OperationShape) -> None:
    shape = operation.output
    for seed in SEEDS:
        result: Any = sample(shape, Random(seed)) if shape is not None else {}
        answer = encode.answer(operation, result, "request-1")
        read = parsed(operation, answer.status, answer.headers, answer.body)
        assert read.pop("ResponseMetadata")["HTTPStatusCode"] == operation.success
        payload = shape.serialization.get("payload") if shape is not None else None
        if payload and payload not in result:
            read.pop(payload, None)
        assert read == result


def parsed(operation: OperationShape, status: int, headers: Mapping[str, str], body: bytes) -> Any:
    response: Any = {"status_code": status, "headers": HeadersDict(headers), "body": body, "context": {}}
    shape: Any = operation.output
    return parsers.create_parser(operation.protocol).parse(response, shape)


@pytest.mark.parametrize("operation", ALL)
def test_errors_are_written_as_botocore_reads_them(operation: OperationShape) -> None:
    error = AwsError("SomethingWrong", 'a message with <brackets> & "quotes"')
    answer = failures.answer(operation.service, operation.protocol, operation, error, "request-1")
    read = parsed(operation, answer.status, answer.headers, answer.body)
    assert (read["Error"]["Code"], read["Error"]["Message"]) == (error.code, error.message)
    assert read["ResponseMetadata"]["RequestId"] == "request-1"


@pytest.mark.parametrize("operation", ALL)
def test_declared_errors_have_the_models_status(operation: OperationShape) -> None:
    for shape in operation.model.error_shapes:
        declared: Any = shape.metadata.get("error", {})
        code = declared.get("code", shape.name)
        answer = failures.answer(operation.service, operation.protocol, operation, AwsError(code, "x"), "r")
        assert answer.status == declared.get("httpStatusCode", answer.status)
        assert 400 <= answer.status < 600


@pytest.mark.parametrize(
    "body",
    [b"", b"no xml", b"<a><b></a>", b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', b"<a>&undefined;</a>"],
    ids=["empty", "text", "unbalanced", "document-type", "entity"],
)
def test_xml_that_nobody_sends_is_refused(body: bytes) -> None:
    with pytest.raises(xml.MalformedXmlError):
        xml.parse(body)


def test_xml_text_keeps_every_character() -> None:
    text = "a<b>&c\r\n\t\"'ü"
    root = xml.parse(f"<x:a xmlns:x='u'>{xml.escape(text)}<b/>ignored</x:a>".encode())
    assert (root.name, root.text, [child.name for child in root.children]) == ("a", text, ["b"])


UNKNOWN_PATHS = [("cloudfront", "GET", "/2020-05-31/nothing"), ("route53", "PATCH", "/2013-04-01/hostedzone")]


@pytest.mark.parametrize(("name", "method", "path"), UNKNOWN_PATHS)
def test_a_path_that_is_no_operation_leads_nowhere(name: str, method: str, path: str) -> None:
    assert service(name).by_path(method, path, {}) is None


CONSTRAINTS = [
    pytest.param(
        "cloudfront",
        "CreateDistributionTenant",
        {"Name": "abc"},
        "InvalidArgument",
        "'distributionId'",
        id="required",
    ),
    pytest.param(
        "cloudfront",
        "CreateDistributionTenant",
        {"DistributionId": "E1", "Name": "ab", "Domains": [{"Domain": "a.b"}]},
        "InvalidArgument",
        "regular expression pattern",
        id="pattern",
    ),
    pytest.param(
        "acm",
        "ListCertificates",
        {"MaxItems": 1001},
        "ValidationException",
        "less than or equal to 1000",
        id="range",
    ),
    pytest.param(
        "route53", "ListHostedZones", {"Marker": "x" * 65}, "InvalidInput", "length less than", id="length"
    ),
    pytest.param(
        "sts",
        "AssumeRole",
        {"RoleArn": "a" * 20, "RoleSessionName": "x"},
        "ValidationError",
        "length greater",
        id="short",
    ),
    pytest.param(
        "apigateway",
        "CreateDomainName",
        {"DomainName": "a.b", "RoutingMode": "SOMETIMES"},
        "BadRequestException",
        "enum value set",
        id="enumeration",
    ),
    pytest.param(
        "route53",
        "ChangeResourceRecordSets",
        {"HostedZoneId": "Z1", "ChangeBatch": {"Changes": []}},
        "InvalidInput",
        "'changeBatch.changes'",
        id="nested",
    ),
]


@pytest.mark.parametrize(("name", "operation", "params", "code", "text"), CONSTRAINTS)
def test_what_the_model_demands_is_checked(
    name: str, operation: str, params: dict[str, Any], code: str, text: str
) -> None:
    with pytest.raises(AwsError) as caught:
        check(service(name).operations[operation], params)
    assert caught.value.code == code
    assert text in caught.value.message
