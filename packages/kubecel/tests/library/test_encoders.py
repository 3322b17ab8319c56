"""Base64."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.environments import kubernetes
from kubecel.library.extensions.encoders import decode, encode
from packages.kubecel.tests.library.evaluating import failure, in_kro, refusal


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("aGVsbG8=", b"hello"),
        ("aGVsbG8", b"hello"),
        ("YQ==", b"a"),
        ("YQ", b"a"),
        ("Y\nQ\r\n==", b"a"),
        ("", b""),
        ("+/+/", b"\xfb\xff\xbf"),
    ],
)
def test_padding_and_line_breaks_do_not_matter(text: str, data: bytes) -> None:
    assert decode(text) == data


@pytest.mark.parametrize("text", ["!", "Y", "YQ=", "_-==", "YQ==YQ==", "Y Q==", "é", "====", "YQ\u00a0"])
def test_broken_base64_is_refused(text: str) -> None:
    assert failure("base64.decode(text)", text=text).message.startswith("illegal base64 data")


@given(st.binary(max_size=60))
def test_what_is_encoded_can_be_decoded(data: bytes) -> None:
    assert decode(encode(data)) == data
    assert decode(encode(data).rstrip("=")) == data


def test_expressions_encode_bytes() -> None:
    assert in_kro("base64.encode(b'hello')") == "aGVsbG8="
    assert in_kro("string(base64.decode('aGVsbG8='))") == "hello"


def test_base64_is_not_in_kubernetes() -> None:
    assert "undeclared reference" in refusal("base64.encode(b'a')", kubernetes())
