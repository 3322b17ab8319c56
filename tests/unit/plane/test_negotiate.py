"""The Accept header: which representation a client gets."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.local.plane.errors import StatusError
from edgekeeper.local.plane.negotiate import Wanted, negotiate

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        pytest.param("", Wanted(), id="nothing-said"),
        pytest.param("*/*", Wanted(), id="anything"),
        pytest.param("application/*", Wanted(), id="any-application"),
        pytest.param("application/json", Wanted(), id="json"),
        pytest.param("application/json; charset=utf-8", Wanted(), id="json-with-charset"),
        pytest.param("application/yaml", Wanted(yaml=True), id="yaml"),
        pytest.param(TABLE, Wanted("table"), id="table"),
        pytest.param("application/json;as=Table", Wanted("table"), id="table-of-any-version"),
        pytest.param("application/json;as=Table;v=v1beta1;g=meta.k8s.io", Wanted("table", meta_version="v1beta1"), id="old-table"),
        pytest.param(f"{TABLE},application/json", Wanted("table"), id="kubectl-get"),
        pytest.param("application/yaml;as=Table;g=meta.k8s.io;v=v1", Wanted("table", yaml=True), id="yaml-table"),
        pytest.param("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Wanted("partial"), id="metadata"),
        pytest.param("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Wanted("partial"), id="metadata-list"),
        pytest.param("application/vnd.kubernetes.protobuf,application/json", Wanted(), id="protobuf-or-json"),
        pytest.param("application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json", Wanted("partial"), id="metadata-informer"),
        pytest.param("application/json;as=Table;v=v9;g=meta.k8s.io, application/json", Wanted(), id="unknown-version-then-json"),
        pytest.param("application/json;as=Table;g=example.com, application/yaml", Wanted(yaml=True), id="unknown-group-then-yaml"),
        pytest.param("text/html, application/json;q=0.9, */*;q=0.8", Wanted(), id="browser"),
    ],
)  # fmt: skip
def test_client_gets_the_first_form_that_can_be_had(accept: str, wanted: Wanted) -> None:
    assert negotiate(accept) == wanted


@pytest.mark.parametrize(
    "accept",
    ["application/vnd.kubernetes.protobuf", "text/plain", "application/json;as=Chair", "garbage", ",", ";;;"],
)
def test_client_that_takes_nothing_on_offer_is_refused(accept: str) -> None:
    with pytest.raises(StatusError) as refused:
        negotiate(accept)
    assert (refused.value.code, refused.value.reason) == (406, "NotAcceptable")
    assert refused.value.message.startswith("only the following media types are accepted: application/json")


@given(st.text(alphabet="application/jsonyml*;,= vgstT", max_size=60))
def test_any_header_is_either_understood_or_refused(accept: str) -> None:
    with suppress(StatusError):
        assert negotiate(accept).meta_version in ("v1", "v1beta1")
