"""Markers are read character by character, with kro's complaints."""

from __future__ import annotations

import pytest

from edgekeeper.controllers.composition.markers import Marker, parse_markers
from edgekeeper.controllers.composition.rejection import RejectedError


@pytest.mark.parametrize(
    ("text", "markers"),
    [
        (" required=true", [("required", "true")]),
        (' default="a b" required=true', [("default", "a b"), ("required", "true")]),
        ("default=5   minimum=1", [("default", "5"), ("minimum", "1")]),
        (' description="say \\"hi\\" to C:\\\\dir"', [("description", 'say "hi" to C:\\dir')]),
        (' pattern="^\\d+$"', [("pattern", "^\\d+$")]),
        (" default=[1, 2] minItems=1", [("default", "[1, 2]"), ("minItems", "1")]),
        (' default={"a": {"b": "c d"}}', [("default", '{"a": {"b": "c d"}}')]),
        (' default=""', [("default", "")]),
        (' validation="self > 1 && self < 3"', [("validation", "self > 1 && self < 3")]),
        (" default=a=b", [("default", "a=b")]),
        ("required=true ", [("required", "true")]),
    ],
)
def test_markers_are_keys_with_values(text: str, markers: list[tuple[str, str]]) -> None:
    assert parse_markers(text) == [Marker(key, value) for key, value in markers]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (" required", "marker key 'required' without a value"),
        (" default=a few words", "marker key 'fewwords' without a value"),
        ("", "marker key '' without a value"),
        (" =true", "empty marker key"),
        (" nonsense=1", 'invalid marker key "nonsense": unknown marker: nonsense'),
        (
            ' required=true | description="x"',
            'invalid marker key "|description": unknown marker: |description',
        ),
        (' default="open', "unclosed quote"),
        (" default={open", "unclosed bracket/brace"),
        (" default=a}", "unmatched closing bracket/brace"),
    ],
)
def test_markers_that_are_none_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(RejectedError) as refused:
        parse_markers(text)
    assert refused.value.message == complaint
