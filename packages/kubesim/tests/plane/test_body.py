"""Request bodies: formats, and the server's words for bodies that it cannot read."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.plane.body import decode_body, decode_patch_body, duplicate_keys, unrecognized
from kubesim.plane.errors import StatusError

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
NO_TYPE = "couldn't get version/kind; json parse error: "
TYPE_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def refusal_of(content_type: str, body: bytes, kind: str = "ConfigMap") -> StatusError:
    with pytest.raises(StatusError) as refusal:
        decode_body(content_type, body, kind)
    return refusal.value


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        JSON,
        "application/json; charset=utf-8",
        "application/json;",
        "APPLICATION/JSON",
        " application/json ",
    ],
)
def test_body_is_json_by_default_and_whatever_the_parameters(content_type: str) -> None:
    assert decode_body(content_type, b'{"a":1}') == {"a": 1}


@pytest.mark.parametrize("content_type", [YAML, "application/yaml; charset=utf-8"])
def test_body_may_be_yaml(content_type: str) -> None:
    assert decode_body(content_type, b"kind: ConfigMap\ndata: {a: '1'}") == {
        "kind": "ConfigMap",
        "data": {"a": "1"},
    }


def test_body_may_be_protobuf() -> None:
    body = b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x05\x0a\x03\x0a\x01x"
    assert decode_body(PROTOBUF, body) == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}}


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "text/yaml",
        "application/cbor",
        "*/*",
        MERGE_PATCH,
        "application/json, text/plain",
        "bad;;=",
    ],
)
def test_body_of_an_unknown_format_is_an_unsupported_media_type(content_type: str) -> None:
    refusal = refusal_of(content_type, b"{}")
    assert (refusal.code, refusal.reason) == (415, "UnsupportedMediaType")
    assert refusal.message == (
        "the body of the request was in an unknown format - accepted media types include:"
        " application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


@pytest.mark.parametrize(("content_type", "body"), [(JSON, b"null"), (YAML, b""), (YAML, b"# nothing")])
def test_body_of_nothing_is_an_empty_object(content_type: str, body: bytes) -> None:
    assert decode_body(content_type, body) == {}


@pytest.mark.parametrize(
    ("content_type", "body", "problem", "summary"),
    [
        (JSON, b"", f"{NO_TYPE}unexpected end of JSON input", "<empty>"),
        (JSON, b"x", f"{NO_TYPE}invalid character 'x' looking for beginning of value", "78"),
        (JSON, b"{", f"{NO_TYPE}unexpected end of JSON input", "{"),
        (JSON, b"{} x", f"{NO_TYPE}invalid character 'x' after top-level value", "{} x"),
        (JSON, b"[]", f"{NO_TYPE}json: cannot unmarshal array into Go value of type {TYPE_META}", "5b5d"),
        (JSON, b'"x"', f"{NO_TYPE}json: cannot unmarshal string into Go value of type {TYPE_META}", "227822"),
        (
            JSON,
            b'{"kind":3}',
            f"{NO_TYPE}json: cannot unmarshal number into Go struct field .kind of type string",
            '{"kind":3}',
        ),
        (
            JSON,
            b'{"kind":"ConfigMap","metadata":{"name":}}',
            f"{NO_TYPE}invalid character '}}' looking for beginning of value",
            '{"kind":"ConfigMap","metadata" ...',
        ),
        (YAML, b"- a", f"{NO_TYPE}json: cannot unmarshal array into Go value of type {TYPE_META}", "2d2061"),
        (
            YAML,
            b"a: b\nc: d: e",
            "yaml: line 2: mapping values are not allowed in this context",
            "613a20620a633a20643a2065",
        ),
        (PROTOBUF, b"", "empty data", "<empty>"),
        (PROTOBUF, b"k8s\x00", "empty body", "6b387300"),
        (PROTOBUF, b"k8s\x00\xff\xff", "unexpected EOF", "6b387300ffff"),
        (
            PROTOBUF,
            b"{}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
            "{}",
        ),
    ],
)
def test_body_that_cannot_be_read_is_shown_with_the_expected_kind(
    content_type: str, body: bytes, problem: str, summary: str
) -> None:
    refusal = refusal_of(content_type, body)
    assert (refusal.code, refusal.reason) == (400, "BadRequest")
    assert refusal.message == (
        f"the object provided is unrecognized (must be of type ConfigMap): {problem} ({summary})"
    )


def test_body_summary_of_binary_data_is_cut_after_thirty_bytes() -> None:
    assert unrecognized("Pod", "why", b"[" * 40).message.endswith(f"why ({'5b' * 30} ...)")


def test_body_problem_stands_alone_where_no_kind_is_expected() -> None:
    assert refusal_of(JSON, b"", kind="").message == f"{NO_TYPE}unexpected end of JSON input"


@pytest.mark.parametrize("content_type", [JSON, YAML])
def test_body_nested_beyond_reason_is_a_bad_request(content_type: str) -> None:
    refusal = refusal_of(content_type, b'{"a":' * 100_000)
    assert refusal.code == 400
    assert "exceeded max depth" in refusal.message


@pytest.mark.parametrize(
    ("content_type", "body", "complaints"),
    [
        ("", b'{"a":1,"a":2}', ['duplicate field "a"']),
        (MERGE_PATCH, b'{"a":{"b":1,"b":2}}', ['duplicate field "a.b"']),
        (YAML, b"a: 1\na: 2\n", ['line 2: key "a" already set in map']),
        (APPLY_PATCH, b'{"a":1,"a":2}', ['line 1: key "a" already set in map']),
        (YAML, b'{"a":1,"b":2}', []),
        (YAML, b"{a: 1, a: 2}", ['line 1: key "a" already set in map']),
        (PROTOBUF, b"k8s\x00", []),
    ],
)
def test_duplicate_keys_are_worded_by_format(content_type: str, body: bytes, complaints: list[str]) -> None:
    assert duplicate_keys(content_type, body) == complaints


@pytest.mark.parametrize(
    ("content_type", "body", "patch"),
    [
        (JSON_PATCH, b'[{"op":"add"}]', [{"op": "add"}]),
        (MERGE_PATCH, b'{"a":null}', {"a": None}),
        (MERGE_PATCH, b"null", None),
        (STRATEGIC_PATCH, b"[1]", [1]),
        (APPLY_PATCH, b"a: 1\n", {"a": 1}),
        (YAML, b'{"a":1}', {"a": 1}),
        (APPLY_PATCH, b"", {}),
    ],
)
def test_patch_body_is_decoded_by_its_type(content_type: str, body: bytes, patch: Any) -> None:
    assert decode_patch_body(content_type, body) == patch
    assert decode_patch_body(f"{content_type}; charset=utf-8", body) == patch


@pytest.mark.parametrize(
    ("content_type", "body", "message"),
    [
        (JSON_PATCH, b"x", "error decoding patch: invalid character 'x' looking for beginning of value"),
        (MERGE_PATCH, b"", "error decoding patch: unexpected end of JSON input"),
        (STRATEGIC_PATCH, b"{} x", "invalid character 'x' after top-level value"),
        (
            APPLY_PATCH,
            b"a: b\nc: d: e",
            "error decoding YAML: error converting YAML to JSON: yaml: line 2: mapping values are not allowed in this context",
        ),
        (
            APPLY_PATCH,
            b"[]",
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
    ],
)
def test_patch_body_that_cannot_be_read_is_a_bad_request(
    content_type: str, body: bytes, message: str
) -> None:
    with pytest.raises(StatusError) as refusal:
        decode_patch_body(content_type, body)
    assert (refusal.value.code, refusal.value.message) == (400, message)
