"""Protobuf in both directions, against what Kubernetes publishes of each built-in kind.

`protobuf_published.jsonl.gz` holds an object of each kind with every field set, and its body (see
`tools/protobuf_tables.py`).
"""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.errors import StatusError
from kubesim.plane.json_text import MalformedBodyError
from kubesim.plane.kinds.catalogue import ROWS
from kubesim.plane.protobuf import decode_protobuf, encode_protobuf, encode_watch_event

LINES = gzip.decompress((Path(__file__).parent / "protobuf_published.jsonl.gz").read_bytes()).splitlines()
PUBLISHED: dict[str, Any] = {
    f"{sample['object']['apiVersion']} {sample['object']['kind']}": sample
    for sample in map(json.loads, LINES)
}
DEFINITION = "apiextensions.k8s.io/v1 CustomResourceDefinition"


def without_nulls(value: Any) -> Any:
    """A value without what is unset in it: JSON shows some of it, protobuf does not."""
    if isinstance(value, dict):
        return {key: without_nulls(held) for key, held in value.items() if held is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def schemas(maximum: float) -> dict[str, Any]:
    return {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"maximum": maximum}}}]}}


def test_protobuf_samples_cover_every_built_in_kind() -> None:
    versions = [(f"{row.group}/{row.version}" if row.group else row.version, row.kind) for row in ROWS]
    assert {f"{version} {kind}" for version, kind in versions} == PUBLISHED.keys()


@pytest.mark.parametrize("kind", PUBLISHED)
def test_protobuf_of_every_field_of_a_kind_becomes_its_json(kind: str) -> None:
    body = base64.b64decode(PUBLISHED[kind]["body"])
    assert without_nulls(decode_protobuf(body)) == without_nulls(PUBLISHED[kind]["object"])


@pytest.mark.parametrize("kind", sorted(PUBLISHED.keys() - {DEFINITION}))
def test_json_of_every_field_of_a_kind_becomes_its_protobuf(kind: str) -> None:
    assert encode_protobuf(PUBLISHED[kind]["object"]) == base64.b64decode(PUBLISHED[kind]["body"])


def test_json_of_every_field_of_a_definition_survives_protobuf() -> None:
    """Its body is not the published one byte by byte: Go writes the zeros of empty schemas, too."""
    definition = PUBLISHED[DEFINITION]["object"]
    assert decode_protobuf(encode_protobuf(definition)) == definition


@pytest.mark.parametrize(
    "schema",
    [
        {"default": False},
        {"default": 0},
        {"default": ""},
        {"default": []},
        {"default": {}},
        {"default": {"a": [1, None, 0.5]}},
        {"enum": ["a", 1, None, False]},
        {"example": "x"},
        {"items": {"type": "string"}},
        {"items": {}},
        {"items": [{"type": "string"}, {}]},
        {"additionalProperties": True},
        {"additionalProperties": False},
        {"additionalProperties": {}},
        {"additionalProperties": {"type": "integer"}},
        {"dependencies": {"a": ["b", "c"], "d": {"type": "string"}}},
        {"maximum": 0, "minimum": -3, "multipleOf": 0.25},
        {"maximum": 1e300, "minimum": 2**53},
        {"maxLength": 0, "minItems": 9223372036854775807},
        {"$ref": "#/a", "$schema": "s", "nullable": True, "not": {}},
        {"properties": {"a": {"properties": {"b": {"not": {"type": "string"}}}}, "": {}}},
        {"x-kubernetes-validations": [{"rule": "true", "optionalOldSelf": False}]},
        {"x-kubernetes-preserve-unknown-fields": False, "x-kubernetes-list-map-keys": ["a"]},
    ],
    ids=str,
)
def test_schema_of_a_definition_survives_protobuf(schema: dict[str, Any]) -> None:
    version = {"name": "v1", "served": True, "storage": False, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "spec": {"group": "e.io", "scope": "Cluster", "versions": [version]},
    }
    assert decode_protobuf(encode_protobuf(definition)) == definition


def test_protobuf_whole_numbers_of_schemas_have_no_fraction() -> None:
    schema = encode_protobuf(
        {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", **schemas(10.0)}
    )
    (version,) = decode_protobuf(schema)["spec"]["versions"]
    maximum = version["schema"]["openAPIV3Schema"]["maximum"]
    assert (maximum, type(maximum)) == (10, int)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_protobuf_numbers_that_json_cannot_write_are_refused(number: float) -> None:
    tree = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", **schemas(number)}
    with pytest.raises(StatusError) as refusal:
        decode_protobuf(encode_protobuf(tree))
    assert refusal.value.code == 400
    assert "json: unsupported value" in refusal.value.message


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("2023-11-14T22:13:20Z", "2023-11-14T22:13:20Z"),
        ("2023-11-14T23:13:20+01:00", "2023-11-14T22:13:20Z"),
        ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
        ("2023-11-14T22:13:20.999999Z", "2023-11-14T22:13:20Z"),
    ],
)
def test_json_times_become_seconds(sent: str, read: str) -> None:
    tree = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"creationTimestamp": sent}}
    assert decode_protobuf(encode_protobuf(tree))["metadata"] == {"creationTimestamp": read}


def test_json_micro_times_keep_their_fraction() -> None:
    spec = {"renewTime": "1969-12-31T23:59:59.123456Z"}
    lease = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "spec": spec}
    assert decode_protobuf(encode_protobuf(lease))["spec"] == spec


def test_json_null_is_not_written() -> None:
    tree = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"creationTimestamp": None}, "data": None}
    assert decode_protobuf(encode_protobuf(tree)) == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}}


def test_json_maps_are_written_in_order() -> None:
    tree = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"b": "2", "a": "1"}}
    assert list(decode_protobuf(encode_protobuf(tree))["data"]) == ["a", "b"]


def test_lists_have_a_protobuf_form() -> None:
    items = [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]
    tree = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": items}
    assert decode_protobuf(encode_protobuf(tree)) == tree


def test_events_of_a_watch_are_framed_by_their_length() -> None:
    assert encode_watch_event(b"ADDED", b"object") == (
        (17).to_bytes(4, "big") + b"\x0a\x05ADDED\x12\x08\x0a\x06object"
    )


def test_kind_without_a_table_cannot_be_encoded() -> None:
    with pytest.raises(ValueError, match="has no protobuf form"):
        encode_protobuf({"kind": "Foo", "apiVersion": "e.io/v1"})


@given(st.sampled_from(sorted(PUBLISHED)), st.data())
def test_published_protobuf_cut_short_or_altered_is_read_or_refused(kind: str, data: st.DataObject) -> None:
    body = bytearray(base64.b64decode(PUBLISHED[kind]["body"]))
    position = data.draw(st.integers(0, len(body) - 1))
    body[position] = data.draw(st.integers(0, 255))
    del body[data.draw(st.integers(position + 1, len(body))) :]
    try:
        tree = decode_protobuf(bytes(body))
    except (MalformedBodyError, StatusError):
        return
    assert isinstance(tree["kind"], str)
