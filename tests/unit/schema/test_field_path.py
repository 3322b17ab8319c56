"""Paths to fields as rules write them, followed through a schema."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.field_path import FieldPathError, follow_field_path

TEXT: JsonObject = {"type": "string"}
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"a": TEXT, "a.b": TEXT, "it's": TEXT, "x\ty": TEXT}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"v": TEXT}}},
        "list": {"type": "array", "items": TEXT},
    },
}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (".spec", "spec"),
        (".spec.a", "spec.a"),
        ("['spec']['a']", "spec.a"),
        (".spec['a.b']", "spec.a.b"),
        (".spec['it\\'s']", "spec.it's"),
        (".spec['x\\ty']", "spec.x\ty"),
        (".map.k", "map[k]"),
        (".map['a.b/c'].v", "map[a.b/c].v"),
        ("", ""),
    ],
)
def test_path_is_followed(text: str, path: str) -> None:
    assert follow_field_path(text, SCHEMA) == path


def test_path_may_begin_with_a_key() -> None:
    assert follow_field_path("['k'].v", SCHEMA["properties"]["map"]) == "[k].v"


@pytest.mark.parametrize(
    "text",
    [
        "spec",
        ".",
        ".spec.",
        ".nowhere",
        ".spec.a.b",
        ".list[0]",
        ".spec[a]",
        ".spec['a'",
        ".spec['a",
        ".spec['a'.",
        ".spec[']",
        ".spec['\\q']",
    ],
)
def test_path_that_leads_nowhere_is_refused(text: str) -> None:
    with pytest.raises(FieldPathError):
        follow_field_path(text, SCHEMA)


@given(st.text(alphabet=".[]'\\ab", max_size=12))
def test_any_text_is_a_path_or_refused(text: str) -> None:
    with contextlib.suppress(FieldPathError):
        assert isinstance(follow_field_path(text, SCHEMA), str)
