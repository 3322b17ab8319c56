"""The Accept header: which representation a client gets."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.body import JSON, PROTOBUF, YAML
from kubesim.plane.errors import StatusError
from kubesim.plane.negotiate import Wanted, negotiate, negotiate_status

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        pytest.param("", Wanted(), id="nothing-said"),
        pytest.param("*/*", Wanted(), id="anything"),
        pytest.param("application/*", Wanted(), id="any-application"),
        pytest.param("application/json", Wanted(), id="json"),
        pytest.param("application/json; charset=utf-8", Wanted(), id="json-with-charset"),
        pytest.param("application/yaml", Wanted(media_type=YAML), id="yaml"),
        pytest.param(TABLE, Wanted("table"), id="table"),
        pytest.param("application/json;as=Table", Wanted("table"), id="table-of-any-version"),
        pytest.param("application/json;as=Table;v=v1beta1;g=meta.k8s.io", Wanted("table", meta_version="v1beta1"), id="old-table"),
        pytest.param(f"{TABLE},application/json", Wanted("table"), id="kubectl-get"),
        pytest.param("application/yaml;as=Table;g=meta.k8s.io;v=v1", Wanted("table", YAML), id="yaml-table"),
        pytest.param("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Wanted("partial"), id="metadata"),
        pytest.param("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Wanted("partial"), id="metadata-list"),
        pytest.param(PROTOBUF, Wanted(media_type=PROTOBUF), id="protobuf"),
        pytest.param(f"{PROTOBUF},application/json", Wanted(media_type=PROTOBUF), id="protobuf-or-json"),
        pytest.param(f"application/json,{PROTOBUF}", Wanted(), id="json-or-protobuf"),
        pytest.param(f"{PROTOBUF};q=0.1,application/json;q=0.2", Wanted(), id="json-rather-than-protobuf"),
        pytest.param(f"*/*,{PROTOBUF}", Wanted(media_type=PROTOBUF), id="protobuf-rather-than-anything"),
        pytest.param(f"{PROTOBUF};q=much,application/json", Wanted(), id="quality-that-is-none"),
        pytest.param(f"{PROTOBUF};stream=watch", Wanted(media_type=PROTOBUF), id="protobuf-stream"),
        pytest.param(f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1,{TABLE}", Wanted("table"), id="no-table-in-protobuf"),
        pytest.param("application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json", Wanted("partial", PROTOBUF), id="metadata-informer"),
        pytest.param("application/json;as=Table;v=v9;g=meta.k8s.io, application/json", Wanted(), id="unknown-version-then-json"),
        pytest.param("application/json;as=Table;g=example.com, application/yaml", Wanted(media_type=YAML), id="unknown-group-then-yaml"),
        pytest.param("text/html, application/json;q=0.9, */*;q=0.8", Wanted(), id="browser"),
    ],
)  # fmt: skip
def test_client_gets_the_first_form_that_can_be_had(accept: str, wanted: Wanted) -> None:
    assert negotiate(accept) == wanted


@pytest.mark.parametrize(
    "accept",
    [
        f"{PROTOBUF};as=Table",
        "application/cbor",
        "text/plain",
        "application/json;as=Chair",
        "garbage",
        ",",
        ";;;",
    ],
)
def test_client_that_takes_nothing_on_offer_is_refused(accept: str) -> None:
    with pytest.raises(StatusError) as refused:
        negotiate(accept)
    assert (refused.value.code, refused.value.reason) == (406, "NotAcceptable")
    assert refused.value.message.startswith("only the following media types are accepted: application/json")


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (f"{PROTOBUF},application/json", Wanted()),
        (f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Wanted("partial", PROTOBUF)),
    ],
    ids=["object", "metadata"],
)
def test_kind_without_a_protobuf_form_has_one_for_its_metadata_only(accept: str, wanted: Wanted) -> None:
    assert negotiate(accept, protobuf=False) == wanted
    with pytest.raises(StatusError):
        negotiate(PROTOBUF, protobuf=False)


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", JSON),
        ("*/*", JSON),
        (PROTOBUF, PROTOBUF),
        (YAML, YAML),
        (f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json", JSON),
        (TABLE, JSON),
        ("text/plain", JSON),
    ],
)
def test_refusal_has_a_media_type_whatever_is_accepted(accept: str, media_type: str) -> None:
    assert negotiate_status(accept) == media_type


@given(st.text(alphabet="application/jsonyml*;,= vgstT", max_size=60))
def test_any_header_is_either_understood_or_refused(accept: str) -> None:
    with suppress(StatusError):
        assert negotiate(accept).meta_version in ("v1", "v1beta1")
