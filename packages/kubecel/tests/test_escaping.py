"""Names of properties in expressions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.escaping import RESERVED, escape


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("replicas", "replicas"),
        ("a_b", "a_b"),
        ("_x1", "_x1"),
        ("my-port", "my__dash__port"),
        ("app.kubernetes.io/name", "app__dot__kubernetes__dot__io__slash__name"),
        ("a__b", "a__underscores__b"),
        ("a___b", "a__underscores___b"),
        ("-", "__dash__"),
        ("namespace", "__namespace__"),
        ("in", "__in__"),
        ("namespaces", "namespaces"),
        ("", None),
        ("1st", None),
        ("a b", None),
        ("größe", None),
        ("$ref", None),
    ],
)
def test_property_is_written_as_an_identifier(name: str, written: str | None) -> None:
    assert escape(name) == written


@given(st.text(alphabet="ab1_-./", min_size=1))
def test_written_names_are_identifiers_and_differ(name: str) -> None:
    written = escape(name)
    if written is None:
        assert name[0].isdigit()
    else:
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", written)
        assert written not in RESERVED
        spelled = {"__underscores__": "__", "__dot__": ".", "__dash__": "-", "__slash__": "/"}
        back = re.sub("__(underscores|dot|dash|slash)__", lambda found: spelled[found.group()], written)
        assert back == name
