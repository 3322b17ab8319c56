"""Protobuf bodies: what kubectl 1.36 really sends, and what must not be taken from strangers.

`protobuf_bodies.json` holds bodies that kubectl sent for the named commands, with the objects they mean; a real
kube-apiserver answers both forms alike.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.errors import StatusError
from kubesim.plane.json_text import MalformedBodyError
from kubesim.plane.protobuf import decode_protobuf
from kubesim.plane.wire import varint

CAPTURED: dict[str, Any] = json.loads((Path(__file__).parent / "protobuf_bodies.json").read_text())
BODIES = [bytes.fromhex(captured["body"]) for captured in CAPTURED.values()]


def field(number: int, value: int | bytes | str) -> bytes:
    """Encode one field: small varints and short byte strings."""
    if isinstance(value, int):
        return bytes([number << 3]) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def body_of(api_version: str, kind: str, message: bytes) -> bytes:
    return b"k8s\x00" + field(1, field(1, api_version) + field(2, kind)) + field(2, message)


def decoded(api_version: str, kind: str, message: bytes) -> dict[str, Any]:
    tree = decode_protobuf(body_of(api_version, kind, message))
    return {key: value for key, value in tree.items() if key not in ("kind", "apiVersion")}


@pytest.mark.parametrize("command", CAPTURED)
def test_protobuf_of_kubectl_becomes_the_object_it_means(command: str) -> None:
    assert decode_protobuf(bytes.fromhex(CAPTURED[command]["body"])) == CAPTURED[command]["object"]


@pytest.mark.parametrize(
    ("message", "spec"),
    [
        (field(1, 0), {"replicas": 0}),
        (field(5, 0), {}),
        (field(5, 7), {"minReadySeconds": 7}),
        (field(7, 0), {}),
        (field(7, 1), {"paused": True}),
        (field(6, -1), {"revisionHistoryLimit": -1}),
        (field(4, b""), {"strategy": {}}),
    ],
    ids=[
        "pointer-zero",
        "plain-zero",
        "plain-number",
        "plain-false",
        "plain-true",
        "negative",
        "empty-message",
    ],
)
def test_protobuf_zero_is_kept_only_where_json_would_show_it(message: bytes, spec: dict[str, Any]) -> None:
    assert decoded("apps/v1", "Deployment", field(2, message)) == {"spec": spec}


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (b"", {}),
        (field(1, 1700000000), {"creationTimestamp": "2023-11-14T22:13:20Z"}),
        (field(1, 1700000000) + field(2, 123456789), {"creationTimestamp": "2023-11-14T22:13:20Z"}),
        (field(1, -1), {"creationTimestamp": "1969-12-31T23:59:59Z"}),
    ],
    ids=["unset", "seconds", "fraction-dropped", "before-1970"],
)
def test_protobuf_times_are_rfc3339(moment: bytes, expected: dict[str, Any]) -> None:
    assert decoded("v1", "ConfigMap", field(1, field(8, moment))) == {"metadata": expected}


def test_protobuf_micro_times_keep_six_digits() -> None:
    lease = field(2, field(4, field(1, 1700000000) + field(2, 123456789)))
    assert decoded("coordination.k8s.io/v1", "Lease", lease) == {
        "spec": {"renewTime": "2023-11-14T22:13:20.123456Z"}
    }


def test_protobuf_int_or_string_follows_its_type() -> None:
    def target(value: bytes) -> Any:
        return decoded("v1", "Service", field(2, field(1, field(3, 80) + field(4, value))))["spec"]["ports"][
            0
        ]

    assert target(field(1, 0) + field(2, 8080) + field(3, "")) == {"port": 80, "targetPort": 8080}
    assert target(field(1, 1) + field(2, 0) + field(3, "http")) == {"port": 80, "targetPort": "http"}
    assert target(field(1, 0) + field(2, 0) + field(3, "")) == {"port": 80}


def test_protobuf_embedded_structs_merge_into_their_owner() -> None:
    volume = field(1, "data") + field(2, field(2, b""))
    pod = decoded("v1", "Pod", field(2, field(1, volume)))
    assert pod == {"spec": {"volumes": [{"name": "data", "emptyDir": {}}]}}


def test_protobuf_lists_of_numbers_may_be_packed() -> None:
    loose = field(4, 1) + field(4, 300)
    packed = field(4, varint(1) + varint(300))
    for groups in (loose, packed):
        pod = decoded("v1", "Pod", field(2, field(14, groups)))
        assert pod == {"spec": {"securityContext": {"supplementalGroups": [1, 300]}}}


def test_protobuf_maps_hold_texts_bytes_quantities_and_lists() -> None:
    entry = field(1, "k") + field(2, "v")
    assert decoded("v1", "ConfigMap", field(2, entry) + field(2, field(1, "empty"))) == {
        "data": {"k": "v", "empty": ""}
    }
    assert decoded("v1", "Secret", field(2, entry)) == {"data": {"k": "dg=="}}
    quota = field(2, field(1, field(1, "cpu") + field(2, field(1, "500m"))))
    assert decoded("v1", "ResourceQuota", quota) == {"spec": {"hard": {"cpu": "500m"}}}
    extra = field(1, "scopes") + field(2, field(1, "a") + field(1, "b"))
    review = field(2, field(5, extra))
    assert decoded("authorization.k8s.io/v1", "SubjectAccessReview", review) == {
        "spec": {"extra": {"scopes": ["a", "b"]}}
    }


def test_protobuf_embedded_json_is_decoded() -> None:
    entry = field(1, "kubectl") + field(7, field(1, '{"f:data":{}}'))
    assert decoded("v1", "ConfigMap", field(1, field(17, entry)))["metadata"]["managedFields"] == [
        {"manager": "kubectl", "fieldsV1": {"f:data": {}}}
    ]


def test_protobuf_unknown_fields_are_passed_over() -> None:
    assert decoded("v1", "ConfigMap", field(99, "new") + field(2, field(1, "k") + field(2, "v"))) == {
        "data": {"k": "v"}
    }


@pytest.mark.parametrize("api_version", ["v1", "apps/v1", "meta.k8s.io/v1", "example.com/v1"])
def test_protobuf_delete_options_come_under_any_version(api_version: str) -> None:
    options = field(1, 0) + field(2, field(1, "the-uid")) + field(4, "Foreground") + field(5, "All")
    assert decoded(api_version, "DeleteOptions", options) == {
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "the-uid"},
        "propagationPolicy": "Foreground",
        "dryRun": ["All"],
    }


def test_protobuf_of_a_kind_without_a_table_is_refused() -> None:
    with pytest.raises(StatusError) as refusal:
        decode_protobuf(body_of("e.io/v1", "Foo", b""))
    assert refusal.value.code == 400
    assert refusal.value.message == (
        'Foo in version "v1" cannot be handled as a Foo: '
        'no kind "Foo" is registered for version "e.io/v1" in scheme "pkg/runtime/scheme.go:111"'
    )


def test_protobuf_that_does_not_name_its_kind_is_what_is_expected() -> None:
    body = b"k8s\x00" + field(2, field(2, field(1, "k") + field(2, "v")))
    assert decode_protobuf(body, "v1", "ConfigMap") == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "data": {"k": "v"},
    }
    with pytest.raises(StatusError) as refusal:
        decode_protobuf(body_of("e.io/v1", "Foo", b""), "v1", "ConfigMap")
    assert refusal.value.message.startswith(
        'Foo in version "v1" cannot be handled as a ConfigMap: no kind "Foo"'
    )


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (b"\x0a\x03\x0a\x05x", "unexpected EOF"),
        (field(1, 7), "proto: wrong wireType = 0 for field metadata"),
        (field(2, 7), "proto: wrong wireType = 0 for field data"),
        (field(4, "yes"), "proto: wrong wireType = 2 for field immutable"),
        (field(1, field(8, field(1, 2**60))), "time is out of range"),
        (field(1, field(17, field(7, field(1, "{")))), "unexpected end of JSON input"),
    ],
)
def test_protobuf_with_a_broken_message_names_the_kind(message: bytes, problem: str) -> None:
    with pytest.raises(StatusError) as refusal:
        decode_protobuf(body_of("v1", "ConfigMap", message))
    assert refusal.value.code == 400
    assert refusal.value.message == f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {problem}'


@given(st.sampled_from(BODIES), st.data())
def test_protobuf_cut_short_or_altered_is_read_or_refused(body: bytes, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(body) - 1))
    altered = bytearray(body[: data.draw(st.integers(position + 1, len(body)))])
    altered[position] = data.draw(st.integers(0, 255))
    try:
        tree = decode_protobuf(bytes(altered))
    except (MalformedBodyError, StatusError):
        return
    assert isinstance(tree["kind"], str)


@given(st.binary(max_size=300))
def test_protobuf_of_any_bytes_is_read_or_refused(noise: bytes) -> None:
    for message in (noise, field(1, noise), field(2, noise), field(2, field(3, field(2, noise)))):
        try:
            decode_protobuf(body_of("apps/v1", "Deployment", message))
        except StatusError:
            continue
